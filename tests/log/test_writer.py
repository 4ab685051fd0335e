"""The one writer: fenced, all or nothing, one result a call, one end a message, numbers that never come again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from geode_tui.core.events import decode_payload
from geode_tui.core.messages import TextBlock, ThinkingBlock, user_text
from geode_tui.log import commands as cmd
from geode_tui.log.rows import PendingCommand, ResultMeta
from geode_tui.log.store import StoreError, connect, fetch, fetch_one
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Fenced, Tx, Writer
from tests.log.stores import A_FACT, NOW, SESSION, answer, commit, facts, open_writer, pieces, result

TABLES = ("events", "messages", "chunks", "commands", "sessions", "state_snapshots")


def contents(db: apsw.Connection) -> dict[str, list[object]]:
    return {table: fetch(db, f"SELECT * FROM {table}") for table in TABLES}


def a_command(writer: Writer, key: str = "k-1") -> PendingCommand:
    kind, payload = cmd.encode(cmd.Submit("hello"))
    cmd.send(writer.db, SESSION, kind, payload, client_id="c", key=key, now=NOW)
    return next(p for p in cmd.pending(writer.db, SESSION) if p.key == key)


# -- ownership --------------------------------------------------------------------------------------------------------
def test_each_start_raises_the_epoch_of_the_same_session(store: Path) -> None:
    first, second = open_writer(store), open_writer(store)
    assert (first.epoch, second.epoch) == (1, 2)
    assert first.number == second.number
    first.close()
    second.close()


WRITES: dict[str, Callable[[Tx, int, int, PendingCommand], object]] = {
    "nothing": lambda tx, number, seq, command: None,
    "event": lambda tx, number, seq, command: tx.event(A_FACT),
    "open": lambda tx, number, seq, command: tx.open_message(),
    "chunks": lambda tx, number, seq, command: tx.add_chunks(pieces(number, "late", start=9)),
    "complete": lambda tx, number, seq, command: tx.complete_message(number, seq, answer("late"), "end_turn", 1),
    "interrupt": lambda tx, number, seq, command: tx.interrupt_message(number, seq),
    "message": lambda tx, number, seq, command: tx.add_message(user_text("late")),
    "add_answer": lambda tx, number, seq, command: tx.add_answer(answer("late", "c-9"), "end_turn", 1),
    "result": lambda tx, number, seq, command: tx.add_message(result("c-1")),
    "claim": lambda tx, number, seq, command: tx.claim(command.id),
    "finish": lambda tx, number, seq, command: tx.finish(command, "done"),
    "session": lambda tx, number, seq, command: tx.session(model="late"),
    "snapshot": lambda tx, number, seq, command: tx.snapshot(1, "latest", "hash", b"late"),
    "forget": lambda tx, number, seq, command: tx.forget(1 << 40, 10),
}


def test_every_way_to_write_is_in_this_table() -> None:
    asked_only = {"next_seq", "is_open", "has_result", "has_commands"}
    written = {name for name in vars(Tx) if not name.startswith("_")} - asked_only
    named = {"open": "open_message", "chunks": "add_chunks", "complete": "complete_message"}
    named |= {"interrupt": "interrupt_message", "message": "add_message", "result": "add_message"}
    assert {named.get(name, name) for name in WRITES} - {"nothing"} == written


@pytest.mark.parametrize("kind", WRITES)
@pytest.mark.parametrize("durable", [True, False])
def test_a_writer_that_was_given_up_for_dead_writes_nothing(store: Path, kind: str, durable: bool) -> None:
    stale = open_writer(store)
    number, seq = commit(stale, lambda tx: tx.open_message())
    command = a_command(stale)
    owner = open_writer(store)
    before = contents(owner.db)
    with pytest.raises(Fenced):
        commit(stale, lambda tx: WRITES[kind](tx, number, seq, command), durable=durable)
    assert contents(owner.db) == before
    assert facts(owner, 1)
    stale.close()
    owner.close()


def test_two_sessions_of_one_store_do_not_fence_each_other(store: Path) -> None:
    one, two = open_writer(store, "s-1"), open_writer(store, "s-2")
    facts(one, 2)
    facts(two, 3)
    assert len(Transcript(one.db, store.parent).events(two.number)) == 3
    one.close()
    two.close()


# -- all or nothing ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", WRITES)
def test_work_that_raises_leaves_nothing(writer: Writer, kind: str) -> None:
    number, seq = commit(writer, lambda tx: tx.open_message())
    command = a_command(writer)
    before = contents(writer.db)

    def work(tx: Tx) -> None:
        WRITES[kind](tx, number, seq, command)
        raise KeyError(kind)

    with pytest.raises(KeyError):
        commit(writer, work)
    assert contents(writer.db) == before
    assert facts(writer, 1)


def test_intents_are_synced_and_the_rest_is_not(writer: Writer) -> None:
    def level(tx: Tx) -> int:
        return int(writer.db.pragma("synchronous"))

    assert [commit(writer, level, durable=d) for d in (True, False, True, True, False)] == [2, 1, 2, 2, 1]


def test_what_was_written_is_returned_as_readers_will_get_it(writer: Writer, transcript: Transcript) -> None:
    rows = facts(writer, 3)
    assert transcript.events(writer.number) == rows
    assert {(row.ts, row.turn, row.round, row.event) for row in rows} == {(NOW, 1, 1, "handoff_triggered")}
    assert decode_payload(rows[0].event, rows[0].payload) == A_FACT


# -- messages ---------------------------------------------------------------------------------------------------------
def test_a_call_has_one_result_whatever_happens(writer: Writer, transcript: Transcript) -> None:
    commit(writer, lambda tx: tx.add_message(result("c-1"), ResultMeta("3 hits")))
    with pytest.raises(apsw.ConstraintError):
        commit(writer, lambda tx: (tx.event(A_FACT), tx.add_message(result("c-1", "again"))))
    assert [m.message.blocks[0] for m in transcript.messages(SESSION)] == list(result("c-1").blocks)
    assert transcript.events(writer.number) == []
    assert commit(writer, lambda tx: (tx.has_result("c-1"), tx.has_result("c-2"))) == (True, False)


def test_the_same_call_id_in_another_session_is_another_call(writer: Writer, store: Path) -> None:
    other = open_writer(store, "s-2")
    for one in (writer, other):
        commit(one, lambda tx: tx.add_message(result("c-1")))
    assert len(fetch(writer.db, "SELECT 1 FROM messages WHERE tool_call_id='c-1'")) == 2
    other.close()


def test_a_message_ends_once(writer: Writer) -> None:
    ends: list[Callable[[Tx, int, int], None]] = [
        lambda tx, number, seq: tx.complete_message(number, seq, answer("whole"), "end_turn", 1),
        lambda tx, number, seq: tx.interrupt_message(number, seq),
    ]
    for first in ends:
        for second in ends:
            number, seq = commit(writer, lambda tx: tx.open_message())
            commit(writer, lambda tx, end=first, n=number, s=seq: end(tx, n, s))  # type: ignore[misc]
            with pytest.raises(RuntimeError, match=r"already closed"):
                commit(writer, lambda tx, end=second, n=number, s=seq: end(tx, n, s))  # type: ignore[misc]


def _lost(tx: Tx) -> None:
    tx.add_message(user_text("lost"))
    raise KeyError


def test_numbers_rise_by_one_and_are_never_given_twice(store: Path) -> None:
    seen: list[int] = []
    for _ in range(3):
        writer = open_writer(store)
        number, seq = commit(writer, lambda tx: tx.open_message())
        commit(writer, lambda tx, n=number, s=seq: tx.interrupt_message(n, s))  # type: ignore[misc]
        seen += [seq, commit(writer, lambda tx: tx.add_message(user_text("x")))[1]]
        with pytest.raises(KeyError):
            commit(writer, _lost)
        writer.close()
    assert seen == [1, 2, 3, 4, 5, 6]


def test_numbers_of_a_message_and_its_pieces_do_not_come_again_after_deletion(writer: Writer) -> None:
    ids = []
    for _ in range(3):
        number, seq = commit(writer, lambda tx: tx.open_message())
        commit(writer, lambda tx, n=number: tx.add_chunks(pieces(n, "a", "b")))  # type: ignore[misc]
        commit(writer, lambda tx, n=number, s=seq: tx.complete_message(n, s, answer("ab"), "end_turn", 1))  # type: ignore[misc]
        ids.append(number)
    assert ids == sorted(set(ids))
    assert fetch(writer.db, "SELECT * FROM chunks") == []


def test_pieces_have_a_number_of_their_own(writer: Writer) -> None:
    number, _ = commit(writer, lambda tx: tx.open_message())
    commit(writer, lambda tx: tx.add_chunks(pieces(number, "a")))
    with pytest.raises(apsw.ConstraintError):
        commit(writer, lambda tx: tx.add_chunks(pieces(number, "twice")))


def test_completing_sets_the_text_and_drops_the_pieces_at_once(writer: Writer, transcript: Transcript) -> None:
    number, seq = commit(writer, lambda tx: tx.open_message())
    commit(writer, lambda tx: tx.add_chunks(pieces(number, "half an ", "answer")))
    assert transcript.message(number).message.text == "half an answer"
    commit(writer, lambda tx: tx.complete_message(number, seq, answer("the whole answer", "c-1"), "tool_use", 5))
    stored = transcript.message(number)
    assert (stored.message.text, stored.row.status, stored.row.calls) == ("the whole answer", "complete", ("c-1",))
    assert stored.row.chars == len("the whole answer")
    assert fetch_one(transcript.db, "SELECT count(*) FROM chunks") == (0,)
    assert not commit(writer, lambda tx: tx.is_open(number))


def test_what_was_streamed_of_an_interrupted_answer_stays_and_is_never_replayed(
    writer: Writer, transcript: Transcript
) -> None:
    commit(writer, lambda tx: tx.add_message(user_text("go")))
    number, seq = commit(writer, lambda tx: tx.open_message())
    streamed = [
        *pieces(number, "let me ", "think", kind="thinking"),
        *pieces(number, "I will", start=2, block=1),
        *pieces(number, '{"pattern": "x', start=3, block=2, kind="tool_call"),
    ]
    commit(writer, lambda tx: tx.add_chunks(streamed))
    assert transcript.open_message(SESSION) is not None
    commit(writer, lambda tx: tx.interrupt_message(number, seq))

    shown = transcript.message(number)
    assert shown.message.blocks == (ThinkingBlock("let me think"), TextBlock("I will"))
    assert (shown.row.status, shown.row.chars) == ("interrupted", len("I will"))
    assert [m.message.text for m in transcript.messages(SESSION)] == ["go"]
    assert [row.status for row in transcript.index(SESSION)] == ["complete", "interrupted"]
    assert transcript.open_message(SESSION) is None
    assert transcript.last_answer(SESSION) is None


def test_a_body_that_is_damaged_is_one_line_and_its_row_is_still_listed(writer: Writer, transcript: Transcript) -> None:
    number, _ = commit(writer, lambda tx: tx.add_message(user_text("x")))
    writer.db.execute("UPDATE messages SET content='[{'")
    assert len(transcript.index(SESSION)) == 1
    for read in (lambda: transcript.message(number), lambda: transcript.messages(SESSION)):
        with pytest.raises(StoreError, match=r"message 1 is damaged"):
            read()
    with pytest.raises(StoreError, match=r"no message 99"):
        transcript.message(99)


def test_lone_surrogates_never_reach_the_database(writer: Writer, transcript: Transcript) -> None:
    """B050."""
    number, _ = commit(writer, lambda tx: tx.open_message())
    commit(writer, lambda tx: tx.add_chunks(pieces(number, "a\ud800b")))
    assert transcript.message(number).message.text == "a\ufffdb"
    open_writer(writer.path, "s-2", title="t\ud800").close()
    session = transcript.session("s-2")
    assert session is not None
    assert session.title == "t\ufffd"


def test_a_card_needs_no_body(writer: Writer, transcript: Transcript) -> None:
    meta = ResultMeta("3 hits", 200, 214, is_error=True, facts={"exit_status": 1})
    number, _ = commit(writer, lambda tx: tx.add_message(result("c-1"), meta, 214))
    row = transcript.row(number)
    assert row is not None
    assert (row.result, row.tool, row.call_id, row.origin) == (meta, "grep", "c-1", "tool")
    assert transcript.result_row(SESSION, "c-1") == row


def test_rows_that_are_looked_up_together_are_those_of_each(writer: Writer, transcript: Transcript) -> None:
    numbers = [commit(writer, lambda tx: tx.add_message(answer("yes")))[0] for _ in range(5)]
    wanted = [numbers[3], numbers[0], 10**9, numbers[0]]
    assert transcript.rows(wanted) == {number: transcript.row(number) for number in (numbers[0], numbers[3])}
    assert transcript.rows([]) == {}


# -- snapshots --------------------------------------------------------------------------------------------------------
def test_the_newest_usable_snapshot_is_found_and_latest_is_one(writer: Writer, transcript: Transcript) -> None:
    for at, kind, made_by in [(10, "kept", "a"), (20, "latest", "a"), (25, "latest", "a"), (30, "kept", "b")]:
        commit(writer, lambda tx, at=at, kind=kind, by=made_by: tx.snapshot(at, kind, by, f"{at}".encode()))  # type: ignore[misc]
    assert transcript.snapshot(writer.number, "a") == (25, b"25")
    assert transcript.snapshot(writer.number, "a", 24) == (10, b"10")
    assert transcript.snapshot(writer.number, "a", 9) is None
    assert transcript.snapshot(writer.number, "c") is None
    assert len(fetch(writer.db, "SELECT 1 FROM state_snapshots WHERE kind='latest'")) == 1


def test_the_wal_is_given_back_when_idle(writer: Writer, store: Path) -> None:
    facts(writer, 500)
    wal = store.with_name("sessions.db-wal")
    assert wal.stat().st_size > 0
    writer.tidy(idle=False)
    assert wal.stat().st_size > 0
    reader = connect(store)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM events").fetchall()
    writer.tidy(idle=True)
    reader.execute("COMMIT")
    writer.tidy(idle=True)
    assert wal.stat().st_size == 0
    reader.close()


def test_a_session_is_forgotten_in_slices_and_no_other_with_it(store: Path) -> None:
    writer, other = open_writer(store), open_writer(store, "s-2")
    for each in (writer, other):
        facts(each, 5)
        commit(each, lambda tx: tx.add_message(user_text("hello")))
    first = commit(writer, lambda tx: tx.event(A_FACT))
    rounds = 0
    while commit(writer, lambda tx: tx.forget(first, 2)):
        rounds += 1
    left = fetch(writer.db, "SELECT session, count(*) FROM events GROUP BY session ORDER BY session")
    assert (rounds, left) == (3, [(writer.number, 1), (other.number, 5)])
    assert fetch(writer.db, "SELECT session_id FROM messages") == [("s-2",)]
    writer.close()
    other.close()
