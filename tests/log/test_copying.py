"""Copying a session: where it may begin, and what comes along."""

from __future__ import annotations

from pathlib import Path

import pytest

from geode_tui.core.messages import user_text
from geode_tui.core.views import Mask, Stub, Version
from geode_tui.log import fork, offloads
from geode_tui.log.fork import ForkError, ForkPoint, copy_messages, copy_versions, ended_rounds, fork_point
from geode_tui.log.store import connect, fetch
from geode_tui.log.transcript import Transcript
from geode_tui.log.views import add_version, versions
from geode_tui.log.writer import Tx, Writer
from tests.log.stores import NOW, SESSION, answer, open_writer, result

COPY = "s-2"
COLUMNS = "seq, role, content, tool_call_id, tool_calls, timestamp, metadata, turn, round, status, chars"


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return open_writer(tmp_path / ".geode" / "sessions.db")


@pytest.fixture
def transcript(writer: Writer) -> Transcript:
    return Transcript(connect(writer.path), writer.geode)


def at(writer: Writer, turn: int, round_: int, *messages: object) -> None:
    """Commit messages in that round; a Version becomes the view."""

    def work(tx: Tx) -> None:
        for message in messages:
            if isinstance(message, Version):
                add_version(tx, message)
            elif getattr(message, "role", "") == "assistant":
                tx.add_answer(message, "end_turn", 3)  # type: ignore[arg-type]
            else:
                tx.add_message(message)  # type: ignore[arg-type]

    writer.write(work, now=NOW, turn=turn, round_=round_)


def masked(number: int, newest: int, seq: int) -> Version:
    stub = Stub(seq, "[masked]", ref=f"ref-{seq}", tokens=9)
    return Version(number=number, parent=number - 1, group=number, cause="warning", operations=(Mask((stub,)),),
                   newest=newest)  # fmt: skip


def two_turns(writer: Writer) -> None:
    """Messages 1 to 8: two rounds with calls and a last word, then a turn of one round."""
    at(writer, 1, 0, user_text("do it"))
    at(writer, 1, 1, answer("I look", "a", "b"), result("b"), result("a"))
    at(writer, 1, 2, answer("again", "c"), result("c"), user_text("and tell me"))
    at(writer, 1, 2, masked(1, 6, 3))
    at(writer, 1, 3, answer("done"))
    at(writer, 2, 0, user_text("more"))
    at(writer, 2, 1, answer("no"), masked(2, 10, 6))


def copied(writer: Writer, point: ForkPoint, session_id: str = COPY) -> list[int]:
    """Copy everything into another session; the messages that were there after each slice."""
    child = open_writer(writer.path, session_id)
    counts = []
    more = True
    while more:
        more = child.write(lambda tx: copy_messages(tx, session_id, point), now=NOW, turn=0, round_=0)[0]
        counts.append(len(fetch(child.db, "SELECT 1 FROM messages WHERE session_id=?", (session_id,))))
    while child.write(lambda tx: copy_versions(tx, point), now=NOW, turn=0, round_=0)[0]:
        pass
    child.close()
    return counts


def rows(writer: Writer, session_id: str) -> list[object]:
    return fetch(writer.db, f"SELECT {COLUMNS} FROM messages WHERE session_id=? ORDER BY seq", (session_id,))


def test_a_round_ends_with_the_last_result_of_its_calls(writer: Writer, transcript: Transcript) -> None:
    two_turns(writer)
    ends = ended_rounds(transcript.index(SESSION))
    assert [(end.turn, end.round, end.seq) for end in ends] == [(1, 1, 4), (1, 2, 6), (1, 3, 8), (2, 1, 10)]


def test_a_round_whose_calls_are_still_run_has_not_ended(writer: Writer, transcript: Transcript) -> None:
    two_turns(writer)
    at(writer, 2, 2, answer("look", "d", "e"), result("d"))
    assert fork_point(transcript, SESSION).end.seq == 10
    with pytest.raises(ForkError, match=r"no round 2\.2 of s-1 has ended"):
        fork_point(transcript, SESSION, 2, 2)


def test_a_copy_has_the_same_rows_up_to_the_end_of_the_round(writer: Writer, transcript: Transcript) -> None:
    two_turns(writer)
    before = rows(writer, SESSION)
    copied(writer, fork_point(transcript, SESSION, 1, 2))
    assert rows(writer, COPY) == before[:6], "what was typed after the round is not part of it"
    assert rows(writer, SESSION) == before
    assert Transcript(connect(writer.path), writer.geode).messages(COPY)[1].message.calls[0].call_id == "a"


