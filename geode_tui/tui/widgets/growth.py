"""How the context grew, round by round, and when each limit is reached if it goes on so."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style

from geode_tui.core import format as fmt
from geode_tui.core.events import ContextFigures
from geode_tui.tui.cells import pad, segments_width, width_of
from geode_tui.tui.look import Look
from geode_tui.tui.widgets.plots import columns
from geode_tui.view.forecast import Forecast
from geode_tui.view.gauge import limits_ahead, span_text, time_text
from geode_tui.view.selectors import GuardLine
from geode_tui.view.state import RoundFigures

PLOT_ROWS = 8
FEWEST = 3
"""Rounds below which there is nothing to plot."""
_AXIS = 7
"""Cells for the figures beside the plot."""

Pair: TypeAlias = tuple[list[Segment], list[Segment]]
"""A row's left and right part."""


def growth_rows(
    rounds: Sequence[RoundFigures], figures: ContextFigures | None, look: Look, width: int
) -> list[list[Segment]]:
    """The plot in ``width`` cells, from nothing to the prompt budget, and the numbers of its first and last round;
    empty where too little is known.
    """
    known = [r for r in rounds if r.used > 0]
    if figures is None or figures.budget <= 0 or len(known) < FEWEST or width <= 2 * _AXIS:
        return []
    palette, room = look.palette, width - _AXIS
    a_cell = 1 if look.glyphs.plot else 2
    shown = known[-room * a_cell :]
    top = float(max(figures.budget, *(r.used for r in shown)))
    labels = _labels(figures, top, look)
    ink, space = palette.style(palette.gauge["results"]), Segment(" " * _AXIS)
    plot = columns(look, [float(r.used) for r in shown], room, PLOT_ROWS, top)
    out = [[labels.get(number, space), Segment(line, ink)] for number, line in enumerate(plot)]
    first, last = (look.t("round.column", n=each.round) for each in (shown[0], shown[-1]))
    gap = max(1, -(-len(shown) // a_cell) - width_of(first) - width_of(last))
    return [*out, [space, Segment(f"{first}{' ' * gap}{last}", palette.style(palette.muted))]]


def _labels(figures: ContextFigures, top: float, look: Look) -> dict[int, Segment]:
    """The figure beside each row of the plot that has one: where two meet, the limit that is reached later."""
    palette = look.palette
    muted = palette.style(palette.muted)
    marks: tuple[tuple[int, Style], ...] = (
        (0, muted),
        (figures.budget, muted),
        (figures.warning, palette.style(palette.warn, bold=True)),
        (figures.critical, palette.style(palette.crit, bold=True)),
    )
    out = {}
    for value, style in marks:
        number = min(PLOT_ROWS - 1, PLOT_ROWS - ceil(value / top * PLOT_ROWS))
        out[number] = Segment(pad(fmt.size(value), _AXIS - 1, right=True) + " ", style)
    return out


def next_rows(ahead: Forecast | None, guards: Sequence[GuardLine], look: Look, width: int, *, live: bool) -> list[Pair]:
    """A row for each limit that the run will meet at its pace so far. Clocks count only while it is ``live``."""
    t = look.t
    found: list[tuple[str, str, str]] = []
    if ahead is not None:
        found += [
            (f"next.{name}", t("next.in_rounds", n=span_text(left)), time_text(ahead.seconds(left), look.strings))
            for name, left in limits_ahead(ahead)
        ]
    for line in guards:
        rest = line.limit - line.used
        if rest > 0 and line.unit == "rounds":
            found.append((f"next.{line.name}", t("next.in_rounds", n=fmt.number(int(rest))), ""))
        elif rest > 0 and line.unit == "seconds" and live:
            found.append((f"next.{line.name}", t("next.in", time=fmt.duration(rest)), ""))
    column = max((width_of(t(key)) for key, _, _ in found), default=0) + 2
    return [_pair(pad(t(key), column), when, note, look, width) for key, when, note in found]


def _pair(name: str, when: str, note: str, look: Look, width: int) -> Pair:
    left = [Segment(name), Segment(when, look.palette.style(bold=True))]
    right = [Segment(note, look.palette.style(look.palette.muted))] if note else []
    return left, right if segments_width([*left, *right]) + 2 <= width else []
