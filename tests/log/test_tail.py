"""Following a log: two cursors, short reads, events before pieces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from geode_tui.core.messages import user_text
from geode_tui.log.store import JOURNAL_LIMIT, connect
from geode_tui.log.tail import CHUNKS, EVENTS, FAST_S, IDLE_S, LIVE_S, Tail, pause
from geode_tui.log.writer import Tx, Writer
from tests.log.stores import A_FACT, SESSION, answer, commit, facts, open_writer, pieces


@pytest.fixture
def reading(writer: Writer, store: Path) -> Iterator[apsw.Connection]:
    db = connect(store)
    yield db
    db.close()


def test_every_event_comes_once_and_in_order_page_by_page(writer: Writer, reading: apsw.Connection) -> None:
    written = facts(writer, EVENTS + 5)
    tail = Tail(reading, SESSION)
    first, second, third = tail.fetch(), tail.fetch(), tail.fetch()
    assert (first.more, second.more) == (True, False)
    assert [*first.events, *second.events] == written
    assert third.events == ()
    assert [e.id for e in Tail(reading, SESSION, after=written[-2].id).fetch().events] == [written[-1].id]


def test_a_session_that_does_not_exist_yet_is_waited_for(writer: Writer, reading: apsw.Connection) -> None:
    tail = Tail(reading, "s-2")
    assert tail.fetch().events == ()
    other = open_writer(writer.path, "s-2")
    rows = facts(other, 2)
    facts(writer, 3)
    assert list(tail.fetch().events) == rows
    other.close()


def test_changes_of_the_file_are_seen_once(writer: Writer, reading: apsw.Connection) -> None:
    tail = Tail(reading, SESSION)
    assert tail.changed()
    assert not tail.changed()
    facts(writer, 1)
    assert tail.changed()
    tail.fetch()
    assert not tail.changed()


def test_pieces_come_once_and_only_of_the_open_message(writer: Writer, reading: apsw.Connection) -> None:
    tail = Tail(reading, SESSION)
    number, seq = commit(writer, lambda tx: tx.open_message())
    first, second = pieces(number, "a", "b"), pieces(number, "c", start=2)
    commit(writer, lambda tx: tx.add_chunks(first))
    fetched = tail.fetch()
    assert ([e.event for e in fetched.events], list(fetched.chunks)) == (["message_opened"], first)
    commit(writer, lambda tx: tx.add_chunks(second))
    assert list(tail.fetch().chunks) == second
    assert tail.fetch().chunks == ()

    commit(writer, lambda tx: tx.interrupt_message(number, seq))
    after, _ = commit(writer, lambda tx: tx.open_message())
    commit(writer, lambda tx: tx.add_chunks(pieces(after, "new")))
    assert [c.text for c in tail.fetch().chunks] == ["new"]


def test_many_pieces_come_in_pages(writer: Writer, reading: apsw.Connection) -> None:
    number, _ = commit(writer, lambda tx: tx.open_message())
    commit(writer, lambda tx: tx.add_chunks(pieces(number, *map(str, range(CHUNKS + 1)))))
    tail = Tail(reading, SESSION)
    first, second = tail.fetch(), tail.fetch()
    assert (first.more, second.more) == (True, False)
    assert [c.text for c in (*first.chunks, *second.chunks)] == [str(n) for n in range(CHUNKS + 1)]


def test_pieces_wait_until_the_events_are_drained(writer: Writer, reading: apsw.Connection) -> None:
    facts(writer, EVENTS)
    number, _ = commit(writer, lambda tx: tx.open_message())
    commit(writer, lambda tx: tx.add_chunks(pieces(number, "text")))
    tail = Tail(reading, SESSION)
    assert tail.fetch().chunks == ()
    drained = tail.fetch()
    assert ([e.event for e in drained.events], [c.text for c in drained.chunks]) == (["message_opened"], ["text"])


def test_a_message_that_was_completed_meanwhile_has_no_pieces(writer: Writer, reading: apsw.Connection) -> None:
    number, seq = commit(writer, lambda tx: tx.open_message())
    commit(writer, lambda tx: tx.add_chunks(pieces(number, "never seen")))
    commit(writer, lambda tx: tx.complete_message(number, seq, answer("whole"), "end_turn", 1))
    fetched = Tail(reading, SESSION).fetch()
    assert ([e.event for e in fetched.events], fetched.chunks) == (["message_opened", "message_completed"], ())


def test_a_reader_keeps_no_statement_open_so_the_wal_does_not_grow(
    writer: Writer, reading: apsw.Connection, store: Path
) -> None:
    """B071 in small: 20 MB pass a watching reader, and the WAL is given back between two looks."""
    tail = Tail(reading, SESSION)
    body = user_text("x" * 200_000)

    def work(tx: Tx) -> None:
        tx.add_message(body)
        tx.event(A_FACT)

    largest = 0
    for _ in range(100):
        commit(writer, work)
        assert len(tail.fetch().events) == 1
        assert not reading.in_transaction
        largest = max(largest, store.with_name("sessions.db-wal").stat().st_size)
    assert largest < JOURNAL_LIMIT
    writer.tidy(idle=True)
    assert store.with_name("sessions.db-wal").stat().st_size == 0


def test_how_often_the_log_is_looked_at() -> None:
    assert pause(100.5, 100.0, worker_lives=False) == FAST_S
    assert pause(101.0, 100.0, worker_lives=True) == LIVE_S
    assert pause(101.0, 100.0, worker_lives=False) == IDLE_S
