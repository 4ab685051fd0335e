"""Following a real store that a real writer fills: what a screen gets, and when it is woken."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import apsw
import msgspec
import pytest

from geode_tui.core import events as ev
from geode_tui.core.messages import user_text
from geode_tui.log import commands as cmd
from geode_tui.log.lease import Lease, LeaseNote, lock_path
from geode_tui.log.rows import ChunkRow, MessageRow
from geode_tui.log.store import connect, create
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Tx, Writer
from geode_tui.view import follow
from geode_tui.view.follow import Added, Batch, Chunks, Completed, Follower, Index, Op, state_at
from geode_tui.view.reduce import REDUCER_HASH, encode_state, fold
from geode_tui.view.state import RunState, frozen_copy
from tests.log.stores import A_FACT, NOW, SESSION, answer, commit, facts, open_writer, pieces, result

PATIENCE_S = 20.0


class Screen:
    """Rebuilds the transcript from a follower's operations, and checks that they are in order."""

    def __init__(self, *, blind: bool = False) -> None:
        self.rows: dict[int, MessageRow] = {}
        self.streams: dict[int, list[ChunkRow]] = {}
        self.attached = False
        self._blind = blind

    def apply(self, op: Op) -> None:
        match op:
            case Index():
                self.attached = True
                self.rows = {row.id: row for row in op.rows}
                self.streams = {}
            case Added():
                assert self.attached
                assert op.row.id not in self.rows
                self.rows[op.row.id] = op.row
            case Chunks():
                assert self.rows[op.message_id].status == "open"
                if not self._blind:
                    self.streams.setdefault(op.message_id, []).extend(op.pieces)
            case Completed():
                assert op.row.status != "open"
                self.rows[op.row.id] = op.row
                self.streams.pop(op.row.id, None)

    def text(self, message_id: int) -> str:
        got = self.streams.get(message_id, [])
        assert [piece.seq for piece in got] == list(range(len(got)))
        return "".join(piece.text for piece in got)


class Watcher:
    """A follower and the screen it feeds."""

    def __init__(self, store: Path, *, blind: bool = False) -> None:
        self.screen = Screen(blind=blind)
        self.looks = 0
        self.wakes = 0
        self._news = threading.Condition()
        self.follower = Follower(store, SESSION, self._wake, self._look)
        self.follower.start()

    def _wake(self) -> None:
        with self._news:
            self.wakes += 1
            self._news.notify_all()

    def _look(self) -> None:
        with self._news:
            self.looks += 1
            self._news.notify_all()

    def wait(self, met: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(met, PATIENCE_S)

    def looked(self, times: int) -> None:
        """Until the follower has looked at the log so often from now on."""
        goal = self.looks + times
        self.wait(lambda: self.looks >= goal)

    def settle(self) -> None:
        """Until it is attached and everything there is was taken."""
        self.until(lambda _batch: self.screen.attached)
        self.looked(1)
        self.until(lambda _batch: True)

    def until(self, met: Callable[[Batch], bool]) -> Batch:
        """Take what comes until ``met``."""
        while True:
            seen = self.wakes
            batch = self.follower.take(limit=7)
            for op in batch.ops:
                self.screen.apply(op)
            if not batch.ops:
                if met(batch):
                    return batch
                self.wait(lambda seen=seen: self.wakes > seen)  # type: ignore[misc]


@pytest.fixture
def store(project: Path) -> Path:
    return project / ".geode" / "sessions.db"


@pytest.fixture
def watch(store: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Watcher]]:
    monkeypatch.setattr(follow, "_PROBE_S", 0.02)
    monkeypatch.setattr(follow, "_RETRY_S", 0.02)
    made: list[Watcher] = []

    def start(**options: bool) -> Watcher:
        made.append(Watcher(store, **options))
        return made[-1]

    yield start
    for watcher in made:
        watcher.follower.stop()


def play(writer: Writer, random: Random, answers: int) -> None:
    """Write a run: inputs, answers that stream, some of them interrupted, calls with results, other facts."""
    for number in range(answers):
        if number % 5 == 0:
            say(writer, f"do part {number}")
        message, seq = commit(writer, lambda tx: tx.open_message())
        count = random.randrange(8)
        for n in range(count):
            commit(writer, lambda tx, m=message, n=n: tx.add_chunks(pieces(m, f"piece {n} ", start=n)))  # type: ignore[misc]
        if random.random() < 0.2:
            commit(writer, lambda tx, m=message, s=seq: tx.interrupt_message(m, s))  # type: ignore[misc]
            continue
        calls = [f"call-{message}-{n}" for n in range(random.randrange(3))]
        whole = answer(f"answer {number}", *calls)
        commit(writer, lambda tx, m=message, s=seq, w=whole: tx.complete_message(m, s, w, "end_turn", 9))  # type: ignore[misc]
        for call in calls:
            finish(writer, call)
        facts(writer, random.randrange(4))


