"""Finding messages and artifacts of all sessions of a store.

The index is a file of its own, ``.geode/find.db``, that any process brings up to date before it searches: appending to
the log costs nothing more, and a search needs no worker. It holds words without texts; a hit's text is read from
the store, so what is gone from there is not found. Artifacts are few and are read as they are: one that is forgotten
is not found from the same transaction on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec

from geode_tui.core.messages import Block, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, decode_blocks
from geode_tui.log import blobs
from geode_tui.log.search_words import index_text, match, snippet, terms
from geode_tui.log.store import StoreError, fetch, fetch_one, transaction, translated

FILE = "find.db"
SLICE = 1_000
"""Messages that one transaction of the index adds."""
MOST_INDEXED = 1_000_000
"""Characters of a message that are indexed."""
HITS = 50
"""Hits of one search, and as many artifacts."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS find_state(origin TEXT NOT NULL, upto INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS find_open(id INTEGER PRIMARY KEY);
CREATE VIRTUAL TABLE IF NOT EXISTS find_messages
  USING fts5(body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
"""
_STATE = "SELECT origin, upto FROM find_state"
_CLEARED = "DROP TABLE find_messages; DELETE FROM find_state; DELETE FROM find_open;"


class Hit(msgspec.Struct, frozen=True):
    """A message that was found. ``timestamp`` is in seconds since the epoch."""

    session_id: str
    seq: int
    role: str
    timestamp: float
    snippet: str


class ArtifactHit(msgspec.Struct, frozen=True):
    """An artifact that was found."""

    artifact_id: str
    session_id: str
    kind: str
    snippet: str


def find(store: apsw.Connection, geode: Path, query: str, safe: Callable[[str], str]) -> tuple[Hit, ...]:
    """The newest messages with all words of ``query``, newest first, at most `HITS`.

    ``geode`` is the folder of the store. ``safe`` makes a whole text fit to be shown before a snippet is cut from it,
    so that no cut or mark hides a secret from it. Raises `StoreError`.
    """
    wanted = terms(query)
    if not wanted:
        return ()
    path = geode / FILE
    index = open_index(path)
    try:
        follow(store, index, geode)
        sql = "SELECT rowid FROM find_messages WHERE find_messages MATCH ? ORDER BY rowid DESC LIMIT ?"
        ids = [int(row[0]) for row in fetch(index, sql, (match(wanted), HITS))]
    finally:
        index.close()
    found = (_hit(store, geode, message_id, wanted, safe) for message_id in ids)
    return tuple(hit for hit in found if hit is not None)


def find_artifacts(
    store: apsw.Connection, query: str, safe: Callable[[str], str], kind: str = ""
) -> tuple[ArtifactHit, ...]:
    """The newest artifacts with all words of ``query``, of ``kind`` only where one is given. Raises `StoreError`."""
    wanted = terms(query)
    if not wanted:
        return ()
    rows = fetch(
        store,
        "SELECT artifact_id, session_id, kind, content FROM context_artifacts WHERE (?='' OR kind=?)"
        " AND metadata ->> '$.forgotten' IS NULL ORDER BY created_at DESC, artifact_id",
        (kind, kind),
    )
    lowered = [term.lower() for term in wanted]
    found = [row for row in rows if all(term in row[3].lower() for term in lowered)]
    return tuple(ArtifactHit(row[0], row[1], row[2], snippet(safe(row[3]), wanted)) for row in found[:HITS])


def open_index(path: Path) -> apsw.Connection:
    """The index file, made where there is none, for this user only. Raises `StoreError`.

    It keeps SQLite's rollback journal: transactions are short, and processes that make it at once need not agree on
    another mode.
    """
    with translated(path):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
        db = apsw.Connection(str(path))
        try:
            db.set_busy_timeout(5_000)
            db.pragma("synchronous", "normal")
            if not fetch(db, "SELECT 1 FROM sqlite_master WHERE name='find_messages'"):
                with transaction(db):
                    db.execute(_SCHEMA)
        except BaseException:
            db.close()
            raise
    return db


def follow(store: apsw.Connection, index: apsw.Connection, geode: Path) -> None:
    """Bring ``index`` up to the end of ``store``, in slices; another process may do the same. Raises `StoreError`."""
    more = not _is_current(store, index)
    while more:
        with translated(geode / FILE), transaction(index):
            more = _slice(store, index, geode)


def _is_current(store: apsw.Connection, index: apsw.Connection) -> bool:
    """Whether there is nothing to add: said without a lock, so that most searches write nothing."""
    return fetch(index, _STATE) == [_end(store)] and not fetch(index, "SELECT 1 FROM find_open LIMIT 1")


def _slice(store: apsw.Connection, index: apsw.Connection, geode: Path) -> bool:
    """Add the next messages; whether there may be more. An answer still being written is noted and added later."""
    upto = _upto(store, index)
    rows = fetch(store, "SELECT id, status, content FROM messages WHERE id>? ORDER BY id LIMIT ?", (upto, SLICE))
    for (message_id,) in fetch(index, "SELECT id FROM find_open"):
        late = fetch_one(store, "SELECT id, status, content FROM messages WHERE id=?", (message_id,))
        if late is None or late[1] != "open":
            index.execute("DELETE FROM find_open WHERE id=?", (message_id,))
        if late is not None and late[1] != "open":
            _add(index, geode, message_id, late[2])
    for message_id, status, content in rows:
        if status == "open":
            index.execute("INSERT INTO find_open(id) VALUES(?)", (message_id,))
        else:
            _add(index, geode, message_id, content)
    if rows:
        index.execute("UPDATE find_state SET upto=?", (rows[-1][0],))
    return len(rows) == SLICE


def _upto(store: apsw.Connection, index: apsw.Connection) -> int:
    """The last message that the index knows; an index of another store than this one is emptied."""
    origin, newest = _end(store)
    state = fetch(index, _STATE)
    if state and state[0][0] == origin and state[0][1] <= newest:
        return int(state[0][1])
    index.execute(_CLEARED)
    index.execute(_SCHEMA)
    index.execute("INSERT INTO find_state(origin, upto) VALUES(?, 0)", (origin,))
    return 0


def _end(store: apsw.Connection) -> tuple[str, int]:
    """What tells the store from another one, and the id of its newest message."""
    first = fetch_one(store, "SELECT session_id, timestamp FROM messages ORDER BY id LIMIT 1")
    newest = int(fetch_one(store, "SELECT coalesce(max(id), 0) FROM messages")[0])
    return "" if first is None else f"{first[0]} {first[1]!r}", newest


def _add(index: apsw.Connection, geode: Path, message_id: int, content: str | None) -> None:
    body = _body(geode, content)[:MOST_INDEXED]
    index.execute("INSERT INTO find_messages(rowid, body) VALUES(?, ?)", (message_id, index_text(body)))


def _hit(
    store: apsw.Connection, geode: Path, message_id: int, wanted: tuple[str, ...], safe: Callable[[str], str]
) -> Hit | None:
    sql = "SELECT session_id, seq, role, timestamp, content FROM messages WHERE id=?"
    row = fetch_one(store, sql, (message_id,))
    if row is None:
        return None
    return Hit(row[0], row[1], row[2], row[3], snippet(safe(_body(geode, row[4])), wanted))


def _body(geode: Path, content: str | None) -> str:
    """The words of a stored body. One whose file is gone, or that is damaged, has none: the others are still found."""
    if not content:
        return ""
    try:
        blocks = decode_blocks(blobs.load_text(geode, content))
    except (StoreError, msgspec.DecodeError):
        return ""
    return "\n".join(filter(None, map(_words, blocks)))


def _words(block: Block) -> str:
    match block:
        case TextBlock() | ThinkingBlock() | ToolResultBlock():
            return block.text
        case ToolCallBlock():
            return f"{block.name} {block.arguments}"
    return ""
