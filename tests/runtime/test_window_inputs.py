"""What a person types and orders while the context is worked on: nothing is lost, and the order is what was said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from geode_tui.core.messages import Message
from geode_tui.log import commands as cmd
from geode_tui.log import views
from geode_tui.providers.base import Delta, Purpose, Request, StreamEvent
from tests.runtime.harness import SESSION, Bench, bench
from tests.runtime.test_window import TASK, looks
from tests.runtime.window_model import WindowModel, small_route, summary_of

ROOM = 200_000
"""A window in which nothing has to be done by itself."""


class Gate:
    """Opened by hand; ``reached`` is set by the first that waits at it."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()


class HoldingModel(WindowModel):
    """A model whose answers stop behind their first piece while there is a gate for their purpose."""

    def __init__(self, rounds: int, **more: Any) -> None:
        super().__init__(rounds, **more)
        self.gates: dict[Purpose, Gate] = {}

    def hold(self, purpose: Purpose) -> Gate:
        """A new gate for answers of that purpose."""
        self.gates[purpose] = Gate()
        return self.gates[purpose]

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        gate = self.gates.get(request.purpose)
        async for event in super().stream(request):
            yield event
            if gate is not None and isinstance(event, Delta):
                gate.reached.set()
                await gate.open.wait()


def model_of(rounds: int = 10) -> HoldingModel:
    return HoldingModel(rounds, summary=lambda request: summary_of(TASK))


def typed(messages: tuple[Message, ...] | list[Message]) -> list[str]:
    """What the person said, in order."""
    return [m.text for m in messages if m.origin == "user_input"]


def order(run: Bench) -> list[str]:
    """What was done with the context and what was said, in the order of the log."""
    said = {m.row.seq: m.message.text for m in run.transcript.messages(SESSION)}
    found = run.events("view_changed", "user_input_received")
    return [said[p["seq"]] if name == "user_input_received" else "compaction" for name, p in found]


def closed(run: Bench) -> None:
    """Every request and every maintenance that began has its one end."""
    begun = [p["call_id"] for p in run.payloads("llm_call_started")]
    ended = [p["call_id"] for name in ("llm_call_ended", "llm_call_failed") for p in run.payloads(name)]
    assert sorted(begun) == sorted(ended)
    assert len(run.payloads("maintenance_started")) == len(run.payloads("maintenance_ended"))


async def test_b034_what_steers_a_streaming_turn_follows_the_compaction_that_was_ordered_after_it() -> None:
    model = model_of()
    with bench(model, tools=looks(300)) as run:
        run.route = small_route(ROOM)
        await run.turn(TASK)
        gate = model.hold("turn")
        run.submit("and the rest of it")
        async with run.serving():
            await gate.reached.wait()
            keys = [run.submit("steer A"), run.submit("steer B  \n한글"), run.send(cmd.Compact(keep=2))]
            gate.open.set()
        assert [run.outcome(key) for key in keys] == ["done"] * 3
        assert order(run)[2:] == ["compaction", "steer A", "steer B  \n한글"]
        sent = model.turns[-1].messages
        assert "conversation_summary" in sent[0].text
        assert typed(sent)[-2:] == ["steer A", "steer B  \n한글"]
        assert [m.text for m in sent].count("steer A") == 1
        assert len(views.artifacts(run.db, SESSION)) == len(model.summaries) == 1
        closed(run)


async def test_b034_an_interrupt_of_a_compaction_within_a_turn_keeps_what_steers_it() -> None:
    model = model_of()
    with bench(model, tools=looks(300)) as run:
        run.route = small_route(ROOM)
        await run.turn(TASK)
        turn, summary = model.hold("turn"), model.hold("summary")
        run.submit("and the rest of it")
        async with run.serving():
            await turn.reached.wait()
            compact = run.send(cmd.Compact(keep=2))
            keys = [run.submit("steer A"), run.submit("steer B")]
            turn.open.set()
            await summary.reached.wait()
            keys.append(run.interrupt())
            await run.settled(compact)
        assert run.outcome(compact) == "refused"
        assert [run.outcome(key) for key in keys] == ["done"] * 3
        assert [p["termination_reason"] for p in run.payloads("turn_completed")][:2] == ["natural", "user_cancelled"]
        assert typed(run.messages())[2:] == typed(model.turns[-1].messages)[2:] == ["steer A", "steer B"]
        assert run.payloads("view_changed") == views.artifacts(run.db, SESSION) == []
        closed(run)