def say(writer: Writer, text: str) -> None:
    def work(tx: Tx) -> None:
        number, seq = tx.add_message(user_text(text))
        tx.event(ev.UserInputReceived(SESSION, "t", seq, number, len(text), "user_input"))

    commit(writer, work)


def finish(writer: Writer, call: str) -> None:
    def work(tx: Tx) -> None:
        number, seq = tx.add_message(result(call))
        tx.event(ev.ToolExecEnded(call, "grep", 5, False, True, "1 hit", 3, 5, number, seq))

    commit(writer, work)


def replayed(store: Path) -> RunState:
    """The fold from zero."""
    db = connect(store)
    transcript = Transcript(db, store.parent)
    session = transcript.session(SESSION)
    rows = transcript.events(session.number, limit=100_000) if session else []
    db.close()
    return fold(RunState(session_id=SESSION), rows)


def index(store: Path) -> list[MessageRow]:
    db = connect(store)
    rows = Transcript(db, store.parent).index(SESSION)
    db.close()
    return rows


def written_by_another_thread(store: Path, seed: int, answers: int) -> threading.Thread:
    def work() -> None:
        writer = open_writer(store)
        play(writer, Random(seed), answers)
        writer.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


# -- what a screen gets -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("blind", [False, True], ids=["with pieces", "without pieces"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_operations_rebuild_the_transcript(
    store: Path, watch: Callable[..., Watcher], seed: int, blind: bool
) -> None:
    watcher = watch(blind=blind)
    writing = written_by_another_thread(store, seed, 30)
    writing.join()
    final = replayed(store)
    batch = watcher.until(lambda b: b.state.last_id == final.last_id)
    assert list(watcher.screen.rows.values()) == index(store)
    assert watcher.screen.streams == {}
    assert batch.state == frozen_copy(final)


def test_attaching_late_in_the_middle_of_an_answer_is_the_same_as_watching_live(
    store: Path, watch: Callable[..., Watcher]
) -> None:
    early = watch()
    writer = open_writer(store)
    play(writer, Random(3), 12)
    message, seq = commit(writer, lambda tx: tx.open_message())
    commit(writer, lambda tx: tx.add_chunks(pieces(message, "half an ")))
    late = watch()
    commit(writer, lambda tx: tx.add_chunks(pieces(message, "answer", start=1)))
    for watcher in (early, late):
        watcher.until(lambda _b, w=watcher: w.screen.text(message) == "half an answer")  # type: ignore[misc]
        assert watcher.screen.rows[message].status == "open"
    commit(writer, lambda tx: tx.complete_message(message, seq, answer("half an answer and the rest"), "end_turn", 9))
    play(writer, Random(4), 5)
    final = replayed(store)
    states = [w.until(lambda b: b.state.last_id == final.last_id).state for w in (early, late)]
    assert early.screen.rows == late.screen.rows
    assert states == [frozen_copy(final)] * 2
    writer.close()


def test_a_snapshot_is_used_and_changes_nothing(store: Path, watch: Callable[..., Watcher]) -> None:
    writer = open_writer(store)
    play(writer, Random(5), 60)
    at = replayed(store)
    marked = msgspec.structs.replace(at, title="from the snapshot")
    commit(writer, lambda tx: tx.snapshot(at.last_id, "latest", REDUCER_HASH, encode_state(marked)))
    play(writer, Random(6), 1)
    final = replayed(store)
    batch = watch().until(lambda b: b.state.last_id == final.last_id)
    assert batch.state == frozen_copy(msgspec.structs.replace(final, title="from the snapshot"))
    writer.close()


@pytest.mark.parametrize("damage", ["hash", "state"])
def test_a_snapshot_that_cannot_be_used_is_rebuilt(store: Path, damage: str) -> None:
    writer = open_writer(store)
    facts(writer, 30)
    made_by, state = ("another", encode_state(replayed(store))) if damage == "hash" else (REDUCER_HASH, b"{")
    commit(writer, lambda tx: tx.snapshot(20, "latest", made_by, state))
    transcript = Transcript(writer.db, store.parent)
    found = state_at(transcript, writer.number)
    found.session_id = SESSION
    assert found == replayed(store)
    assert state_at(transcript, writer.number, 12).events == 12
    writer.close()


