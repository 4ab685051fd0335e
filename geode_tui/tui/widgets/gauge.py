"""The context gauge (SCREENS.md 5): lines for the side column, and the bar alone for the strip and lists."""

from __future__ import annotations

from itertools import accumulate

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.core.events import ContextFigures
from geode_tui.tui.cells import segments_width
from geode_tui.tui.look import Look
from geode_tui.tui.palette import GAUGE_KINDS, KIND_LETTERS
from geode_tui.tui.rows import row
from geode_tui.view.forecast import Forecast
from geode_tui.view.selectors import Level, context_level

SOFT_LIMIT = 200_000
"""Tokens above which tidying up is preferred (RUNTIME.md 2.4); marked only inside a larger window."""
TICKS = (50, 70, 80, 90)
LETTERS_FROM = 18
LABELS_FROM = 34
"""Least widths of a bar with letters and of one with all labels."""


class GaugeView(msgspec.Struct, frozen=True):
    """What the gauge shows. ``figures`` is None before the first request; ``error`` is the last estimate's, percent."""

    figures: ContextFigures | None
    error: float | None = None
    forecast: Forecast | None = None


class Gauge(msgspec.Struct, frozen=True):
    """The gauge's parts for one view and look."""

    view: GaugeView
    look: Look

    # -- words --------------------------------------------------------------------------------------------------------
    def percent(self) -> str:
        """``72 %``, ``~72 %`` when estimated, ``- %`` when not known."""
        figures = self.view.figures
        if figures is None or figures.budget <= 0:
            return f"{self.look.glyphs.none} %"
        return ("~" if _uncertain(figures) else "") + fmt.percent(figures.used, figures.budget)

    def level(self) -> Level | None:
        """The state, None when not known."""
        figures = self.view.figures
        return None if figures is None or figures.budget <= 0 else context_level(figures)

    def head(self, *, short: bool = False) -> list[Segment]:
        """Percent and state: a filled chip from the warning on. ``short`` leaves the word out."""
        palette, glyphs = self.look.palette, self.look.glyphs
        level = self.level()
        if level is None:
            unknown = (
                [] if short else [Segment("  "), Segment(self.look.t("gauge.unknown"), palette.style(palette.muted))]
            )
            return [Segment(self.percent(), palette.style(bold=True)), *unknown]
        color, symbol = {
            "ok": (palette.ok, glyphs.ok),
            "warning": (palette.warn, glyphs.warning),
            "critical": (palette.crit, glyphs.critical),
            "over": (palette.crit, glyphs.over),
        }[level]
        figure = Segment(self.percent(), palette.style("" if level == "ok" else color, bold=True))
        word = symbol if short else f"{symbol} {self.look.t(f'gauge.{level}')}"
        if level == "ok" or short:
            return [figure, Segment("  "), Segment(word, palette.style(color, bold=True))]
        return [figure, Segment("  "), chip(self.look, f" {word} ", color)]

    def amount(self) -> list[Segment]:
        """``264.9k of 367.2k``."""
        palette, figures = self.look.palette, self.view.figures
        if figures is None:
            return []
        key = "gauge.of_assumed" if figures.provenance == "unknown_fallback" else "gauge.of"
        of = self.look.t(key, budget=fmt.tokens(figures.budget))
        return [
            Segment(fmt.tokens(figures.used), palette.style(bold=True)),
            Segment(f" {of}", palette.style(palette.muted)),
        ]

    def measured(self) -> str:
        """How the figure was got, and how far off the last estimate was."""
        figures, error = self.view.figures, self.view.error
        if figures is None:
            return ""
        if figures.measured == "confirmed" and error is not None:
            return self.look.t("gauge.measured_off", error=f"{abs(error):.1f}")
        return self.look.t(f"gauge.{figures.measured}")

    def provenance(self) -> str:
        """Where the window's size comes from, and the reserve."""
        figures = self.view.figures
        if figures is None:
            return self.look.t("gauge.empty")
        source = (
            self.look.t(f"provenance.{figures.provenance}")
            if self.look.strings.has(f"provenance.{figures.provenance}")
            else self.look.line(figures.provenance, 20)
        )
        return self.look.t(
            "gauge.window", window=fmt.size(figures.window), source=source, reserve=fmt.size(figures.output_reserve)
        )

    def outlook(self) -> list[Segment]:
        """``critical in ~21 rounds  +3.1k a round``: the next limit that is not reached; empty without a forecast."""
        palette, ahead = self.look.palette, self.view.forecast
        if ahead is None:
            return []
        limits = (("warning", ahead.to_warning), ("critical", ahead.to_critical), ("full", ahead.to_full))
        name, rounds = next(((n, r) for n, r in limits if r > 0), ("full", 0))
        if not rounds:
            return []
        pace = self.look.t("gauge.pace", tokens=fmt.tokens(ahead.per_round))
        return [
            Segment(self.look.t(f"gauge.forecast_{name}", n=rounds), palette.style(bold=True)),
            Segment(f"  {pace}", palette.style(palette.muted)),
        ]

    # -- drawing ------------------------------------------------------------------------------------------------------
    def bar(self, width: int, *, letters: bool = True) -> Strip:
        """One row of the bar, exactly ``width`` cells: parts of the prompt, what is free, the output reserve."""
        figures = self.view.figures
        if width <= 0:
            return Strip([])
        if figures is None or figures.window <= 0:
            return Strip([self._free(" ") for _ in range(width)]).simplify()
        cells = self._background(figures, width)
        self._place_ticks(figures, cells)
        self._place_parts(figures, cells, letters=letters and width >= LETTERS_FROM)
        return Strip(cells).simplify()

    def _free(self, text: str) -> Segment:
        palette = self.look.palette
        shown = "." if text == " " and (self.look.glyphs.ascii or palette.no_color) else text
        return Segment(shown, palette.style(palette.text, palette.gauge["free"]))

    def _background(self, figures: ContextFigures, width: int) -> list[Segment]:
        palette = self.look.palette
        reserve = Segment(self.look.glyphs.reserve, palette.style(palette.muted, palette.base))
        edge = min(width, round(figures.budget / figures.window * width))
        return [self._free(" ") for _ in range(edge)] + [reserve] * (width - edge)

    def _place_ticks(self, figures: ContextFigures, cells: list[Segment]) -> None:
        for percent in _ticks(figures, len(cells)):
            at = _column(figures, percent, len(cells))
            if 0 <= at < len(cells):
                cells[at] = self._free(self.look.glyphs.mark)

    def _place_parts(self, figures: ContextFigures, cells: list[Segment], *, letters: bool) -> None:
        palette, width = self.look.palette, len(cells)
        plain = self.look.glyphs.ascii or palette.no_color
        at = 0
        for kind, edge in _edges(figures, width):
            color = palette.gauge.get(kind, palette.gauge["results"])
            letter = KIND_LETTERS.get(kind, "+")
            style = palette.style(palette.ink(color), color, bold=True)
            for cell in range(at, min(edge, width)):
                cells[cell] = Segment(letter if plain or (letters and cell == at) else " ", style)
            at = max(at, edge)
        if figures.used > figures.window:
            cells[-1] = Segment(">", palette.style(palette.ink(palette.crit), palette.crit, bold=True))

    def labels(self, width: int) -> list[Segment]:
        """The row below the bar, ``width`` cells: each label's pointer stands under its tick."""
        figures = self.view.figures
        if figures is None or figures.window <= 0:
            return []
        placed = _place_labels(figures, width, self._label_texts(figures, width))
        out: list[Segment] = []
        at = 0
        for column, text, style in placed:
            out += [Segment(" " * (column - at)), Segment(text, style)]
            at = column + len(text)
        return out

    def _label_texts(self, figures: ContextFigures, width: int) -> list[tuple[int, str, Style]]:
        palette, glyphs = self.look.palette, self.look.glyphs
        out = []
        for percent in _ticks(figures, width):
            if percent == 90:
                out.append((percent, f"{glyphs.critical}90", palette.style(palette.crit, bold=True)))
            elif percent == figures.warning_percent:
                out.append((percent, f"{glyphs.warning_tick}{percent}", palette.style(palette.warn, bold=True)))
            else:
                out.append((percent, f"{glyphs.tick}{percent}", palette.style(palette.muted)))
        return out

    def soft_mark(self, width: int) -> list[Segment]:
        """The row above the bar: where 200k lies, inside a larger window; else empty."""
        figures = self.view.figures
        if figures is None or figures.window <= SOFT_LIMIT or figures.budget <= SOFT_LIMIT:
            return []
        palette = self.look.palette
        text = self.look.t("gauge.soft", limit=fmt.size(SOFT_LIMIT))
        mark = [
            Segment(self.look.glyphs.open, palette.style(palette.warn)),
            Segment(text, palette.style(palette.muted)),
        ]
        column = round(SOFT_LIMIT / figures.window * width)
        column = max(0, min(column, width - segments_width(mark)))
        return [Segment(" " * column), *mark]

    def legend(self, width: int) -> list[list[Segment]]:
        """The parts, largest first, in two columns (one below 34 cells); parts of nothing are left out."""
        figures = self.view.figures
        if figures is None:
            return []
        kinds = sorted(((k, n) for k, n in figures.parts.items() if n > 0), key=lambda pair: -pair[1])
        columns = 2 if width >= LABELS_FROM else 1
        cell = (width - 4 * (columns - 1)) // columns
        rows: list[list[Segment]] = []
        for at in range(0, len(kinds), columns):
            parts: list[Segment] = []
            for kind, count in kinds[at : at + columns]:
                parts += [Segment("    ")] if parts else []
                parts += self._legend_cell(kind, count, cell)
            rows.append(parts)
        return rows

    def _legend_cell(self, kind: str, count: int, width: int) -> list[Segment]:
        palette = self.look.palette
        color = palette.gauge.get(kind, palette.gauge["results"])
        name = self.look.t(f"kind.{kind}") if self.look.strings.has(f"kind.{kind}") else self.look.line(kind, 12)
        swatch = Segment(KIND_LETTERS.get(kind, "+"), palette.style(palette.ink(color), color, bold=True))
        left = [swatch, Segment(f" {name}", palette.style(palette.muted))]
        strip = row(
            left, [Segment(fmt.tokens(count), palette.style(palette.text))], width, Style(), self.look.glyphs.cut
        )
        return list(strip)


