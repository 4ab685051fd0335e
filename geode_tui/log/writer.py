"""One session's only writer: transactions that prove, before they write, that the session is still theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec

from geode_tui.core.events import (
    CommandFinished,
    EventRow,
    MessageCompleted,
    MessageOpened,
    Payload,
    encode_payload,
    event_name,
)
from geode_tui.core.messages import Message, ToolResultBlock, encode_blocks
from geode_tui.core.text import scrub
from geode_tui.log import blobs
from geode_tui.log.rows import ChunkRow, PendingCommand, ResultMeta
from geode_tui.log.store import transaction, translated, truncate_wal

T = TypeVar("T")
WAL_LIMIT = 32 * 1024 * 1024
"""Bytes of WAL past which the writer truncates it even when it is not idle (ARCHITECTURE.md, "Engine")."""
TITLE_CHARS = 80


class Fenced(Exception):
    """Another worker owns the session now: this one may write nothing more."""


class RowMeta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands in ``messages.metadata``."""

    origin: str = ""
    result: ResultMeta | None = None


def body_chars(message: Message) -> int:
    """Characters of a message's readable text: what a view estimates its height by."""
    total = 0
    for block in message.blocks:
        if isinstance(block, ToolResultBlock):
            total += len(block.text)
        else:
            total += len(getattr(block, "text", ""))
    return total


