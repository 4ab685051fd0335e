"""A result that is too large when it comes: its file, its row, the stub that is sent, and the way back to it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from geode_tui.core.limits import Limits, ResultBounds
from geode_tui.core.messages import ToolResultBlock, answered
from geode_tui.core.tokens import text_tokens
from geode_tui.core.views import Version
from geode_tui.log import offloads, views
from geode_tui.log.writer import Fenced
from geode_tui.providers.base import Request
from geode_tui.routes.catalog import Catalog
from geode_tui.runtime import results
from geode_tui.runtime.stored import loaded, read_stored
from geode_tui.runtime.tools.recall import recall_tool
from tests.runtime.harness import (
    SESSION,
    Bench,
    ScriptedProvider,
    Step,
    StubTool,
    asks,
    bench,
    call,
    calls,
    say,
    stub,
    toolbox,
)

LARGE = "".join(f"line {n} of the result\n" for n in range(1_000))
TOKENS = text_tokens(LARGE)
BOUNDS = ResultBounds(offload=1_000, most=25_000)
RECALL = "recall_tool_result"


@contextlib.contextmanager
def offloading(
    *steps: Step, tools: tuple[StubTool, ...] = (), bounds: ResultBounds = BOUNDS, **more: Any
) -> Iterator[Bench]:
    """A run whose tool ``look`` gives `LARGE`, and that can bring results back."""
    given = toolbox(*(tools or (stub("look", LARGE, summary="1,000 lines"),)))
    with bench(ScriptedProvider(*steps), tools=given, **more) as run:
        run.bounds = bounds
        run.tools[RECALL] = recall_tool(run.geode, SESSION)
        yield run


def sent_results(request: Request) -> dict[str, str]:
    """The results in a request, by call id."""
    blocks = [b for m in request.messages for b in m.blocks]
    return {b.call_id: b.text for b in blocks if isinstance(b, ToolResultBlock)}


def offered(request: Request) -> bool:
    return RECALL in {tool.name for tool in request.tools}


def versions(run: Bench) -> list[Version]:
    row = run.transcript.session(SESSION)
    assert row is not None
    return views.versions(run.transcript, row.number)


def files(run: Bench) -> list[Path]:
    return sorted((run.geode / "tool-offload").rglob("*.json"))


# -- arrival ----------------------------------------------------------------------------------------------------------
async def test_the_model_is_sent_a_stub_and_nothing_is_lost() -> None:
    with offloading(calls(asks("look", "toolu_1"))) as run:
        await run.turn()
        first, second = run.provider.requests
        shown = json.loads(sent_results(second)["toolu_1"])
        assert (shown["_offloaded"], shown["_ref_id"]) == (True, "toolu_1")
        assert TOKENS * 0.8 < shown["_original_tokens"] < TOKENS * 1.4
        assert shown["summary"].startswith("line 0 of the result\n")
        assert run.results() == [("toolu_1", LARGE, False)]
        stored = offloads.load(run.geode, SESSION, "toolu_1")
        assert (stored.text, stored.original_tokens, stored.tool_name) == (LARGE, shown["_original_tokens"], "look")
        assert (stored.turn_id, stored.call_seq) == (f"{SESSION}:1", 2)
        assert (offered(first), offered(second)) == (False, True)


async def test_row_view_and_events_are_there_together() -> None:
    with offloading(calls(asks("look", "toolu_1"))) as run:
        events = await run.turn()
        names = [n for n, _ in events if n in {"tool_exec_ended", "tool_result_offloaded", "view_changed"}]
        assert names == ["tool_exec_ended", "tool_result_offloaded", "view_changed"]
        row = run.rows()[2]
        assert row.result is not None
        tokens = run.named("tool_exec_ended")["tokens"]
        assert TOKENS * 0.8 < tokens < TOKENS * 1.4
        assert (row.result.tokens, row.result.facts, row.result.summary) == (tokens, {"ref": "toolu_1"}, "1,000 lines")
        assert run.named("tool_result_offloaded") == {
            "ref_id": "toolu_1",
            "original_tokens": tokens,
            "block_id": "toolu_1",
            "tool_name": "look",
            "session_id": SESSION,
            "turn_id": f"{SESSION}:1",
            "tool_call_id": "toolu_1",
            "path": f"tool-offload/{SESSION}/toolu_1.json",
            "extrapolated": False,
        }
        (version,) = versions(run)
        (operation,) = version.operations
        (made,) = operation.stubs  # type: ignore[union-attr]
        assert (version.number, version.parent, version.cause, version.newest) == (1, 0, "arrival", row.seq)
        assert (made.seq, made.ref, made.tokens, version.first_changed) == (row.seq, "toolu_1", tokens, 0)
        changed = run.named("view_changed")
        assert (changed["version"], changed["cause"], changed["operations"]) == (1, "arrival", {"offload": 1})
        assert changed["tokens_after"] == changed["context"]["used"]
        assert changed["tokens_before"] - changed["tokens_after"] == pytest.approx(tokens, rel=0.1)


async def test_the_gauge_counts_the_stub() -> None:
    with offloading(calls(asks("look", "toolu_1")), bounds=ResultBounds(offload=1_000)) as run:
        await run.turn()
        told = run.named("view_changed")["context"]["used"]
        asked = run.payloads("llm_call_started")[1]["context"]["used"]
        assert 100 < told < asked < 2_000


@pytest.mark.parametrize(("tokens", "stored"), [(600, False), (1_001, True)])
async def test_more_than_the_threshold_is_stored(tokens: int, stored: bool) -> None:
    with offloading(call("look"), tools=(stub("look", "abcd" * tokens),)) as run:
        await run.turn()
        assert bool(files(run)) is stored
        assert len(run.payloads("tool_result_offloaded")) == stored


async def test_what_a_small_window_would_cut_is_stored_instead() -> None:
    """RUNTIME.md 4.8: results of 10,000 to 15,000 tokens."""
    with offloading(call("look"), bounds=ResultBounds(offload=15_000)) as run:
        run.route = Catalog().route("claude-sonnet-5", "offline", "adapter", window=32_000)
        await run.turn()
        assert len(files(run)) == 1
        assert run.results()[0][1] == LARGE


async def test_korean_is_counted_by_its_syllables() -> None:
    with offloading(calls(asks("look", "c1")), tools=(stub("look", "한글 결과\n" * 300),)) as run:
        await run.turn()
        assert run.named("tool_result_offloaded")["original_tokens"] == pytest.approx(1_800, rel=0.1)
        assert "한글 결과" in sent_results(run.provider.requests[1])["c1"]


async def test_a_failed_calls_result_is_stored_and_stays_an_error() -> None:
    with offloading(call("look"), tools=(stub("look", LARGE, is_error=True, summary="exit 1"),)) as run:
        await run.turn()
        (block,) = [b for m in run.provider.requests[1].messages for b in m.blocks if isinstance(b, ToolResultBlock)]
        assert block.is_error
        assert json.loads(block.text)["_offloaded"]


@pytest.mark.parametrize("call_id", ["../../../etc/passwd", ".hidden", "a" * 300, "한"])
async def test_b122_an_id_that_may_not_name_a_file_can_still_be_recalled(call_id: str) -> None:
    ref = offloads.ref_of(call_id)
    steps = (calls(asks("look", call_id)), call(RECALL, ref_id=ref, limit=10))
    with offloading(*steps) as run:
        await run.turn()
        assert [f.name for f in files(run)] == [f"{ref}.json"]
        assert json.loads(run.results()[1][1])["content"] == LARGE[:10]


async def test_several_megabytes_pass_through() -> None:
    text = "한글\n" + "a line of the log\n" * 350_000
    with offloading(calls(asks("look", "c1")), tools=(stub("look", text),), bounds=ResultBounds()) as run:
        await run.turn()
        assert run.ending == "natural"
        row = run.results()[0][1]
        assert len(row) < 65_000
        assert (row[:40_000], row[-10_000:]) == (text[:40_000], text[-10_000:])
        assert "characters left out here: the whole is stored as c1 ..." in row
        receipt = run.named("tool_exec_ended")["receipt"]
        assert (run.geode / receipt["path"]).read_bytes() == text.encode()
        assert (receipt["bytes"], receipt["sha256"]) == (len(text.encode()), sha256(text.encode()).hexdigest())
        assert len(sent_results(run.provider.requests[1])["c1"]) < 2_000
        assert (offloads.load(run.geode, SESSION, "c1").text == text) is True
        assert run.named("tool_result_offloaded")["extrapolated"]
        assert run.named("tool_result_offloaded")["original_tokens"] == pytest.approx(text_tokens(text), rel=0.4)


# -- several ----------------------------------------------------------------------------------------------------------
async def test_reads_side_by_side_make_a_version_each_in_the_order_of_their_rows() -> None:
    batch = calls(*(asks("look", f"c{n}") for n in range(5)))
    with offloading(batch) as run:
        await run.turn()
        made = versions(run)
        assert [(v.number, v.parent, v.group) for v in made] == [(n, n - 1, n) for n in range(1, 6)]
        assert [v.newest for v in made] == sorted(v.newest for v in made)
        request = run.provider.requests[1]
        assert answered(request.messages)
        assert list(sent_results(request)) == [f"c{n}" for n in range(5)]
        assert all(json.loads(text)["_ref_id"] == call_id for call_id, text in sent_results(request).items())
        gauges = [p["context"]["used"] for p in run.payloads("view_changed")]
        assert all(after - before > 100 for before, after in itertools.pairwise(gauges))


async def test_a_worker_that_comes_later_sends_the_same() -> None:
    steps = (calls(asks("look", "c1"), asks("small", "c2"), asks("look", "c3")), say("done"), say("again"))
    with offloading(*steps, tools=(stub("look", LARGE), stub("small"))) as run:
        await run.turn()
        before = run.session.conversation if run.session else None
        assert before is not None
        kept = list(before.messages)
        await run.turn("more")
        asked = run.provider.requests[-1]
        assert asked.messages[: len(kept)] == tuple(kept)
        assert offered(asked)
        row = run.transcript.session(SESSION)
        assert row is not None
        again = loaded(read_stored(run.transcript, SESSION, row.number), before.route, None)
        assert again.messages[: len(kept)] == kept


# -- the way back -----------------------------------------------------------------------------------------------------
async def test_b047_what_is_recalled_is_never_stored_again() -> None:
    page = [call(RECALL, ref_id="c1", offset=n * 100) for n in range(4)]
    with offloading(calls(asks("look", "c1")), *page, bounds=ResultBounds(offload=300)) as run:
        await run.turn()
        recalled = [json.loads(text) for _, text, _ in run.results()[1:]]
        assert [p["offset"] for p in recalled] == [0, 100, 200, 300]
        assert len(files(run)) == len(run.payloads("tool_result_offloaded")) == 1
        assert all(text_tokens(text) <= 200 for _, text, _ in run.results()[1:])


async def test_recalling_asks_nobody() -> None:
    steps = (calls(asks("look", "c1")), call(RECALL, ref_id="c1"))
    with offloading(*steps, approve="reads") as run:
        await run.turn()
        assert run.events("tool_approval_requested") == []
        assert not run.results()[1][2]


async def test_b048_what_was_never_stored_is_an_error_result() -> None:
    with offloading(call(RECALL, ref_id="tr_deadbeef")) as run:
        await run.turn()
        ((_, text, is_error),) = run.results()
        assert (is_error, text) == (True, "there is no stored result 'tr_deadbeef' in this session; nothing is stored")
        assert run.ending == "natural"


# -- exempt, off, not possible ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["use_skill", "update_plan"])
async def test_what_the_agent_follows_stays_in_the_context(name: str) -> None:
    with offloading(calls(asks(name, "c1")), tools=(stub(name, LARGE),)) as run:
        await run.turn()
        assert sent_results(run.provider.requests[1])["c1"] == LARGE
        assert files(run) == []


async def test_without_a_threshold_the_guard_cuts() -> None:
    with offloading(calls(asks("look", "c1")), bounds=ResultBounds(offload=0, most=1_000)) as run:
        await run.turn()
        text = run.results()[0][1]
        assert text_tokens(text) <= 1_000
        assert "tokens left out here" in text
        assert files(run) == []
        assert "receipt" in run.rows()[2].result.facts  # type: ignore[union-attr]
        assert run.named("tool_exec_ended")["not_stored"] == ""


async def test_without_any_bound_everything_is_sent() -> None:
    with offloading(calls(asks("look", "c1")), bounds=ResultBounds(offload=0, most=0)) as run:
        run.route = Catalog().route("claude-sonnet-5", "offline", "adapter", window=1_000_000)
        await run.turn()
        assert sent_results(run.provider.requests[1])["c1"] == LARGE


async def test_a_run_that_may_not_recall_does_not_store() -> None:
    with offloading(calls(asks("look", "c1")), bounds=ResultBounds(offload=1_000, most=2_000)) as run:
        del run.tools[RECALL]
        await run.turn()
        assert files(run) == []
        assert "tokens left out here" in run.results()[0][1]


async def test_a_result_that_takes_hardly_more_than_its_stub_stays() -> None:
    with offloading(calls(asks("look", "c1")), tools=(stub("look", "x" * 999),), bounds=ResultBounds(offload=1)) as run:
        await run.turn()
        assert files(run) == []
        assert sent_results(run.provider.requests[1])["c1"] == "x" * 999


async def test_what_cannot_be_stored_and_need_not_be_cut_is_sent_whole() -> None:
    with offloading(calls(asks("look", "c1"))) as run:
        run.route = Catalog().route("claude-sonnet-5", "offline", "adapter", window=1_000_000)
        (run.geode / "tool-offload").write_text("in the way")
        await run.turn()
        assert sent_results(run.provider.requests[1])["c1"] == LARGE
        assert run.named("tool_exec_ended")["not_stored"] == "not stored: File exists"
        assert run.rows()[2].result.facts == {}  # type: ignore[union-attr]


async def test_b056_what_cannot_be_stored_is_cut_and_told_and_the_run_goes_on() -> None:
    with offloading(calls(asks("look", "c1")), bounds=ResultBounds(offload=1_000, most=2_000)) as run:
        (run.geode / "tool-offload").write_text("in the way")
        await run.turn()
        text = run.results()[0][1]
        assert "tokens left out here" in text
        assert text.endswith("\n[not stored: File exists]")
        assert str(run.root) not in text
        assert run.named("tool_exec_ended")["not_stored"] == "not stored: File exists"
        assert run.rows()[2].result.facts["not_stored"] == "not stored: File exists"  # type: ignore[union-attr]
        assert run.state.warnings == 1
        assert not any(offered(request) for request in run.provider.requests)
        assert versions(run) == []
        assert run.ending == "natural"


# -- what is said beside it -------------------------------------------------------------------------------------------
async def test_what_the_model_is_told_beside_a_result_is_in_the_stub_and_in_the_row() -> None:
    steps = (*(call("small", n=n) for n in range(7)), calls(asks("look", "c1")))
    with offloading(*steps, tools=(stub("look", LARGE), stub("small")), limits=Limits(max_rounds=10)) as run:
        await run.turn()
        note = "[left of this run's limits: 2 of 10 rounds]"
        assert json.loads(sent_results(run.provider.requests[-1])["c1"])["hint"].endswith(note)
        assert run.results()[-1][1] == f"{LARGE}\n{note}"
        assert offloads.load(run.geode, SESSION, "c1").text == LARGE


# -- whole or not at all ----------------------------------------------------------------------------------------------
async def test_a_crash_between_file_and_row_leaves_a_file_that_harms_nothing() -> None:
    with offloading(calls(asks("look", "c1")), say("went on")) as run:
        run.submit()
        async with run.worker() as made:
            assert run.session is not None
            journal = run.session.journal

            def fail(point: str) -> None:
                if point == "offload: after file":
                    journal.writer.epoch = -1

            journal.probe = fail
            with pytest.raises(Fenced):
                await made.run()
        assert len(files(run)) == 1
        assert run.results() == []
        await run.turn("go on")
        assert [(call_id, is_error) for call_id, _, is_error in run.results()] == [("c1", True)]
        assert "outcome unknown" in run.results()[0][1]
        assert versions(run) == []
        assert not any(offered(request) for request in run.provider.requests)
        assert run.ending == "natural"


@pytest.mark.parametrize("part", [(views, "add_version"), (results, "view_changed")], ids=["version", "event"])
async def test_a_transaction_that_fails_leaves_neither_row_nor_stub(
    part: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> Any:
        raise Fenced("gone")

    monkeypatch.setattr(*part, failing)
    with offloading(calls(asks("look", "c1"))) as run:
        run.submit()
        with pytest.raises(Fenced):
            await run.serve()
        monkeypatch.undo()
        assert run.results() == []
        assert versions(run) == []
        assert run.events("tool_exec_ended", "tool_result_offloaded", "view_changed") == []


async def test_an_interrupt_while_the_file_is_written_loses_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    keep = offloads.keep

    def slow(*arguments: Any, **named: Any) -> Any:
        begun.set()
        go_on.wait()
        return keep(*arguments, **named)

    monkeypatch.setattr(offloads, "keep", slow)
    with offloading(calls(asks("look", "c1")), say("went on")) as run:
        run.submit()
        async with run.serving():
            await run.until(begun.is_set)
            run.interrupt()
            for _ in range(20):
                await asyncio.sleep(0.005)
            go_on.set()
        assert run.ending == "user_cancelled"
        assert run.results() == [("c1", LARGE, False)]
        assert len(versions(run)) == 1
        await run.turn("go on")
        asked = run.provider.requests[-1]
        assert json.loads(sent_results(asked)["c1"])["_ref_id"] == "c1"
        assert answered(tuple(asked.messages))


async def test_calls_of_one_id_in_two_sessions_do_not_meet() -> None:
    with offloading(calls(asks("look", "c1"))) as run:
        offloads.keep(run.geode, "other", "c1", "theirs", now=1.0)
        await run.turn()
        assert offloads.load(run.geode, SESSION, "c1").text == LARGE
        assert offloads.load(run.geode, "other", "c1").text == "theirs"
