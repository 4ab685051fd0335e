"""Reading a session's events by window and filter, in either direction, in slices that hold no read open for long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import apsw
import msgspec

from geode_tui.core.events import EventRow
from geode_tui.log.store import fetch, fetch_one

SLICE = 4_000
"""Event ids that one statement looks at: 11 to 19 ms with a text to look for, of the 20 that a read may take
(ARCHITECTURE.md, "Engine").
"""
SLICES = 25
"""Slices of one call: with a filter that little passes, it comes back before it has found a page."""
PAGE = 400
"""Rows of a page."""
ROUNDS_MOST = 4_000
"""Events that are read of some rounds: a few dozen rounds have about 1,000."""
_COLUMNS = "id, ts, turn, round, event, payload"


class EventQuery(msgspec.Struct, frozen=True):
    """Which events are wanted: all conditions that are set hold. ``text`` is looked for in the name and in the
    payload's JSON text, ASCII letters in either case; ``only`` and ``hidden`` are names.
    """

    text: str = ""
    hidden: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    turn: int | None = None
    round: int | None = None

    def matches(self, row: EventRow) -> bool:
        """Whether ``row`` is wanted: what the store answers for it too."""
        if row.event in self.hidden or (self.only is not None and row.event not in self.only):
            return False
        if self.turn not in (None, row.turn) or self.round not in (None, row.round):
            return False
        if not self.text:
            return True
        return _lower(self.text) in _lower(row.event) or _lower(_in_json(self.text)) in _lower(row.payload)


class EventPage(msgspec.Struct, frozen=True):
    """Rows that were found, oldest first. ``reached`` is the last event id that was looked at in the direction of the
    search, and ``left`` how many ids lie beyond it.
    """

    rows: tuple[EventRow, ...]
    reached: int
    left: int

    @property
    def done(self) -> bool:
        """Whether the end of the log was reached."""
        return self.left <= 0


def older(db: apsw.Connection, number: int, query: EventQuery, before: int, limit: int = PAGE) -> EventPage:
    """The last wanted events of session ``number`` before event id ``before``. Raises `StoreError`."""
    first = _edge(db, "min", number)
    before = min(before, _edge(db, "max", number) + 1)
    condition, values = _where(query)
    found: list[Any] = []
    for _ in range(SLICES):
        if before <= first:
            break
        low = max(first, before - SLICE)
        sql = f"SELECT {_COLUMNS} FROM events WHERE session=? AND id>=? AND id<?{condition} ORDER BY id DESC LIMIT ?"
        found += fetch(db, sql, (number, low, before, *values, limit - len(found)))
        if len(found) == limit:
            before = int(found[-1][0])
            break
        before = low
    return EventPage(tuple(EventRow(*r) for r in reversed(found)), before, before - first)


def newer(db: apsw.Connection, number: int, query: EventQuery, after: int, limit: int = PAGE) -> EventPage:
    """The first wanted events of session ``number`` after event id ``after``. Raises `StoreError`."""
    last = _edge(db, "max", number)
    after = max(after, _edge(db, "min", number) - 1)
    condition, values = _where(query)
    found: list[Any] = []
    for _ in range(SLICES):
        if after >= last:
            break
        high = min(last, after + SLICE)
        sql = f"SELECT {_COLUMNS} FROM events WHERE session=? AND id>? AND id<=?{condition} ORDER BY id LIMIT ?"
        found += fetch(db, sql, (number, after, high, *values, limit - len(found)))
        if len(found) == limit:
            after = int(found[-1][0])
            break
        after = high
    return EventPage(tuple(EventRow(*r) for r in found), after, last - after)


def every(db: apsw.Connection, number: int, query: EventQuery) -> Iterator[tuple[EventRow, ...]]:
    """All wanted events of session ``number`` up to now, in pages, oldest first. Raises `StoreError`."""
    last, after = _edge(db, "max", number), 0
    while after < last:
        page = newer(db, number, query, after)
        yield tuple(row for row in page.rows if row.id <= last)
        after = page.reached


def names(db: apsw.Connection, number: int) -> Counter[str]:
    """How many events of each name session ``number`` has. Raises `StoreError`."""
    counts: Counter[str] = Counter()
    after, last = _edge(db, "min", number) - 1, _edge(db, "max", number)
    while after < last:
        sql = "SELECT event, count(*) FROM events WHERE session=? AND id>? AND id<=? GROUP BY event"
        counts.update(dict(fetch(db, sql, (number, after, after + SLICE))))
        after += SLICE
    return counts


def of_rounds(
    db: apsw.Connection, number: int, names: frozenset[str], since: tuple[int, int], until: tuple[int, int] | None
) -> list[EventRow]:
    """The events of session ``number`` called one of ``names`` in the rounds from ``since`` to ``until`` (turn, round),
    both included, oldest first; None: to the end. Of many the first about `ROUNDS_MOST`. Raises `StoreError`.
    """
    last = _edge(db, "max", number)
    low = _first_at(db, number, since, last)
    high = last if until is None else _first_at(db, number, (until[0], until[1] + 1), last) - 1
    condition, values = _where(EventQuery(only=names))
    sql = f"SELECT {_COLUMNS} FROM events WHERE session=? AND id>=? AND id<=?{condition} ORDER BY id"
    found: list[EventRow] = []
    while low <= high and len(found) < ROUNDS_MOST:
        end = min(high, low + SLICE - 1)
        found += (EventRow(*r) for r in fetch(db, sql, (number, low, end, *values)))
        low = end + 1
    return found


def _first_at(db: apsw.Connection, number: int, at: tuple[int, int], last: int) -> int:
    """The id of the first event of round ``at`` or a later one; one after ``last`` where there is none. Rounds only go
    on, so it is searched for by halves.
    """
    low, high = _edge(db, "min", number), last + 1
    while low < high:
        middle = (low + high) // 2
        sql = "SELECT id, turn, round FROM events WHERE session=? AND id>=? ORDER BY id LIMIT 1"
        found = fetch_one(db, sql, (number, middle))
        if found is None or (found[1], found[2]) >= at:
            high = middle
        else:
            low = int(found[0]) + 1
    return low


def _edge(db: apsw.Connection, which: str, number: int) -> int:
    found = fetch_one(db, f"SELECT {which}(id) FROM events WHERE session=?", (number,))
    return int(found[0] or 0)


def _where(query: EventQuery) -> tuple[str, list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    for word, wanted in (("NOT IN", query.hidden or None), ("IN", query.only)):
        if wanted is not None:
            parts.append(f" AND event {word} ({','.join('?' * len(wanted))})")
            values += sorted(wanted)
    for column, figure in (("turn", query.turn), ("round", query.round)):
        if figure is not None:
            parts.append(f" AND {column}=?")
            values.append(figure)
    if query.text:
        parts.append(" AND (instr(lower(event), lower(?)) OR instr(lower(payload), lower(?)))")
        values += [query.text, _in_json(query.text)]
    return "".join(parts), values


def _in_json(text: str) -> str:
    """``text`` as it stands inside a JSON string."""
    return msgspec.json.encode(text).decode()[1:-1]


def _lower(text: str) -> bytes:
    """ASCII letters small, as SQLite's own function does it."""
    return text.encode().lower()