def test_commands_that_wait_are_shown_until_they_have_their_outcome(store: Path, watch: Callable[..., Watcher]) -> None:
    writer = open_writer(store)
    watcher = watch()
    kind, payload = cmd.encode(cmd.Submit("and the docs"))
    cmd.send(writer.db, SESSION, kind, payload, client_id="c", key="k", now=NOW)
    watcher.follower.nudge()
    waiting = watcher.until(lambda b: bool(b.pending)).pending[0]
    assert (waiting.text, waiting.claimed) == ("and the docs", False)
    commit(writer, lambda tx: tx.finish(waiting, "done"))
    batch = watcher.until(lambda b: not b.pending)
    assert [(o.key, o.outcome) for o in batch.state.outcomes] == [("k", "done")]
    writer.close()


def test_the_worker_is_seen_to_come_and_go(store: Path, watch: Callable[..., Watcher]) -> None:
    writer = open_writer(store)
    watcher = watch()
    watcher.until(lambda b: b.liveness.state == "free")
    lease = Lease(lock_path(store.parent, SESSION), LeaseNote(4711, 1.0, 2))
    held = watcher.until(lambda b: b.liveness.state == "held").liveness
    assert (held.pid, held.epoch) == (4711, 2)
    lease.write(LeaseNote(4711, 1.0, 2, "the disk is full"))
    watcher.until(lambda b: b.liveness.trouble == "the disk is full")
    lease.release()
    watcher.until(lambda b: b.liveness.state == "free")
    writer.close()


# -- when it is woken -------------------------------------------------------------------------------------------------
def test_a_reader_is_woken_once_until_it_takes(store: Path, watch: Callable[..., Watcher]) -> None:
    writer = open_writer(store)
    watcher = watch()
    watcher.settle()
    before = watcher.wakes
    for _ in range(3):
        facts(writer, 2)
        watcher.looked(1)
    watcher.looked(2)
    assert watcher.wakes == before + 1
    assert watcher.follower.take().state.events == 6
    facts(writer, 1)
    watcher.wait(lambda: watcher.wakes == before + 2)
    writer.close()


def test_what_another_session_writes_wakes_nobody(store: Path, watch: Callable[..., Watcher]) -> None:
    writer, other = open_writer(store), open_writer(store, "s-2")
    watcher = watch()
    watcher.settle()
    before = watcher.wakes
    facts(other, 5)
    watcher.looked(2)
    assert watcher.wakes == before
    writer.close()
    other.close()


# -- a store that is not ready ----------------------------------------------------------------------------------------
def test_a_store_that_does_not_exist_is_an_empty_run_until_it_does(store: Path, watch: Callable[..., Watcher]) -> None:
    watcher = watch()
    batch = watcher.until(lambda _b: watcher.screen.attached)
    assert (batch.state.events, batch.trouble, watcher.screen.rows) == (0, "", {})
    writer = open_writer(store)
    say(writer, "hello")
    watcher.until(lambda b: b.state.events == 1)
    assert len(watcher.screen.rows) == 1
    writer.close()


def test_a_store_that_is_being_set_up_is_waited_for(store: Path, watch: Callable[..., Watcher]) -> None:
    store.parent.mkdir()
    store.touch()
    watcher = watch()
    assert "still being set up" in watcher.until(lambda b: bool(b.trouble)).trouble
    create(store).close()
    writer = open_writer(store)
    facts(writer, 1)
    assert watcher.until(lambda b: b.state.events == 1).trouble == ""
    writer.close()


def test_a_locked_store_is_one_line_until_it_can_be_read_again(
    store: Path, watch: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B069."""
    writer = open_writer(store)
    commit(writer, lambda tx: tx.event(A_FACT))
    writer.close()
    monkeypatch.setattr(follow, "connect", lambda path: connect(path, wait_s=0.02))
    holder = apsw.Connection(str(store))
    holder.pragma("locking_mode", "exclusive")
    holder.execute("BEGIN IMMEDIATE")
    watcher = watch()
    trouble = watcher.until(lambda b: bool(b.trouble)).trouble
    assert "is locked by" in trouble
    assert "\n" not in trouble
    holder.execute("COMMIT")
    holder.close()
    assert watcher.until(lambda b: b.state.events == 1).trouble == ""


def test_a_damaged_store_is_one_line(store: Path, watch: Callable[..., Watcher]) -> None:
    """B070."""
    store.parent.mkdir()
    store.write_bytes(b"not a database, " * 512)
    assert "is damaged" in watch().until(lambda b: bool(b.trouble)).trouble


def test_stopping_ends_the_thread(store: Path, watch: Callable[..., Watcher]) -> None:
    before = threading.active_count()
    watcher = watch()
    watcher.until(lambda _b: watcher.screen.attached)
    watcher.follower.stop()
    assert threading.active_count() == before
