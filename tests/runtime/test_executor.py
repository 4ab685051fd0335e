"""Tool calls: what is not run, what runs side by side, and the one result each call gets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from geode_tui.core.limits import Limits
from geode_tui.core.messages import ToolCallBlock, ToolResultBlock, answered
from geode_tui.core.tools import Safety
from geode_tui.log import blobs
from geode_tui.providers.base import Request
from geode_tui.runtime import executor
from geode_tui.runtime.tools.base import Prepared, ToolContext, ToolOutcome
from tests.runtime.harness import (
    PATIENCE_S,
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

MALFORMED = ['{"path": "Par', '{"a":1}{"a":2}', '"{\\"a\\":1}"', "[1]", "null", '{"path": NaN}']


def sent_results(run: Bench) -> list[str]:
    """The call ids of the results in the newest request, in order."""
    blocks = [b for m in run.provider.requests[-1].messages for b in m.blocks]
    return [b.call_id for b in blocks if isinstance(b, ToolResultBlock)]


# -- calls that are not run -------------------------------------------------------------------------------------------
async def test_an_unknown_tool_is_an_error_that_names_the_known_ones() -> None:
    with bench(ScriptedProvider(call("teleport")), tools=toolbox(stub("look"), stub("edit"))) as run:
        await run.turn()
        ((_, text, is_error),) = run.results()
        assert (text, is_error) == ("there is no tool teleport; the tools are: look, edit", True)
        assert run.events("tool_exec_started") == []
        assert not run.named("tool_exec_ended")["executed"]
        assert run.ending == "natural"


@pytest.mark.parametrize("arguments", MALFORMED)
async def test_b104_malformed_arguments_are_an_error_result_and_nothing_is_run(arguments: str) -> None:
    batch = calls(ToolCallBlock("t1", "write_file", arguments), ToolCallBlock("t2", "run_shell", arguments))
    with bench(ScriptedProvider(batch)) as run:
        await run.turn()
        assert [(call_id, is_error) for call_id, _, is_error in run.results()] == [("t1", True), ("t2", True)]
        assert all("the arguments are" in text for _, text, _ in run.results())
        assert run.events("tool_exec_started") == []
        assert list(run.root.iterdir()) == [run.geode]
        assert run.ending == "natural"


async def test_b104_enormous_arguments_are_not_read_and_the_run_ends_by_their_size() -> None:
    batch = calls(ToolCallBlock("t1", "write_file", "x" * 5_000_000))
    with bench(ScriptedProvider(batch)) as run:
        await run.turn()
        assert "5,000,000 characters long" in run.results()[0][1]
        assert (run.ending, len(run.provider.requests)) == ("context_exhausted", 1)
        assert run.named("tool_exec_ended")["has_error"]


@pytest.mark.parametrize(("tool", "is_error"), [("list_dir", False), ("read_file", True)])
async def test_b104_no_arguments_are_an_empty_object_where_none_are_required(tool: str, is_error: bool) -> None:
    with bench(ScriptedProvider(calls(ToolCallBlock("t1", tool, "")))) as run:
        await run.turn()
        assert [r[2] for r in run.results()] == [is_error]


async def test_b104_malformed_calls_count_for_the_loop_guard() -> None:
    bad = [calls(ToolCallBlock(f"t{n}", "read_file", "{")) for n in range(9)]
    with bench(ScriptedProvider(*bad)) as run:
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("convergence_detected", 3)


# -- order ------------------------------------------------------------------------------------------------------------
class Meeting:
    """Tools that record when they begin and end; readers only end once ``expected`` of them have begun."""

    def __init__(self, expected: int) -> None:
        self.log: list[str] = []
        self._expected = expected
        self._all = asyncio.Event()

    async def read(self, arguments: str) -> ToolOutcome:
        name = json.loads(arguments)["name"]
        self.log.append(f"+{name}")
        if len(self.log) == self._expected:
            self._all.set()
        async with asyncio.timeout(PATIENCE_S):
            await self._all.wait()
        self.log.append(f"-{name}")
        return ToolOutcome(name)

    async def write(self, arguments: str) -> ToolOutcome:
        name = json.loads(arguments)["name"]
        self.log.append(f"+{name}")
        await asyncio.sleep(0)
        self.log.append(f"-{name}")
        return ToolOutcome(name)


async def test_reads_run_side_by_side_and_writes_one_after_the_other() -> None:
    meeting = Meeting(3)
    tools = toolbox(StubTool("read", meeting.read), StubTool("write", meeting.write, Safety.WRITE))
    batch = calls(
        *(asks("read", n, name=n) for n in ("r1", "r2", "r3")),
        *(asks("write", n, name=n) for n in ("w1", "w2")),
        asks("read", "r4", name="r4"),
    )
    with bench(ScriptedProvider(batch), tools=tools) as run:
        await run.turn()
        assert meeting.log[:3] == ["+r1", "+r2", "+r3"]
        assert meeting.log[6:] == ["+w1", "-w1", "+w2", "-w2", "+r4", "-r4"]
        assert sent_results(run) == ["r1", "r2", "r3", "w1", "w2", "r4"]


async def test_results_stand_in_the_order_of_the_calls_whatever_ends_first() -> None:
    second = asyncio.Event()

    async def first(_arguments: str) -> ToolOutcome:
        await second.wait()
        return ToolOutcome("1")

    async def other(_arguments: str) -> ToolOutcome:
        second.set()
        return ToolOutcome("2")

    tools = toolbox(StubTool("first", first), StubTool("second", other))
    with bench(ScriptedProvider(calls(asks("first", "t1"), asks("second", "t2"))), tools=tools) as run:
        await run.turn()
        assert [call_id for call_id, _, _ in run.results()] == ["t2", "t1"], "rows stand as they came"
        assert sent_results(run) == ["t1", "t2"]


async def test_after_a_restart_the_order_of_results_is_still_valid() -> None:
    second = asyncio.Event()

    async def first(_arguments: str) -> ToolOutcome:
        await second.wait()
        return ToolOutcome("1")

    async def other(_arguments: str) -> ToolOutcome:
        second.set()
        return ToolOutcome("2")

    tools = toolbox(StubTool("first", first), StubTool("second", other))
    with bench(ScriptedProvider(calls(asks("first", "t1"), asks("second", "t2"))), tools=tools) as run:
        await run.turn()
        live = run.provider.requests[-1].messages
        await run.turn("more")
        assert answered(run.provider.requests[-1].messages)
        assert run.provider.requests[-1].messages[: len(live)] == live


async def test_ids_that_are_used_twice_or_empty_are_made_unique() -> None:
    first = calls(asks("look", "same"), asks("look", "same"), ToolCallBlock("", "look", "{}"))
    second = calls(asks("look", "same"))
    with bench(ScriptedProvider(first, second), tools=toolbox(stub("look"))) as run:
        await run.turn()
        ids = [call_id for call_id, _, _ in run.results()]
        assert ids == ["same", "same-2", "call-2", "same-3"]
        assert answered(tuple(run.messages()))
        assert run.ending == "natural"


# -- failures ---------------------------------------------------------------------------------------------------------
async def test_a_tool_that_raises_is_a_result_and_an_event() -> None:
    async def broken(_arguments: str) -> ToolOutcome:
        raise ZeroDivisionError("in the\ttool")

    with bench(ScriptedProvider(call("look"), say("went on")), tools=toolbox(StubTool("look", broken))) as run:
        await run.turn()
        assert run.results()[0][1:] == ("the tool failed: ZeroDivisionError: in the tool", True)
        failed = run.named("tool_exec_failed")
        assert (failed["error_type"], failed["recoverable"]) == ("ZeroDivisionError", True)
        assert run.ending == "natural"


async def test_a_tool_that_breaks_while_it_prepares_is_a_result_too() -> None:
    class Broken(StubTool):
        async def prepare(self, arguments: str, context: ToolContext) -> Prepared:
            raise KeyError("schema")

    tool = Broken("look", stub("look")._effect)
    with bench(ScriptedProvider(call("look"), say("went on")), tools=toolbox(tool)) as run:
        await run.turn()
        assert run.results()[0][1:] == ("the tool failed: KeyError: 'schema'", True)
        assert (run.events("tool_exec_started"), run.ending) == ([], "natural")


async def test_one_broken_read_does_not_take_its_neighbours_with_it() -> None:
    async def broken(_arguments: str) -> ToolOutcome:
        raise ValueError("no")

    tools = toolbox(StubTool("bad", broken), stub("good", "fine"))
    batch = calls(asks("good", "t1"), asks("bad", "t2"), asks("good", "t3"))
    with bench(ScriptedProvider(batch), tools=tools) as run:
        await run.turn()
        assert {c: e for c, _, e in run.results()} == {"t1": False, "t2": True, "t3": False}


async def test_b120_a_call_gets_no_more_time_than_the_run_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "LEAST_DEADLINE_S", 0.1)
    with bench(ScriptedProvider(), limits=Limits(time_budget_s=60)) as run:

        def late(_request: Request) -> Step:
            run.clock.advance(59.95)
            return call("run_shell", command="echo begun; sleep 600")

        run.provider.steps = [late]
        await run.turn()
        ((_, text, is_error),) = run.results()
        assert is_error
        assert "timed out" in text
        assert run.ending in {"natural", "time_budget_expired"}


# -- results ----------------------------------------------------------------------------------------------------------
async def test_a_huge_result_is_shown_in_part_and_kept_whole() -> None:
    huge = "\n".join(f"line {n} {'글' * 40}" for n in range(4_000))
    with bench(ScriptedProvider(call("look")), tools=toolbox(stub("look", huge))) as run:
        await run.turn()
        ((_, shown, _),) = run.results()
        assert len(shown) < len(huge) / 4
        assert shown.startswith("line 0 ")
        assert shown.endswith(huge[-200:])
        assert "tokens left out here" in shown
        row = next(r for r in run.rows() if r.role == "tool")
        assert row.result is not None
        receipt = Path(run.geode / str(row.result.facts["receipt"]))
        assert receipt.read_text(encoding="utf-8") == huge
        assert receipt.stat().st_mode & 0o077 == 0
        assert row.result.tokens == run.named("tool_exec_ended")["tokens"] <= 10_000


async def test_b050_half_characters_in_a_result_are_replaced_and_pairs_joined() -> None:
    poisoned = "a\ud800b \ud83c\udf78 \udc88"
    with bench(ScriptedProvider(call("look"), say("done")), tools=toolbox(stub("look", poisoned))) as run:
        await run.turn()
        assert run.results()[0][1] == "a\ufffdb 🍸 \ufffd"
        assert run.ending == "natural"
        blobs.keep(run.geode, run.results()[0][1])


async def test_an_empty_result_says_so() -> None:
    with bench(ScriptedProvider(call("look")), tools=toolbox(stub("look", " \n"))) as run:
        await run.turn()
        assert run.results()[0][1] == "(no output)"


async def test_the_intent_is_in_the_log_before_the_effect() -> None:
    seen: list[int] = []

    async def effect(_arguments: str) -> ToolOutcome:
        seen.append(len(run.payloads("tool_exec_started")))
        return ToolOutcome("ok")

    with bench(ScriptedProvider(call("look", path="a.txt")), tools=toolbox(StubTool("look", effect))) as run:
        await run.turn()
        assert seen == [1]
        started = run.named("tool_exec_started")
        assert (started["tool_name"], started["arguments"]) == ("look", '{"path": "a.txt"}')


async def test_a_commands_group_is_recorded_before_it_begins() -> None:
    with bench(ScriptedProvider(call("run_shell", command="echo $$"))) as run:
        await run.turn()
        started = run.named("tool_exec_started")
        assert run.results()[0][1].strip() == str(started["group"])
        assert started["started"] > 0


async def test_the_plan_is_recorded_and_asks_nobody() -> None:
    steps = [{"step": "read", "status": "active"}, {"step": "write", "status": "pending"}]
    with bench(ScriptedProvider(call("update_plan", steps=steps)), approve="ask") as run:
        await run.turn()
        assert run.named("plan_updated")["steps"] == [["read", "active"], ["write", "pending"]]
        assert run.events("tool_approval_requested") == []
