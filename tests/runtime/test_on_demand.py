"""Compaction by the provider when it is asked to: by hand, then by itself whenever the conversation fills up again.

Over the real adapter and a lab that takes just the combinations that the vendor takes.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from geode_tui.context.mode import ON_DEMAND_STANDS
from geode_tui.context.pressure import Need
from geode_tui.context.preview import preview
from geode_tui.core.messages import OpaqueBlock
from geode_tui.core.native import COMPACTION
from geode_tui.core.views import Native
from geode_tui.log import commands as cmd
from geode_tui.log.views import artifacts
from geode_tui.providers.anthropic_edits import CLEAR, COMPACT
from geode_tui.routes.budget import budget_of
from tests.lab import Lab, Say
from tests.lab.kinds import kind_of
from tests.lab.scripts import Step
from tests.providers.wires import ANTHROPIC
from tests.runtime.harness import SESSION, Bench
from tests.runtime.test_native import compactions, edits_of, same_from_the_log
from tests.runtime.test_window_wires import TASK, Works, changed, marks, turns, working

OPUS, HAIKU = (replace(ANTHROPIC, name=m, model=m) for m in ("claude-opus-4-8", "claude-haiku-4-5"))
WINDOW = 100_000
"""Of it 67,232 are for the prompt of opus-4-8: the warning is at 33,616."""


def asked(lab: Lab) -> list[dict[str, Any]]:
    """The bodies of the calls for a compaction, in order."""
    return [r.body for r in lab.requests if kind_of(r.body) == "compaction"]


def versions(run: Bench, cause: str = "") -> list[dict[str, Any]]:
    return [p for p in run.payloads("view_changed") if p["cause"] == cause or not cause]


@pytest.mark.parametrize(
    ("route", "killed"),
    [
        pytest.param(OPUS, False, id="opus whole", marks=pytest.mark.long),
        pytest.param(OPUS, True, id="opus killed in between"),
        pytest.param(HAIKU, False, id="haiku whole"),
        pytest.param(HAIKU, True, id="haiku killed in between", marks=pytest.mark.long),
    ],
)
async def test_by_hand_then_twice_by_itself(route: Any, killed: bool) -> None:
    """A compaction by hand, then growth to the threshold twice: every request is taken, and a worker that dies in
    between changes nothing.
    """
    window = WINDOW + (16_000 if route is HAIKU else 0)
    model = Works(6, words=900)
    dies = asyncio.Event()

    def steps(body: dict[str, Any]) -> Step:
        if killed and model.number == 24 and not dies.is_set():
            dies.set()
        return model(body)

    async with working(route, steps, words=900, window=window) as (run, lab):
        await run.turn(TASK)
        by_hand = await changed(run, cmd.Compact(keep=4))
        model.rounds = 60
        if killed:
            run.submit("go on")
            async with run.worker() as made:
                task = asyncio.create_task(made.run())
                await dies.wait()
                await run.die(task)
            run.send_raw("resume", "{}")
            await run.serve()
        else:
            await run.turn("go on")
        assert run.ending == "natural", run.end
        assert {r.status for r in lab.requests} == {200}
        by_itself = versions(run, "warning")
        assert len(by_itself) >= 2
        same_from_the_log(run)
        if route is HAIKU:
            assert {v["mode"] for v in versions(run)} == {"text"}
            assert asked(lab) == []
            return
        assert (by_hand["mode"], by_hand["operations"]) == ("on_demand", {"native": 1})
        assert {v["mode"] for v in versions(run)} == {"on_demand"}
        assert {tuple(v["operations"]) for v in versions(run)} == {("native",)}
        after = turns(lab)[len(turns(lab)) // 4 :]
        assert all(COMPACT not in edits_of(body) for body in turns(lab) if compactions(body))
        assert all(list(edits_of(body)) == [CLEAR] for body in after)
        assert all(len(compactions(body)) <= 1 for body in turns(lab))
        assert all(body["messages"][0]["content"][0]["type"] == "compaction" for body in after)
        assert all("context_management" not in body for body in asked(lab))
        assert all(TASK in json.dumps(body) or "go on" in json.dumps(body) for body in turns(lab))


async def test_the_block_goes_back_byte_for_byte_and_the_newest_stay_as_they_were() -> None:
    model = Works(8)
    async with working(OPUS, model, words=300, window=WINDOW) as (run, lab):
        await run.turn(TASK)
        session = run.session
        assert session is not None
        need = Need(session.route, budget_of(session.route, 32_768), session.prefix, simulated=False)
        planned = preview(session.conversation, need, keep=4)
        assert (planned.allowed, planned.strategy) == (True, "on_demand")
        done = await changed(run, cmd.Compact(keep=4))
        assert planned.summarised is not None
        assert planned.summarised[1] == done["upto"]
        model.rounds = 2
        await run.turn("go on")
        before, after = turns(lab)[8], turns(lab)[9]
        session = run.session
        assert session is not None
        operation = session.conversation.view.native
        assert isinstance(operation, Native)
        block = after["messages"][0]["content"][0]
        assert json.dumps(block, separators=(",", ":")) == operation.raw or block == json.loads(operation.raw)
        assert marks(after, "said") == marks(before, "said") - set(range(1, 7)) | {8}
        assert asked(lab)[0]["tools"] == before["tools"]
        assert asked(lab)[0]["system"] == before["system"]
        call = next(e for e in run.payloads("llm_call_ended") if e["purpose"] == "summary")
        assert call["cost_micro"] > 0
        (artifact,) = artifacts(run.transcript.db, SESSION)
        assert artifact.metadata["native"] is True
        assert artifact.content == json.loads(operation.raw)["content"]


async def test_a_focus_is_told_to_the_provider() -> None:
    async with working(OPUS, Works(6), words=300, window=WINDOW) as (run, lab):
        await run.turn(TASK)
        await changed(run, cmd.Compact(keep=2, focus="the failing tokenizer test"))
        assert "the failing tokenizer test" in asked(lab)[0]["compaction"]["instructions"]


async def test_once_a_block_stands_no_text_stands_for_anything() -> None:
    async with working(OPUS, Works(6), words=300, window=WINDOW) as (run, lab):
        await run.turn(TASK)
        await changed(run, cmd.Compact(keep=4))
        seq = [m.seq for m in run.rows() if m.role == "tool"][-1]
        orders = (cmd.Compact(keep=1, prune=True), cmd.Mask(), cmd.Mask((seq,)), cmd.Offload((seq,)))
        keys = [run.send(order) for order in orders]
        await run.serve()
        assert [run.outcome(key) for key in keys] == ["refused"] * 4
        assert {run.detail(key) for key in keys} == {ON_DEMAND_STANDS}
        again = await changed(run, cmd.Compact(keep=2))
        assert again["operations"] == {"native": 1}
        assert {r.status for r in lab.requests} == {200}


async def test_its_undo_sends_the_originals_again_or_says_that_they_do_not_fit() -> None:
    model = Works(10, words=900)
    async with working(OPUS, model, words=900, window=WINDOW) as (run, lab):
        await run.turn(TASK)
        await changed(run, cmd.Compact(keep=4))
        back = await changed(run, cmd.Undo())
        assert back["mode"] == "threshold"
        model.rounds = 1
        await run.turn("go on")
        assert compactions(turns(lab)[-1]) == []
        assert marks(turns(lab)[-1], "said") == set(range(1, 12))
        assert COMPACT in edits_of(turns(lab)[-1])
        await changed(run, cmd.Compact(keep=4))
        model.rounds = 14
        await run.turn("and on")
        assert run.ending == "natural"
        key = None
        while key is None or run.outcome(key) == "done":
            key = run.send(cmd.Undo())
            await run.serve()
        assert "and 67232 fit" in run.detail(key)
        assert {r.status for r in lab.requests} == {200}
        same_from_the_log(run)


async def test_a_compaction_without_a_summary_changes_nothing() -> None:
    async with working(OPUS, Works(6), words=300, window=WINDOW) as (run, lab):
        await run.turn(TASK)
        lab.compacting = lambda _body: Say("")
        key = run.send(cmd.Compact(keep=2))
        await run.serve()
        assert run.outcome(key) == "refused"
        assert "the provider did not compact: its answer holds no summary" in run.detail(key)
        assert versions(run) == []
        await run.turn("go on")
        assert compactions(turns(lab)[-1]) == []


async def test_what_a_summary_lost_comes_back_word_for_word_in_a_pinned_note() -> None:
    model = Works(6)
    async with working(OPUS, model, words=300, window=WINDOW) as (run, lab):
        await run.turn(f"{TASK}. The build must never run longer than 340 seconds.")
        await run.turn("now look at the other parts")
        lab.compacting = lambda _body: Say("Several parts were looked at and the work went on as it was asked for.")
        done = await changed(run, cmd.Compact(keep=2))
        lost = [item["text"] for item in done["lost"]]
        index = next(n for n, text in enumerate(lost) if "340 seconds" in text)
        pinned = await changed(run, cmd.Keep(done["version"], index))
        assert (pinned["cause"], pinned["back"]) == ("pin", [done["version"], index])
        await run.turn("go on")
        assert lost[index] in json.dumps(turns(lab)[-1], ensure_ascii=False)
        await changed(run, cmd.Compact(keep=1))
        model.rounds = 1
        await run.turn("and on")
        assert lost[index] in json.dumps(turns(lab)[-1], ensure_ascii=False), "what is pinned is never summarised away"
        wrong = run.send(cmd.Keep(done["version"], 99))
        await run.serve()
        assert run.detail(wrong) == f"version {done['version']} lost nothing with the number 99"
        assert {r.status for r in lab.requests} == {200}
        same_from_the_log(run)
        blocks = [b for m in run.messages() for b in m.blocks if isinstance(b, OpaqueBlock)]
        assert all(block.kind != COMPACTION for block in blocks), "the transcript holds no block of the provider"
