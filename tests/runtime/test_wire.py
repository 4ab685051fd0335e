"""Whole turns over a real socket: the adapter and its SDK against the lab, and the offline planner."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from geode_tui.core.limits import Limits
from geode_tui.core.messages import answered
from geode_tui.core.text import Redactor
from geode_tui.core.tools import Safety
from geode_tui.providers.anthropic import AnthropicProvider
from geode_tui.providers.base import Request, StreamEvent
from geode_tui.providers.offline import OfflineProvider
from tests.lab import (
    Answer,
    Block,
    Call,
    Cut,
    Events,
    Fail,
    Lab,
    Refusal,
    Say,
    ScriptStep,
    Stall,
    StreamError,
    Think,
)
from tests.runtime.harness import Bench, bench, stub, toolbox

KEY = "sk-ant-api03-TESTTEST0123456789"
LOOK = toolbox(stub("look"))


@contextlib.asynccontextmanager
async def lab_run(*script: ScriptStep, lab: Lab | None = None, **options: Any) -> AsyncIterator[tuple[Bench, Lab]]:
    """A run whose model is the lab."""
    async with lab or Lab() as server:
        server.script(*script)
        provider = AnthropicProvider(KEY, server.base_url)
        options.setdefault("tools", LOOK)
        with bench(provider, **options) as run:
            run.redact = Redactor([KEY])
            try:
                yield run, server
            finally:
                await provider.aclose()


def unmarked(value: Any) -> Any:
    """``value`` without cache marks."""
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [unmarked(v) for v in value] if isinstance(value, list) else value


def blocks(body: dict[str, Any]) -> list[tuple[str, Any]]:
    """(role, block) of every block of a request, in order: what a provider caches by."""
    return [(m["role"], b) for m in unmarked(body["messages"]) for b in m["content"]]


def assert_one_prefix(lab: Lab) -> None:
    """Every request begins with the whole of the one before; system and tools never change."""
    bodies = [r.body for r in lab.requests]
    for earlier, later in itertools.pairwise(bodies):
        assert blocks(later)[: len(blocks(earlier))] == blocks(earlier)
        assert unmarked(later["system"]) == unmarked(earlier["system"])
        assert later.get("tools") == earlier.get("tools")


# -- the prefix -------------------------------------------------------------------------------------------------------
async def test_each_request_begins_with_the_whole_of_the_one_before() -> None:
    script: list[ScriptStep] = [
        (Think("hm"), Say("Both."), Call("look", {"n": 1}), Call("look", {"n": 2})),
        Call("look", {"n": 3}),
        Call("look", "{malformed"),
        Call("teleport", {}),
        Say("done"),
    ]
    async with lab_run(*script, lab=Lab(bound_thinking=True, cache_minimum=1)) as (run, lab):
        await run.turn("한글 task")
        assert (run.ending, len(lab.requests)) == ("natural", 5)
        assert_one_prefix(lab)
        read = [p["usage"].get("cache_read_tokens", 0) for p in run.payloads("llm_call_ended")]
        prompt = [sum(v for k, v in p["usage"].items() if k in PROMPT) for p in run.payloads("llm_call_ended")]
        assert read[1:] == prompt[:-1], "all that was sent before is read from the cache"


PROMPT = {"input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens"}


async def test_the_prefix_outlives_words_typed_a_restart_and_a_second_turn() -> None:
    async with lab_run() as (run, lab):

        def typed(_body: dict[str, Any]) -> Call:
            run.submit("and this")
            return Call("look", {"n": 1})

        lab.script(typed, Say("one"), Call("look", {"n": 2}), Say("two"))
        await run.turn("first")
        await run.turn("second")
        assert [p["termination_reason"] for p in run.payloads("turn_completed")] == ["natural"] * 2
        assert len(lab.requests) == 4
        assert_one_prefix(lab)


# -- the closing answer -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("model", "max_tokens", "before", "thinking"),
    [
        ("claude-haiku-4-5", 4_096, 48_768, None),
        ("claude-sonnet-5", 5_000, 32_768, "adaptive"),  # cannot be switched off (RUNTIME.md 8.4)
    ],
)
async def test_b121_the_closing_answer_on_the_wire(
    model: str, max_tokens: int, before: int, thinking: str | None
) -> None:
    calls = [Call("look", {"n": n}) for n in range(3)]
    cut = Answer((Say("what I ha"),), stop_reason="max_tokens")
    async with lab_run(*calls, cut, model=model, limits=Limits(max_rounds=4)) as (run, lab):
        await run.turn()
        last = lab.requests[-1].body
        assert (last["max_tokens"], last["tool_choice"]) == (max_tokens, {"type": "none"})
        assert last.get("thinking", {}).get("type") == thinking
        assert last.get("output_config", {"effort": "low"}) == {"effort": "low"}
        assert [r.body["max_tokens"] for r in lab.requests[:-1]] == [before] * 3
        assert all("tool_choice" not in r.body for r in lab.requests[:-1])
        assert (run.ending, run.end["forced"]) == ("max_rounds", True)
        assert last["tools"] == lab.requests[0].body["tools"], "the tools stay: they are part of the prefix"


# -- failures of the wire ---------------------------------------------------------------------------------------------
async def test_b125_the_key_reaches_neither_events_nor_messages_nor_the_file() -> None:
    echo = Fail(401, "authentication_error", f"invalid x-api-key: {KEY}, other sk-ant-api03-OTHEROTHER")
    async with lab_run(echo, echo) as (run, lab):
        await run.turn()
        assert (run.ending, len(lab.requests)) == ("model_action_required", 1)
        assert run.end["error_type"] == "auth"
        assert "check the API key" in run.end["detail"]
        stored = b"".join(path.read_bytes() for path in run.geode.glob("sessions.db*"))
        assert KEY.encode() not in stored
        assert b"sk-ant-api03-OTHEROTHER" not in stored


@pytest.mark.parametrize(
    ("parts", "requests", "ending"),
    [((), 2, "natural"), ((Say("part " * 30),), 1, "model_action_required"), ((Call("edit"),), 1, None)],
    ids=["before any delta", "after text", "after a complete call"],
)
async def test_b102_an_overload_inside_a_stream(parts: Any, requests: int, ending: str | None) -> None:
    tools = toolbox(stub("edit", safety=Safety.WRITE))
    async with lab_run(StreamError(parts), Say("whole"), tools=tools) as (run, lab):
        await run.turn("the task")
        assert len(lab.requests) == requests
        assert run.ending == (ending or "model_action_required")
        assert run.events("tool_exec_started") == []
        assert "Overloaded" not in "".join(m.text for m in run.messages())
        assert run.named("llm_call_failed")["visible"] == bool(parts)
        await run.turn("go on")
        assert run.ending == "natural"
        assert [m.text for m in run.messages() if m.role == "user"] == ["the task", "go on"]


@pytest.mark.parametrize("how", ["close", "clean"])
async def test_b103_a_call_that_was_cut_is_never_run_nor_sent_again(how: Any) -> None:
    cut = Cut((Say("Writing."), Call("edit", '{"path":"a.txt","content":"line1')), None, how)
    tools = toolbox(stub("edit", safety=Safety.WRITE))
    async with lab_run(cut, Say("whole"), tools=tools) as (run, lab):
        await run.turn("the task")
        assert (run.ending, len(lab.requests)) == ("model_action_required", 1)
        assert run.events("tool_exec_started", "tool_exec_ended") == []
        kept = run.rows()[-1]
        assert (kept.status, run.stored(kept).message.text) == ("interrupted", "Writing.")
        pieces = run.db.execute("SELECT group_concat(text, '') FROM chunks WHERE kind='tool_call'").get
        assert pieces == '{"path":"a.txt","content":"line1'
        run.send_raw("resume", "{}")
        await run.serve()
        assert run.ending == "natural"
        assert [b["text"] for _, b in blocks(lab.requests[-1].body)] == ["the task", "Go on where you stopped."]


async def test_b103_a_call_cut_by_the_output_limit_is_answered_with_its_fault() -> None:
    cut = Answer((Call("write_file", '{"path":"a.txt","content":"line1'),), stop_reason="max_tokens")
    async with lab_run(cut, Say("I see"), tools=None) as (run, lab):
        await run.turn()
        assert (run.ending, len(lab.requests)) == ("natural", 2)
        assert "the arguments are not usable" in run.results()[0][1]
        assert not (run.root / "a.txt").exists()


async def test_b064_usage_of_attempts_that_died_is_counted_by_the_real_prices() -> None:
    usage = {"input_tokens": 9, "cache_creation_input_tokens": 150_000}
    died = Events(
        (
            {"type": "message_start", "message": {"usage": usage}},
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        )
    )
    async with lab_run(died, died, Say("done")) as (run, _):
        await run.turn()
        failed = run.payloads("llm_call_failed")
        assert [f["usage"] for f in failed] == [{"input_tokens": 9, "cache_write_5m_tokens": 150_000}] * 2
        assert failed[0]["cost_micro"] > 100_000
        assert run.end["cost_micro"] == sum(p["cost_micro"] for p in [*failed, run.named("llm_call_ended")])


async def test_an_overflow_that_the_output_caused_lowers_the_output_and_not_the_history() -> None:
    async with lab_run(lab=Lab(window=50_000)) as (run, lab):
        await run.turn("word " * 20_000)
        assert (run.ending, len(lab.requests)) == ("natural", 2)
        first, second = (request.body for request in lab.requests)
        assert second["max_tokens"] < first["max_tokens"]
        assert second["messages"] == first["messages"]
        assert run.events("view_changed") == []


async def test_a_provider_that_says_it_does_not_fit_ends_the_turn_truthfully() -> None:
    async with lab_run(lab=Lab(window=50_000)) as (run, lab):
        await run.turn("word " * 60_000)
        assert (run.ending, len(lab.requests)) == ("context_exhausted", 1)
        assert "Nothing was reset" in run.end["detail"]
        assert "only /compact --prune leaves messages out" in run.end["detail"]
        assert len(run.messages()) == 1


async def test_b105_after_a_refusal_the_server_takes_the_next_turn() -> None:
    async with lab_run(Refusal(), Say("gladly")) as (run, lab):
        await run.turn("flagged")
        assert (run.ending, len(lab.requests)) == ("model_refusal", 1)
        await run.turn("harmless")
        assert (run.ending, len(lab.requests)) == ("natural", 2)


async def test_b106_a_paused_answer_goes_back_to_the_server_as_it_came() -> None:
    tail = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    deltas = ({"type": "input_json_delta", "partial_json": '{"query": "x"}'},)
    paused = Answer((Say("Looking."), Block(tail, deltas)), stop_reason="pause_turn")
    async with lab_run(paused, Say("Found.")) as (run, lab):
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("natural", 2)
        sent = lab.requests[1].body["messages"]
        assert [m["role"] for m in sent] == ["user", "assistant"]
        assert unmarked(sent[-1]["content"][1]) == {**tail, "input": {"query": "x"}}


# -- interrupting -----------------------------------------------------------------------------------------------------
async def test_an_interrupt_drops_the_connection_and_the_next_turn_is_valid() -> None:
    stall = Stall((Say("half an answer that goes on"),), 4)
    async with lab_run(stall, Say("whole")) as (run, lab):
        run.submit("the task")
        async with run.serving():
            await stall.reached.wait()
            await run.seen("message_opened")
            key = run.interrupt()
        assert (run.outcome(key), run.ending) == ("done", "user_cancelled")
        await run.turn("again")
        assert (run.ending, len(lab.requests)) == ("natural", 2)
        assert [b["text"] for _, b in blocks(lab.requests[1].body)] == ["the task", "again"]


async def test_b076_a_batch_that_was_interrupted_is_valid_for_the_server() -> None:
    batch = tuple(Call("run_shell", {"command": c}) for c in ("echo 1", "sleep 300", "echo 3"))
    async with lab_run(batch, Say("I see"), tools=None) as (run, lab):
        run.submit("the task")
        async with run.serving():
            await run.seen("tool_exec_started", 2)
            run.interrupt()
            run.submit("next")
        assert (run.ending, len(lab.requests)) == ("natural", 2)
        results = [b for _, b in blocks(lab.requests[1].body) if b["type"] == "tool_result"]
        assert [r.get("is_error", False) for r in results] == [False, True, True]
        assert [r["tool_use_id"] for r in results] == ["toolu_01", "toolu_02", "toolu_03"]


# -- the offline planner ----------------------------------------------------------------------------------------------
async def test_the_offline_planner_surveys_a_real_project() -> None:
    with bench(OfflineProvider(seed=1), approve="reads", headless=True) as run:
        (run.root / "README.md").write_text("# Sample\n\nA parser.\n")
        (run.root / "parser.py").write_text("def parse(text):\n    return text.split()\n")
        await run.turn("survey this project")
        assert run.ending == "natural"
        assert all(not is_error for _, _, is_error in run.results())
        assert {p["simulated"] for p in run.payloads("llm_call_ended")} == {True}
        assert "parser.py" in run.messages()[-1].text


class Hanging(OfflineProvider):
    """The offline planner, but its third answer never comes."""

    asked = 0

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.asked += 1
        if self.asked == 3:
            await asyncio.Event().wait()
        async for event in super().stream(request):
            yield event


async def test_the_offline_planner_goes_on_after_a_crash() -> None:
    with bench(Hanging(seed=1), approve="reads") as run:
        (run.root / "parser.py").write_text("def parse(text):\n    return text.split()\n")
        run.submit("survey this project")
        async with run.worker() as made:
            task = asyncio.create_task(made.run())
            await run.seen("llm_call_started", 3)
            await run.die(task)
        run.provider = OfflineProvider(seed=1)
        run.send_raw("resume", "{}")
        await run.serve()
        assert run.ending == "natural"
        assert "parser.py" in run.messages()[-1].text
        assert answered(tuple(run.messages()))
