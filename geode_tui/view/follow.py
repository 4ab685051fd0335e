"""Follow one session: a thread reads the log, folds, and leaves the newest state in a slot."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from geode_tui.core.events import EventRow
from geode_tui.log.commands import pending
from geode_tui.log.lease import lock_path, probe
from geode_tui.log.rows import ChunkRow, Liveness, MessageRow, PendingCommand
from geode_tui.log.store import StoreError, connect, translated
from geode_tui.log.tail import EVENTS, Tail, pause
from geode_tui.log.transcript import Transcript
from geode_tui.view.reduce import REDUCER_HASH, decode_state, fold
from geode_tui.view.state import NEWEST, RunState, frozen_copy

_PROBE_S = 0.5
"""Between two looks at the session's lock: a dead worker shows within a second."""
_RETRY_S = 0.5


class Index(msgspec.Struct, frozen=True):
    """Every message row there is at attach, oldest first: before any other operation, and again whenever the store had
    to be opened anew. What was shown before it is void."""

    rows: tuple[MessageRow, ...]


class Added(msgspec.Struct, frozen=True):
    """A new row as it is by now: an answer (``open`` unless it was completed meanwhile), a person's message, a tool
    result."""

    row: MessageRow


class Chunks(msgspec.Struct, frozen=True):
    """Pieces of the open message, in order."""

    message_id: int
    pieces: tuple[ChunkRow, ...]


class Completed(msgspec.Struct, frozen=True):
    """The row is final (complete or interrupted); its body can be loaded. Follows `Added` for the same id, or comes
    alone for a row that was never seen open."""

    row: MessageRow


Op: TypeAlias = Index | Added | Chunks | Completed


class Batch(msgspec.Struct, frozen=True):
    """What changed since the last `Follower.take`. ``state`` is the newest and is never changed again."""

    state: RunState
    ops: tuple[Op, ...]
    liveness: Liveness
    pending: tuple[PendingCommand, ...]
    trouble: str = ""
    """One line when the store could not be read ("store locked by 4711"), else empty."""


class Follower:
    """See the module. ``wake`` is called from the thread when something changed, at most once until `take`."""

    def __init__(
        self, store: Path, session_id: str, wake: Callable[[], None], on_look: Callable[[], None] | None = None
    ) -> None:
        """``on_look`` is called from the thread twice a second while it looks."""
        self._store = store
        self._session_id = session_id
        self._wake = wake
        self._on_look = on_look
        self._lock = threading.Lock()
        self._ops: deque[Op] = deque()
        self._state = RunState(session_id=session_id)
        self._liveness = Liveness("free")
        self._pending: tuple[PendingCommand, ...] = ()
        self._trouble = ""
        self._awake = False
        self._stopping = threading.Event()
        self._nudged = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"follow-{session_id}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def nudge(self) -> None:
        """A command was just written: look at the log at once and often for a second."""
        self._nudged.set()

    def take(self, limit: int = 10_000) -> Batch:
        """The newest state and at most ``limit`` operations; called on the reader's thread."""
        with self._lock:
            ops = tuple(self._ops.popleft() for _ in range(min(limit, len(self._ops))))
            self._awake = bool(self._ops)
            return Batch(self._state, ops, self._liveness, self._pending, self._trouble)

    def stop(self) -> None:
        """End the thread and close its connection."""
        self._stopping.set()
        self._nudged.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)

    # -- the thread ---------------------------------------------------------------------------------------------------
    def _run(self) -> None:
        waiting = not self._store.exists()
        if waiting:
            self._publish([Index(())])
        while not self._stopping.is_set():
            if waiting:
                waiting = not self._store.exists()
                self._nudged.wait(_RETRY_S)
                self._nudged.clear()
                continue
            try:
                self._follow()
            except StoreError as error:
                self._publish(trouble=str(error))
                self._stopping.wait(_RETRY_S)

    def _follow(self) -> None:
        db = connect(self._store)
        try:
            with translated(self._store):
                reader = _Reader(Transcript(db, self._store.parent), self._session_id)
                self._publish(reader.attach(), reader)
                self._loop(reader)
        finally:
            db.close()

    def _loop(self, reader: _Reader) -> None:
        last_change = probed = time.monotonic()
        lock = lock_path(self._store.parent, self._session_id)
        liveness = probe(lock)
        self._publish((), reader, liveness=liveness)
        while not self._stopping.is_set():
            now = time.monotonic()
            if reader.tail.changed():
                ops, moved = reader.read()
                if moved:
                    last_change = now
                    self._publish(ops, reader)
            if now - probed >= _PROBE_S:
                probed = now
                if self._on_look is not None:
                    self._on_look()
                seen = probe(lock)
                if _shape(seen) != _shape(liveness):
                    liveness = seen
                    self._publish((), reader, liveness=liveness)
            if self._nudged.wait(pause(now, last_change, liveness.state != "free")):
                self._nudged.clear()
                last_change = time.monotonic()

    def _publish(
        self,
        ops: Sequence[Op] = (),
        reader: _Reader | None = None,
        *,
        liveness: Liveness | None = None,
        trouble: str = "",
    ) -> None:
        with self._lock:
            self._ops.extend(ops)
            if reader is not None:
                self._state = frozen_copy(reader.state)
                self._pending = reader.pending
            if liveness is not None:
                self._liveness = liveness
            self._trouble = trouble
            wake, self._awake = not self._awake, True
        if wake:
            self._wake()


