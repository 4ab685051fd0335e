"""The versions of a run's view out of a real store, and in what two of them differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from geode_tui.cli.blocks import BlockReader
from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.cli.version_list import VersionReader
from geode_tui.core.events import ContextFigures, LlmCallEnded, MaintenanceStarted, ViewChanged
from geode_tui.core.messages import Message, OpaqueBlock, TextBlock, ToolCallBlock, ToolResultBlock, user_text
from geode_tui.core.usage import Usage
from geode_tui.core.views import Cause, Mask, Native, Offload, Operation, Pin, Replay, Stub, Summarise, Version
from geode_tui.log.rows import SessionRow
from geode_tui.log.store import connect
from geode_tui.log.transcript import Transcript
from geode_tui.log.views import add_version
from geode_tui.log.writer import Writer
from geode_tui.paths import Project
from geode_tui.view.blocks import Hidden
from geode_tui.view.versions import Step, VersionList
from tests.cli.place import Place, until
from tests.log.stores import NOW, SESSION, commit, open_writer

FIGURES = ContextFigures(9, 200_000, 32_000, 168_000, 84_000, 151_200, 50, 90, "catalog", "estimated", {})
NATIVE = '{"type": "compaction", "content": "the story so far"}'


def call(number: int) -> Message:
    return Message("assistant", (TextBlock(f"step {number}"), ToolCallBlock(f"c{number}", "grep", "{}")))


def result(number: int) -> Message:
    return Message("tool", (ToolResultBlock(f"c{number}", "grep", (TextBlock("line\n" * 2_000),)),), "tool")


MESSAGES = (user_text("first", "user_input"), call(2), result(2), call(4), result(4), user_text("then", "user_input"))
"""Seqs 1 to 6."""


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    (tmp_path / "p" / ".git").mkdir(parents=True)
    made = open_writer(tmp_path / "p" / ".geode" / "sessions.db")
    for number, message in enumerate(MESSAGES):
        made.write(lambda tx, m=message: tx.add_message(m), now=NOW, turn=1, round_=number // 2)  # type: ignore[misc]
    return made


@pytest.fixture
def transcript(tmp_path: Path, writer: Writer) -> Transcript:
    geode = tmp_path / "p" / ".geode"
    return Transcript(connect(geode / "sessions.db"), geode)


def version(number: int, *operations: Operation, cause: Cause = "manual", **more: Any) -> Version:
    return Version(
        **{"number": number, "parent": number - 1, "group": number, "cause": cause, "operations": operations,
           "newest": 6, "tokens_before": 1_000, "tokens_after": 1_000 - 100 * number, **more}
    )  # fmt: skip


def add(writer: Writer, *versions: Version) -> None:
    for one in versions:
        commit(writer, lambda tx, v=one: add_version(tx, v))  # type: ignore[misc]


def tell(writer: Writer, *events: Any, round_: int) -> None:
    for event in events:
        writer.write(lambda tx, e=event: tx.event(e), now=NOW, turn=1, round_=round_)  # type: ignore[misc]


def changed(number: int) -> ViewChanged:
    return ViewChanged(number, number - 1, "manual", "text", {}, 0, 0, 0, FIGURES)


def summary_call(cost: int | None, purpose: str = "summary") -> LlmCallEnded:
    return LlmCallEnded("c", 1, purpose, "m", "p", "payg", 9, Usage(), cost, "end_turn", FIGURES)


def reader() -> VersionReader:
    return VersionReader(BlockReader())


def test_each_version_says_what_it_did_where_and_for_how_much(writer: Writer, transcript: Transcript) -> None:
    made = reader()
    assert [entry.number for entry in made.listed(transcript, SESSION).entries] == [0]
    tell(writer, MaintenanceStarted("warning", False, FIGURES), summary_call(700, "turn"), changed(1), round_=7)
    add(writer, version(1, Mask((Stub(3, "m"), Stub(5, "m"))), cause="warning"))
    tell(
        writer, MaintenanceStarted("warning", False, FIGURES), summary_call(30), summary_call(12), changed(2), round_=8
    )
    add(writer, version(2, Summarise(1, 3, "text")), version(3, Pin((5,)), cause="pin", newest=5))
    listed = made.listed(transcript, SESSION)
    assert [(e.number, e.turn, e.round, e.cost_micro) for e in listed.entries] == [
        (0, 1, 1, 0), (1, 1, 7, 0), (2, 1, 8, 42), (3, 1, 2, 0),
    ]  # fmt: skip
    assert [(e.first, e.upto, e.rounds) for e in listed.entries[1:]] == [(3, 5, (1, 2)), (1, 3, (1, 1)), (5, 5, (2, 2))]
    assert [dict(e.operations) for e in listed.entries] == [{}, {"mask": 2}, {"summarise": 1}, {"pin": 1}]
    tell(writer, MaintenanceStarted("warning", False, FIGURES), summary_call(None), changed(4), round_=9)
    add(writer, version(4, Summarise(1, 5, "text")))
    assert made.listed(transcript, SESSION).entries[4].cost_micro is None, "only what is new was read"


def test_an_undo_takes_back_the_newest_cause_and_a_redo_gives_it_back(writer: Writer, transcript: Transcript) -> None:
    add(writer, version(1, Mask((Stub(3, "m"),))), version(2, Summarise(1, 3, "text"), group=1))
    listed = reader().listed(transcript, SESSION)
    assert (listed.undo, listed.redo) == (Step((1, 2), 300, 0), None)
    add(writer, version(3, Offload((Stub(5, "s", "off_1"),)), cause="arrival"))
    assert reader().listed(transcript, SESSION).undo == Step((1, 2), 300), "what came later stays"
    add(writer, version(4, cause="undo", takes_back=(1, 2)))
    listed = reader().listed(transcript, SESSION)
    assert (listed.undo, listed.redo) == (None, Step((1, 2), -300))
    assert [entry.taken_back for entry in listed.entries] == [False, True, True, False, False]
    assert listed.entries[4].others == (1, 2)


def test_a_difference_names_each_block_with_its_form_before_and_after(writer: Writer, transcript: Transcript) -> None:
    add(writer, version(1, Mask((Stub(3, "m"),))), version(2, Summarise(1, 3, "## Goal", kept=(1,))))
    made = reader()
    (masked,) = made.diff(transcript, SESSION, 0, 1).changes
    assert (masked.entry.seq, masked.before, masked.after) == (3, "verbatim", "masked")
    assert masked.tokens_before > 1_000 > 60 > masked.tokens_after
    told = made.diff(transcript, SESSION, 1, 2)
    assert told.text == "## Goal"
    assert [(c.entry.seq, c.entry.kind, c.before, c.after) for c in told.changes] == [
        (1, "summaries", None, "summarised"),
        (2, "agent", "verbatim", "summarised"),
        (2, "agent", "verbatim", "summarised"),
        (3, "results", "masked", "summarised"),
    ]
    add(writer, version(3, cause="undo", takes_back=(2,)))
    back = made.diff(transcript, SESSION, 2, 3)
    assert [(c.before, c.after) for c in back.changes] == [
        ("summarised", None), ("summarised", "verbatim"), ("summarised", "verbatim"), ("summarised", "masked"),
    ]  # fmt: skip
    assert made.diff(transcript, SESSION, 0, 3).changes == made.diff(transcript, SESSION, 0, 1).changes


def test_a_providers_block_that_was_asked_for_stands_in_one_row(writer: Writer, transcript: Transcript) -> None:
    add(writer, version(1, Native(1, 3, NATIVE, "anthropic"), mode="on_demand"))
    entries = BlockReader().read(transcript, SESSION, 1)
    assert (entries[0].kind, entries[0].state, entries[0].hidden) == ("native", "native", Hidden(1, 3, 3))
    assert (entries[0].detail, entries[0].version) == ("the story so far", 1)
    assert "compaction block" in reader().listed(transcript, SESSION).why
    told = reader().diff(transcript, SESSION, 0, 1)
    assert told.text == "the story so far"
    assert {change.after for change in told.changes} == {"native"}


def test_what_a_provider_compacted_by_itself_is_back_once_that_is_undone(
    writer: Writer, transcript: Transcript
) -> None:
    answer = Message("assistant", (OpaqueBlock("anthropic", "compaction", NATIVE), TextBlock("on we go")))
    commit(writer, lambda tx: tx.add_message(answer))
    add(writer, version(1, Replay(7), cause="provider", mode="threshold", newest=7))
    blocks = BlockReader()
    assert [(e.seq, e.state) for e in blocks.read(transcript, SESSION, 1)] == [(7, "native"), (7, "verbatim")]
    listed = reader().listed(transcript, SESSION)
    assert (listed.undo is not None, listed.entries[1].upto, listed.entries[1].mode) == (True, 6, "threshold")
    add(writer, version(2, cause="undo", takes_back=(1,), newest=7))
    seqs = [e.seq for e in blocks.read(transcript, SESSION, 2)]
    assert seqs == [1, 2, 2, 3, 4, 4, 5, 6, 7]


def test_a_pin_names_its_whole_batch(writer: Writer, transcript: Transcript) -> None:
    add(writer, version(1, Pin((3,)), cause="pin"))
    pinned = {e.seq: e.pinned for e in BlockReader().read(transcript, SESSION, 1)}
    assert pinned == {1: (), 2: (3,), 3: (3,), 4: (), 5: (), 6: ()}


def test_a_run_that_another_program_recorded_can_only_be_looked_at(
    writer: Writer, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(writer, version(1, Mask((Stub(3, "m"),))))
    row = transcript.session(SESSION)
    assert isinstance(row, SessionRow)
    monkeypatch.setattr(transcript, "session", lambda _: msgspec.structs.replace(row, origin="claude"))
    listed = reader().listed(transcript, SESSION)
    assert (listed.recorder, listed.undo, listed.why) == ("claude", None, "")


def test_the_screen_reads_them_of_its_store(tmp_path: Path, writer: Writer) -> None:
    add(writer, version(1, Mask((Stub(3, "m"),))))
    root = tmp_path / "p"
    source = StoreSource(Env(root, {}, project=Project(root)), SESSION)
    assert [entry.number for entry in source.versions().entries] == [0, 1]
    assert len(source.diff(0, 1).changes) == 1
    (tmp_path / "q" / ".git").mkdir(parents=True)
    empty = StoreSource(Env(tmp_path / "q", {}, project=Project(tmp_path / "q")), "s-none")
    assert empty.versions().entries == ()


def test_what_a_worker_was_asked_for_is_in_the_list_and_in_the_blocks(place: Place) -> None:
    for number in range(6):
        (place.root / f"part{number}.py").write_text(f"def part{number}(): return {number}  # a word or two\n" * 90)
    assert place.cli("run", "survey this project", "--provider", "offline", "--approve", "reads").status == 0
    session_id = place.sessions()[-1]
    source = StoreSource(Env(place.root, place.environment), session_id)

    def done(kind: str, payload: dict[str, Any]) -> VersionList:
        source.send(kind, payload, kind)
        until(lambda: any(row["key"] == kind for row in place.payloads(session_id, "command_finished")))
        return source.versions()

    before = source.versions()
    assert [entry.number for entry in before.entries] == [0]
    results = [entry for entry in source.blocks(0) if entry.kind == "results"]
    first = results[0].seq
    pinned = done("pin", {"seqs": (first,)})
    assert dict(pinned.entries[-1].operations) == {"pin": 1}
    assert {e.pinned for e in source.blocks(1) if e.seq == first} == {(first,)}
    done("unpin", {"seqs": (first,)})
    compacted = done("compact", {"keep": 2, "focus": "", "prune": False})
    newest = compacted.entries[-1]
    assert (newest.operations, newest.cause, newest.local) == ({"summarise": 1}, "manual", True)
    assert compacted.undo == Step((newest.number,), newest.before - newest.after, newest.number - 1)
    assert source.blocks(newest.number)[0].state == "summarised"
    assert source.diff(newest.number - 1, newest.number).text
    undone = done("undo", {})
    assert (undone.undo, undone.entries[newest.number].taken_back) == (None, True)
    assert source.blocks(undone.entries[-1].number) == source.blocks(newest.number - 1)
    assert undone.redo == Step((newest.number,), newest.after - newest.before)
    assert done("redo", {}).entries[-1].others == (newest.number,)
