"""A provider that takes things off a prompt by itself: what it is asked for, what comes of it, and what stays as it
was. Over the real adapter and a lab that checks every request.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from geode_tui.context.estimate import PromptMeter
from geode_tui.context.prefix import Prefix
from geode_tui.context.view import View
from geode_tui.core.limits import Limits
from geode_tui.core.messages import Message, OpaqueBlock, TextBlock, user_text
from geode_tui.core.usage import Usage
from geode_tui.log import commands as cmd
from geode_tui.providers.anthropic_edits import EDITS_BETA
from geode_tui.providers.base import Edits, Finished
from geode_tui.routes.budget import budget_of
from geode_tui.routes.catalog import Catalog
from geode_tui.runtime.edits import edits_for
from geode_tui.runtime.loop import MAX_PAUSES
from geode_tui.runtime.stored import loaded, read_stored
from geode_tui.runtime.switching import refusal
from tests.context.talks import Talk, call
from tests.lab import Stall
from tests.lab.anthropic_edits import CLEAR, COMPACT, COMPACTING
from tests.lab.kinds import kind_of
from tests.lab.scripts import Step
from tests.providers.wires import ANTHROPIC, CHAT, CODEX, GLM, LOCAL, RESPONSES, ROUTER, Route
from tests.runtime.harness import SESSION, Bench, ScriptedProvider, bench, say
from tests.runtime.test_window_wires import TASK, Works, turns, working

OPUS, HAIKU = (replace(ANTHROPIC, name=m, model=m) for m in ("claude-opus-4-8", "claude-haiku-4-5"))
CLEARING = (*COMPACTING, "claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5")
WINDOW = 100_000
"""Of it 67,232 are for the prompt: the warning is at 33,616, the vendor's floor at 50,000, critical at 60,508."""


