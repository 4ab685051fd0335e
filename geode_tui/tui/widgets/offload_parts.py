"""How the Offloads tab is laid out: the list, and below it or in its place the result under the cursor."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal, TypeAlias

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.offload_data import OffloadData
from geode_tui.tui.widgets.offload_rows import OffloadLines
from geode_tui.tui.widgets.offload_view import READING_S, OffloadView, seen_text

Part: TypeAlias = Literal["list", "view"]
BOTH_FROM = 22
"""Rows of the pane from which the viewer stands below the list; below that it takes its place."""


class OffloadParts(OffloadData):
    """See the module."""

    part: Part = "list"
    full = False
    """Whether the result has the whole pane."""
    _top = 0
    _head = 0
    """Rows above the list."""
    _low = 0
    """The row in which the viewer begins."""

    def build(self, size: Size) -> list[Strip]:
        """The list, and below it the result; where there is no room for both, the part that keys work."""
        if self.view != self._made_of and not self._reading:
            self.call_later(self._renew)  # it was hidden, for a moment, when it wanted to read
        alone = self.part == "view" and (self.full or size.height < BOTH_FROM)
        self._low = 0 if alone else size.height
        if alone and self.rows:
            return self._result(size)
        if size.height < BOTH_FROM or not self.rows:
            return self._list(size)
        high = min(len(self.rows) + 5, size.height // 3)
        upper = self._list(Size(size.width, high))
        self._low = high + 1
        return [*upper, *[self._row(size.width)] * (self._low - len(upper)), *self._result(self._below(size))]

    def _below(self, size: Size) -> Size:
        return Size(size.width, size.height - self._low)

    def _result(self, size: Size) -> list[Strip]:
        """The result under the cursor; what it lacks is asked for."""
        one = self.selected
        assert one is not None
        self.call_later(self.open_selected)
        found = self.page is not None and self.page.found is not None
        typing = bool(self.field.purpose)
        room = OffloadView.room(Size(size.width, size.height - typing), found=found)
        if self._room != room:
            self._room = room
            self.call_later(self.ask, lambda viewer: viewer.resize(*room))
        opened = self.opened if self.opened is not None and self.opened.ref_id == one.ref_id else None
        page = self.page if opened is not None else None
        focused = self.has_focus and self.part == "view"
        trouble = self.view_trouble if opened is not None else ""
        seen = seen_text(opened.seen, self.look) if opened is not None and opened.raw is not None else ""
        drawn = OffloadView(self.look, size, focused, one, seen, page, trouble)
        return drawn.build()

    def _list(self, size: Size) -> list[Strip]:
        """Heading, filter, column names, a window of rows, and how many more there are."""
        head = [self._heading(size.width)]
        if self.wanted:
            warn = self.look.palette.style(self.look.palette.warn, bold=True)
            head.append(self._row(size.width, [Segment(f"/ {self.look.line(self.wanted, 60)}", warn)]))
        if not self.rows:
            return [*head, self._row(size.width), *(self._row(size.width, [Segment(t)]) for t in self._nothing())]
        lines = OffloadLines(self.look, size.width, self._lit, self.source.clock())
        head.append(lines.heads())
        self._head = len(head)
        room = max(1, size.height - len(head) - (1 if self.field.display and self._low == self.size.height else 0))
        more = len(self.rows) > room > 2
        room -= more
        self._top = max(0, min(self._top, self._at, len(self.rows) - room), self._at - room + 1)
        window = range(self._top, min(len(self.rows), self._top + room))
        self.call_later(self.look_into, self.rows[window.start : window.stop])
        out = head + [lines.line(self.shown(i), selected=i == self._at) for i in window]
        left = len(self.rows) - window.stop
        if more and left:
            text = f"  {self.look.t('offload.more', n=fmt.number(left))}"
            out.append(self._row(size.width, [Segment(text, self.look.palette.style(self.look.palette.muted))]))
        return out

    @property
    def _lit(self) -> bool:
        """Whether keys work the list."""
        return (self.has_focus and self.part == "list") or self.field.typing

    def _row(self, width: int, left: Sequence[Segment] = (), right: Sequence[Segment] = ()) -> Strip:
        return row(left, right, width, self.plane, self.look.glyphs.cut, margin=1)

    def _nothing(self) -> Sequence[str]:
        t = self.look.t
        if self.trouble:
            return (self.look.line(self.trouble),)
        if self._reading or self._made_of is None:
            slow = self._reading and time.monotonic() - self._read_since >= READING_S
            return (t("offload.reading"),) if slow else ()
        return (t("offload.none"),) if self.wanted else (t("offload.empty"), t("offload.empty_next"))

    def _heading(self, width: int) -> Strip:
        palette, t = self.look.palette, self.look.t
        muted = palette.style(palette.muted)
        underline = self.has_focus and self.part == "list"
        left = [
            Segment(t("tab.offloads"), palette.style(palette.accent, bold=True, underline=underline)),
            Segment(f" {fmt.number(len(self.rows))}"),
        ]
        if self.table.kept_out:
            out = fmt.tokens(self.table.kept_out)
            left += [Segment(f"  {t('offload.kept_out')} ", muted), Segment(f"{out} tok", palette.style(bold=True))]
        if self.table.set_aside:
            aside = t("offload.set_aside", n=fmt.number(self.table.set_aside))
            left.append(Segment(f"  {aside}", palette.style(palette.warn)))
        if self.trouble and self.rows:
            left.append(Segment(f"  {self.look.line(self.trouble)}", palette.style(palette.crit)))
        return self._row(width, left, [Segment(t(f"offload.by_{self.order}"), muted)])
