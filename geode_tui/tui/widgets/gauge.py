"""The context gauge (SCREENS.md 5): lines for the side column, and the bar alone for the strip and lists."""

from __future__ import annotations

from itertools import accumulate

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.core.events import ContextFigures
from geode_tui.tui.cells import width_of
from geode_tui.tui.look import Look
from geode_tui.tui.palette import GAUGE_KINDS, KIND_LETTERS
from geode_tui.tui.rows import fit, row
from geode_tui.tui.widgets.plots import thin_bar
from geode_tui.view.forecast import Forecast
from geode_tui.view.gauge import (
    kind_name,
    known,
    level_of,
    measured_text,
    of_text,
    outlook_texts,
    parts_of,
    percent_text,
    provenance_text,
)
from geode_tui.view.selectors import Level

SOFT_LIMIT = 200_000
"""Tokens above which tidying up is preferred (RUNTIME.md 2.4); marked only inside a larger window."""
TICKS = (50, 70, 80, 90)
LABELS_FROM, LETTERS_FROM, BAR_FROM = 34, 18, 9
"""Least widths of a bar with all labels, of one with letters, and of a bar at all."""


class GaugeView(msgspec.Struct, frozen=True):
    """What the gauge shows. ``figures`` is None before the first request; ``error`` is the last estimate's, percent."""

    figures: ContextFigures | None
    error: float | None = None
    forecast: Forecast | None = None
    flash: bool = False
    """Whether a limit was crossed just now."""
    upkeep: str = ""
    """What the window's upkeep does now; it stands in the forecast's place."""


class Gauge(msgspec.Struct, frozen=True):
    """The gauge's parts for one view and look."""

    view: GaugeView
    look: Look

    # -- words --------------------------------------------------------------------------------------------------------
    def percent(self) -> str:
        """See `view.gauge.percent_text`."""
        return percent_text(self.view.figures)

    def level(self) -> Level | None:
        """The state, None when not known."""
        return level_of(self.view.figures)

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
            mark = chip(self.look, word, color, filled=self.view.flash and level != "ok")
            return [figure, Segment("  "), mark]
        return [figure, Segment("  "), chip(self.look, f" {word} ", color, filled=not self.view.flash)]

    def amount(self) -> list[Segment]:
        """``264.9k of 367.2k``."""
        palette, figures = self.look.palette, self.view.figures
        if figures is None:
            return []
        return [
            Segment(fmt.tokens(figures.used), palette.style(bold=True)),
            Segment(f" {of_text(figures, self.look.strings)}", palette.style(palette.muted)),
        ]

    def measured(self) -> str:
        """See `view.gauge.measured_text`."""
        return measured_text(self.view.figures, self.view.error, self.look.strings)

    def provenance(self) -> str:
        """See `view.gauge.provenance_text`."""
        return provenance_text(self.view.figures, self.look.strings)

    def outlook(self, width: int) -> list[Segment]:
        """What the window's upkeep does; else the next limit that is not reached, and the pace where ``width`` cells
        have room for it; empty without a forecast.
        """
        palette = self.look.palette
        if self.view.upkeep:
            return [Segment(self.view.upkeep, palette.style(palette.accent, bold=True))]
        what, pace = outlook_texts(self.view.forecast, self.look.strings)
        if not what:
            return []
        return fit([[Segment(what, palette.style(bold=True))], [Segment(pace, palette.style(palette.muted))]], width)

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
        shown = "." if text == " " and self.look.flat else text
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
        plain = self.look.flat
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

    def marks(self, width: int) -> list[Segment]:
        """The row above the bar: where the soft limit and the bounds of prices lie inside the window. A mark whose
        words would reach the next one keeps its figure only, or nothing but its pointer.
        """
        marks = self._marks(width)
        out: list[Segment] = []
        at = 0
        for number, (column, texts, style) in enumerate(marks):
            room = (marks[number + 1][0] - 1 if number + 1 < len(marks) else width) - column - 1
            text = next((each for each in texts if width_of(each) <= room), "")
            out += [Segment(" " * (column - at)), Segment(self.look.glyphs.open, style)]
            out += [Segment(text, self.look.palette.style(self.look.palette.muted))] if text else []
            at = column + 1 + width_of(text)
        return out

    def _marks(self, width: int) -> list[tuple[int, tuple[str, ...], Style]]:
        """(column, words from the longest on, style of the pointer), from left to right, each in a cell of its own."""
        figures, palette, t = self.view.figures, self.look.palette, self.look.t
        if figures is None or figures.window <= 0:
            return []
        wanted = [(tokens, "gauge.tier", palette.warn) for tokens in figures.price_tiers if tokens < figures.budget]
        if figures.window > SOFT_LIMIT and figures.budget > SOFT_LIMIT:
            wanted.append((SOFT_LIMIT, "gauge.soft", palette.warn))
        made: list[tuple[int, tuple[str, ...], Style]] = []
        edge = width
        for tokens, key, color in sorted(wanted, reverse=True):
            size = fmt.size(tokens)
            texts = (t(key, limit=size), size)
            column = min(round(tokens / figures.window * width), edge - 1)
            if not made:  # nothing stands behind it: it may begin earlier so that all of it fits
                column = min(column, width - 1 - width_of(texts[0]))
            if column < 0:
                continue
            made.insert(0, (column, texts, palette.style(color)))
            edge = column
        return made

    def thin(self, width: int) -> list[Segment]:
        """As a row of dots, for lists and where a bar has no room: filled by percent of the budget."""
        figures = known(self.view.figures)
        if figures is None:
            return [Segment(" " * width)]
        return thin_bar(self.look, figures.used, figures.budget, width)

    def legend(self, width: int) -> list[list[Segment]]:
        """The parts, largest first, in two columns (one below 34 cells); parts of nothing are left out."""
        figures = self.view.figures
        if figures is None:
            return []
        kinds = parts_of(figures)
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
        name = kind_name(kind, self.look.strings)
        swatch = Segment(KIND_LETTERS.get(kind, "+"), palette.style(palette.ink(color), color, bold=True))
        left = [swatch, Segment(f" {name}", palette.style(palette.muted))]
        strip = row(
            left, [Segment(fmt.tokens(count), palette.style(palette.text))], width, Style(), self.look.glyphs.cut
        )
        return list(strip)


def chip(look: Look, text: str, color: str, *, filled: bool = True) -> Segment:
    """A filled word, which without colours is reversed; one that is not ``filled`` is bold in the same colour."""
    if not filled:
        return Segment(text, look.palette.style(color, bold=True))
    return Segment(text, look.palette.style(look.palette.ink(color), color, bold=True, reverse=True))


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
    cell where that makes room for another, or for itself.
    """
    rank = {90: 0, figures.warning_percent: 1}
    ranked = sorted(labels, key=lambda item: (rank.get(item[0], 2), -item[0]))
    slipped = [_placed(figures, width, ranked, slip) for slip in (0, 1, -1)]
    return max(slipped, key=lambda placed: (len(placed), any(text.endswith("90") for _, text, _ in placed)))


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