def _shape(liveness: Liveness) -> tuple[str, int, int, str]:
    """What of a liveness is worth a repaint: not the age of a heartbeat that is fresh."""
    return liveness.state, liveness.pid, liveness.epoch, liveness.trouble


class _Reader:
    """State and operations of one session, from a snapshot on. Used by the follower's thread only."""

    def __init__(self, transcript: Transcript, session_id: str) -> None:
        self.transcript = transcript
        self.session_id = session_id
        self.state = RunState(session_id=session_id)
        self.pending: tuple[PendingCommand, ...] = ()
        self.tail = Tail(transcript.db, session_id)
        self._newest = 0

    def attach(self) -> list[Op]:
        """The index of what is there, and the state as of now."""
        session = self.transcript.session(self.session_id)
        if session is not None:
            self.state = state_at(self.transcript, session.number)
            self.state.session_id = self.session_id
            self.tail.after = self.state.last_id
        rows = tuple(self.transcript.index(self.session_id))
        self._newest = rows[-1].id if rows else 0
        self.pending = tuple(pending(self.transcript.db, self.session_id))
        return [Index(rows)]

    def read(self) -> tuple[list[Op], bool]:
        """Everything new: its operations, and whether anything of this session changed."""
        ops: list[Op] = []
        moved = False
        while True:
            fetched = self.tail.fetch()
            fold(self.state, fetched.events)
            ops += self._operations(fetched.events)
            if fetched.chunks and self._still_open(fetched.chunks[0].message_id):
                ops.append(Chunks(fetched.chunks[0].message_id, fetched.chunks))
            moved = moved or bool(fetched.events or fetched.chunks)
            if not fetched.more:
                break
        moved = moved or fetched.pending != self.pending
        self.pending = fetched.pending
        return ops, moved

    def _still_open(self, message_id: int) -> bool:
        """Rows are looked up after the read that gave the pieces: a message that was completed in between was added
        as complete, and pieces of it would come too late."""
        row = self.transcript.row(message_id)
        return row is not None and row.status == "open"

    def _operations(self, events: Sequence[EventRow]) -> list[Op]:
        """What happened to messages, with their rows as they are by now: looked up together, however many there are."""
        named = [(made, _message_of(row)) for row in events if (made := _MESSAGE_EVENTS.get(row.event)) is not None]
        found = self.transcript.rows({number for _, number in named}) if named else {}
        ops: list[Op] = []
        for made, number in named:
            message = found.get(number)
            if message is None or (made is Added and number <= self._newest):
                continue
            if made is Added:
                self._newest = number
            ops.append(made(message))
        return ops


def _message_of(row: EventRow) -> int:
    """Id of the message an event names; 0, which none has, where its payload is damaged."""
    try:
        return _MESSAGE_ID.decode(row.payload).message_id
    except msgspec.DecodeError:
        return 0


class _MessageId(msgspec.Struct, frozen=True):
    message_id: int


_MESSAGE_ID = msgspec.json.Decoder(_MessageId)
_MESSAGE_EVENTS: dict[str, type[Added | Completed]] = {
    "user_input_received": Added,
    "tool_exec_ended": Added,
    "message_opened": Added,
    "message_completed": Completed,
}


def state_at(transcript: Transcript, number: int, at: int | None = None) -> RunState:
    """The state of session ``number`` as of event id ``at`` (None: now), from the newest usable snapshot."""
    state = RunState()
    found = transcript.snapshot(number, REDUCER_HASH, at)
    if found is not None:
        try:
            state = decode_state(found[1])
            state.feed = transcript.newest_events(number, NEWEST, state.last_id)
        except msgspec.DecodeError:
            state = RunState()
    while True:
        rows = transcript.events(number, state.last_id)
        kept = rows if at is None else [r for r in rows if r.id <= at]
        fold(state, kept)
        if len(rows) < EVENTS or len(kept) < len(rows):
            return state
