"""What the Dreams tab shows, and how it is read: in a thread, while the tab is shown."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

import msgspec

from geode_tui.tui.look import Look
from geode_tui.tui.source import SourceError
from geode_tui.tui.widgets.field import Asking
from geode_tui.tui.widgets.tab_pane import TabPane
from geode_tui.view.dreams import DreamLine, DreamRow, DreamTable, lines_of
from geode_tui.view.state import RunState

READING_S = 0.3
"""Seconds after which it is said that the texts are being read (SCREENS.md 10)."""


class DreamReader(Protocol):
    """What the tab needs of `tui.source.RunSource`."""

    def dreams(self) -> DreamTable:
        """All dreams and summaries. May block. Raises `SourceError`."""
        ...

    def clock(self) -> float:
        """UTC epoch seconds."""
        ...


class DreamsView(msgspec.Struct, frozen=True):
    """What the table depends on: the last event that told of kept texts, and the version of the view."""

    touched: int = 0
    version: int = 0


class DreamData(Asking, TabPane):
    """See the module."""

    def __init__(self, look: Look, source: DreamReader, *, id: str) -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self.source = source
        self.view = DreamsView()
        self.table = DreamTable()
        self.newest_seq = 0
        self.trouble = ""
        """Why the table could not be read."""
        self.lines: tuple[DreamLine, ...] = ()
        """Of the text under the cursor."""
        self._at = 0
        self._line = 0
        self._cite = 0
        self._made_of: DreamsView | None = None
        self._reading = False
        self._read_since = 0.0

    @property
    def reading(self) -> bool:
        """Whether the table is being read."""
        return self._reading

    @property
    def selected(self) -> DreamRow | None:
        """The text under the cursor."""
        return self.table.rows[self._at] if self.table.rows else None

    @property
    def lag(self) -> int:
        """Messages since those that the newest dream is about."""
        return max(0, self.newest_seq - self.table.upto)

    def show_state(self, state: RunState) -> None:
        """Take a newer state."""
        view = DreamsView(state.dreams_touched, state.view_version)
        if view != self.view:
            self.view = view
            self._renew()
        if state.newest_seq != self.newest_seq:
            self.newest_seq = state.newest_seq
            self.repaint()

    def on_show(self) -> None:
        """Catch up with what came while another tab was shown."""
        self._renew()

    def _renew(self) -> None:
        if self.display and not self._reading and self.view != self._made_of:
            self._reading, self._read_since = True, time.monotonic()
            self.set_timer(READING_S, self.repaint)
            self.run_worker(self._read_table(), group="dreams", exclusive=True)

    async def _read_table(self) -> None:
        try:
            while self.display and self.view != self._made_of:
                view = self.view
                self._take(await asyncio.to_thread(self.source.dreams))
                self._made_of, self.trouble = view, ""
        except SourceError as error:
            self.trouble = str(error)
            self._made_of = self.view
        finally:
            self._reading = False
        self.repaint()

    def _take(self, table: DreamTable) -> None:
        """Show another table; the cursor stays on its text, unless it is on the newest one."""
        chosen = self.selected.artifact_id if self.selected is not None and self._at else ""
        self.table = table
        same = (index for index, row in enumerate(table.rows) if row.artifact_id == chosen)
        self.choose(next(same, 0))

    def choose(self, index: int) -> None:
        """Put the cursor on a text."""
        before = self.lines
        self._at = max(0, min(len(self.table.rows) - 1, index))
        one = self.selected
        self.lines = lines_of(one) if one is not None else ()
        if self.lines != before:
            self._line = next((i for i, line in enumerate(self.lines) if line.kind in {"bullet", "text"}), 0)
            self._cite = 0
        self.repaint()