class Tx:
    """An open write transaction. Every event is stamped with ``now`` and with the position given at its making."""

    def __init__(self, writer: Writer, now: float, turn: int, round_: int) -> None:
        self.db = self._db = writer.db
        self.geode = writer.geode
        self.session_number = writer.number
        self._writer = writer
        self.now = now
        self.turn = turn
        self.round = round_
        self.rows: list[EventRow] = []
        self._seq: int | None = None
        """The newest message number, once it was read: nobody else writes while this transaction is open."""

    # -- events -----------------------------------------------------------------------------------------------------
    def event(self, payload: Payload) -> int:
        """Append a fact; returns its id."""
        name, text = event_name(type(payload)), encode_payload(payload)
        self._db.execute(
            "INSERT INTO events(session, ts, turn, round, event, payload) VALUES(?,?,?,?,?,?)",
            (self._writer.number, self.now, self.turn, self.round, name, text),
        )
        number = self._db.last_insert_rowid()
        self.rows.append(EventRow(number, self.now, self.turn, self.round, name, text))
        return number

    # -- messages ---------------------------------------------------------------------------------------------------
    def next_seq(self) -> int:
        """Take the session's next message number: never one that was used before."""
        if self._seq is None:
            query = "SELECT coalesce(max(seq), 0) FROM messages WHERE session_id=?"
            self._seq = int(self._db.execute(query, (self._writer.session_id,)).get)
        self._seq += 1
        return self._seq

    def open_message(self) -> tuple[int, int]:
        """Begin an answer's row, without content. Returns (id, seq)."""
        seq = self.next_seq()
        self._db.execute(
            "INSERT INTO messages(session_id, seq, role, timestamp, metadata, turn, round, status)"
            " VALUES(?,?,?,?,?,?,?,'open')",
            (self._writer.session_id, seq, "assistant", self.now, _meta(RowMeta("agent")), self.turn, self.round),
        )
        number = self._db.last_insert_rowid()
        self.event(MessageOpened(number, seq))
        return number, seq

    def add_chunks(self, chunks: Sequence[ChunkRow]) -> None:
        """Append pieces to an open message."""
        self._db.executemany(
            "INSERT INTO chunks(message_id, seq, block, kind, name, text) VALUES(?,?,?,?,?,?)",
            [(c.message_id, c.seq, c.block, c.kind, c.name, scrub(c.text)) for c in chunks],
        )

    def complete_message(self, number: int, seq: int, message: Message, finish_reason: str, tokens: int | None) -> None:
        """Set an open message's content, drop its chunks, and say so."""
        self._db.execute(
            "UPDATE messages SET content=?, tool_calls=?, finish_reason=?, token_count=?, chars=?, status='complete'"
            " WHERE id=? AND status='open'",
            (self._body(message), _calls(message), finish_reason, tokens, body_chars(message), number),
        )
        self._one_changed("message", number)
        self._db.execute("DELETE FROM chunks WHERE message_id=?", (number,))
        self.event(MessageCompleted(number, seq, "assistant", body_chars(message), calls=len(message.calls)))

    def interrupt_message(self, number: int, seq: int) -> None:
        """Give up an open message: what was streamed stays readable, marked interrupted, and is never replayed."""
        chars = self._db.execute(
            "SELECT total(length(text)) FROM chunks WHERE message_id=? AND kind='text'", (number,)
        ).get
        self._db.execute(
            "UPDATE messages SET chars=?, status='interrupted' WHERE id=? AND status='open'", (int(chars), number)
        )
        self._one_changed("message", number)
        self.event(MessageCompleted(number, seq, "assistant", int(chars), status="interrupted"))

    def add_message(
        self, message: Message, result: ResultMeta | None = None, tokens: int | None = None
    ) -> tuple[int, int]:
        """Append a whole message (a person's words, a tool's result). Returns (id, seq).

        Raises ``apsw.ConstraintError`` for a second result of one call.
        """
        seq = self.next_seq()
        block = message.blocks[0] if message.role == "tool" else None
        call_id, tool = (block.call_id, block.name) if isinstance(block, ToolResultBlock) else (None, None)
        self._db.execute(
            "INSERT INTO messages(session_id, seq, role, content, tool_call_id, tool_name, timestamp, token_count,"
            " metadata, turn, round, chars) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                self._writer.session_id, seq, message.role, self._body(message), call_id, tool, self.now, tokens,
                _meta(RowMeta(message.origin, result)), self.turn, self.round, body_chars(message),
            ),
        )  # fmt: skip
        return self._db.last_insert_rowid(), seq

    def add_answer(self, message: Message, finish_reason: str, tokens: int | None) -> tuple[int, int]:
        """Append a whole answer that was streamed elsewhere, and say so. Returns (id, seq)."""
        seq, chars = self.next_seq(), body_chars(message)
        self._db.execute(
            "INSERT INTO messages(session_id, seq, role, content, tool_calls, timestamp, token_count, finish_reason,"
            " metadata, turn, round, chars) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                self._writer.session_id, seq, message.role, self._body(message), _calls(message), self.now, tokens,
                finish_reason, _meta(RowMeta(message.origin)), self.turn, self.round, chars,
            ),
        )  # fmt: skip
        number = self._db.last_insert_rowid()
        self.event(MessageCompleted(number, seq, message.role, chars, calls=len(message.calls)))
        return number, seq

    def is_open(self, number: int) -> bool:
        """Whether a message still streams."""
        return self._db.execute("SELECT 1 FROM messages WHERE id=? AND status='open'", (number,)).get is not None

    def has_result(self, call_id: str) -> bool:
        """Whether a call has its result."""
        query = "SELECT 1 FROM messages WHERE session_id=? AND role='tool' AND tool_call_id=?"
        return self._db.execute(query, (self._writer.session_id, call_id)).get is not None

    def _body(self, message: Message) -> str:
        return blobs.store_text(self._writer.geode, encode_blocks(message.blocks))

    def _one_changed(self, what: str, number: int) -> None:
        if self._db.changes() != 1:
            raise RuntimeError(f"{what} {number} was already closed")

    # -- commands ---------------------------------------------------------------------------------------------------
    def has_commands(self) -> bool:
        """Whether any command of the session has no outcome yet."""
        query = "SELECT 1 FROM commands WHERE session_id=? AND done_at IS NULL"
        return self._db.execute(query, (self._writer.session_id,)).get is not None

    def claim(self, command_id: int) -> bool:
        """Mark a command as being worked on by this worker; false when it already has an outcome."""
        self._db.execute(
            "UPDATE commands SET claimed_epoch=? WHERE id=? AND done_at IS NULL", (self._writer.epoch, command_id)
        )
        return self._db.changes() == 1

    def finish(self, command: PendingCommand, outcome: str, detail: str = "") -> bool:
        """Give a command its one outcome; false (and no event) when it has one already."""
        self._db.execute(
            "UPDATE commands SET done_at=?, outcome=?, claimed_epoch=coalesce(claimed_epoch, ?)"
            " WHERE id=? AND done_at IS NULL",
            (self.now, outcome, self._writer.epoch, command.id),
        )
        if self._db.changes() != 1:
            return False
        self.event(CommandFinished(command.id, command.key, command.kind, outcome, detail))  # type: ignore[arg-type]
        return True

    # -- the session's own row ----------------------------------------------------------------------------------------
    def session(self, **columns: str | float) -> None:
        """Update columns of the session's row; ``updated_at`` goes with it."""
        names = ", ".join(f"{name}=?" for name in columns)
        self._db.execute(
            f"UPDATE sessions SET {names + ', ' if names else ''}updated_at=? WHERE id=?",
            (*columns.values(), self.now, self._writer.number),
        )

    def forget(self, before_event: int, limit: int) -> bool:
        """Delete the oldest messages, and the oldest events before that one, up to ``limit`` of each: a foreign run is
        read anew. False once there was nothing to delete.
        """
        number, session_id = self._writer.number, self._writer.session_id
        self._db.execute("DELETE FROM state_snapshots WHERE session=?", (number,))
        self._db.execute(
            "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE session=? AND id<? ORDER BY id LIMIT ?)",
            (number, before_event, limit),
        )
        events = self._db.changes()
        self._db.execute(
            "DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE session_id=? ORDER BY seq LIMIT ?)",
            (session_id, limit),
        )
        return events + self._db.changes() > 0

    def snapshot(self, event_id: int, kind: str, reducer_hash: str, state: bytes) -> None:
        """Keep a folded state; of kind ``latest`` there is one a session."""
        if kind == "latest":
            self._db.execute("DELETE FROM state_snapshots WHERE session=? AND kind='latest'", (self._writer.number,))
        self._db.execute(
            "INSERT OR REPLACE INTO state_snapshots VALUES(?,?,?,?,?)",
            (self._writer.number, event_id, kind, reducer_hash, state),
        )


