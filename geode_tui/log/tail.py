"""Follow one session of a growing log: events and chunks, by two cursors, in one short read."""

from __future__ import annotations

from pathlib import Path

import apsw
import msgspec

from geode_tui.core.events import EventRow
from geode_tui.log.commands import pending
from geode_tui.log.rows import ChunkRow, PendingCommand
from geode_tui.log.store import fetch, translated

EVENTS = 1_000
CHUNKS = 500
FAST_S, LIVE_S, IDLE_S = 0.010, 0.050, 0.250
FAST_FOR_S = 1.0


class Fetched(msgspec.Struct, frozen=True):
    """What one read gave, all of it as of one moment. ``more`` when there is another page at once."""

    events: tuple[EventRow, ...]
    chunks: tuple[ChunkRow, ...]
    pending: tuple[PendingCommand, ...]
    """The session's commands without an outcome; whole once there is no more."""
    more: bool


def pause(now: float, last_change: float, worker_lives: bool) -> float:
    """Seconds until the next look (ARCHITECTURE.md, "Engine"): 10 ms for a second after the watched session's last
    change or an own command, then 50 ms while a worker holds the session's lock, else 250 ms.
    """
    if now - last_change < FAST_FOR_S:
        return FAST_S
    return LIVE_S if worker_lives else IDLE_S


class Tail:
    """Two cursors over one session. Chunks are read only once the events are drained: those of a message that was
    completed meanwhile are gone by then.
    """

    def __init__(self, db: apsw.Connection, session_id: str, after: int = 0) -> None:
        self.db = db
        self.session_id = session_id
        self.after = after
        self.number = 0
        self._message = 0
        self._seq = -1
        self._version: int | None = None

    def changed(self) -> bool:
        """Whether any process committed to the file since the last call."""
        version = int(self.db.pragma("data_version"))
        if version == self._version:
            return False
        self._version = version
        return True

    def fetch(self) -> Fetched:
        """Everything new, at most a page, in one read transaction that is over when this returns.

        Raises `log.store.StoreError`.
        """
        with translated(Path(self.db.filename)):
            return self._fetch()

    def _fetch(self) -> Fetched:
        self.db.execute("BEGIN")
        try:
            waiting = tuple(pending(self.db, self.session_id))
            if not self.number:
                found = self.db.execute("SELECT id FROM sessions WHERE session_id=?", (self.session_id,)).get
                if found is None:
                    return Fetched((), (), waiting, more=False)
                self.number = int(found)
            query = (
                "SELECT id, ts, turn, round, event, payload FROM events WHERE session=? AND id>? ORDER BY id LIMIT ?"
            )
            rows = fetch(self.db, query, (self.number, self.after, EVENTS))
            chunks = self._chunks() if len(rows) < EVENTS else []
        finally:
            if self.db.in_transaction:
                self.db.execute("COMMIT")
        if rows:
            self.after = rows[-1][0]
        if chunks:
            self._seq = chunks[-1].seq
        more = len(rows) == EVENTS or len(chunks) == CHUNKS
        return Fetched(tuple(EventRow(*r) for r in rows), tuple(chunks), waiting, more)

    def _chunks(self) -> list[ChunkRow]:
        query = "SELECT id FROM messages WHERE session_id=? AND status='open' ORDER BY id DESC LIMIT 1"
        found = self.db.execute(query, (self.session_id,)).get
        if found is None:
            return []
        if found != self._message:
            self._message, self._seq = int(found), -1
        columns = "message_id, seq, block, kind, text, name"
        query = f"SELECT {columns} FROM chunks WHERE message_id=? AND seq>? ORDER BY seq LIMIT ?"
        return [ChunkRow(*r) for r in fetch(self.db, query, (self._message, self._seq, CHUNKS))]
