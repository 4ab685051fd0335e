"""How the versions of a run's view are drawn: a row each, with what was done, what it won, and how it stands."""

from __future__ import annotations

import msgspec
from rich.segment import Segment
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import pad, segments_width, width_of
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.view.version_words import number_text, what_text, why_text
from geode_tui.view.versions import VersionRow

COST_FROM, MARK_FROM, SIZES_FROM, ROUND_FROM = 72, 56, 44, 36
"""Cells of the pane from which a column is there."""
_COST, _ROUND, _SIZE = 9, 5, 7


class VersionLines(msgspec.Struct, frozen=True):
    """Draws rows of ``width`` cells; ``focused`` when keys work the list. ``number`` is how wide the first column is,
    ``newest`` the number of the active version.
    """

    look: Look
    width: int
    focused: bool
    number: int
    newest: int

    def line(self, version: VersionRow, *, selected: bool) -> Strip:
        """One version."""
        palette, glyphs = self.look.palette, self.look.glyphs
        lit = selected and self.focused
        entry, dim = version.newest, palette.text if lit else palette.muted
        text = dim if entry.taken_back else palette.text
        bar = Segment(" ")
        if lit:
            style = palette.style(palette.base, palette.accent, reverse=True)
            bar = Segment(glyphs.prompt if glyphs.ascii else " ", style)
        number = pad(number_text(version), self.number)
        cells = [bar, Segment(f" {number} ", palette.style(text, bold=not entry.taken_back))]
        if self.width >= ROUND_FROM:
            at = self.look.t("round.column", n=entry.round) if entry.round else glyphs.none
            cells.append(Segment(f"{pad(at, _ROUND, right=True)} ", palette.style(dim)))
        right = [*self._sizes(version, dim), *self._cost(version, dim), *self._mark(version, dim)]
        cells.append(Segment(what_text(version, self.look.strings), palette.style(text)))
        why = f"  {why_text(entry, self.look.strings)}".rstrip()
        if segments_width([*cells, *right]) + width_of(why) < self.width - 2:
            cells.append(Segment(why, palette.style(dim)))
        fill = palette.style(palette.text, palette.base)
        if selected:
            fill = palette.style(palette.text, palette.select if self.focused else palette.panel, reverse=lit)
        return row(cells, right, self.width, fill, glyphs.cut, margin=1)

    def _sizes(self, version: VersionRow, dim: str) -> list[Segment]:
        """``283.0k -> 264.9k``; blank where nothing became shorter or longer."""
        if self.width < SIZES_FROM:
            return []
        arrow = f" {self.look.glyphs.arrow} "
        before, after = version.before, version.newest.after
        if before == after:
            return [Segment(" " * (2 * _SIZE + width_of(arrow)))]
        style = self.look.palette.style(dim)
        return [
            Segment(pad(fmt.tokens(before), _SIZE, right=True), style),
            Segment(arrow, style),
            Segment(pad(fmt.tokens(after), _SIZE, right=True), style),
        ]

    def _cost(self, version: VersionRow, dim: str) -> list[Segment]:
        if self.width < COST_FROM:
            return []
        cost = version.newest.cost_micro
        text = self.look.t("cost.unpriced_short") if cost is None else fmt.money(cost) if cost else ""
        return [Segment(pad(text, _COST, right=True), self.look.palette.style(dim))]

    def _mark(self, version: VersionRow, dim: str) -> list[Segment]:
        """Which one is active, and which do not hold."""
        if self.width < MARK_FROM:
            return []
        palette, t = self.look.palette, self.look.t
        undone, current = f"{self.look.glyphs.undo} {t('versions.taken_back')}", t("versions.current")
        width = 1 + max(width_of(undone), width_of(current))
        entry = version.newest
        if entry.number == self.newest:
            return [Segment(pad(current, width, right=True), palette.style(palette.accent, bold=True))]
        return [Segment(pad(undone if entry.taken_back else "", width, right=True), palette.style(dim))]
