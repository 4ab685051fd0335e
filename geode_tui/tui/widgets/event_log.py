"""What the Events tab holds of a log, and where its cursor stands: the newest rows as they come, others as they are
looked at.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec
from textual.message import Message
from textual.timer import Timer

from geode_tui.core.events import EventRow
from geode_tui.log.browse import EventPage, EventQuery
from geode_tui.tui.event_window import EventFilter, Goal, Window
from geode_tui.tui.look import Look
from geode_tui.tui.source import EventSource, SourceError
from geode_tui.tui.widgets.field import Asking
from geode_tui.view.state import RunState

PERIOD_S = 0.2
READING_S = 0.3
"""Seconds after which it is said that the log is being read (SCREENS.md 10)."""


class EventsView(msgspec.Struct, frozen=True):
    """The newest rows, oldest first, how many events there are in all, and the turn at work."""

    feed: tuple[EventRow, ...] = ()
    total: int = 0
    turn: int = 0

    @classmethod
    def of(cls, state: RunState) -> EventsView:
        """What the tab shows of ``state``."""
        return cls(tuple(state.feed), state.events, state.turn)

    @property
    def newest(self) -> int:
        """Id of the newest event, 0 where there is none."""
        return self.feed[-1].id if self.feed else 0


class EventLog(Asking):
    """See the module. The cursor stays on its event while new ones arrive; at the end it follows them."""

    class Missed(Message):
        """A jump went nowhere: the line that says why."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    def __init__(self, look: Look, source: EventSource, *, id: str) -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self.source = source
        self.view = EventsView()
        self.window = Window()
        self.filter = EventFilter()
        self.paused = False
        self.trouble = ""
        """Why the log could not be read, until the cursor is moved."""
        self._next: EventsView | None = None
        self._painted_at = 0.0
        self._due: Timer | None = None
        self._cursor: int | None = None
        """Event id under the cursor; None follows the newest."""
        self._top = 0
        """Index of the first row in view."""
        self._place = 0
        """Grows with every jump and every filter: pages that were asked for before come too late."""
        self._reading: int | None = None
        """The place that is being read for."""
        self._read_since = 0.0
        self._left = 0

    # -- the newest ---------------------------------------------------------------------------------------------------
    def show(self, view: EventsView) -> None:
        """Take a newer state: painted now, or when the period is over; the last one always is."""
        if view == (self._next or self.view):
            return
        self._next = view
        if self.paused or not self.display or self._due is not None:
            return
        wait = self._painted_at + PERIOD_S - time.monotonic()
        if wait <= 0:
            self._paint()
        else:
            self._due = self.set_timer(wait, self._paint)

    def _paint(self) -> None:
        self._due = None
        if self._next is not None and not self.paused:
            self.view, self._next = self._next, None
        self._painted_at = time.monotonic()
        view, follow = self.view, self._cursor is None
        self._keep(self.window.with_feed(view.feed, view.total, self.filter, follow=follow))

    def on_show(self) -> None:
        """Catch up with what came while another tab was shown."""
        self._paint()

    # -- the cursor ---------------------------------------------------------------------------------------------------
    @property
    def rows(self) -> Sequence[EventRow]:
        """The rows held that the filter lets through."""
        return self.window.rows

    @property
    def index(self) -> int:
        """The cursor's row; -1 without rows."""
        return len(self.rows) - 1 if self._cursor is None else self.window.index(self._cursor)

    @property
    def current(self) -> EventRow | None:
        """The event under the cursor."""
        return self.rows[self.index] if self.rows else None

    @property
    def following(self) -> bool:
        """Whether the newest event is under the cursor."""
        return self._cursor is None and not self.paused

    @property
    def behind(self) -> bool:
        """Whether there are newer events than those held."""
        return self.window.high < self.view.newest

    def put(self, index: int) -> None:
        """Put the cursor on a row; on the newest row of all it follows."""
        self.trouble = ""
        if self.rows:
            index = max(0, min(len(self.rows) - 1, index))
            newest = index == len(self.rows) - 1 and not self.behind
            self._cursor = None if newest else self.rows[index].id
        self._keep(self.window)

    def go_to(self, event_id: int) -> None:
        """Put the cursor on the event of that id, or on the next one that is shown."""
        self._cursor = max(1, event_id)
        if self.window.low <= self._cursor <= self.window.high:
            self._keep(self.window)
        else:
            self._renew()

    def follow(self) -> None:
        """Put the cursor on the newest event, and follow."""
        self._cursor = None
        if self.behind:
            self._renew()
        else:
            self._keep(self.window)

    def use(self, wanted: EventFilter) -> None:
        """Show what ``wanted`` lets through, around the same place."""
        if wanted != self.filter:
            self.filter = wanted
            self._renew()

    def _renew(self) -> None:
        """Hold other rows: the newest, or those around the cursor, which are read then."""
        self._place += 1
        self.trouble = ""
        if self._cursor is None:
            self._keep(Window.of_feed(self.view.feed, self.view.total, self.filter))
        else:
            self._keep(Window((), self._cursor, self._cursor - 1))

    def _keep(self, window: Window) -> None:
        """Hold ``window``, with the same row at the top of the view."""
        if window is not self.window:
            top = self.rows[self._top].id if self._top < len(self.rows) else 0
            self.window = window
            self._top = max(0, window.index(top))
        self.repaint()
        self._read()

    # -- reading ------------------------------------------------------------------------------------------------------
    @property
    def read_percent(self) -> int | None:
        """How much of the log has been looked at, once that takes long; None while nothing is read."""
        if self._reading is None or time.monotonic() - self._read_since < READING_S:
            return None
        looked = self.window.high - self.window.low + 1
        return looked * 100 // max(1, looked + self._left)

    @property
    def reading(self) -> bool:
        """Whether rows are being read from the log."""
        return self._reading is not None

    def _lacks(self) -> tuple[int | None, int | None] | None:
        """What must be read: the events before an id, or those after one; None while a page is held on either side."""
        page, at = max(1, self.size.height), self.index
        if not self.window.low:
            return None
        if self._cursor is not None and self.behind and len(self.rows) - 1 - at < page:
            return None, self.window.high
        return (self.window.low, None) if not self.window.whole and at < page else None

    def _read(self) -> None:
        if self.display and self._reading != self._place and not self.trouble and self._lacks() is not None:
            self._reading, self._read_since = self._place, time.monotonic()
            self.set_timer(READING_S, self.repaint)
            self.run_worker(self._read_pages(self._place), group="events", exclusive=True)

    async def _read_pages(self, place: int) -> None:
        """Read until a page is held on both sides of the cursor."""
        try:
            while self.display and place == self._place and (lack := self._lacks()) is not None:
                before, after = lack
                page = await asyncio.to_thread(self.source.events, self.filter.query, before=before, after=after)
                if place == self._place:
                    self._take(page, older=before is not None)
        except SourceError as error:
            self.trouble = str(error)
        finally:
            if self._reading == place:
                self._reading = None
        self.repaint()

    def _take(self, page: EventPage, *, older: bool) -> None:
        self._left = page.left
        extended = self.window.with_older if older else self.window.with_newer
        self._keep(extended(page, self.filter))

    # -- jumping ------------------------------------------------------------------------------------------------------
    def jump(self, goal: Goal) -> None:
        """Go to ``goal``, or say that there is no such place."""
        if goal.event_id:
            self.go_to(goal.event_id)
        else:
            self.run_worker(self._jump(goal), group="jump", exclusive=True)

    async def _jump(self, goal: Goal) -> None:
        turn = goal.turn or (self.current.turn if self.current else self.view.turn)
        query = EventQuery(turn=turn, round=goal.round or None)
        after, done = 0, False
        try:
            while not done:
                page = await asyncio.to_thread(self.source.events, query, after=after, limit=1)
                if page.rows:
                    self.go_to(page.rows[0].id)
                    return
                after, done = page.reached, page.done
        except SourceError as error:
            self.post_message(self.Missed(str(error)))
            return
        key = "events.no_round" if goal.round else "events.no_turn"
        self.post_message(self.Missed(self.look.t(key, turn=turn, round=goal.round)))