@pytest.mark.parametrize("end", ["success", "failure", "interrupt", "kill"])
async def test_b024_what_is_typed_during_a_compaction_outlives_every_end_of_it(end: str) -> None:
    model = model_of()
    with bench(model, tools=looks(300)) as run:
        run.route = small_route(ROOM)
        await run.turn(TASK)
        if end == "failure":
            model.summary = lambda request: "nothing of it is left"
        gate = model.hold("summary")
        compact = run.send(cmd.Compact(keep=2))
        async with run.worker() as made:
            task = asyncio.create_task(made.run())
            await gate.reached.wait()
            keys = [run.submit("A")]
            if end == "interrupt":
                interrupt = run.interrupt()
                assert await run.settled(interrupt) == "done"
            keys.append(run.submit("B"))
            gate.open.set()
            if end == "kill":
                await run.die(task)
            else:
                await task
        if end == "kill":
            await run.serve()
        assert run.outcome(compact) == ("done" if end in {"success", "kill"} else "refused")
        assert [run.outcome(key) for key in keys] == ["done"] * 2
        assert typed(run.messages()) == [TASK, "A", "B"]
        assert order(run)[1:] == [*(["compaction"] if run.outcome(compact) == "done" else []), "A", "B"]
        assert [m.text for m in model.turns[-1].messages][-1] == "B"
        closed(run)


async def test_a_maintenance_whose_worker_died_reads_interrupted_and_the_next_one_works() -> None:
    model = model_of()
    with bench(model, tools=looks(300)) as run:
        run.route = small_route(ROOM)
        await run.turn(TASK)
        gate = model.hold("summary")
        key = run.send(cmd.Compact(keep=2))
        async with run.worker() as made:
            task = asyncio.create_task(made.run())
            await gate.reached.wait()
            await run.die(task)
        assert run.state.maintenance is not None
        gate.open.set()
        await run.serve()
        interrupted, done = run.payloads("maintenance_ended")
        assert (interrupted["status"], interrupted["error_type"]) == ("failed", "interrupted")
        assert interrupted["tokens_before"] == interrupted["tokens_after"] > 0
        assert (done["status"], run.outcome(key)) == ("changed", "done")
        assert run.state.maintenance is None
        closed(run)


async def test_b033_two_orders_and_a_warning_at_once_come_to_one_compaction() -> None:
    model = model_of(40)
    with bench(model, tools=looks(700)) as run:
        run.route = small_route(ROOM)
        await run.turn(TASK)
        used = run.payloads("llm_call_ended")[-1]["context"]["used"]
        gate = model.hold("turn")
        run.route = small_route(round(used * 1.25) + 20_000)
        run.submit("and the rest of it")
        async with run.serving():
            await gate.reached.wait()
            keys = [run.send(cmd.Compact()), run.send(cmd.Compact())]
            run.submit("steer")
            gate.open.set()
        assert [run.outcome(key) for key in keys] == ["done", "refused"]
        assert "nothing" in run.detail(keys[1])
        summaries = [p for p in run.payloads("view_changed") if "summarise" in p["operations"]]
        assert len(summaries) == len(views.artifacts(run.db, SESSION)) == len(model.summaries) == 1
        closed(run)


async def test_a_defect_in_a_compaction_costs_its_command_and_not_the_session() -> None:
    model = model_of()

    def broken(_request: Request) -> str:
        raise ValueError("no such thing")

    with bench(model, tools=looks(300)) as run:
        run.route = small_route(ROOM)
        await run.turn(TASK)
        model.summary = broken
        key = run.send(cmd.Compact(keep=2))
        await run.serve()
        assert run.outcome(key) == "refused"
        assert "internal error: ValueError: no such thing" in run.detail(key)
        model.rounds = 0
        await run.turn("go on")
        assert run.ending == "natural"
        closed(run)
