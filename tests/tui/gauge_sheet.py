"""Every state and width of the gauge on one sheet, to be looked at.

``python -m tests.tui.gauge_sheet FILE.svg [--ascii] [--ko]`` draws it; the tests read it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from geode_tui.core.events import ContextFigures
from geode_tui.core.strings import Strings
from geode_tui.tui.glyphs import ASCII, UNICODE
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.svg import svg
from geode_tui.tui.themes import load_themes
from geode_tui.tui.widgets.gauge import Gauge, GaugeView
from tests.tui.fakes import FIGURES

WIDTH, BAR = 76, 56
WIDTHS = (38, 34, 33, 24, 18, 17, 13, 9, 8, 6)
SMALL = {"system": 6_100, "tools": 9_800, "user": 3_000, "agent": 41_000, "thinking": 9_000}


def sized(used: int, window: int, reserve: int, percent: int, **changes: object) -> ContextFigures:
    """A gauge whose results are what the other parts leave."""
    budget = window - reserve
    parts = {**SMALL, "results": used - sum(SMALL.values())}
    made = msgspec.structs.replace(
        FIGURES,
        used=used,
        window=window,
        output_reserve=reserve,
        budget=budget,
        warning=budget * percent // 100,
        critical=budget * 9 // 10,
        warning_percent=percent,
        parts=parts,
    )
    return msgspec.structs.replace(made, **changes)


STATES: tuple[tuple[str, ContextFigures | None], ...] = (
    ("1 ok, past the soft limit", sized(212_100, 1_000_000, 32_800, 80)),
    ("2 warning, standard tier", FIGURES),
    ("3 critical, small tier", sized(161_900, 200_000, 32_800, 50)),
    ("4 over, the bar eats the reserve", sized(196_900, 200_000, 32_800, 50)),
    ("5 beyond the window", sized(240_000, 200_000, 32_800, 50)),
    ("6 estimated", sized(80_000, 200_000, 32_800, 50, measured="estimated")),
    ("7 an assumed window", sized(80_000, 200_000, 32_800, 50, provenance="unknown_fallback")),
    ("8 not known", None),
    ("9 a price step", sized(300_000, 1_050_000, 128_000, 80, price_tiers=(272_000,))),
)


def sheet(look: Look) -> Iterator[Strip]:
    """The sheet, line by line."""
    plane = look.palette.style(look.palette.text, look.palette.base)

    def line(left: list[Segment], right: list[Segment] | None = None, width: int = BAR) -> Strip:
        inner = row(left, right or [], width, plane, look.glyphs.cut)
        return row([Segment("  "), *inner], [], WIDTH, plane, look.glyphs.cut)

    for title, figures in STATES:
        gauge = Gauge(GaugeView(figures, 0.8), look)
        yield line([Segment(title, look.palette.style(look.palette.muted))])
        yield line(gauge.head(), gauge.amount())
        yield line(gauge.marks(BAR))
        yield line(list(gauge.bar(BAR)))
        yield line(gauge.labels(BAR))
        yield line([])
    gauge = Gauge(GaugeView(FIGURES), look)
    for width in WIDTHS:
        bar = list(gauge.bar(width)) if width > 8 else [*gauge.thin(width), Segment("  "), *gauge.head(short=True)]
        yield line([*bar, Segment(f"   {width}", Style(dim=True))])
        yield line(gauge.labels(width) if width >= 18 else [])


def look_of(*, ascii_: bool = False, korean: bool = False, theme: str = "geode-dark") -> Look:
    """What the sheet is drawn with."""
    palette = load_themes()[0][theme].palette
    return Look(palette, ASCII if ascii_ else UNICODE, Strings("ko" if korean else "en"), str)


if __name__ == "__main__":
    look = look_of(ascii_="--ascii" in sys.argv, korean="--ko" in sys.argv)
    drawn = svg(list(sheet(look)), WIDTH, ink=look.palette.text, ground=look.palette.base)
    Path(sys.argv[1]).write_text(drawn, encoding="utf-8")
