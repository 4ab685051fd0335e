"""The loop: how answers end a turn, and when it is going round in circles."""

from __future__ import annotations

import asyncio
import itertools

import msgspec
import pytest

from geode_tui.core.limits import Limits
from geode_tui.core.messages import OpaqueBlock, TextBlock
from geode_tui.core.tools import Safety
from geode_tui.providers.base import Finished
from geode_tui.routes.catalog import Catalog
from geode_tui.runtime.loop import MAX_PAUSES
from geode_tui.runtime.tools.base import ToolOutcome
from tests.runtime.harness import Held, ScriptedProvider, StubTool, asks, bench, call, calls, say, stub, toolbox


def ticking(name: str, safety: Safety = Safety.READ, *, polls: bool = False) -> StubTool:
    """A tool that never gives the same text twice."""
    number = itertools.count()

    async def effect(_arguments: str) -> ToolOutcome:
        return ToolOutcome(f"tick {next(number)}")

    return StubTool(name, effect, safety, polls=polls)


# -- circles ----------------------------------------------------------------------------------------------------------
async def test_b116_the_same_call_is_noted_at_three_and_ends_the_turn_at_five() -> None:
    steps = [call("run_shell", command="date") for _ in range(50)]
    with bench(ScriptedProvider(*steps), tools=toolbox(ticking("run_shell", Safety.EXECUTE))) as run:
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("repeated_success_no_progress", 5)
        noted = ["3 times with the same arguments" in text for _, text, _ in run.results()]
        assert noted == [False, False, True, False, False]
        assert run.end["detail"].startswith("run_shell was called again and again")


async def test_b116_two_calls_in_turn_are_a_circle_too() -> None:
    steps = [call("grep", p="x"), call("ls")] * 25
    with bench(ScriptedProvider(*steps), tools=toolbox(ticking("grep"), ticking("ls"))) as run:
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("repeated_success_no_progress", 6)


async def test_b116_the_detector_remembers_over_a_restart_within_a_turn() -> None:
    steps = [call("run_shell", command="date") for _ in range(50)]
    held = Held("")
    with bench(ScriptedProvider(*steps[:4], held), tools=toolbox(ticking("run_shell", Safety.EXECUTE))) as run:
        run.submit()
        async with run.worker() as made:
            task = asyncio.create_task(made.run())
            await held.reached.wait()
            await run.die(task)
        run.provider.steps = steps[4:]
        run.send_raw("resume", "{}")
        await run.serve()
        assert run.ending == "repeated_success_no_progress"
        assert len(run.results()) == 5


async def test_b117_waiting_by_asking_again_is_no_circle() -> None:
    steps = [call("check_status", id=7) for _ in range(20)]
    with bench(ScriptedProvider(*steps), tools=toolbox(stub("check_status", "running", polls=True))) as run:
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("natural", 21)


async def test_the_same_error_three_times_ends_the_turn() -> None:
    steps = [call("read", path=str(n)) for n in range(9)]
    with bench(ScriptedProvider(*steps), tools=toolbox(stub("read", "permission denied", is_error=True))) as run:
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("convergence_detected", 3)
        assert run.end["detail"] == "read failed 3 times in the same way: permission denied"


async def test_the_same_error_all_over_one_answer_is_seen_by_the_model_first() -> None:
    batch = calls(*(asks("read", path=str(n)) for n in range(6)))
    with bench(ScriptedProvider(batch, say("I see")), tools=toolbox(stub("read", "gone", is_error=True))) as run:
        await run.turn()
        assert run.ending == "natural"


async def test_a_new_turn_begins_with_a_clean_record() -> None:
    steps = [call("read", path="x") for _ in range(9)]
    with bench(ScriptedProvider(*steps), tools=toolbox(stub("read", "gone", is_error=True))) as run:
        await run.turn()
        await run.turn("try again")
        assert [(p["termination_reason"], p["rounds"]) for p in run.payloads("turn_completed")] == [
            ("convergence_detected", 3)
        ] * 2


async def test_writing_between_two_equal_calls_is_progress() -> None:
    tools = toolbox(stub("test", "1 failed"), stub("edit", "ok", Safety.WRITE))
    steps = [step for n in range(8) for step in (call("test"), call("edit", n=n))]
    with bench(ScriptedProvider(*steps), tools=tools) as run:
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("natural", 17)


# -- how an answer ends -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "stop"])
async def test_a_complete_answer_ends_the_turn(reason: str) -> None:
    with bench(ScriptedProvider(say("done", reason)), tools={}) as run:
        await run.turn()
        assert (run.ending, run.end["detail"], run.end["rounds"]) == ("natural", "", 1)


@pytest.mark.parametrize(
    ("reason", "detail"),
    [
        ("max_tokens", "the answer was cut at its output limit; ask it to go on"),
        ("brand_new_reason", "the provider stopped with brand_new_reason; the answer may be incomplete"),
        ("", "the provider stopped with no reason; the answer may be incomplete"),
    ],
)
async def test_b106_an_incomplete_answer_is_kept_and_said_to_be_so(reason: str, detail: str) -> None:
    with bench(ScriptedProvider(say("as far as", reason)), tools={}) as run:
        await run.turn()
        assert (run.ending, run.end["detail"]) == ("actionable_partial", detail)
        assert run.messages()[-1].text == "as far as"
        assert run.named("llm_call_ended")["stop_reason"] == reason