def chip(look: Look, text: str, color: str) -> Segment:
    """A filled word; without colours it is reversed."""
    return Segment(text, look.palette.style(look.palette.ink(color), color, bold=True, reverse=True))


def _uncertain(figures: ContextFigures) -> bool:
    return figures.measured == "estimated" or figures.provenance == "unknown_fallback"


def _edges(figures: ContextFigures, width: int) -> list[tuple[str, int]]:
    """Right edge of each part in cells: rounded cumulative sums, so that the whole never drifts."""
    kinds = [kind for kind in (*GAUGE_KINDS, "unattributed") if figures.parts.get(kind, 0) > 0]
    kinds += [kind for kind in figures.parts if kind not in kinds and figures.parts[kind] > 0]
    sums = accumulate(figures.parts[kind] for kind in kinds)
    return [(kind, round(total / figures.window * width)) for kind, total in zip(kinds, sums, strict=True)]


def _column(figures: ContextFigures, percent: int, width: int) -> int:
    return round(figures.budget * percent / 100 / figures.window * width)


def _ticks(figures: ContextFigures, width: int) -> list[int]:
    """Percents that are marked at this width: all four, or only the warning and the critical one."""
    if width >= LABELS_FROM:
        return sorted({*TICKS, figures.warning_percent})
    return sorted({figures.warning_percent, 90})


def _place_labels(
    figures: ContextFigures, width: int, labels: list[tuple[int, str, Style]]
) -> list[tuple[int, str, Style]]:
    """Columns for the labels that fit without touching; critical and warning come first. The critical one may slip one
    cell to the right where that makes room for another.
    """
    rank = {90: 0, figures.warning_percent: 1}
    ranked = sorted(labels, key=lambda item: (rank.get(item[0], 2), -item[0]))
    return max((_placed(figures, width, ranked, slip) for slip in (0, 1)), key=len)


def _placed(
    figures: ContextFigures, width: int, ranked: list[tuple[int, str, Style]], slip: int
) -> list[tuple[int, str, Style]]:
    placed: list[tuple[int, str, Style]] = []
    for percent, text, style in ranked:
        at = _column(figures, percent, width) + (slip if percent == 90 else 0)
        end = at + len(text)
        if end <= width and all(end < a or at > a + len(other) for a, other, _ in placed):
            placed.append((at, text, style))
    return sorted(placed, key=lambda item: item[0])
