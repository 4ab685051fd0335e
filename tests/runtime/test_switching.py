"""Going on with another model: what travels, what is refused, and that the run then goes on either way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from geode_tui.context.estimate import PromptMeter
from geode_tui.context.prefix import Prefix
from geode_tui.context.travel import tag_of, travelling
from geode_tui.core.messages import Block, Message, OpaqueBlock, TextBlock, ThinkingBlock, ToolCallBlock, user_text
from geode_tui.core.usage import Usage
from geode_tui.log import commands as cmd
from geode_tui.providers.access import NoProvider
from geode_tui.providers.base import Finished, Request, StreamEvent
from geode_tui.routes.budget import budget_of
from geode_tui.routes.catalog import Catalog, Route
from geode_tui.runtime.opened import OpenedRoute
from geode_tui.runtime.switching import mixes_money, refusal
from tests.runtime.harness import Bench, ScriptedProvider, bench, call, say, stub, toolbox

CATALOG = Catalog()
OPUS = CATALOG.route("claude-opus-5-5", "anthropic", "payg")
GPT = CATALOG.route("gpt-6-sol", "openai", "payg")
CODEX = CATALOG.route("gpt-6-sol", "openai", "subscription")


def answer(*blocks: Block) -> Message:
    return Message("assistant", blocks)


SIGNED = ThinkingBlock("why", "anthropic", '{"type":"thinking"}')
REDACTED = OpaqueBlock("anthropic", "redacted_thinking", '{"data":"xx"}')
COMPACTED = OpaqueBlock("anthropic", "compaction", '{"content":"all of it"}')


# -- deciding ---------------------------------------------------------------------------------------------------------
def test_thinking_stays_with_its_own_provider() -> None:
    message = answer(SIGNED, REDACTED, TextBlock("done"))
    assert travelling(message, OPUS) is message
    assert travelling(message, GPT).blocks == (TextBlock("done"),)


def test_the_subscription_and_the_platform_do_not_read_each_others_reasoning() -> None:
    assert (tag_of(CODEX), tag_of(GPT), tag_of(OPUS)) == ("codex", "openai", "anthropic")
    sealed = answer(OpaqueBlock("codex", "reasoning", "{}"), TextBlock("done"))
    assert travelling(sealed, CODEX) is sealed
    assert travelling(sealed, GPT).blocks == (TextBlock("done"),)


def decided(route: Route, *messages: Message) -> str:
    meter = PromptMeter()
    meter.retake(travelling(message, route) for message in messages)
    gauge = meter.figures(route, budget_of(route, 32_768), Prefix(), simulated=False)
    return refusal(messages, route, gauge)


def test_a_compaction_block_binds_the_conversation_to_its_provider() -> None:
    history = (user_text("go"), answer(COMPACTED, TextBlock("done")))
    assert decided(OPUS, *history) == ""
    assert "compaction" in decided(GPT, *history)
    assert decided(GPT, user_text("go"), answer(SIGNED, REDACTED, TextBlock("done"))) == ""


def test_a_conversation_must_fit_its_new_model() -> None:
    small = msgspec.structs.replace(GPT, window=100_000)
    long = answer(ThinkingBlock("t" * 400_000, "anthropic", "{}"), TextBlock("x" * 160_000))
    assert decided(GPT, long) == ""
    assert decided(small, long) == "", "what does not travel takes no room"
    assert "larger window" in decided(small, long, answer(TextBlock("x" * 160_000)))


def test_real_and_simulated_money_are_never_added_up() -> None:
    assert "simulated" in mixes_money(5, simulated=True, target_simulated=False)
    assert "real" in mixes_money(5, simulated=False, target_simulated=True)
    assert mixes_money(0, simulated=True, target_simulated=False) == ""
    assert mixes_money(5, simulated=False, target_simulated=False) == ""


# -- running ----------------------------------------------------------------------------------------------------------
Wanted = tuple[str, str, str]


class Other:
    """A second model, and what was asked to open it."""

    def __init__(self, run: Bench, route: Route, *steps: Any, simulated: bool = True) -> None:
        self.provider = ScriptedProvider(*steps, name=route.provider, source=route.source)
        self.provider.simulated = simulated
        self.route = route
        self.asked: list[Wanted] = []
        self.fails = ""
        run.opener = self.open

    async def open(self, service: str, model: str, effort: str) -> OpenedRoute:
        self.asked.append((service, model, effort))
        if self.fails:
            raise NoProvider(self.fails)
        return OpenedRoute(self.route.provider, self.route, self.provider)


def scripted(*steps: Any) -> ScriptedProvider:
    return ScriptedProvider(*steps, name="anthropic", source="payg")


async def test_a_run_at_rest_goes_on_with_the_model_that_was_chosen() -> None:
    first = scripted(Finished((SIGNED, TextBlock("one")), "end_turn", Usage(900, 10)))
    with bench(first) as run:
        other = Other(run, GPT, say("two", usage=Usage(700, 10)))
        await run.turn("first")
        key = run.send(cmd.Model("gpt-6-sol", "openai", "low"))
        await run.turn("second")
        assert other.asked == [("openai", "gpt-6-sol", "low")]
        assert run.outcome(key) == "done"
        (request,) = other.provider.requests
        assert (request.model, request.effort, len(first.requests)) == ("gpt-6-sol", "low", 1)
        switched = run.named("model_switched")
        assert (switched["from_model"], switched["to_model"]) == ("claude-sonnet-5", "gpt-6-sol")
        assert (switched["from_provider"], switched["provider"], switched["source"]) == ("anthropic", "openai", "payg")
        assert switched["context"]["measured"] == "estimated"
        assert switched["context"]["window"] == 1_050_000
        stored = run.stored_options()
        assert stored is not None
        assert (stored.model, stored.provider, stored.effort) == ("gpt-6-sol", "openai", "low")
        assert run.state.model == "gpt-6-sol"
        assert run.payloads("llm_call_ended")[-1]["provider"] == "openai"


async def test_a_switch_waits_for_the_next_round_of_a_turn_that_runs() -> None:
    reached, release = asyncio.Event(), asyncio.Event()

    class Slow(ScriptedProvider):
        async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
            reached.set()
            await release.wait()
            async for event in super().stream(request):
                yield event

    first = Slow(call("look"), name="anthropic", source="payg")
    with bench(first, tools=toolbox(stub("look"))) as run:
        other = Other(run, GPT, say("from here on"))
        run.submit("go")
        async with run.serving():
            await reached.wait()
            key = run.send(cmd.Model("gpt-6-sol"))
            release.set()
            assert await run.settled(key) == "done"
            await run.seen("turn_completed")
        assert len(first.requests) == len(other.provider.requests) == 1
        assert other.provider.requests[0].messages[-1].role == "tool"
        assert [p["model"] for p in run.payloads("llm_call_ended")] == ["claude-sonnet-5", "gpt-6-sol"]
        assert run.ending == "natural"


def compacted(run: Bench) -> Finished:
    return Finished((COMPACTED, TextBlock("one")), "end_turn", Usage(900, 10))


def long_answer(run: Bench) -> Finished:
    return say("x" * 5_000_000)


@pytest.mark.parametrize(
    ("made", "simulated", "reason"),
    [(compacted, True, "compaction block"), (long_answer, True, "tokens"), (lambda _run: say("one"), False, "money")],
)
async def test_a_switch_that_cannot_be_is_refused_and_the_run_goes_on(
    made: Callable[[Bench], Finished], simulated: bool, reason: str
) -> None:
    first = scripted()
    with bench(first) as run:
        first.steps.append(made(run))
        other = Other(run, GPT, simulated=simulated)
        await run.turn("first")
        key = run.send(cmd.Model("gpt-6-sol"))
        run.submit("second")
        await run.serve()
        assert run.outcome(key) == "refused"
        assert reason in run.detail(key)
        assert run.payloads("model_switched") == []
        assert other.provider.requests == []
        assert run.state.model == "claude-sonnet-5"


async def test_a_model_that_cannot_be_had_is_refused_with_the_reason() -> None:
    first = scripted(say("one"))
    with bench(first) as run:
        other = Other(run, GPT)
        other.fails = "the provider openai needs a key in OPENAI_API_KEY"
        key = run.send(cmd.Model("gpt-6-sol"))
        await run.turn("first")
        assert (run.outcome(key), run.detail(key)) == ("refused", other.fails)
        assert run.ending == "natural"


async def test_a_worker_after_a_switch_starts_with_the_new_model() -> None:
    with bench(scripted(say("one"))) as run:
        other = Other(run, GPT, say("two"), say("three"))
        await run.turn("first")
        run.send(cmd.Model("gpt-6-sol", "openai"))
        await run.turn("second")
        run.provider, run.route = other.provider, other.route
        await run.turn("third")
        started = run.payloads("session_started")
        assert [p["model"] for p in started] == ["claude-sonnet-5", "claude-sonnet-5", "gpt-6-sol"]
        assert [m.text for m in run.messages() if m.role == "assistant"] == ["one", "two", "three"]
        row = run.transcript.session("s-1")
        assert row is not None
        assert (row.model, row.provider, row.source) == ("gpt-6-sol", "openai", "payg")


async def test_calls_made_by_one_model_are_answered_to_the_other() -> None:
    first = scripted(Finished((SIGNED, ToolCallBlock("c1", "look", "{}")), "tool_use", Usage(100, 10)))
    with bench(first, tools=toolbox(stub("look", "seen"))) as run:
        other = Other(run, GPT, say("done"))
        key = ""

        def switch(request: Any) -> Any:
            nonlocal key
            key = run.send(cmd.Model("gpt-6-sol"))
            return Finished((SIGNED, ToolCallBlock("c2", "look", "{}")), "tool_use", Usage(100, 10))

        first.steps.append(switch)
        await run.turn("go")
        assert run.outcome(key) == "done"
        roles = [m.role for m in other.provider.requests[0].messages]
        assert roles == ["user", "assistant", "tool", "assistant", "tool"]
