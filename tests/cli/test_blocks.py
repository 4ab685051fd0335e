"""The blocks of a run out of a real store, each read once, and what the months of the ledger cost."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from geode_tui.cli import blocks
from geode_tui.cli.blocks import BlockReader
from geode_tui.cli.months import is_month, month_cost, months_until
from geode_tui.core.messages import (
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    user_text,
)
from geode_tui.core.usage import Usage
from geode_tui.log import ledger
from geode_tui.log.store import connect
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Writer
from tests.log.stores import SESSION, answer, commit, open_writer, result


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return open_writer(tmp_path / "sessions.db")


@pytest.fixture
def transcript(tmp_path: Path, writer: Writer) -> Transcript:
    return Transcript(connect(tmp_path / "sessions.db"), tmp_path)


def test_each_block_says_what_it_is_and_a_result_what_was_asked_for(writer: Writer, transcript: Transcript) -> None:
    call = ToolCallBlock("c1", "read_file", '{"path": "src/core.py"}')
    long = ToolCallBlock("c2", "edit_file", '{"path": "a.py", "text": "' + "x" * 5_000 + '"}')
    said = Message("assistant", (ThinkingBlock("hm", raw="{}"), TextBlock("I look."), call, long))
    seen = ToolResultBlock("c1", "read_file", (TextBlock("def f"), ImageBlock("image/png", "")))
    commit(writer, lambda tx: tx.add_message(user_text("do it")))
    commit(writer, lambda tx: tx.add_message(said))
    commit(writer, lambda tx: tx.add_message(Message("tool", (seen,), "tool")))
    rows = BlockReader().read(transcript, SESSION)
    assert [(row.seq, row.kind, row.name, row.detail, row.is_path) for row in rows] == [
        (1, "user", "", "do it", False),
        (2, "thinking", "", "hm", False),
        (2, "agent", "", "I look.", False),
        (2, "agent", "read_file", "src/core.py", True),
        (2, "agent", "edit_file", "a.py", True),
        (3, "results", "read_file", "src/core.py", True),
        (3, "images", "", "image/png", False),
    ]
    assert rows[4].weight > 1_000


def test_only_what_is_new_is_read_again(
    writer: Writer, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "PAGE", 3)
    for number in range(10):
        commit(writer, lambda tx, n=number: tx.add_message(user_text(f"{n}")))  # type: ignore[misc]
    reader = BlockReader()
    assert len(reader.read(transcript, SESSION)) == 10
    touched: list[str] = []

    def trace(_: object, __: str, bindings: object) -> bool:
        touched.append(str(bindings))
        return True

    transcript.db.set_exec_trace(trace)
    commit(writer, lambda tx: tx.add_message(user_text("one more")))
    assert [row.detail for row in reader.read(transcript, SESSION)][-1] == "one more"
    assert not any("', 0, 3" in one for one in touched), "it began at the first message again"


def test_words_that_join_while_an_answer_streams_stand_after_it_in_the_end(
    writer: Writer, transcript: Transcript
) -> None:
    reader = BlockReader()
    commit(writer, lambda tx: tx.add_message(user_text("first")))
    number, seq = commit(writer, lambda tx: tx.open_message())
    commit(writer, lambda tx: tx.add_message(user_text("joined")))
    assert [row.detail for row in reader.read(transcript, SESSION)] == ["first", "joined"]
    commit(writer, lambda tx: tx.complete_message(number, seq, answer("an answer"), "end_turn", 3))
    assert [row.detail for row in reader.read(transcript, SESSION)] == ["first", "an answer", "joined"]
    assert [row.detail for row in reader.read(transcript, SESSION)] == ["first", "an answer", "joined"]


def test_a_result_without_its_call_is_still_a_row(writer: Writer, transcript: Transcript) -> None:
    commit(writer, lambda tx: tx.add_message(result("c9")))
    assert [(row.kind, row.name, row.detail) for row in BlockReader().read(transcript, SESSION)] == [
        ("results", "grep", "")
    ]


# -- months -----------------------------------------------------------------------------------------------------------
def pay(folder: Path, day: str, model: str, micro: int, purpose: str = "turn") -> None:
    at = datetime.fromisoformat(day).astimezone(UTC).timestamp()
    usage = Usage(100, 20, 900, 40, 60)
    entry = ledger.entry_of(
        usage, ts=at, model=model, cost_micro=micro, session="s", purpose=purpose, source="payg", call=f"{day}{model}"
    )
    ledger.append(folder, entry)


def test_a_month_is_the_sum_of_its_calls_by_model_and_purpose(tmp_path: Path) -> None:
    pay(tmp_path, "2026-11-03", "m-1", 250_000)
    pay(tmp_path, "2026-11-09", "m-2", 500_000, "summary")
    found = month_cost(tmp_path, "2026-11")
    assert (found.money.cost_micro, found.money.calls, found.money.usage.cache_write_1h_tokens) == (750_000, 2, 120)
    assert found.by_model["m-2"].cost_micro == found.by_purpose["summary"].cost_micro == 500_000


def test_the_present_month_comes_first_even_without_a_ledger(tmp_path: Path) -> None:
    pay(tmp_path, "2026-09-03", "m-1", 1)
    pay(tmp_path, "2026-10-03", "m-1", 1)
    (tmp_path / "notes.jsonl").write_text("x")
    assert [one.month for one in months_until(tmp_path, "2026-11", 9)] == ["2026-11", "2026-10", "2026-09"]
    assert [one.month for one in months_until(tmp_path, "2026-11", 2)] == ["2026-11", "2026-10"]
    assert [one.month for one in months_until(tmp_path / "none", "2026-11", 2)] == ["2026-11"]


@pytest.mark.parametrize(("text", "fits"), [("2026-11", True), ("2026-13", False), ("2026-1", False), ("11", False)])
def test_how_a_month_is_written(text: str, fits: bool) -> None:
    assert is_month(text) is fits
