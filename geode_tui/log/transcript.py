"""Reading: sessions, messages and events, in short reads that leave no statement open."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import msgspec

from geode_tui.core.events import EventRow, ToolApprovalRequested, event_name
from geode_tui.core.messages import Block, Message, TextBlock, ThinkingBlock, decode_blocks
from geode_tui.log import blobs
from geode_tui.log.rows import MessageRow, SessionRow, StoredMessage
from geode_tui.log.store import StoreError, fetch, fetch_one
from geode_tui.log.writer import RowMeta

_META = msgspec.json.Decoder(RowMeta)
_CALLS = msgspec.json.Decoder(list[dict[str, str]])
_COLUMNS = "id, seq, turn, round, role, status, chars, timestamp, tool_call_id, tool_name, tool_calls, metadata"
_SESSION = "id, session_id, title, model, provider, source, origin, created_at, updated_at, options"


def _row(values: Iterable[Any]) -> MessageRow:
    number, seq, turn, round_, role, status, chars, at, call_id, tool, calls, meta = values
    parsed = _META.decode(meta) if meta else RowMeta()
    ids = tuple(c.get("id", "") for c in _CALLS.decode(calls)) if calls else ()
    return MessageRow(
        number, seq, turn, round_, role, parsed.origin, status, chars, at, call_id or "", tool or "", ids, parsed.result
    )


def _upto(at: int | None) -> int:
    return at if at is not None else (1 << 63) - 1


class Transcript:
    """A reader of one store. Not for use by two threads at once: give each its own."""

    def __init__(self, db: apsw.Connection, geode: Path) -> None:
        self.db = db
        self.geode = geode

    # -- sessions ---------------------------------------------------------------------------------------------------
    def sessions(self, limit: int = -1) -> list[SessionRow]:
        """The newest ``limit`` sessions, newest first; all without one."""
        query = f"SELECT {_SESSION} FROM sessions ORDER BY updated_at DESC LIMIT ?"
        return [SessionRow(*row) for row in fetch(self.db, query, (limit,))]

    def newest_event_ids(self, limit: int = -1) -> dict[int, int]:
        """Session number -> id of its newest event (0: none), of the sessions that `sessions` gives."""
        query = (
            "SELECT s.id, coalesce((SELECT max(id) FROM events WHERE session=s.id), 0)"
            " FROM (SELECT id FROM sessions ORDER BY updated_at DESC LIMIT ?) s"
        )
        return {int(number): int(newest) for number, newest in fetch(self.db, query, (limit,))}

    def session(self, session_id: str) -> SessionRow | None:
        """The session of that id."""
        row = fetch_one(self.db, f"SELECT {_SESSION} FROM sessions WHERE session_id=?", (session_id,))
        return None if row is None else SessionRow(*row)

    # -- messages ---------------------------------------------------------------------------------------------------
    def index(self, session_id: str) -> list[MessageRow]:
        """Every message of the session without its body, oldest first."""
        query = f"SELECT {_COLUMNS} FROM messages WHERE session_id=? ORDER BY id"
        return [_row(r) for r in fetch(self.db, query, (session_id,))]

    def row(self, message_id: int) -> MessageRow | None:
        """One message without its body."""
        found = fetch_one(self.db, f"SELECT {_COLUMNS} FROM messages WHERE id=?", (message_id,))
        return None if found is None else _row(found)

    def rows(self, message_ids: Iterable[int]) -> dict[int, MessageRow]:
        """Those of these messages that there are, without their bodies, by id."""
        query = f"SELECT {_COLUMNS} FROM messages WHERE id IN (SELECT value FROM json_each(?))"
        wanted = msgspec.json.encode(list(message_ids)).decode()
        return {int(r[0]): _row(r) for r in fetch(self.db, query, (wanted,))}

    def message(self, message_id: int) -> StoredMessage:
        """One message with its body; an open or interrupted one as far as it was streamed. Raises `StoreError`."""
        found = fetch_one(self.db, f"SELECT {_COLUMNS}, content FROM messages WHERE id=?", (message_id,))
        if found is None:
            raise StoreError(f"there is no message {message_id}")
        return self._stored(found)

    def messages(self, session_id: str, after_seq: int = 0, limit: int = -1) -> list[StoredMessage]:
        """The session's whole messages in order, at most ``limit`` of them: what a model may be sent. Interrupted ones
        are left out.
        """
        query = (
            f"SELECT {_COLUMNS}, content FROM messages WHERE session_id=? AND seq>? AND status='complete'"
            " ORDER BY seq LIMIT ?"
        )
        return [self._stored(r) for r in fetch(self.db, query, (session_id, after_seq, limit))]

    def open_message(self, session_id: str) -> MessageRow | None:
        """The answer that is being streamed, if there is one."""
        query = f"SELECT {_COLUMNS} FROM messages WHERE session_id=? AND status='open' ORDER BY id DESC LIMIT 1"
        found = fetch_one(self.db, query, (session_id,))
        return None if found is None else _row(found)

    def last_answer(self, session_id: str) -> StoredMessage | None:
        """The session's newest whole answer."""
        query = (
            f"SELECT {_COLUMNS}, content FROM messages WHERE session_id=? AND role='assistant' AND status='complete'"
            " ORDER BY seq DESC LIMIT 1"
        )
        found = fetch_one(self.db, query, (session_id,))
        return None if found is None else self._stored(found)

    def stop_reason(self, session_id: str) -> str:
        """Why the session's newest whole answer stopped, in the provider's word; empty where it said none."""
        query = (
            "SELECT finish_reason FROM messages WHERE session_id=? AND role='assistant' AND status='complete'"
            " ORDER BY seq DESC LIMIT 1"
        )
        found = fetch_one(self.db, query, (session_id,))
        return str(found[0] or "") if found else ""

    def result_row(self, session_id: str, call_id: str) -> MessageRow | None:
        """The row of a call's result."""
        query = f"SELECT {_COLUMNS} FROM messages WHERE session_id=? AND role='tool' AND tool_call_id=?"
        found = fetch_one(self.db, query, (session_id, call_id))
        return None if found is None else _row(found)

    def asked_arguments(self, session_id: str, call_id: str) -> str | None:
        """The arguments that a call's approval was asked for, where they are others than the model's."""
        query = (
            "SELECT payload ->> 'arguments' FROM events"
            " WHERE session=(SELECT id FROM sessions WHERE session_id=?) AND event=? AND payload ->> 'call_id'=?"
            " ORDER BY id DESC LIMIT 1"
        )
        found = fetch_one(self.db, query, (session_id, event_name(ToolApprovalRequested), call_id))
        return None if found is None or found[0] is None else blobs.load_text(self.geode, found[0])

    def _stored(self, found: Any) -> StoredMessage:
        row, content = _row(found[:-1]), found[-1]
        if content is None:
            return StoredMessage(row, Message("assistant", self._streamed(row.id), "agent"))
        try:
            blocks = decode_blocks(blobs.load_text(self.geode, content))
        except msgspec.DecodeError as error:
            raise StoreError(f"message {row.seq} is damaged ({error})") from error
        return StoredMessage(row, Message(row.role, blocks, row.origin or "agent"))  # type: ignore[arg-type]

    def _streamed(self, message_id: int) -> tuple[Block, ...]:
        """What was streamed of a message that is not complete: text and thinking only, never a half call."""
        kinds: dict[int, str] = {}
        texts: dict[int, list[str]] = {}
        query = "SELECT block, kind, text FROM chunks WHERE message_id=? ORDER BY seq"
        for block, kind, text in fetch(self.db, query, (message_id,)):
            kinds[block] = kind
            texts.setdefault(block, []).append(text)
        made: list[Block] = []
        for block in sorted(texts):
            joined = "".join(texts[block])
            if kinds[block] == "text":
                made.append(TextBlock(joined))
            elif kinds[block] == "thinking":
                made.append(ThinkingBlock(joined))
        return tuple(made)

    # -- events -----------------------------------------------------------------------------------------------------
    def events(self, number: int, after: int = 0, limit: int = 1_000) -> list[EventRow]:
        """At most ``limit`` events of session ``number`` after event id ``after``."""
        query = "SELECT id, ts, turn, round, event, payload FROM events WHERE session=? AND id>? ORDER BY id LIMIT ?"
        return [EventRow(*r) for r in fetch(self.db, query, (number, after, limit))]

    def newest_events(self, number: int, limit: int = 20, at: int | None = None) -> list[EventRow]:
        """The session's last events up to event ``at`` (None: the newest), oldest first."""
        query = (
            "SELECT id, ts, turn, round, event, payload FROM events WHERE session=? AND id<=? ORDER BY id DESC LIMIT ?"
        )
        return [EventRow(*r) for r in reversed(fetch(self.db, query, (number, _upto(at), limit)))]

    def newest_named(self, number: int, event: str, limit: int) -> list[EventRow]:
        """The session's last events of one name, oldest first."""
        columns = "id, ts, turn, round, event, payload"
        query = f"SELECT {columns} FROM events WHERE session=? AND event=? ORDER BY id DESC LIMIT ?"
        return [EventRow(*r) for r in reversed(fetch(self.db, query, (number, event, limit)))]

    def snapshot(self, number: int, reducer_hash: str, at: int | None = None) -> tuple[int, bytes] | None:
        """(event id, state) of the newest snapshot at or before event ``at`` that this reducer can read."""
        query = (
            "SELECT event_id, state FROM state_snapshots WHERE session=? AND reducer_hash=? AND event_id<=?"
            " ORDER BY event_id DESC LIMIT 1"
        )
        row = fetch_one(self.db, query, (number, reducer_hash, _upto(at)))
        return None if row is None else (int(row[0]), bytes(row[1]))