async def test_b105_a_refusal_ends_the_turn_once_and_is_never_sent_again() -> None:
    refused = calls(TextBlock("I can"), asks("look"), stop_reason="refusal")
    with bench(ScriptedProvider(refused), tools=toolbox(stub("look"))) as run:
        await run.turn("the task")
        assert (run.ending, len(run.provider.requests), run.clock.slept) == ("model_refusal", 1, [])
        assert "the model declined to answer" in run.end["detail"]
        assert run.events("tool_exec_ended") == []
        assert run.end["cost_micro"] > 0
        kept = run.rows()[-1]
        assert (kept.status, run.stored(kept).message.text) == ("interrupted", "I can")
        await run.turn("something else")
        assert [m.text for m in run.provider.requests[-1].messages] == ["the task", "something else"]
        assert run.ending == "natural"


async def test_b105_an_empty_refusal_leaves_no_message() -> None:
    with bench(ScriptedProvider(Finished((), "content_filter", say("").usage)), tools={}) as run:
        await run.turn()
        assert (run.ending, [row.role for row in run.rows()]) == ("model_refusal", ["user"])
        assert run.named("llm_call_ended")["message_seq"] is None


async def test_b106_a_paused_answer_is_sent_back_as_it_is() -> None:
    tail = OpaqueBlock("offline", "server_tool_use", '{"id":"s1"}')
    pauses = [calls(TextBlock("looking"), tail, stop_reason="pause_turn") for _ in range(2)]
    with bench(ScriptedProvider(*pauses, say("found")), tools={}) as run:
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("natural", 3)
        sent = run.provider.requests[-1].messages
        assert [m.role for m in sent] == ["user", "assistant", "assistant"]
        assert sent[-1].blocks == (TextBlock("looking"), tail)


async def test_b106_pauses_are_bounded() -> None:
    pauses = [say("looking", "pause_turn")] * (2 * MAX_PAUSES)
    with bench(ScriptedProvider(*pauses), tools={}) as run:
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("actionable_partial", MAX_PAUSES + 1)
        assert run.end["detail"] == f"the provider paused the answer {MAX_PAUSES + 1} times"


async def test_b106_an_answer_that_ran_out_of_window_is_kept_and_its_calls_are_not_run() -> None:
    cut = calls(TextBlock("as far as"), asks("look"), stop_reason="model_context_window_exceeded")
    with bench(ScriptedProvider(cut), tools=toolbox(stub("look"))) as run:
        await run.turn()
        assert (run.ending, run.messages()[1].text) == ("context_exhausted", "as far as")
        assert run.results()[0][1] == "cancelled: not started"


async def test_what_does_not_fit_is_never_sent() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        run.route = Catalog().route("offline-planner", "offline", "adapter", window=20_000)
        await run.turn("word " * 20_000)
        assert (run.ending, run.provider.requests) == ("context_exhausted", [])
        assert run.events("llm_call_started") == []
        assert "most of it user" in run.end["detail"]
        assert "Nothing was reset" in run.end["detail"]
        await run.turn("short")
        assert run.ending == "natural", "what is no longer the latest instruction gives way"


async def test_the_output_asked_for_leaves_room_for_the_prompt() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        route = Catalog().route("offline-planner", "offline", "adapter", window=20_000)
        run.route = msgspec.structs.replace(route, max_output=64_000)
        await run.turn()
        assert run.provider.requests[0].max_tokens == 12_000
        context = run.named("llm_call_started")["context"]
        assert (context["budget"], context["output_reserve"]) == (8_000, 12_000)


# -- a turn's requests ------------------------------------------------------------------------------------------------
async def test_the_prefix_of_a_turns_requests_never_changes() -> None:
    batch = calls(TextBlock("both"), asks("look", n=1), asks("look", n=2))
    with bench(ScriptedProvider(batch, call("look", n=3), call("look", n=4)), tools=toolbox(stub("look"))) as run:
        await run.turn()
        requests = run.provider.requests
        for earlier, later in itertools.pairwise(requests):
            assert later.messages[: len(earlier.messages)] == earlier.messages
            assert (later.system, later.tools) == (earlier.system, earlier.tools)
        assert len({id(m) for r in requests for m in r.messages}) == len(requests[-1].messages)
        assert not any("system-reminder" in m.text for m in requests[-1].messages)


async def test_the_static_half_of_the_system_prompt_outlives_a_session() -> None:
    with bench(ScriptedProvider(), tools={}, limits=Limits(session_budget_s=0)) as run:
        await run.turn("one")
        run.clock.advance(3 * 86_400)
        await run.turn("two")
        first, second = (r.system for r in run.provider.requests)
        assert first[0] == second[0]
        assert first[1] != second[1], "the date is in the dynamic half"
        assert (first[0].cache, first[1].cache) == ("1h", None)


async def test_the_events_of_a_turn_stand_in_their_order() -> None:
    with bench(ScriptedProvider(call("look")), tools=toolbox(stub("look"))) as run:
        events = [name for name, _ in await run.turn()]
        one_round = ["llm_call_started", "message_opened", "message_completed", "llm_call_ended"]
        assert events == [
            "session_started",
            "command_finished",
            "user_input_received",
            "prompt_assembled",
            *one_round,
            "tool_exec_started",
            "tool_exec_ended",
            *one_round,
            "reasoning_metrics",
            "turn_completed",
            "session_ended",
        ]


async def test_a_defect_ends_the_turn_with_its_reason_and_not_the_worker() -> None:
    def broken(_request: object) -> Finished:
        raise RuntimeError("in the\nprovider")

    with bench(ScriptedProvider(broken), tools={}) as run:
        await run.turn("one")
        assert (run.ending, run.end["error_type"]) == ("unknown", "RuntimeError")
        assert run.end["detail"] == "internal error: RuntimeError: in the provider"
        await run.turn("two")
        assert run.ending == "natural"
