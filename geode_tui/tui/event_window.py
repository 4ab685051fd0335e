"""The part of a log that the Events tab holds, and which events it wants: pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from geode_tui.core.events import EventRow
from geode_tui.log.browse import EventPage, EventQuery
from geode_tui.view.event_line import NAMES_FROM, EventLevel, event_level

MOST = 2_000
"""Most rows held: what is further away is read again."""

Floor: TypeAlias = Literal["all", "warning", "error"]
FLOORS: tuple[Floor, ...] = ("all", "warning", "error")
_ADMITS: dict[Floor, frozenset[EventLevel]] = {
    "all": frozenset({"info", "warning", "error"}),
    "warning": frozenset({"warning", "error"}),
    "error": frozenset({"error"}),
}


class EventFilter(msgspec.Struct, frozen=True):
    """What is shown: events of a level from ``floor`` on that hold ``text``, but none whose name is ``hidden``."""

    floor: Floor = "all"
    text: str = ""
    hidden: frozenset[str] = frozenset()

    @property
    def query(self) -> EventQuery:
        """What the store is asked for. It knows levels by name only: `admits` has the last word."""
        only = None if self.floor == "all" else NAMES_FROM[self.floor]
        return EventQuery(self.text, self.hidden, only)

    def admits(self, row: EventRow) -> bool:
        """Whether ``row`` is shown."""
        return self.query.matches(row) and (
            self.floor == "all" or event_level(row.event, row.payload) in _ADMITS[self.floor]
        )


class Window(msgspec.Struct, frozen=True):
    """The rows that are shown of the events from id ``low`` to ``high``, both looked at; oldest first, at most `MOST`.
    ``whole`` when there is nothing before ``low``.
    """

    rows: tuple[EventRow, ...] = ()
    low: int = 0
    high: int = 0
    whole: bool = False

    @classmethod
    def of_feed(cls, feed: Sequence[EventRow], total: int, wanted: EventFilter) -> Window:
        """A window on the newest rows of a log of ``total`` events."""
        if not feed:
            return cls()
        rows = tuple(row for row in feed if wanted.admits(row))
        return cls(rows, feed[0].id, feed[-1].id, len(feed) >= total)

    def with_feed(self, feed: Sequence[EventRow], total: int, wanted: EventFilter, *, follow: bool) -> Window:
        """With what came since. A window that would lose its beginning, or that is too far behind, stays as it is
        unless it follows the newest.
        """
        if not feed or feed[-1].id <= self.high:
            return self
        if feed[0].id > self.high:  # rows may lie between
            return self.of_feed(feed, total, wanted) if follow or not self.low else self
        fresh = tuple(row for row in feed[first_after(feed, self.high) :] if wanted.admits(row))
        if len(self.rows) + len(fresh) > MOST and not follow:
            return self
        return self._newest((*self.rows, *fresh), feed[-1].id)

    def with_older(self, page: EventPage, wanted: EventFilter) -> Window:
        """With a page before ``low``; what is too far behind it goes."""
        rows = (*(row for row in page.rows if wanted.admits(row)), *self.rows)
        if len(rows) <= MOST:
            return Window(rows, page.reached, self.high, page.done)
        return Window(rows[:MOST], page.reached, rows[MOST - 1].id, page.done)

    def with_newer(self, page: EventPage, wanted: EventFilter) -> Window:
        """With a page after ``high``; what is too far before it goes."""
        return self._newest((*self.rows, *(row for row in page.rows if wanted.admits(row))), page.reached)

    def _newest(self, rows: tuple[EventRow, ...], high: int) -> Window:
        if len(rows) <= MOST:
            return Window(rows, self.low, high, self.whole)
        return Window(rows[-MOST:], rows[-MOST].id, high, False)

    def index(self, event_id: int) -> int:
        """The row of ``event_id``, else the next one, else the last; -1 without rows."""
        return min(bisect_left(self.rows, event_id, key=_id), len(self.rows) - 1)


def _id(row: EventRow) -> int:
    return row.id


def first_after(rows: Sequence[EventRow], event_id: int) -> int:
    """Index of the first of ``rows`` after ``event_id``."""
    return bisect_right(rows, event_id, key=_id)


class Goal(msgspec.Struct, frozen=True):
    """Where to jump: to an event id, or to the first event of a turn, or of a round (of ``turn``, 0 the present)."""

    event_id: int = 0
    turn: int = 0
    round: int = 0


_ID = re.compile(r"#?\s*(\d{1,18})\Z")
_PLACE = re.compile(r"(?:t(\d{1,9}))?\s*(?:r(\d{1,9}))?\Z")


def goal_of(text: str) -> Goal | None:
    """``4209``, ``#4,209``, ``r36``, ``t3`` or ``t3 r36``; None for anything else."""
    plain = text.strip().lower().replace(",", "")
    if match := _ID.match(plain):
        return Goal(event_id=int(match[1]))
    match = _PLACE.match(plain)
    if match is None or not (match[1] or match[2]):
        return None
    return Goal(turn=int(match[1] or 0), round=int(match[2] or 0))
