"""The gauge of a run: what its provider confirms anchors it, also for the worker after this one."""

from __future__ import annotations

from typing import Any

from geode_tui.core.limits import Limits
from geode_tui.core.messages import TextBlock, ThinkingBlock
from geode_tui.core.usage import Usage
from geode_tui.providers.base import Finished
from tests.runtime.harness import Bench, ScriptedProvider, asks, bench, calls, say, stub, toolbox

LIMIT = Limits(cost_budget_micro=2_050_000)


def gauges(run: Bench, event: str) -> list[dict[str, Any]]:
    return [payload["context"] for payload in run.payloads(event)]


async def test_each_request_is_estimated_and_each_answer_confirmed() -> None:
    """B002: what was read from a cache and written to one is in the prompt."""
    usage = Usage(3, 40, 9_000, 997)
    steps = [calls(asks("look"), usage=usage), say("done", usage=Usage(3, 5, 9_997, 180))]
    with bench(ScriptedProvider(*steps), tools=toolbox(stub("look", "x" * 400))) as run:
        await run.turn()
        first, second = gauges(run, "llm_call_started")
        assert [g["measured"] for g in (first, second)] == ["estimated", "estimated"]
        assert (first["margin_percent"], second["margin_percent"]) == (20, 0)
        assert 10_000 + 40 + 100 <= second["used"] <= 10_000 + 40 + 220
        ended = gauges(run, "llm_call_ended")
        assert [(g["used"], g["measured"], g["margin_percent"]) for g in ended] == [
            (10_000, "confirmed", 0),
            (10_180, "confirmed", 0),
        ]
        assert all(sum(g["parts"].values()) == g["used"] for g in (first, second, *ended))


async def test_the_gauge_knows_where_the_prompt_becomes_dearer() -> None:
    provider = ScriptedProvider(say("one"), name="openai", source="payg")
    with bench(provider, model="gpt-6-sol") as run:
        await run.turn()
        (asked,), (shown,) = gauges(run, "llm_call_started"), gauges(run, "llm_call_ended")
        assert asked["price_tiers"] == shown["price_tiers"] == [272_000]


async def test_the_anchor_comes_back_from_the_log() -> None:
    """B015: the gauge is right before anything was sent again."""
    steps = [say("one", usage=Usage(50_000, 100)), say("two", usage=Usage(50_200, 100))]
    with bench(ScriptedProvider(*steps)) as run:
        await run.turn("first")
        await run.turn("second")
        asked = gauges(run, "llm_call_started")[1]
        assert 50_100 < asked["used"] < 50_200
        assert run.payloads("llm_call_ended")[0]["prefix"] == run.payloads("llm_call_ended")[1]["prefix"] != ""


async def test_the_meter_goes_on_where_the_worker_before_it_stopped() -> None:
    """B063: $2.00 at once after a resume, $2.10 after one more call, of the same purposes; and so for the guard."""
    half, more = Usage(500_000), Usage(50_000)
    steps = [calls(asks("look"), usage=half), say("one", usage=half), say("two", usage=more)]
    with bench(
        ScriptedProvider(*steps, name="anthropic", source="payg"), tools=toolbox(stub("look")), limits=LIMIT
    ) as run:
        await run.turn("first")
        before = run.state
        assert (before.money.cost_micro, before.money.calls, run.ending) == (2_000_000, 2, "natural")
        run.submit("second")
        async with run.worker() as worker:
            assert worker.session.spent_micro == 2_000_000
            await worker.run()
        after = run.state
        assert (after.money.cost_micro, after.money.calls, run.ending) == (2_100_000, 3, "cost_budget_exceeded")
        assert after.by_purpose.keys() == before.by_purpose.keys() == {"turn"}
        assert after.by_model.keys() == before.by_model.keys()
        assert after.turn_money.cost_micro == 100_000


async def test_another_set_of_tools_moves_the_anchor_by_their_size_for_the_next_worker_too() -> None:
    steps = [say("one", usage=Usage(50_000, 100)), say("two", usage=Usage(50_200, 100))]
    with bench(ScriptedProvider(*steps), tools=toolbox(stub("look"))) as run:
        await run.turn("first")
        run.tools = toolbox(stub("look"), stub("see"))
        await run.turn("second")
        asked = gauges(run, "llm_call_started")[1]
        assert (asked["margin_percent"], asked["measured"]) == (0, "estimated")
        assert 50_000 < asked["used"] < 50_300


async def test_a_size_that_cannot_be_is_marked_and_not_believed() -> None:
    """B003: a running total of cache reads on a call that was accepted."""
    odd = Usage(900, 80, 41_000_000)
    with bench(ScriptedProvider(say("one", usage=odd), say("two", usage=Usage(900, 80)))) as run:
        await run.turn("first")
        (shown,) = gauges(run, "llm_call_ended")
        assert (shown["suspect"], shown["measured"], shown["used"] < 20_000) == (True, "estimated", True)
        assert run.payloads("llm_call_ended")[0]["usage"]["cache_read_tokens"] == 41_000_000
        assert run.ending == "natural"
        await run.turn("second")
        assert gauges(run, "llm_call_started")[1]["used"] < 20_000
        assert gauges(run, "llm_call_ended")[1]["suspect"] is False
        assert run.payloads("cache_broken") == [], "what was never cached cannot be lost"


async def test_thinking_that_was_not_signed_is_not_added_to_the_next_prompt() -> None:
    usage = Usage(10_000, 2_000, reasoning_tokens=1_900)
    unsigned = Finished((ThinkingBlock("hm " * 900), TextBlock("one")), "end_turn", usage)
    with bench(ScriptedProvider(unsigned, say("two"))) as run:
        await run.turn("first")
        await run.turn("second")
        assert 10_100 < gauges(run, "llm_call_started")[1]["used"] < 10_200
