"""A run's lines in a list: its row, whose age stands apart because it changes by itself, and the reason below it."""

from __future__ import annotations

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from geode_tui.core.events import ContextFigures
from geode_tui.tui.cells import cut_end, pad, segments_width
from geode_tui.tui.home_rows import HomeRow, cost, mark, word
from geode_tui.tui.look import Look
from geode_tui.tui.rows import GAP, row
from geode_tui.tui.widgets.gauge import Gauge, GaugeView

INDENT = 4
LEAST_TITLE = 12
"""Cells that a title keeps before columns leave."""
ROUNDS, BAR, PERCENT, COST, AGE = 5, 6, 9, 9, 10
"""Widths of the columns."""
STAY = (2, 3, 0, 1)
"""Columns in the order in which they keep their place, after the age: percent, cost, rounds, bar."""


class RunLine(msgspec.Struct, frozen=True):
    """How a run's lines are drawn. ``words`` is the width of the state words, 0 where there is room for symbols only;
    ``lit`` when keys work the list, ``marked`` when the person has marked it.
    """

    look: Look
    width: int
    words: int
    chosen: bool
    lit: bool
    marked: bool = False

    @property
    def age_width(self) -> int:
        """Cells at the end of the row that the age takes, 0 where there is no room for it."""
        wanted = GAP + AGE + 1
        words = self.words + GAP if self.words else 0
        return wanted if self.width >= INDENT + words + LEAST_TITLE + wanted else 0

    def body(self, one: HomeRow) -> Strip:
        """The row up to the age."""
        palette, glyphs = self.look.palette, self.look.glyphs
        width = self.width - self.age_width
        symbol, color = mark(one, self.look)
        pin = Segment(glyphs.pinned if self.marked else " ", palette.style(palette.accent, bold=True))
        left = [self._bar(), pin, Segment(pad(symbol, 2), palette.style(color, bold=True))]
        room = width - INDENT - LEAST_TITLE
        if self.words:
            text = pad(word(one, self.look), self.words + GAP)
            left.append(Segment(text, self._dim if one.group == "ended" else None))
            room -= self.words + GAP
        title = self.look.line(one.run.title) or self.look.t("header.untitled")
        left.append(Segment(title, palette.style(bold=True)))
        return row(left, self._columns(one, room) if self.age_width else [], width, self._fill, glyphs.cut)

    def age(self, text: str) -> Strip:
        """The end of the row."""
        cell = pad(cut_end(text, AGE, self.look.glyphs.cut), self.age_width - 1, right=True)
        return Strip([Segment(f"{cell} ", self._fill + self._dim)], self.age_width)

    def reason(self, text: str, *, loud: bool) -> Strip:
        """The line below the row."""
        palette = self.look.palette
        style = palette.style(palette.accent, bold=True) if loud else self._dim
        cells = [self._bar(), Segment(" " * (INDENT - 1)), Segment(text, style)]
        return row(cells, [], self.width, self._fill, self.look.glyphs.cut)

    @property
    def _fill(self) -> Style:
        palette = self.look.palette
        if not self.chosen:
            return palette.style(palette.text, palette.base)
        return palette.style(palette.text, palette.select if self.lit else palette.panel, reverse=self.lit)

    @property
    def _dim(self) -> Style:
        palette = self.look.palette
        return palette.style(palette.text if self.chosen and self.lit else palette.muted)

    def _bar(self) -> Segment:
        palette, glyphs = self.look.palette, self.look.glyphs
        if not (self.chosen and self.lit):
            return Segment(" ")
        return Segment(
            glyphs.prompt if glyphs.ascii else " ", palette.style(palette.base, palette.accent, reverse=True)
        )

    def _columns(self, one: HomeRow, room: int) -> list[Segment]:
        """Rounds, bar, percent and cost, less those that must leave."""
        state = one.run.state
        rounds = self.look.t("round.column", n=state.rounds_total) if state and state.rounds_total else ""
        figures = state.context if state else None
        bar = Gauge(GaugeView(figures), self.look).thin(BAR)
        money = cut_end(cost(one, self.look), COST, self.look.glyphs.cut)
        columns = [
            [Segment(pad(rounds, ROUNDS, right=True), self._dim)],
            bar,
            [self._percent(figures)],
            [Segment(pad(money, COST, right=True))],
        ]
        kept = []
        for index in STAY:
            room -= GAP + segments_width(columns[index])
            if room < 0:
                break
            kept.append(index)
        return [part for i in sorted(kept) for part in (Segment(" " * GAP), *columns[i])]

    def _percent(self, figures: ContextFigures | None) -> Segment:
        palette, glyphs = self.look.palette, self.look.glyphs
        gauge = Gauge(GaugeView(figures), self.look)
        color, symbol = {
            "warning": (palette.warn, glyphs.warning),
            "critical": (palette.crit, glyphs.critical),
            "over": (palette.crit, glyphs.over),
        }.get(gauge.level() or "", ("", ""))
        text = gauge.percent() if figures else glyphs.none
        cell = f"{pad(text, PERCENT - 3, right=True)} {pad(symbol, 2)}"
        return Segment(cell, palette.style(color, bold=bool(color)))
