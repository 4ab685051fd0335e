"""The blocks of a run as a version of its view has them sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.cli.block_view import seen, slim
from geode_tui.cli.blocks import BlockReader
from geode_tui.context.protect import protected
from geode_tui.context.view import Item, fold
from geode_tui.core.events import ContextFigures
from geode_tui.core.messages import (
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    user_text,
)
from geode_tui.core.views import (
    Cause,
    Clear,
    Cut,
    Mask,
    Offload,
    Operation,
    Pin,
    Shrink,
    Stub,
    Summarise,
    Trim,
    Version,
)
from geode_tui.log.store import connect
from geode_tui.log.transcript import Transcript
from geode_tui.log.views import add_version
from geode_tui.log.writer import Writer
from geode_tui.view.blocks import BlockEntry, Hidden, table_of
from tests.log.stores import SESSION, commit, open_writer

ARGUMENTS = '{"path": "src/core.py", "text": "' + "x" * 4_000 + '"}'


def version(number: int, *operations: Operation, cause: Cause = "manual", **more: tuple[int, ...]) -> Version:
    return Version(
        number=number, parent=number - 1, group=number, cause=cause, operations=operations, newest=9,
        takes_back=more.get("takes_back", ()),
    )  # fmt: skip


def call(number: int) -> Message:
    return Message("assistant", (TextBlock(f"step {number}"), ToolCallBlock(f"c{number}", "edit_file", ARGUMENTS)))


def result(number: int) -> Message:
    content = (TextBlock("line\n" * 2_000), ImageBlock("image/png", ""))
    return Message("tool", (ToolResultBlock(f"c{number}", "edit_file", content),), "tool")


MESSAGES = (user_text("first"), call(2), result(2), call(4), result(4), user_text("then this"), call(7), result(7))
"""Seqs 1 to 8."""


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    made = open_writer(tmp_path / "sessions.db")
    for message in MESSAGES:
        commit(made, lambda tx, m=message: tx.add_message(m))  # type: ignore[misc]
    return made


@pytest.fixture
def transcript(tmp_path: Path, writer: Writer) -> Transcript:
    return Transcript(connect(tmp_path / "sessions.db"), tmp_path)


def add(writer: Writer, *versions: Version) -> None:
    for one in versions:
        commit(writer, lambda tx, v=one: add_version(tx, v))  # type: ignore[misc]


def states(entries: tuple[BlockEntry, ...]) -> list[tuple[int, str, str]]:
    return [(e.seq, e.kind, e.state) for e in entries if e.state != "verbatim"]


def test_results_are_as_large_as_what_stands_in_for_them(writer: Writer, transcript: Transcript) -> None:
    add(
        writer,
        version(1, Mask((Stub(3, "masked: edit_file"),))),
        version(2, Offload((Stub(5, "see off_1", "off_1", 2_000),)), cause="arrival"),
        version(3, Shrink(cuts=(Cut(2, "c2", '{"path": "src/core.py"}'),))),
    )
    reader = BlockReader()
    whole = {(e.seq, e.kind, e.name): e.weight for e in reader.read(transcript, SESSION)}
    now = reader.read(transcript, SESSION, 3)
    assert states(now) == [(2, "agent", "shrunk"), (3, "results", "masked"), (5, "results", "offloaded")]
    for entry in now:
        if entry.state != "verbatim":
            assert entry.weight < 60 < whole[entry.seq, entry.kind, entry.name]
    assert [e.seq for e in now if e.kind == "images"] == [8], "the images of a result give way with it"


def test_a_version_is_seen_as_it_was_and_an_undone_one_not_at_all(writer: Writer, transcript: Transcript) -> None:
    add(writer, version(1, Mask((Stub(3, "m"),))), version(2, Mask((Stub(5, "m"),))), version(3, takes_back=(2,)))
    reader = BlockReader()
    seqs = [[seq for seq, *_ in states(reader.read(transcript, SESSION, n))] for n in range(4)]
    assert seqs == [[], [3], [3, 5], [3]]


def test_a_summary_stands_for_what_it_tells_of(writer: Writer, transcript: Transcript) -> None:
    add(writer, version(1, Summarise(1, 5, "## Goal\n- parse", kept=(1,)), Pin((8,))))
    now = BlockReader().read(transcript, SESSION, 1)
    assert [(e.seq, e.kind) for e in now][:2] == [(1, "summaries"), (1, "user")]
    assert (now[0].state, now[0].hidden, now[0].message_id) == ("summarised", Hidden(1, 5, 4), 0)
    assert now[0].detail.startswith("## Goal")
    assert {e.seq for e in now} == {1, 6, 7, 8}


@pytest.mark.parametrize("operation", [Trim(5, "older messages are left out"), Clear(5)])
def test_what_is_left_out_without_a_summary_is_one_row(
    writer: Writer, transcript: Transcript, operation: Operation
) -> None:
    add(writer, version(1, operation))
    now = BlockReader().read(transcript, SESSION, 1)
    assert (now[0].state, now[0].hidden, now[0].kind) == ("left_out", Hidden(1, 5, 5), "user")
    assert bool(now[0].weight) is isinstance(operation, Trim)


def test_each_block_that_no_step_may_touch_says_why(writer: Writer, transcript: Transcript) -> None:
    add(writer, version(1, Pin((3,)), cause="pin"))
    rules = {e.seq: e.protected for e in BlockReader().read(transcript, SESSION, 1)}
    assert (rules[1], rules[3], rules[6]) == ("", "pinned", "latest_input")
    early = {e.seq: e.protected for e in BlockReader().read(transcript, SESSION, 0, upto=5)}
    assert early[1] == "latest_input", "what came later is not known yet"
    assert 6 not in early


def test_what_is_remembered_of_a_message_is_enough_to_know_its_rule() -> None:
    native = Message("assistant", (OpaqueBlock("anthropic", "compaction", '{"content": "' + "x" * 900 + '"}'),))
    items = [Item(n, 1, n, m) for n, m in enumerate((*MESSAGES, native), 1)]
    thin = [slim(item) for item in items]
    assert protected(thin, fold(())) == protected(items, fold(()))
    assert not any("xxx" in str(item) or "line" in str(item) for item in thin)


upto = st.integers(1, 8)
operations = st.one_of(
    upto.map(lambda seq: Mask((Stub(seq, "m"),))),
    upto.map(lambda seq: Shrink((Stub(seq, "s"),), (Cut(seq, f"c{seq}", "{}"),))),
    st.builds(Summarise, st.just(1), upto, st.just("text"), kept=st.lists(upto, max_size=2).map(tuple)),
    st.builds(Trim, upto, st.just("left out"), kept=st.lists(upto, max_size=2).map(tuple)),
    st.builds(Clear, upto),
    upto.map(lambda seq: Pin((seq,))),
)


@given(st.lists(operations, max_size=5))
def test_whatever_was_done_the_table_adds_up_and_holds_nothing_hidden(done: list[Operation]) -> None:
    items = [Item(n, 1, n, m) for n, m in enumerate(MESSAGES, 1)]
    entries = [
        BlockEntry(n, n, 1, n, "results" if m.role == "tool" else m.role, 100) for n, m in enumerate(MESSAGES, 1)
    ]
    view = fold([version(n, operation) for n, operation in enumerate(done, 1)])
    now = seen(entries, items, view)
    assert {e.seq for e in now if e.message_id} == {e.seq for e in entries if not view.hides(e.seq)} - {
        e.seq for e in entries if e.kind != "results" and e.seq in view.stubs
    }
    assert sum(e.hidden.count for e in now if e.hidden) == sum(view.hides(item.seq) for item in items)
    parts = dict.fromkeys({e.kind for e in now}, 500)
    figures = ContextFigures(
        sum(parts.values()), 200_000, 32_000, 168_000, 84_000, 151_200, 50, 90, "catalog", "estimated", parts
    )
    table = table_of(now, figures, start=0, end=8, newest=8)
    assert sum(row.tokens for row in table.rows) == figures.used
