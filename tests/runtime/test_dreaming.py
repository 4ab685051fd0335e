"""Dreaming beside turns: once for what is new, never in anybody's way, paid under its own purpose."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from geode_tui.core.limits import DreamRules, Limits
from geode_tui.core.messages import TextBlock
from geode_tui.core.usage import Usage
from geode_tui.log import commands as cmd
from geode_tui.log.artifacts import health
from geode_tui.log.views import Artifact, artifacts
from geode_tui.providers.base import Request
from geode_tui.providers.errors import ErrorKind
from tests.context.test_dream import text
from tests.runtime.harness import SESSION, Bench, Held, ScriptedProvider, bench, fail, names, say

ON = DreamRules(enabled=True)
DREAMT = text(durable=["The port is 8080 (seq 1)"], unresolved=["none"])


class Model(ScriptedProvider):
    """Answers turns with ``done``, and dreams with its own steps."""

    def __init__(self, *dreams: Any, name: str = "anthropic") -> None:
        super().__init__(name=name, source="adapter" if name == "offline" else "payg")
        self.simulated = name == "offline"
        self.dreams = list(dreams)
        self.asked: list[Request] = []

    async def stream(self, request: Request) -> Any:
        if request.purpose == "dream":
            self.asked.append(request)
            self.steps.insert(0, self.dreams.pop(0) if self.dreams else say(DREAMT))
        async for event in super().stream(request):
            yield event


def dreams(run: Bench) -> list[Artifact]:
    return artifacts(run.transcript.db, SESSION, "dream")


@pytest.fixture
def model() -> Model:
    return Model()


async def test_a_turn_is_dreamt_of_after_it_has_ended_and_the_dream_is_paid_as_one(model: Model) -> None:
    with bench(model) as run:
        run.dreams = ON
        events = names(await run.turn("the port is 8080"))
        (dream,) = dreams(run)
        assert events.index("turn_completed") < events.index("dream_started") < events.index("dream_ended")
        assert (dream.source_start_seq, dream.source_end_seq, dream.model) == (1, 2, "claude-sonnet-5")
        assert dream.metadata["llm_used"] is True
        assert dream.metadata["marks"] == []
        assert dream.metadata["observed_at"] <= dream.created_at
        cost = dream.metadata["cost_micro"]
        assert cost > 0
        assert run.state.by_purpose["dream"].cost_micro == cost
        assert run.state.turn_money.cost_micro == run.state.by_purpose["turn"].cost_micro
        assert not run.state.open_calls
        assert "8080" in model.asked[0].messages[0].text
        assert model.asked[0].tools == ()


async def test_without_the_setting_nobody_dreams(model: Model) -> None:
    with bench(model) as run:
        await run.turn()
        assert dreams(run) == []


@pytest.mark.parametrize("name", ["offline", "anthropic"])
async def test_there_is_one_dream_of_what_was_said_however_often_it_is_asked_for(name: str) -> None:
    """B110: also by another worker; and one more once there is more."""
    with bench(Model(name=name)) as run:
        run.dreams = ON
        await run.turn("the port is 8080")
        keys = [run.send(cmd.Dream()) for _ in range(3)]
        await run.serve()
        keys.append(run.send(cmd.Dream()))
        await run.serve()
        assert [run.outcome(key) for key in keys] == ["done"] * 4
        assert len(dreams(run)) == 1
        await run.turn("and the host is example.org")
        ends = [dream.source_end_seq for dream in dreams(run)]
        assert ends == [2, 4]
        assert "8080" in dreams(run)[-1].content


async def test_it_goes_on_after_a_compaction() -> None:
    with bench(Model()) as run:
        run.dreams = ON
        for n in range(3):
            await run.turn(f"the value{n} is {n * 111}")
        run.send(cmd.Compact(keep=1, prune=True))
        await run.serve()
        await run.turn("the port is 8080")
        assert [dream.source_end_seq for dream in dreams(run)] == [2, 4, 6, 8]


async def test_a_turn_goes_on_while_a_dream_is_written_and_only_one_is_at_a_time() -> None:
    held = Held(DREAMT)
    model = Model(held)
    with bench(model) as run:
        run.dreams = ON
        run.submit("the port is 8080")
        async with run.serving():
            await held.reached.wait()
            run.submit("another")
            await run.seen("turn_completed", 2)
            run.submit("a third")
            await run.seen("turn_completed", 3)
            assert len(model.asked) == 1
            assert [call.purpose for call in run.state.open_calls.values()] == ["dream"]
            assert dreams(run) == []
            held.release.set()
        assert [dream.source_end_seq for dream in dreams(run)] == [2, 6]
        assert len(model.asked) == 2
        assert run.ending == "natural"
        assert [row.status for row in run.rows()] == ["complete"] * 6


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (fail(ErrorKind.BILLING, "no credit"), "billing: no credit"),
        (fail(ErrorKind.RATE_LIMIT, "slow down"), "rate_limit: slow down"),
        (say("What a lovely day."), "form"),
        (say(DREAMT, "refusal"), "refused"),
        (say(""), ""),
    ],
    ids=["billing", "rate limit", "garbage", "refusal", "empty"],
)
async def test_where_no_model_can_be_used_the_program_writes_the_dream(step: Any, why: str) -> None:
    """B115."""
    model = Model(step)
    with bench(model) as run:
        run.dreams = ON
        await run.turn("the port is 8080")
        (dream,) = dreams(run)
        assert (dream.model, dream.metadata["local"], dream.metadata["llm_used"]) == ("", True, False)
        assert why in dream.metadata["why"]
        assert "port is 8080 (seq 1)" in dream.content
        assert len(model.asked) == 1
        assert run.ending == "natural"
        assert not run.state.open_calls


async def test_a_model_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geode_tui.runtime.auxiliary.DREAM_S", 0.01)
    with bench(Model(Held(DREAMT))) as run:
        run.dreams = ON
        await run.turn("the port is 8080")
        (dream,) = dreams(run)
        assert "none within" in dream.metadata["why"]
        assert [p["error_type"] for p in run.payloads("llm_call_failed")] == ["timeout"]


async def test_a_worker_that_is_stopped_leaves_no_half_dream_and_the_next_one_dreams_on() -> None:
    held = Held(DREAMT)
    with bench(Model(held)) as run:
        run.dreams = ON
        run.submit("the port is 8080")
        async with run.worker() as made:
            task = asyncio.create_task(made.run())
            await held.reached.wait()
            key = run.send(cmd.Dream())
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert dreams(run) == []
        assert [p["status"] for p in run.payloads("dream_ended")] == ["cancelled"]
        assert [p["error_type"] for p in run.payloads("llm_call_failed")] == ["cancelled"]
        assert not run.state.open_calls
        assert run.outcome(key) is None
        await run.serve()
        assert run.outcome(key) == "done"
        assert len(dreams(run)) == 1


async def test_a_dream_that_is_open_when_the_worker_dies_is_closed_by_the_next_one() -> None:
    held = Held(DREAMT)
    with bench(Model(held)) as run:
        run.dreams = ON
        run.submit("the port is 8080")
        async with run.worker() as made:
            task = asyncio.create_task(made.run())
            await held.reached.wait()
            await run.die(task)
        await run.turn("go on")
        assert [p["error_type"] for p in run.payloads("llm_call_failed")] == ["interrupted"]
        assert [dream.source_end_seq for dream in dreams(run)] == [4]


async def test_dreams_keep_to_their_share_of_the_cost_budget() -> None:
    dear = say(DREAMT, usage=Usage(1_000, 1_000))
    model = Model(dear, dear, dear, dear)
    with bench(model, limits=Limits(cost_budget_micro=1_000_000)) as run:
        run.dreams = DreamRules(enabled=True, share=0.05)
        for n in range(4):
            await run.turn(f"the port{n} is 8080")
        local = [dream.metadata["local"] for dream in dreams(run)]
        assert local == sorted(local)
        assert (local[0], local[-1]) == (False, True)
        assert "share of the cost budget" in dreams(run)[-1].metadata["why"]
        assert run.state.by_purpose["dream"].cost_micro <= 50_000


async def test_what_dreams_cost_is_known_to_the_next_worker() -> None:
    with bench(Model(say(DREAMT, usage=Usage(1_000, 1_000)))) as run:
        run.dreams = ON
        await run.turn("the port is 8080")
        async with run.worker():
            assert run.session is not None
            assert run.session.dream_micro == dreams(run)[0].metadata["cost_micro"] > 0


async def test_a_turn_that_came_to_nothing_is_not_dreamt_of_but_can_be() -> None:
    with bench(Model()) as run:
        run.dreams = ON
        run.provider.steps.append(fail(ErrorKind.BILLING, "no credit"))
        await run.turn("the port is 8080")
        assert run.ending == "billing_error"
        assert dreams(run) == []
        key = run.send(cmd.Dream())
        await run.serve()
        assert run.outcome(key) == "done"
        assert len(dreams(run)) == 1


async def test_what_a_person_forgets_is_gone_and_its_row_says_who_and_why() -> None:
    with bench(Model()) as run:
        run.dreams = ON
        await run.turn("the port is 8080")
        (dream,) = dreams(run)
        keys = [
            run.send(cmd.ApproveArtifact(dream.artifact_id)),
            run.send(cmd.ForgetArtifact(dream.artifact_id, "wrong")),
            run.send(cmd.ForgetArtifact(dream.artifact_id)),
            run.send(cmd.ApproveArtifact("art_nothing")),
            run.send(cmd.Dream()),
        ]
        await run.serve()
        assert [run.outcome(key) for key in keys] == ["done", "done", "refused", "refused", "done"]
        (gone,) = dreams(run)
        assert (gone.content, gone.token_count) == ("", 0)
        assert gone.metadata["approved"]["who"] == "person"
        assert (gone.metadata["forgotten"]["who"], gone.metadata["forgotten"]["why"]) == ("person", "wrong")
        assert run.named("artifact_forgotten")["kind"] == "dream"
        await run.turn("and on")
        told, _, _ = run.provider.asked[-1].messages[0].text.partition("<transcript")
        assert "8080" not in told


async def test_another_model_takes_over_and_the_dream_of_the_former_is_closed() -> None:
    held = Held(DREAMT)
    with bench(Model(held)) as run:
        run.dreams = ON
        run.submit("the port is 8080")
        async with run.serving():
            await held.reached.wait()
            key = run.send(cmd.Model("another"))
            assert await run.settled(key) == "refused"
            assert [p["status"] for p in run.payloads("dream_ended")] == ["cancelled"]
        assert not run.state.open_calls


async def test_health_says_when_by_whom_and_how_far_behind() -> None:
    with bench(Model(fail(ErrorKind.BILLING, "no credit"))) as run:
        assert health([], 0).last_at is None
        run.dreams = ON
        await run.turn("the port is 8080")
        state = health(artifacts(run.transcript.db, SESSION), 5)
        assert (state.dreams, state.upto, state.lag, state.local, state.model) == (1, 2, 3, True, "")
        assert state.why.startswith("billing")
        await run.turn("and on")
        state = health(artifacts(run.transcript.db, SESSION), 4)
        assert (state.dreams, state.lag, state.local, state.model) == (2, 0, False, "claude-sonnet-5")
        assert state.cost_micro == run.state.by_purpose["dream"].cost_micro


async def test_a_dream_asked_for_within_a_turn_is_written_within_it() -> None:
    held = Held("working")
    model = Model()
    model.steps.append(held)
    with bench(model) as run:
        run.submit("the port is 8080")
        async with run.serving():
            await held.reached.wait()
            assert await run.settled(run.send(cmd.Dream())) == "done"
            assert [dream.source_end_seq for dream in dreams(run)] == [1]
            assert run.state.turn_open
            held.release.set()
        assert run.ending == "natural"
        assert [b.text for b in run.messages()[-1].blocks if isinstance(b, TextBlock)] == ["working"]
