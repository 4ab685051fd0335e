"""Projects with long histories, made once with fixed seeds and kept in a cache folder of the system's temporary one."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from geode_tui.core import events as ev
from geode_tui.core.limits import Limits
from geode_tui.core.messages import Message, TextBlock, user_text
from geode_tui.log.lease import Lease, LeaseNote, lock_path
from geode_tui.log.store import connect, create, migrations, transaction, truncate_wal
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Tx, Writer
from geode_tui.view.reduce import REDUCER_HASH, encode_state, fold
from geode_tui.view.state import RunState
from tests.bench.material import facts, markdown, text_mark

VERSION = 3
"""Raise it where what is made here changes."""
SESSION = "bench-1"
TITLE = "Measured run"
BEGAN = 1_790_000_000.0
SNAPSHOT_EVERY = 20_000
MESSAGE_CHARS = 4_000
LAST = text_mark(99_999)
"""The last words of every history."""
KINDS = {
    "short": (2_000, 10_000),
    "chars-0": (0, 0),
    "chars-10k": (0, 10_000),
    "chars-100k": (0, 100_000),
    "chars-1m": (0, 1_000_000),
    "events-1m": (1_000_000, 10_000),
}
"""Events beyond those of messages, and characters of the conversation."""


def cache_folder() -> Path:
    """Where they are kept: a private folder, never inside a repository."""
    schema = hashlib.sha256("".join(sql for _, sql in migrations()).encode()).hexdigest()[:8]
    folder = Path(tempfile.gettempdir()) / f"geode-tui-bench-{os.getuid()}" / f"{VERSION}-{schema}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else: remove it")
    return folder


def stored(kind: str) -> Path:
    """The project of that kind, made where it is missing. It is shared: read it, or take a `copy`."""
    root = cache_folder() / kind
    if not root.is_dir():
        making = cache_folder() / f".{kind}.{os.getpid()}"
        shutil.rmtree(making, ignore_errors=True)
        _make(making, *KINDS[kind])
        making.rename(root)
    _refresh_snapshots(store_of(root))
    return root


def copy(kind: str, into: Path) -> Path:
    """A copy of that project to write in."""
    root = into / f"{kind}-{time.monotonic_ns()}"
    shutil.copytree(stored(kind), root)
    return root


def store_of(root: Path) -> Path:
    """A project's log."""
    return root / ".geode" / "sessions.db"


NOTED = (ev.ViewChanged, ev.MaintenanceEnded, ev.ProviderCompacted, ev.WindowObserved)
"""What leaves a note in the conversation: at its end it would stand below the text that is waited for."""


# -- making -----------------------------------------------------------------------------------------------------------
def _make(root: Path, events: int, chars: int) -> None:
    (root / ".git").mkdir(parents=True)
    store = store_of(root)
    create(store).close()
    writer = Writer(connect(store), store, SESSION)
    writer.raise_epoch(BEGAN, title=TITLE, prompt="measure", options="{}")
    writer.write(lambda tx: tx.event(session_started(1)), now=BEGAN, turn=0, round_=0)
    _add_events(writer, events)
    if chars:
        writer.write(lambda tx: _add_turn(tx, chars), now=BEGAN + 1, turn=1, round_=1)
    writer.write(lambda tx: tx.event(ev.SessionEnded(SESSION, "natural", 1)), now=BEGAN + 2, turn=1, round_=1)
    truncate_wal(writer.db)
    writer.close()


def session_started(epoch: int) -> ev.SessionStarted:
    """A worker takes the session."""
    return ev.SessionStarted(SESSION, "m-1", "anthropic", "payg", epoch > 1, epoch, 0, "ask", Limits(), title=TITLE)


def _add_turn(tx: Tx, chars: int) -> None:
    """A prompt and a complete turn of so many characters, in answers of a few thousand."""
    number, seq = tx.add_message(user_text("Measure it."))
    tx.event(ev.UserInputReceived(SESSION, "t-1", seq, number, 11, "user_input"))
    text = markdown(chars, chars)
    parts = [text[at : at + MESSAGE_CHARS] for at in range(0, chars, MESSAGE_CHARS)]
    for index, part in enumerate(parts):
        closing = f"{part}\n\n```\n```\n\nThe end {LAST}" if index == len(parts) - 1 else part
        number, seq = tx.open_message()
        tx.complete_message(number, seq, Message("assistant", (TextBlock(closing),)), "end_turn", None)
    tx.event(ev.TurnCompleted(SESSION, "t-1", "m-1", "anthropic", len(parts), (), "natural"))


def _rows(number: int, count: int) -> Iterator[tuple[int, float, int, int, str, str]]:
    told = (fact for fact in facts(7) if not isinstance(fact[1], NOTED))
    for index, (round_, payload) in enumerate(itertools.islice(told, count)):
        name = ev.event_name(type(payload))
        yield number, BEGAN + index / 50, 1, round_, name, ev.encode_payload(payload)


def _add_events(writer: Writer, count: int) -> None:
    """Straight into the table: a million by the worker's own way takes minutes."""
    query = "INSERT INTO events(session, ts, turn, round, event, payload) VALUES(?,?,?,?,?,?)"
    rows = _rows(writer.number, count)
    while batch := list(itertools.islice(rows, 10_000)):
        with transaction(writer.db):
            writer.db.executemany(query, batch)


def _refresh_snapshots(store: Path) -> None:
    """Snapshots of this program's reducer, as a worker leaves them; made again when the reducer has changed."""
    db = connect(store)
    try:
        transcript = Transcript(db, store.parent)
        session = transcript.session(SESSION)
        assert session is not None
        if transcript.snapshot(session.number, REDUCER_HASH) is None:
            with transaction(db):
                db.execute("DELETE FROM state_snapshots")
                _snapshots(db, transcript, session.number)
        truncate_wal(db)
    finally:
        db.close()


def _snapshots(db: apsw.Connection, transcript: Transcript, number: int) -> None:
    state = RunState()
    query = "INSERT OR REPLACE INTO state_snapshots VALUES(?,?,?,?,?)"
    while rows := transcript.events(number, state.last_id, SNAPSHOT_EVERY):
        fold(state, rows)
        kind = "kept" if len(rows) == SNAPSHOT_EVERY else "latest"
        db.execute(query, (number, state.last_id, kind, REDUCER_HASH, encode_state(state)))


# -- writing ----------------------------------------------------------------------------------------------------------
class Hand:
    """A session taken as a worker takes it, with a turn that is going on; written by whoever measures."""

    def __init__(self, root: Path) -> None:
        store = store_of(root)
        self.writer = Writer(connect(store), store, SESSION)
        epoch = self.writer.raise_epoch(time.time(), title=TITLE, prompt="", options="{}")
        note = LeaseNote(os.getpid(), time.time(), epoch)
        self.lease = Lease(lock_path(store.parent, SESSION), note)
        self.write(self._begin)

    def _begin(self, tx: Tx) -> None:
        tx.event(session_started(self.writer.epoch))
        number, seq = tx.add_message(user_text("Go on."))
        tx.event(ev.UserInputReceived(SESSION, "t-2", seq, number, 6, "user_input"))

    def write(self, work: Callable[[Tx], object]) -> float:
        """One transaction; returns when it was committed (`time.monotonic`)."""
        self.lease.beat()
        self.writer.write(work, now=time.time(), turn=2, round_=1)
        return time.monotonic()

    def close(self) -> None:
        """Give the session up."""
        self.writer.close()
        self.lease.release()