class Writer:
    """A worker's connection. ``raise_epoch`` makes every older writer of the session harmless."""

    def __init__(self, db: apsw.Connection, path: Path, session_id: str) -> None:
        self.db = db
        self.path = path
        self.geode = path.parent
        self.session_id = session_id
        self.number = 0
        self.epoch = 0
        self._durable = False

    def raise_epoch(self, now: float, *, title: str, prompt: str, options: str) -> int:
        """Take the session (making its row if there is none) and return the new epoch. Needs the lease."""
        with translated(self.path):
            self.db.pragma("synchronous", "full")
            self._durable = True
            with transaction(self.db):
                self.db.execute(
                    "INSERT OR IGNORE INTO sessions(session_id, created_at, updated_at, title, user_input, options)"
                    " VALUES(?,?,?,?,?,?)",
                    (self.session_id, now, now, scrub(title)[:TITLE_CHARS], scrub(prompt), options),
                )
                row = self.db.execute(
                    "UPDATE sessions SET epoch=epoch+1, updated_at=? WHERE session_id=? RETURNING id, epoch",
                    (now, self.session_id),
                ).fetchone()
        assert row is not None
        self.number, self.epoch = int(row[0]), int(row[1])
        return self.epoch

    def write(
        self, work: Callable[[Tx], T], *, now: float, turn: int, round_: int, durable: bool = False
    ) -> tuple[T, list[EventRow]]:
        """Run ``work`` in one transaction; returns its value and the events it appended.

        ``durable`` syncs to disk before it returns: for intents, claims and decisions. Raises `Fenced` when the
        session has another owner, `StoreBusy` and `StoreFull` when trying again is right.
        """
        with translated(self.path):
            if durable != self._durable:
                self.db.pragma("synchronous", "full" if durable else "normal")
                self._durable = durable
            with transaction(self.db):
                epoch = self.db.execute("SELECT epoch FROM sessions WHERE id=?", (self.number,)).get
                if epoch != self.epoch:
                    raise Fenced(f"session {self.session_id} belongs to a newer worker")
                tx = Tx(self, now, turn, round_)
                value = work(tx)
        return value, tx.rows

    def tidy(self, *, idle: bool) -> None:
        """Truncate the WAL when idle, or when it grew past its bound; skipped where somebody reads."""
        wal = self.path.with_name(self.path.name + "-wal")
        try:
            size = wal.stat().st_size
        except OSError:
            return
        if size > WAL_LIMIT or (idle and size > 0):
            truncate_wal(self.db)

    def close(self) -> None:
        """Close the connection."""
        self.db.close()


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _calls(message: Message) -> str | None:
    """What a row's ``tool_calls`` says: ids and names."""
    calls = [{"id": call.call_id, "name": call.name} for call in message.calls]
    return _json(calls) if calls else None


def _meta(meta: RowMeta) -> str:
    return _json(meta)
