"""Interrupting at the three moments that can be long, on every wire: the turn ends while nothing else has moved."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from geode_tui.core.messages import answered
from tests.lab import Call, Fail, Lab, Say, Stall
from tests.providers.wires import Route, adapter, every_route
from tests.runtime.harness import Bench, bench


@contextlib.asynccontextmanager
async def run_on(lab: Lab, route: Route) -> AsyncIterator[Bench]:
    """A run on that wire."""
    async with lab, adapter(lab, route) as provider:
        with bench(provider, model=route.model) as run:
            yield run


def assert_interrupted(run: Bench, key: str) -> None:
    assert (run.outcome(key), run.ending) == ("done", "user_cancelled")
    assert answered(tuple(run.messages()))


async def assert_next_turn_is_accepted(run: Bench, lab: Lab) -> None:
    lab.script(Say("whole"))
    await run.turn("again")
    assert (run.ending, lab.requests[-1].status) == ("natural", 200)


@every_route
async def test_during_a_stall(route: Route) -> None:
    stall = Stall((Say("half an answer that never goes on"),), 4)
    lab = Lab(script=[stall])
    async with run_on(lab, route) as run:
        run.submit("the task")
        async with run.serving():
            await stall.reached.wait()
            await run.seen("message_opened")
            key = run.interrupt()
        assert_interrupted(run, key)
        assert not stall.release.is_open, "the server still holds its answer back"
        await lab.requests[0].disconnected.wait()
        await assert_next_turn_is_accepted(run, lab)


@every_route
async def test_during_the_countdown_to_another_attempt(route: Route) -> None:
    lab = Lab(script=[Fail(429, "rate_limit_error", "slow down", {"retry-after": "600"})])
    async with run_on(lab, route) as run:
        run.clock.hold()
        run.submit("the task")
        async with run.serving():
            assert (await run.seen("llm_call_retried"))[0]["delay_s"] == 600.0
            key = run.interrupt()
        assert_interrupted(run, key)
        assert len(lab.requests) == 1
        run.clock.release()
        await assert_next_turn_is_accepted(run, lab)


@every_route
async def test_during_a_long_command(route: Route) -> None:
    lab = Lab(script=[Call("run_shell", {"command": "sleep 300"})])
    async with run_on(lab, route) as run:
        run.submit("the task")
        async with run.serving():
            await run.seen("tool_exec_started")
            key = run.interrupt()
        assert_interrupted(run, key)
        await assert_next_turn_is_accepted(run, lab)
