"""What the Context tab shows, and how it is read: blocks and versions, in a thread, and only while the tab is shown."""

from __future__ import annotations

import asyncio
import time
from itertools import accumulate
from typing import Protocol

import msgspec

from geode_tui.core.events import ContextFigures
from geode_tui.tui.look import Look
from geode_tui.tui.source import SourceError
from geode_tui.tui.widgets.block_rows import BlockLines, matches
from geode_tui.tui.widgets.field import Asking
from geode_tui.tui.widgets.tab_pane import TabPane
from geode_tui.tui.widgets.versions import VersionsPart
from geode_tui.view.blocks import BlockEntry, BlockRow, BlockTable, Order, arranged, table_of
from geode_tui.view.state import RunState
from geode_tui.view.versions import VersionDiff, VersionList

READING_S = 0.3
"""Seconds after which it is said that blocks are being read (SCREENS.md 10)."""


class WindowSource(Protocol):
    """What the tab needs of `tui.source.RunSource`. All may block, and raise `SourceError`."""

    def blocks(self, version: int) -> tuple[BlockEntry, ...]:
        """All blocks, as a version of the view has them sent."""
        ...

    def versions(self) -> VersionList:
        """All versions of the view."""
        ...

    def diff(self, before: int, after: int) -> VersionDiff:
        """In what two of them differ."""
        ...


class BlocksView(msgspec.Struct, frozen=True):
    """The gauge, and the messages that it is of: those after seq ``start`` and up to ``end``, of ``newest`` in all, as
    ``version`` of the view has them sent; ``cause`` is why that was made.
    """

    figures: ContextFigures | None = None
    start: int = 0
    end: int = 0
    newest: int = 0
    version: int = 0
    cause: str = ""
    route: str = ""

    @classmethod
    def of(cls, state: RunState) -> BlocksView:
        """What the tab shows of ``state``."""
        messages = state.prompt_from, state.prompt_upto, state.newest_seq
        route = f"{state.model} {state.provider} {state.source}"
        return cls(state.context, *messages, state.view_version, state.view_cause, route)


def _blocks_of(view: BlocksView | None) -> object:
    """What the blocks in the store depend on."""
    return (view.newest, view.version) if view is not None else None


def _versions_of(view: BlocksView | None) -> object:
    """What the list of versions depends on."""
    return (view.version, view.route, view.newest > 0) if view is not None else None


def _name(row: BlockRow | None) -> object:
    """What names a block in every version of the view."""
    if row is None or row.entry is None:
        return row.kind if row is not None else None
    return row.kind, row.entry.message_id, row.entry.seq, row.entry.call_id, row.entry.detail


class ContextData(Asking, TabPane):
    """See the module."""

    def __init__(self, look: Look, source: WindowSource, *, id: str = "context") -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self.source = source
        self.view = BlocksView()
        self.table = BlockTable()
        self.rows: tuple[BlockRow, ...] = ()
        """The rows that the filter lets through, in their order."""
        self.versions = VersionsPart()
        self.order: Order = "largest"
        self.wanted = ""
        self.trouble = ""
        """Why the blocks could not be read."""
        self._entries: tuple[BlockEntry, ...] = ()
        self._texts: tuple[str, ...] = ()
        """What a filter looks through, for each row of the table."""
        self._sums: tuple[int, ...] = (0,)
        """Tokens of the rows before each one that is listed, and of all."""
        self._made_of: BlocksView | None = None
        """What the table shows."""
        self._reading = False
        self._read_since = 0.0
        self._at = 0

    @property
    def reading(self) -> bool:
        """Whether blocks are being read."""
        return self._reading

    @property
    def selected(self) -> BlockRow | None:
        """The block under the cursor."""
        return self.rows[self._at] if self.rows else None

    def show_state(self, state: RunState) -> None:
        """Take a newer state."""
        self.show(BlocksView.of(state))

    def show(self, view: BlocksView) -> None:
        """Take a newer state."""
        if view != self.view:
            self.view = view
            self._renew()

    def on_show(self) -> None:
        """Catch up with what came while another tab was shown."""
        self._renew()

    def _renew(self) -> None:
        if self.display and not self._reading and self.view != self._made_of:
            self._reading, self._read_since = True, time.monotonic()
            self.set_timer(READING_S, self.repaint)
            self.run_worker(self._make(), group="blocks", exclusive=True)

    async def _make(self) -> None:
        """Read what is new, and make the table until it is that of the newest state."""
        try:
            while self.display and self.view != self._made_of:
                view, made = self.view, None if self.trouble else self._made_of
                if _blocks_of(view) != _blocks_of(made):
                    self._entries = await asyncio.to_thread(self.source.blocks, view.version)
                if _versions_of(view) != _versions_of(made):
                    self.versions.take(await asyncio.to_thread(self.source.versions))
                self.table, self._texts = await asyncio.to_thread(self._shared_out, view)
                self._made_of, self.trouble = view, ""
                self._arrange()
        except SourceError as error:
            self.trouble = str(error)
        finally:
            self._reading = False
        self.repaint()

    def _shared_out(self, view: BlocksView) -> tuple[BlockTable, tuple[str, ...]]:
        """The table of ``view``, and the text of each row that a filter looks through."""
        table = table_of(self._entries, view.figures, start=view.start, end=view.end, newest=view.newest)
        lines = BlockLines(self.look, 0, False, table.of, 0)
        return table, tuple(map(lines.text, table.rows))

    def _arrange(self) -> None:
        """Filter and sort anew; the cursor stays on its block."""
        chosen = self.selected
        every = zip(self.table.rows, self._texts, strict=True)
        rows = arranged((one for one, text in every if matches(one, text, self.wanted)), self.order)
        self.rows = rows
        self._sums = tuple(accumulate((one.tokens for one in rows), initial=0))
        same = (i for i, one in enumerate(rows) if _name(one) == _name(chosen))
        self._at = next(same, max(0, min(self._at, len(rows) - 1))) if self._at else 0
        self.repaint()

    def _lines(self, width: int) -> BlockLines:
        focused = self.has_focus or self.field.typing
        largest = self.table.rows[0].tokens if self.table.rows else 0
        return BlockLines(self.look, width, focused, self.table.of, largest)
