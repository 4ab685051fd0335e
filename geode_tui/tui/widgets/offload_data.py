"""What the Offloads tab shows, and how it is read: in threads, while the tab is shown, and no more than is seen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import msgspec

from geode_tui.tui.look import Look
from geode_tui.tui.source import OpenedOffload, SourceError
from geode_tui.tui.viewer.viewer import Page, Viewer
from geode_tui.tui.widgets.field import Asking
from geode_tui.tui.widgets.offload_view import READING_S
from geode_tui.tui.widgets.tab_pane import TabPane
from geode_tui.view.offloads import OffloadRow, OffloadTable, Order, arranged, matches
from geode_tui.view.state import RunState

PROGRESS_S = 0.2
"""Seconds between two paints of how far something is that takes long."""


class OffloadReader(Protocol):
    """What the tab needs of `tui.source.RunSource`. All but `clock` may block, and raise `SourceError`."""

    def offloads(self) -> OffloadTable:
        """All stored results, the newest first; their files were not looked into."""
        ...

    def offload_files(self, rows: Sequence[OffloadRow]) -> tuple[OffloadRow, ...]:
        """``rows`` with what their files say."""
        ...

    def open_offload(self, ref_id: str) -> OpenedOffload:
        """A stored result to look at."""
        ...

    def clock(self) -> float:
        """UTC epoch seconds."""
        ...


class OffloadsView(msgspec.Struct, frozen=True):
    """What the table depends on: the last event that told of stored results, the version of the view, and the last
    command that was carried out, which may have been to pin one.
    """

    touched: int = 0
    version: int = 0
    command: str = ""

    @classmethod
    def of(cls, state: RunState) -> OffloadsView:
        """What the tab shows of ``state``."""
        return cls(state.offloads_touched, state.view_version, state.outcomes[-1].key if state.outcomes else "")


class OffloadData(Asking, TabPane):
    """See the module."""

    def __init__(self, look: Look, source: OffloadReader, *, id: str) -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self.source = source
        self.view = OffloadsView()
        self.table = OffloadTable()
        self.rows: tuple[OffloadRow, ...] = ()
        """The rows that the filter lets through, in their order."""
        self.order: Order = "newest"
        self.wanted = ""
        self.trouble = ""
        """Why the table could not be read."""
        self.page: Page | None = None
        """The page of the result that is open."""
        self.opened: OpenedOffload | None = None
        self.view_trouble = ""
        """Why the result could not be opened."""
        self._files: dict[str, OffloadRow] = {}
        """Rows whose files were looked into."""
        self._window: Sequence[OffloadRow] = ()
        """The rows in view."""
        self._made_of: OffloadsView | None = None
        self._reading = False
        self._read_since = 0.0
        self._looking = False
        self._viewer: Viewer | None = None
        self._opening = ""
        """The reference that is being opened."""
        self._room = (80, 1)
        """Cells and rows of a page."""
        self._orders: list[Callable[[Viewer], None]] = []
        self._working = False
        self._at = 0

    @property
    def reading(self) -> bool:
        """Whether something that it shows is being read."""
        return self._reading or self._looking or bool(self._opening) or self._working

    @property
    def selected(self) -> OffloadRow | None:
        """The result under the cursor."""
        return self.shown(self._at) if self.rows else None

    def shown(self, index: int) -> OffloadRow:
        """A row with what its file says, once that was read."""
        row = self.rows[index]
        return self._files.get(row.ref_id, row)

    # -- the table ----------------------------------------------------------------------------------------------------
    def show_state(self, state: RunState) -> None:
        """Take a newer state."""
        view = OffloadsView.of(state)
        if view != self.view:
            self.view = view
            self._renew()

    def on_show(self) -> None:
        """Catch up with what came while another tab was shown."""
        self._renew()
        self.ask()

    def _renew(self) -> None:
        if self.display and not self._reading and self.view != self._made_of:
            self._reading, self._read_since = True, time.monotonic()
            self.set_timer(READING_S, self.repaint)
            self.run_worker(self._read_table(), group="offloads", exclusive=True)

    async def _read_table(self) -> None:
        try:
            while self.display and self.view != self._made_of:
                view = self.view
                seen = {row.ref_id for row in self._window}
                self.table, files = await asyncio.to_thread(self._table_and_files, seen)
                self._files = {row.ref_id: row for row in files}
                self._made_of, self.trouble = view, ""
                self._arrange()
                await self._see_again()
        except SourceError as error:
            self.trouble = str(error)
            self._made_of = self.view
        finally:
            self._reading = False
        self.repaint()

    def _table_and_files(self, seen: Collection[str]) -> tuple[OffloadTable, tuple[OffloadRow, ...]]:
        """The table, and those of its rows that are in view with what their files say."""
        table = self.source.offloads()
        return table, self.source.offload_files([row for row in table.rows if row.ref_id in seen])

    async def _see_again(self) -> None:
        """What the model sees of the result that is open may be something else now."""
        before = self.opened
        if before is not None and before.raw is not None:
            try:
                now = await asyncio.to_thread(self.source.open_offload, before.ref_id)
            except SourceError:
                return  # its file has left; what was opened can be read on
            if self.opened is before:
                self.opened = msgspec.structs.replace(before, seen=now.seen)

    def _arrange(self) -> None:
        """Filter and sort anew; the cursor stays on its result."""
        chosen = self.rows[self._at].ref_id if self.rows else ""
        self.rows = arranged((row for row in self.table.rows if matches(row, self.wanted)), self.order)
        same = (i for i, row in enumerate(self.rows) if row.ref_id == chosen)
        self._at = next(same, max(0, min(self._at, len(self.rows) - 1))) if self._at else 0
        self.repaint()

    def look_into(self, rows: Sequence[OffloadRow]) -> None:
        """Read the files of those of ``rows`` that were not looked into."""
        self._window = rows
        lacking = [row for row in rows if row.ref_id not in self._files]
        if lacking and not self._looking and not self.trouble:
            self._looking = True
            self.run_worker(self._look_into(lacking), group="offload-files", exclusive=True)

    async def _look_into(self, rows: Sequence[OffloadRow]) -> None:
        try:
            found = await asyncio.to_thread(self.source.offload_files, rows)
        except SourceError as error:
            self.trouble = str(error)
        else:
            self._files.update({row.ref_id: row for row in found})
        finally:
            self._looking = False
        self.repaint()

    # -- the viewer ---------------------------------------------------------------------------------------------------
    def open_selected(self) -> None:
        """Open the result under the cursor, unless it is."""
        one = self.selected
        if one is None or self._opening == one.ref_id or (self.opened and self.opened.ref_id == one.ref_id):
            return
        self._opening, self.view_trouble = one.ref_id, ""
        self._viewer = self.opened = self.page = None
        self._orders.clear()
        self.run_worker(self._open(one.ref_id), group="offload-open", exclusive=True)

    async def _open(self, ref_id: str) -> None:
        try:
            opened, viewer = await asyncio.to_thread(self._opened, ref_id)
        except SourceError as error:
            self.view_trouble = str(error)
            self.opened = OpenedOffload(ref_id, None, None)
        else:
            self.opened, self._viewer = opened, viewer
            self.ask(lambda viewer: viewer.resize(*self._room))
        finally:
            if self._opening == ref_id:
                self._opening = ""
        self.repaint()

    def _opened(self, ref_id: str) -> tuple[OpenedOffload, Viewer | None]:
        opened = self.source.open_offload(ref_id)
        return opened, Viewer(opened.raw, self.look.redact) if opened.raw is not None else None

    @property
    def viewing(self) -> bool:
        """Whether a result can be looked at."""
        return self._viewer is not None and not self.view_trouble

    def ask(self, *orders: Callable[[Viewer], None]) -> None:
        """Have the viewer carry out ``orders``, and then what takes long."""
        if self._viewer is None:
            return
        self._orders += orders
        if self.display and not self._working:
            self._working = True
            self.run_worker(self._work(), group="offload-viewer")

    async def _work(self) -> None:
        """Work the viewer in a thread, one at a time, for as long as there is something to do."""
        painted_at = 0.0
        try:
            while (viewer := self._viewer) is not None and self.display:
                orders, self._orders = self._orders, []
                page = await asyncio.to_thread(viewer.carry_out, orders)
                if viewer is not self._viewer:
                    continue
                self.page = page
                resting = not self._orders and not viewer.busy
                if orders or resting or time.monotonic() - painted_at >= PROGRESS_S:
                    painted_at = time.monotonic()
                    self.repaint()
                if resting:
                    return
        finally:
            self._working = False
