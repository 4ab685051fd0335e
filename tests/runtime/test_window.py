"""The window kept over whole turns: one pass a request, what it may touch, recoveries, and how they end."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator

import msgspec
import pytest

from geode_tui.core.messages import Message, TextBlock, ThinkingBlock
from geode_tui.core.tools import Safety
from geode_tui.core.usage import Usage
from geode_tui.core.views import Summarise
from geode_tui.log import commands as cmd
from geode_tui.log import views
from geode_tui.providers.base import Finished, Request, StreamEvent
from geode_tui.providers.errors import ErrorKind, ProviderError
from geode_tui.routes.catalog import Catalog
from geode_tui.runtime.tools.base import ToolOutcome
from tests.runtime.harness import Bench, ScriptedProvider, StubTool, bench, say
from tests.runtime.window_model import WindowModel, prompt_tokens, small_route, summary_of

TASK = "Look at all of it and never touch config.toml"


def looks(words: int) -> dict[str, StubTool]:
    """A tool whose results are all different and take about 1.3 tokens a word."""
    numbers = itertools.count(1)

    async def effect(_arguments: str) -> ToolOutcome:
        n = next(numbers)
        return ToolOutcome(" ".join(f"w{n}x{i}" for i in range(words)), summary=f"{words} words")

    return {"look": StubTool("look", effect, Safety.READ)}


def versions(run: Bench) -> list[str]:
    return [p["cause"] for p in run.payloads("view_changed")]


async def test_a_long_run_stays_within_its_window_and_keeps_the_instruction() -> None:
    model = WindowModel(120, summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(700)) as run:
        run.route = small_route()
        await run.turn(TASK)
        assert run.ending == "natural"
        assert len(model.turns) == 121
        assert max(map(prompt_tokens, model.turns)) < 60_000 - 20_000
        assert all(TASK in [m.text for m in r.messages] for r in model.turns)
        done = run.payloads("view_changed")
        assert sum("mask" in p["operations"] for p in done) >= 3
        assert all(p["tokens_after"] < p["tokens_before"] for p in done)
        assert len(run.messages()) == 1 + 120 * 2 + 1, "the transcript has lost nothing"


async def test_maintenance_runs_at_most_once_a_request_and_stops_when_it_is_enough() -> None:
    model = WindowModel(40)
    with bench(model, tools=looks(700)) as run:
        run.route = small_route()
        await run.turn(TASK)
        started = [n for n, (name, _) in enumerate(run.events()) if name == "maintenance_started"]
        calls = [n for n, (name, p) in enumerate(run.events()) if name == "llm_call_started" and p["purpose"] == "turn"]
        for before, after in itertools.pairwise([-1, *calls]):
            assert sum(before < n < after for n in started) <= 1
        assert started
        assert model.summaries == [], "masking was enough"


async def test_a_soft_summary_that_fails_leaves_everything_but_the_masking_as_it_was() -> None:
    model = WindowModel(60, summary=lambda request: "")
    with bench(model, tools=looks(20)) as run:
        run.route = small_route(30_000)
        await run.turn(TASK)
        assert all("summarise" not in p["operations"] for p in run.payloads("view_changed"))
        ended = run.payloads("maintenance_ended")
        if model.summaries:
            assert any(p["status"] == "failed" and "empty" in p["error_type"] for p in ended)
            assert len(model.summaries) <= 2, "a summary that cannot be used is not asked for again and again"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "summary_empty"),
        (" \n", "summary_empty"),
        (Finished((ThinkingBlock("hm"),), "end_turn", Usage(100, 10)), "summary_empty"),
        (
            Finished((TextBlock('<tool_call>{"name": "look"}</tool_call>'),), "end_turn", Usage(100, 10)),
            "summary_tool_call",
        ),
        (Finished((TextBlock("I can't help with that."),), "refusal", Usage(100, 10)), "summary_refusal"),
        (summary_of("something else entirely"), "summary_lost_instruction"),
        ("x y z " * 30_000, "summary_inflated"),
    ],
)
async def test_a_summary_that_must_not_be_used_is_refused_and_told(answer: str | Finished, why: str) -> None:
    model = WindowModel(12, summary=lambda request: answer)
    with bench(model, tools=looks(300)) as run:
        run.route = small_route()
        await run.turn(TASK)
        before = run.messages()
        key = run.send(cmd.Compact(keep=2))
        await run.serve()
        assert run.outcome(key) == "refused"
        assert run.payloads("maintenance_ended")[-1]["error_type"] == why
        assert run.payloads("maintenance_ended")[-1]["status"] == "failed"
        assert run.payloads("view_changed") == []
        assert run.messages() == before
        assert len(model.summaries) == 1


async def test_b031_a_provider_that_refuses_is_believed_however_small_the_estimate_is() -> None:
    model = WindowModel(40, fits=24_000, summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(700)) as run:
        run.route = small_route(200_000)
        await run.turn(TASK)
        assert run.ending == "natural"
        assert model.refused
        seen = run.payloads("window_observed")
        assert [p["limit"] for p in seen] == [24_000]
        assert "provider_overflow" in versions(run)
        assert len(model.refused) <= 3, "what was learned is kept to"
        assert all(TASK in [m.text for m in r.messages] for r in model.turns)


async def test_recovery_works_without_a_figure_too() -> None:
    model = WindowModel(40, fits=24_000, told=False, summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(700)) as run:
        run.route = small_route(200_000)
        await run.turn(TASK)
        assert run.ending == "natural"
        for before, after in itertools.pairwise(model.turns):
            if before in model.refused and after in model.refused:
                assert prompt_tokens(after) < prompt_tokens(before)


async def test_one_that_always_refuses_ends_after_two_recoveries_without_another_call() -> None:
    model = WindowModel(30, summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(400)) as run:
        run.route = small_route(200_000)
        model.rounds = 10
        await run.turn(TASK)
        model.fits = 0
        before = len(model.requests)
        await run.turn("and now the rest of config.toml")
        assert run.ending == "context_exhausted"
        asked = model.requests[before:]
        assert [r.purpose for r in asked].count("turn") <= 3
        assert asked[-1].purpose == "turn", "the notice is not written by a model"
        assert "Nothing was reset" in run.end["detail"]


async def test_b021_what_is_fixed_and_too_large_by_itself_is_named_and_nothing_is_asked() -> None:
    model = WindowModel(3)
    with bench(model, tools=looks(10)) as run:
        run.route = msgspec.structs.replace(small_route(30_000), input_cap=100)
        await run.turn(TASK)
        assert run.ending == "context_exhausted"
        assert "the system prompt and the tools alone" in run.end["detail"]
        assert model.requests == []


async def test_an_unknown_window_sees_soft_steps_only_until_its_provider_speaks() -> None:
    model = WindowModel(120, name="openai", summary=lambda request: ProviderError(ErrorKind.AUTH, "no"))
    with bench(model, tools=looks(1_800)) as run:
        run.route = Catalog().route("never-heard-of", "openai", "payg")
        assert run.route.provenance == "unknown_fallback"
        await run.turn(TASK)
        assert run.ending == "natural"
        assert run.payloads("context_critical") == []
        assert all("trim" not in p["operations"] for p in run.payloads("view_changed"))
        assert all(p["trigger"] in {"warning", "ceiling"} for p in run.payloads("maintenance_started"))


async def test_an_unknown_contract_is_never_maintained() -> None:
    model = WindowModel(40, name="anthropic", fits=40_000)
    with bench(model, tools=looks(900)) as run:
        run.route = small_route(60_000, "anthropic", "payg", "claude-nobody-knows")
        await run.turn(TASK)
        assert run.ending == "context_exhausted"
        assert run.payloads("view_changed") == []
        assert model.summaries == []


async def test_where_the_server_compacts_the_client_waits_for_critical() -> None:
    model = WindowModel(60, name="anthropic", summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(700)) as run:
        run.route = small_route(60_000, "anthropic", "payg", "claude-opus-4-8")
        await run.turn(TASK)
        assert run.ending == "natural"
        assert {p["trigger"] for p in run.payloads("maintenance_started")} == {"critical"}


async def test_an_unhelpful_upkeep_rests_and_says_so() -> None:
    model = WindowModel(30, summary=lambda request: ProviderError(ErrorKind.AUTH, "no key"))
    with bench(model, tools=looks(20)) as run:
        run.route = small_route(200_000)
        await run.turn("word " * 90_000 + TASK)
        paused = [p for p in run.payloads("maintenance_ended") if p["paused"]]
        assert len(paused) == 1
        assert "rests" in paused[0]["detail"]
        assert len(model.summaries) <= 2


# -- by hand ----------------------------------------------------------------------------------------------------------
def sent(model: WindowModel) -> tuple[Message, ...]:
    return model.turns[-1].messages


async def test_compact_then_undo_sends_the_same_bytes_as_before() -> None:
    model = WindowModel(10, summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(300)) as run:
        run.route = small_route(200_000)
        await run.turn(TASK)
        run.send(cmd.Compact(keep=2))
        await run.serve()
        assert run.payloads("view_changed")[-1]["operations"] == {"summarise": 1}
        run.send(cmd.Undo())
        await run.serve()
        await run.turn("go on")
        undone = sent(model)
        assert [m.text for m in undone[:1]] == [TASK]
        assert len(undone) == 1 + 20 + 1 + 1, "every message is sent again"


async def test_undo_keeps_what_came_after() -> None:
    model = WindowModel(10, summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(300)) as run:
        run.route = small_route(200_000)
        await run.turn(TASK)
        run.send(cmd.Compact(keep=2))
        await run.serve()
        model.rounds = 5
        await run.turn("five more rounds of config.toml")
        run.send(cmd.Undo())
        await run.serve()
        model.rounds = 0
        await run.turn("and?")
        assert len(sent(model)) == 1 + 20 + 1 + 1 + 10 + 1 + 1
        run.send(cmd.Redo())
        await run.serve()
        await run.turn("and again?")
        texts = [m.text for m in sent(model)]
        assert any("conversation_summary" in text for text in texts)
        assert "five more rounds of config.toml" in texts


async def test_undo_is_refused_with_the_figures_where_it_does_not_fit() -> None:
    model = WindowModel(60, summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(1_200)) as run:
        run.route = small_route(60_000)
        await run.turn(TASK)
        undone = 0
        while True:
            key = run.send(cmd.Undo())
            await run.serve()
            if run.outcome(key) == "refused":
                break
            undone += 1
            assert undone < 50
        detail = next(p["detail"] for p in run.payloads("command_finished") if p["key"] == key)
        assert "fit" in detail
        assert any(char.isdigit() for char in detail)


async def test_an_undo_near_the_limit_is_not_followed_by_a_compaction_at_once() -> None:
    model = WindowModel(22, summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(700)) as run:
        run.route = small_route(200_000)
        await run.turn(TASK)
        used = run.payloads("llm_call_ended")[-1]["context"]["used"]
        run.send(cmd.Compact(keep=2))
        await run.serve()
        run.route = small_route(round((used + 500) / 0.95) + 32_768)
        run.send(cmd.Undo())
        await run.serve()
        changed = len(run.payloads("view_changed"))
        model.rounds = 0
        await run.turn("short")
        context = run.payloads("llm_call_started")[-1]["context"]
        assert context["used"] >= context["critical"]
        assert len(run.payloads("view_changed")) == changed


async def test_a_second_compaction_with_nothing_new_says_so_and_costs_nothing() -> None:
    model = WindowModel(10, summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(300)) as run:
        run.route = small_route(200_000)
        await run.turn(TASK)
        for _ in range(3):
            key = run.send(cmd.Compact(keep=2))
            await run.serve()
        assert len(model.summaries) == 1
        detail = next(p["detail"] for p in run.payloads("command_finished") if p["key"] == key)
        assert "nothing new to summarise" in detail or "nothing to summarise" in detail


async def test_prune_asks_no_model_and_keeps_the_instruction() -> None:
    model = WindowModel(10)
    with bench(model, tools=looks(300)) as run:
        run.route = small_route(200_000)
        await run.turn(TASK)
        key = run.send(cmd.Compact(prune=True))
        await run.serve()
        assert run.outcome(key) == "done"
        assert model.summaries == []
        await run.turn("go on")
        texts = [m.text for m in sent(model)]
        assert any("left out here" in text for text in texts)


async def test_the_summary_is_a_call_of_its_own_purpose_and_is_paid_for() -> None:
    model = WindowModel(10, summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(300)) as run:
        run.route = small_route(200_000)
        await run.turn(TASK)
        run.send(cmd.Compact(keep=2, focus="the names"))
        await run.serve()
        request = model.summaries[0]
        assert request.tools == ()
        assert "the names" in request.messages[0].text
        assert [p["purpose"] for p in run.payloads("llm_call_ended")][-1] == "summary"
        assert run.state.newest_seq == len(run.messages()), "a summary is no message"


async def test_b035_a_summary_that_hangs_is_given_up_and_the_next_one_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geode_tui.runtime.auxiliary.WHOLE_S", 0.05)
    hangs = asyncio.Event()

    class Hanging(WindowModel):
        async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
            if request.purpose == "summary" and not hangs.is_set():
                await hangs.wait()
            async for event in super().stream(request):
                yield event

    model = Hanging(12, summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(50)) as run:
        await run.turn(TASK)
        first = run.send(cmd.Compact(keep=2))
        await run.serve()
        assert (run.outcome(first), run.detail(first)) == (
            "refused",
            "no summary: the model gave none within 0 s",
        )
        assert [p["error_type"] for p in run.payloads("maintenance_ended")] == ["timeout"]
        assert [p["error_type"] for p in run.payloads("llm_call_failed")] == ["cancelled"]
        hangs.set()
        second = run.send(cmd.Compact(keep=2))
        await run.serve()
        assert run.outcome(second) == "done"


async def test_the_artifact_says_whether_it_is_applied() -> None:
    model = WindowModel(10, summary=lambda request: summary_of(TASK))
    with bench(model, tools=looks(300)) as run:
        run.route = small_route(200_000)
        await run.turn(TASK)
        run.send(cmd.Compact(keep=2))
        async with run.worker() as worker:
            assert run.session is not None

            def fails(_version: object) -> None:
                raise RuntimeError("the disk of the caller is full")

            run.session.checkpoint = fails
            await worker.run()
        assert run.payloads("view_changed") == []
        ended = run.payloads("maintenance_ended")[-1]
        assert (ended["status"], ended["error_type"]) == ("failed", "RuntimeError")
        (artifact,) = views.artifacts(run.db, "s-1")
        assert artifact.metadata["applied"] is False
        run.send(cmd.Compact(keep=2))
        await run.serve()
        stored = views.artifacts(run.db, "s-1")
        assert [a.metadata["applied"] for a in stored] == [True]
        (version,) = views.versions(run.transcript, 1)
        (operation,) = version.operations
        assert isinstance(operation, Summarise)
        assert operation.artifact_id == stored[0].artifact_id


async def test_what_is_typed_during_a_compaction_comes_after_it() -> None:
    model = WindowModel(10)

    def writes(request: Request) -> str:
        run.submit("typed meanwhile")
        return summary_of(TASK)

    model.summary = writes
    with bench(model, tools=looks(300)) as run:
        run.route = small_route(200_000)
        await run.turn(TASK)
        run.send(cmd.Compact(keep=2))
        await run.serve()
        assert run.ending == "natural"
        texts = [m.text for m in sent(model)]
        assert texts[-1] == "typed meanwhile"
        assert any("conversation_summary" in text for text in texts)
        assert [p["outcome"] for p in run.payloads("command_finished")][-2:] == ["done", "done"]


async def test_b036_a_history_whose_signatures_are_refused_is_sent_once_more_without_its_old_thinking() -> None:
    thought = ThinkingBlock("hm", "anthropic", '{"type":"thinking","thinking":"hm","signature":"x"}')

    def strict(request: Request) -> Finished | ProviderError:
        if any(isinstance(b, ThinkingBlock) for m in request.messages for b in m.blocks):
            return ProviderError(ErrorKind.HISTORY_INVALID, "invalid signature")
        return say("fine")

    first = Finished((thought, TextBlock("first")), "end_turn", Usage(100, 10))
    provider = ScriptedProvider(first, strict, strict, strict, name="anthropic", source="payg")
    with bench(provider, tools={}) as run:
        run.route = Catalog().route("claude-opus-4-8", "anthropic", "payg")
        await run.turn("one")
        await run.turn("two")
        assert (run.ending, len(provider.requests)) == ("natural", 3)
        assert [m.text for m in provider.requests[-1].messages] == ["one", "first", "two"]
        assert [p["error_type"] for p in run.payloads("llm_call_retried")] == ["history_invalid"]
        await run.turn("three")
        assert run.ending == "natural"
