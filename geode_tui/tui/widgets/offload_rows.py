"""How stored results are drawn: a row each, with what it is of, its size, and how long it stays."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import cut_end, cut_front, pad, segments_width, width_of
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.view.offloads import OffloadRow

BYTES_FROM, AGE_FROM, USED_FROM, STAY_FROM = 90, 64, 56, 46
"""Cells of the pane from which a column is there (SCREENS.md 6: bytes go first)."""
_REF, _TOOL, _TOKENS, _BYTES, _AGE, _USED = 12, 14, 8, 9, 8, 5
_STAYS = ("offload.pinned", "offload.referenced", "offload.gone", "offload.damaged", "offload.expired")


class OffloadLines(msgspec.Struct, frozen=True):
    """Draws rows of ``width`` cells at the time ``now`` (epoch seconds); ``focused`` when keys work the list."""

    look: Look
    width: int
    focused: bool
    now: float

    @property
    def _columns(self) -> Mapping[str, int]:
        """Cells of each column that there is room for, in their order."""
        stay = 2 + max(width_of(self.look.t(key)) for key in (*_STAYS, "offload.stays"))
        wanted = (
            ("tokens", _TOKENS, 0),
            ("bytes", _BYTES, BYTES_FROM),
            ("age", _AGE, AGE_FROM),
            ("stays", stay, STAY_FROM),
            ("used", _USED, USED_FROM),
        )
        return {name: cells for name, cells, least in wanted if self.width >= least}

    def heads(self) -> Strip:
        """The names of the columns."""
        t, muted = self.look.t, self.look.palette.style(self.look.palette.muted)
        left = [Segment(f" {pad(t('offload.ref'), _REF)} {t('offload.tool')}", muted)]
        names = "".join(
            pad(cut_end(t(f"offload.{name}"), n - 1, ""), n, right=True) for name, n in self._columns.items()
        )
        return self._row(left, [Segment(names, muted)], self._plane())

    def line(self, one: OffloadRow, *, selected: bool) -> Strip:
        """One result."""
        palette, glyphs = self.look.palette, self.look.glyphs
        lit = selected and self.focused
        dim = palette.style(palette.text if lit else palette.muted)
        bar = Segment(glyphs.prompt if glyphs.ascii else " ", palette.style(palette.base, palette.accent, reverse=True))
        right = [
            Segment(pad(cut_end(text, cells - 1, glyphs.cut), cells, right=True), style)
            for (name, cells), (text, style) in (
                (column, self._cell(column[0], one, dim)) for column in self._columns.items()
            )
        ]
        ref = pad(cut_front(self.look.line(one.ref_id, 128), _REF, glyphs.cut), _REF)
        room = max(0, self.width - 5 - _REF - segments_width(right))
        left = [
            bar if lit else Segment(" "),
            Segment(f"{ref} ", palette.style(palette.info)),
            *self._what(one, room, dim),
        ]
        fill = self._plane()
        if selected:
            fill = palette.style(palette.text, palette.select if self.focused else palette.panel, reverse=lit)
        return self._row(left, right, fill)

    def _what(self, one: OffloadRow, room: int, dim: Style) -> list[Segment]:
        """The tool, and what its call was about where there is room for it."""
        palette, cut = self.look.palette, self.look.glyphs.cut
        name = self.look.line(one.tool, 60) or self.look.glyphs.none
        tool = cut_end(name, min(room, _TOOL), cut)
        left = room - _TOOL - 1
        if not one.about or left < 4:
            return [Segment(cut_end(name, room, cut), palette.style(palette.text, bold=True))]
        about = cut_end(self.look.line(one.about, 160), left, cut)
        return [Segment(pad(tool, _TOOL + 1), palette.style(palette.text, bold=True)), Segment(about, dim)]

    def _cell(self, column: str, one: OffloadRow, dim: Style) -> tuple[str, Style]:
        palette, none = self.look.palette, self.look.glyphs.none
        match column:
            case "tokens":
                text = fmt.tokens(one.tokens) if one.tokens else none
                return (f"~{text}" if one.extrapolated else text), palette.style(palette.text, bold=True)
            case "bytes":
                return (fmt.size_bytes(one.bytes) if one.bytes is not None else none), dim
            case "age":
                return (self._age(self.now - one.at) if one.at else none), dim
            case "used":
                return (f"{fmt.number(one.recalls)}x" if one.recalls else none), dim
        text, color = self.stays(one)
        return text, palette.style(color) if color else dim

    def stays(self, one: OffloadRow) -> tuple[str, str]:
        """How long the result stays, and the colour of that where it has one of its own."""
        palette, glyphs, t = self.look.palette, self.look.glyphs, self.look.t
        if one.standing != "stored":
            return f"{glyphs.failed} {t(f'offload.{one.standing}')}", palette.crit
        if one.pinned:
            return f"{glyphs.pinned} {t('offload.pinned')}", palette.accent
        if one.referenced:
            return t("offload.referenced"), ""
        if one.expires_at is None:
            return glyphs.none, ""
        left = one.expires_at - self.now
        return (fmt.hours(left), "") if left > 0 else (t("offload.expired"), palette.warn)

    def _age(self, seconds: float) -> str:
        if seconds < 3_600:
            return fmt.short_clock(seconds)
        hours = int(seconds) // 3_600
        return self.look.t("offload.hours", n=hours) if hours < 48 else self.look.t("offload.days", n=hours // 24)

    def _plane(self) -> Style:
        return self.look.palette.style(self.look.palette.text, self.look.palette.base)

    def _row(self, left: list[Segment], right: list[Segment], fill: Style) -> Strip:
        return row(left, right, self.width, fill, self.look.glyphs.cut, margin=1)