def edits_of(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The edits that a request asked for, by their type, in their order."""
    return {edit["type"]: edit for edit in body.get("context_management", {}).get("edits", ())}


def compactions(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [b for m in body["messages"] for b in m["content"] if b["type"] == "compaction"]


def same_from_the_log(run: Bench) -> None:
    """Whoever reads the log knows the conversation, and its size, as the worker does."""
    session, row = run.session, run.transcript.session(SESSION)
    assert session is not None
    assert row is not None
    again = loaded(read_stored(run.transcript, SESSION, row.number), session.route, session.meter.counter)
    assert again.messages == session.history
    budget = budget_of(session.route, 32_768)
    figures = [c.figures(budget, session.prefix, simulated=False) for c in (session.conversation, again)]
    assert figures[0] == figures[1]


# -- compaction -------------------------------------------------------------------------------------------------------
async def test_a_run_is_compacted_twice_by_its_provider_and_goes_on() -> None:
    async with working(OPUS, Works(21, words=2_500), words=100, window=WINDOW) as (run, lab):
        await run.turn(TASK)
        assert run.ending == "natural"
        assert run.payloads("llm_call_failed") == run.payloads("maintenance_ended") == []
        edits = [edits_of(body) for body in turns(lab)]
        assert all(list(e) == [CLEAR, COMPACT] for e in edits)
        assert all(e[COMPACT]["trigger"] == {"type": "input_tokens", "value": 50_000} for e in edits)

        told = run.payloads("provider_compacted")
        assert len(told) == 2
        changed = run.payloads("view_changed")
        assert [(c["cause"], c["mode"], c["operations"]) for c in changed] == [
            ("provider", "threshold", {"replay": 1})
        ] * 2
        assert [c["context"] for c in changed] == [
            e["context"] for e in run.payloads("llm_call_ended") if e["message_seq"] in {t["seq"] for t in told}
        ]
        ends = {e["message_seq"]: e for e in run.payloads("llm_call_ended")}
        for event in told:
            end = ends[event["seq"]]
            assert 50_000 <= event["tokens_before"] < 60_508
            assert event["tokens_after"] == end["context"]["used"] == Usage(**end["usage"]).prompt_tokens < 1_000
            assert end["context"]["measured"] == "confirmed"
            assert set(end["context"]["parts"]) == {"system", "tools", "native"}
            assert Usage(**end["beside"]).prompt_tokens >= 50_000, "the compaction is paid for, and is no size"
        estimated = [e["context"]["used"] for e in run.payloads("llm_call_started")][2:]
        counted = [received.tokens for received in lab.requests][2:]
        assert estimated == pytest.approx(counted, rel=0.02)

        stored = [b for m in run.messages() for b in m.blocks if isinstance(b, OpaqueBlock)]
        assert [block.kind for block in stored] == ["compaction", "compaction"]
        assert compactions(turns(lab)[-1]) == [json.loads(block.raw) for block in stored]
        same_from_the_log(run)

        seq = next(m.seq for m in run.rows() if m.role == "tool")
        orders = (
            cmd.Compact(keep=2),
            cmd.Compact(keep=2, prune=True),
            cmd.Mask(),
            cmd.Mask((seq,)),
            cmd.Offload((seq,)),
        )
        keys = [run.send(order) for order in orders]
        await run.serve()
        assert {run.outcome(key) for key in keys} == {"refused"}
        assert all("compaction block that its provider wrote by itself" in run.detail(key) for key in keys)
        assert lab.sent.rejections == 0


async def test_undo_stops_replaying_the_providers_block_where_the_originals_fit() -> None:
    async with working(OPUS, Works(12, words=2_500), words=100, window=WINDOW) as (run, lab):
        await run.turn(TASK)
        stored = [b for m in run.messages() for b in m.blocks if isinstance(b, OpaqueBlock)]
        assert len(stored) == 1
        undone = run.send(cmd.Undo())
        await run.serve()
        assert run.outcome(undone) == "done", run.detail(undone)
        version = run.payloads("view_changed")[-1]
        assert (version["cause"], version["mode"]) == ("undo", "threshold")
        assert 50_000 < version["tokens_after"] < 67_232

        await run.turn("and now?")
        body = turns(lab)[-1]
        assert compactions(body) == []
        assert COMPACT in edits_of(body)
        assert edits_of(body)[COMPACT]["trigger"]["value"] >= version["tokens_after"], "it is not done again at once"
        assert lab.sent.rejections == 0
        same_from_the_log(run)

        again = run.send(cmd.Redo())
        await run.serve()
        assert run.outcome(again) == "done"
        await run.turn("and then?")
        assert compactions(turns(lab)[-1]) == [json.loads(stored[0].raw)]
        assert lab.sent.rejections == 0
        same_from_the_log(run)


async def test_undo_of_a_providers_compaction_says_so_where_the_originals_do_not_fit() -> None:
    async with working(OPUS, Works(21, words=2_500), words=100, window=WINDOW) as (run, lab):
        await run.turn(TASK)
        first = run.send(cmd.Undo())
        second = run.send(cmd.Undo())
        await run.serve()
        assert (run.outcome(first), run.outcome(second)) == ("done", "refused")
        assert re.fullmatch(r"the context would need about \d+ tokens and 67232 fit", run.detail(second))
        await run.turn("and now?")
        assert len(compactions(turns(lab)[-1])) == 1


async def test_a_worker_that_dies_between_two_compactions_costs_nothing_but_the_request() -> None:
    rounds, dies_at = 14, 12
    model = Works(rounds, words=2_500)
    stalled = Stall()

    def steps(body: dict[str, Any]) -> Step:
        if model.number == dies_at and not stalled.reached.is_open:
            return stalled
        return model(body)

    async with working(OPUS, steps, words=100, window=WINDOW) as (run, lab):
        run.submit(TASK)
        async with run.worker() as made:
            task = asyncio.create_task(made.run())
            await stalled.reached.wait()
            await run.die(task)
        stalled.release.open()
        run.send_raw("resume", "{}")
        await run.serve()
        assert run.ending == "natural"
        killed, again = (r.raw for r in lab.requests[dies_at : dies_at + 2])
        assert len(compactions(json.loads(killed))) == 1
        assert killed == again
        assert len(run.payloads("provider_compacted")) == 1
        same_from_the_log(run)


async def test_the_request_under_a_limit_asks_for_the_same_by_its_own_budget() -> None:
    async with working(OPUS, Works(9), words=10, window=WINDOW) as (run, lab):
        run.options = msgspec.structs.replace(run.options, limits=Limits(max_rounds=4))
        await run.turn(TASK)
        first, last = turns(lab)[0], turns(lab)[-1]
        assert last["tool_choice"] == {"type": "none"}
        assert list(edits_of(last)) == [CLEAR, COMPACT]
        assert edits_of(last)[CLEAR]["trigger"]["value"] > edits_of(first)[CLEAR]["trigger"]["value"]


NATIVE = OpaqueBlock("anthropic", "compaction", '{"type":"compaction","content":"S","encrypted_content":null}')
FAILED = OpaqueBlock("anthropic", "compaction", '{"type":"compaction","content":null}')


def scripted(*steps: Any) -> ScriptedProvider:
    return ScriptedProvider(*steps, name="anthropic", source="payg")


@pytest.mark.parametrize("stop_reason", ["compaction", "end_turn"])
@pytest.mark.parametrize("block", [NATIVE, FAILED])
async def test_an_answer_that_is_only_a_compaction_goes_on(block: OpaqueBlock, stop_reason: str) -> None:
    with bench(scripted(Finished((block,), stop_reason, Usage()), say("done"))) as run:
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("natural", 2)
        assert run.provider.requests[1].messages[-1].blocks == (block,)
        assert not run.payloads("llm_call_ended")[0]["context"]["suspect"]
        assert len(run.payloads("provider_compacted")) == (block is NATIVE)


async def test_a_provider_that_only_compacts_is_not_asked_for_ever() -> None:
    with bench(scripted(*[Finished((NATIVE,), "compaction", Usage())] * (MAX_PAUSES + 5))) as run:
        await run.turn()
        assert run.ending == "actionable_partial"
        assert len(run.provider.requests) == MAX_PAUSES + 1


async def test_b037_a_compaction_that_failed_changes_nothing_and_forbids_ours() -> None:
    steps = (Finished((TextBlock("a " * 3_000),), "end_turn", Usage(500, 3_000)),)
    failing = Finished((FAILED, TextBlock("b")), "end_turn", Usage(3_600, 5))
    with bench(scripted(*steps, failing)) as run:
        await run.turn("first")
        await run.turn("second")
        await run.turn("third")
        assert run.payloads("provider_compacted") == []
        assert run.provider.requests[-1].messages[3].blocks == (FAILED, TextBlock("b"))
        assert run.payloads("llm_call_started")[-1]["context"]["used"] > 3_600
        key = run.send(cmd.Compact(keep=1))
        await run.serve()
        assert "compaction block that its provider wrote by itself" in run.detail(key)


# -- clearing ---------------------------------------------------------------------------------------------------------
async def test_a_model_that_only_clears_is_summarised_by_the_run_itself() -> None:
    async with working(HAIKU, Works(16, words=900), words=1_500, window=WINDOW) as (run, lab):
        await run.turn(TASK)
        assert run.ending == "natural"
        assert run.payloads("llm_call_failed") == []
        edits = [edits_of(body) for body in turns(lab)]
        assert all(list(e) == [CLEAR] for e in edits)
        headers = [r.headers.get("anthropic-beta", "") for r in lab.requests if kind_of(r.body) == "turn"]
        assert set(headers) == {EDITS_BETA}
        assert any("summarise" in p["operations"] for p in run.payloads("view_changed"))
        assert all("context_management" not in r.body for r in lab.requests if kind_of(r.body) == "summary")
        sizes = [r.tokens for r in lab.requests if kind_of(r.body) == "turn"]
        ends = [e for e in run.payloads("llm_call_ended") if e["purpose"] == "turn"]
        assert [end["context"]["used"] for end in ends] == sizes
        assert all(end["context"]["measured"] == "confirmed" for end in ends)
        same_from_the_log(run)


async def test_what_was_cleared_is_not_missing_from_the_next_estimate() -> None:
    model = Works(12, words=1_400)
    async with working(OPUS, model, words=1_400, window=WINDOW) as (run, lab):
        await run.turn(TASK)
        cleared = run.payloads("provider_cleared")
        assert cleared
        assert all(event["tool_uses"] > 0 and event["tokens"] > 3_361 for event in cleared)
        assert run.payloads("view_changed") == []
        started = [e["context"]["used"] for e in run.payloads("llm_call_started")]
        for estimate, counted in list(zip(started, (r.tokens for r in lab.requests), strict=True))[2:]:
            assert counted is not None
            assert 0.97 * counted <= estimate <= counted + 6_000, "what will be cleared next is not known before"


# -- who is asked -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("model", Catalog().models("anthropic", "payg"))
def test_each_model_is_asked_for_what_its_vendor_lists(model: str) -> None:
    route = Catalog().route(model, "anthropic", "payg")
    budget = budget_of(route, 32_768)
    made = edits_for(route, budget, (), View())
    assert (made.compact_at is not None, made.clear_at is not None) == (model in COMPACTING, model in CLEARING)
    if model in COMPACTING:
        assert made.compact_at == 773_785


def test_beside_a_block_of_its_own_the_provider_is_asked_for_another_however_small_the_budget_is() -> None:
    route = Catalog().route("claude-opus-5", "anthropic", "payg", window=60_000)
    budget = budget_of(route, 32_768)
    block = Message("assistant", (NATIVE, TextBlock("on")))
    assert edits_for(route, budget, (), View()).compact_at is None
    assert edits_for(route, budget, (user_text("go"), block), View()).compact_at == 50_000


@pytest.mark.parametrize("route", ["claude-next-9 anthropic payg", "gpt-6-sol openai payg", "glm-5.3 glm payg"])
def test_an_unlisted_model_and_another_vendors_are_asked_for_nothing(route: str) -> None:
    found = Catalog().route(*route.split())
    assert edits_for(found, budget_of(found, 32_768), (), View()) == Edits()


def test_as_many_results_stay_as_the_last_batch_has() -> None:
    route = Catalog().route("claude-opus-5", "anthropic", "payg")
    talk = Talk()
    talk.user()
    talk.agent(*(call("look", n=n) for n in range(7)))
    made = edits_for(route, budget_of(route, 32_768), [item.message for item in talk.items], View())
    assert (made.clear_keep, made.clear_except) == (7, ("use_skill", "recall_tool_result"))
    assert made.clear_at_least == (1_000_000 - 32_768) * 5 // 100


@pytest.mark.parametrize("route", [RESPONSES, CODEX, CHAT, ROUTER, GLM, LOCAL], ids=lambda route: route.name)
async def test_no_other_wire_is_sent_an_edit(route: Route) -> None:
    async with working(route, Works(1), words=10) as (run, lab):
        await run.turn(TASK)
        assert run.ending == "natural"
        assert all("context_management" not in received.body for received in lab.requests)


# -- another model ----------------------------------------------------------------------------------------------------
def test_a_conversation_with_a_compaction_goes_on_only_where_that_is_read() -> None:
    messages = (user_text("go"), Message("assistant", (NATIVE, TextBlock("on"))))
    catalog = Catalog()
    meter = PromptMeter()

    def refused(model: str, provider: str) -> str:
        route = catalog.route(model, provider, "payg")
        return refusal(messages, route, meter.figures(route, budget_of(route, 1_000), Prefix(), simulated=False))

    assert refused("claude-opus-5", "anthropic") == ""
    assert "does not read" in refused("claude-haiku-4-5", "anthropic")
    assert "only anthropic can read" in refused("gpt-6-sol", "openai")