def test_the_versions_of_the_view_come_along_that_no_later_message_had_joined(
    writer: Writer, transcript: Transcript
) -> None:
    two_turns(writer)
    point = fork_point(transcript, SESSION, 1, 2)
    assert [version.number for version in point.versions] == [1]
    assert point.refs == ("ref-3",)
    copied(writer, point)
    copy = transcript.session(COPY)
    assert copy is not None
    assert versions(transcript, copy.number) == list(point.versions)
    assert fork_point(transcript, SESSION).refs == ("ref-3", "ref-6")
    assert fork_point(transcript, SESSION, 1, 1).versions == ()


@pytest.mark.parametrize(("limit", "expected"), [(1, [1, 4, 6, 7, 8, 9, 10, 10]), (3, [4, 7, 10, 10]), (99, [10, 10])])
def test_slices_end_between_batches(
    writer: Writer, transcript: Transcript, monkeypatch: pytest.MonkeyPatch, limit: int, expected: list[int]
) -> None:
    two_turns(writer)
    monkeypatch.setattr(fork, "SLICE_ROWS", limit)
    assert copied(writer, fork_point(transcript, SESSION)) == expected


def test_large_bodies_make_small_slices(
    writer: Writer, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork, "SLICE_BYTES", 1_000)
    at(writer, 1, 0, *(user_text("x" * 600) for _ in range(5)))
    at(writer, 1, 1, answer("done"))
    assert copied(writer, fork_point(transcript, SESSION)) == [2, 4, 6, 6]


def test_a_copy_that_broke_off_is_gone_on_with_and_has_nothing_twice(
    writer: Writer, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_turns(writer)
    monkeypatch.setattr(fork, "SLICE_ROWS", 2)
    point = fork_point(transcript, SESSION)
    child = open_writer(writer.path, COPY)
    child.write(lambda tx: copy_messages(tx, COPY, point), now=NOW, turn=0, round_=0)
    child.close()
    copied(writer, point)
    assert rows(writer, COPY) == rows(writer, SESSION)


def test_what_was_never_whole_stays_behind(writer: Writer, transcript: Transcript) -> None:
    two_turns(writer)

    def broken(tx: Tx) -> None:
        tx.interrupt_message(*tx.open_message())

    writer.write(broken, now=NOW, turn=3, round_=1)
    at(writer, 3, 2, answer("here"))
    copied(writer, fork_point(transcript, SESSION))
    assert [row[0] for row in rows(writer, COPY)] == [*range(1, 11), 12]  # type: ignore[index]


@pytest.mark.parametrize(
    ("session_id", "why"), [("s-9", "there is no session s-9"), (SESSION, "no round of s-1 has ended")]
)
def test_without_a_round_there_is_nothing_to_begin_with(transcript: Transcript, session_id: str, why: str) -> None:
    with pytest.raises(ForkError, match=why):
        fork_point(transcript, session_id)


def test_a_run_of_another_program_has_no_copy(writer: Writer, transcript: Transcript) -> None:
    two_turns(writer)
    writer.db.execute("UPDATE sessions SET origin='claude-code'")
    with pytest.raises(ForkError, match="recorded by claude-code"):
        fork_point(transcript, SESSION)


# -- offloaded results -------------------------------------------------------------------------------------------------
def test_offloaded_results_can_be_read_in_the_copy_whatever_becomes_of_the_parents(tmp_path: Path) -> None:
    stored = offloads.keep(tmp_path, SESSION, "c-1", "a long result", now=NOW)
    for _ in range(2):
        assert offloads.share(tmp_path, SESSION, COPY, [stored.ref_id, "gone", "../x"]) == 2
    (tmp_path / offloads.path_of(SESSION, stored.ref_id)).unlink()
    assert offloads.load(tmp_path, COPY, stored.ref_id).text == "a long result"


def test_a_file_system_without_links_gets_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "not permitted")

    stored = offloads.keep(tmp_path, SESSION, "c-1", "a long result", now=NOW)
    monkeypatch.setattr("os.link", refused)
    assert offloads.share(tmp_path, SESSION, COPY, [stored.ref_id]) == 0
    assert offloads.load(tmp_path, COPY, stored.ref_id).text == "a long result"


def test_a_result_that_cannot_be_shared_is_told_of(tmp_path: Path) -> None:
    stored = offloads.keep(tmp_path, SESSION, "c-1", "a long result", now=NOW)
    (tmp_path / offloads.FOLDER / COPY).symlink_to(tmp_path)
    with pytest.raises(offloads.OffloadFailed, match="not stored"):
        offloads.share(tmp_path, SESSION, COPY, [stored.ref_id])
