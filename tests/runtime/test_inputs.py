"""What a person types and orders while a run goes on: joined, kept in order, never lost; each command one outcome."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from geode_tui.core.limits import Limits
from geode_tui.core.messages import Message
from geode_tui.log import commands as cmd
from geode_tui.log.commands import Budget
from geode_tui.providers.base import Request
from tests.runtime.harness import SESSION, Bench, Held, ScriptedProvider, Step, bench, call, say, stub, toolbox


def typed(messages: tuple[Message, ...]) -> list[str]:
    """The texts of the person in a request."""
    return [m.text for m in messages if m.role == "user"]


async def test_words_typed_during_a_round_are_in_the_next_request() -> None:
    tools = toolbox(stub("look"))
    with bench(ScriptedProvider(), tools=tools) as run:

        def answer(_request: Request) -> Step:
            run.submit("and the tests")
            run.submit("한글도")
            return call("look")

        run.provider.steps = [answer, say("done")]
        await run.turn("the code")
        assert [typed(r.messages) for r in run.provider.requests] == [
            ["the code"],
            ["the code", "and the tests", "한글도"],
        ]
        assert [p["joins"] for p in run.payloads("user_input_received")] == [False, True, True]
        assert len(run.payloads("turn_completed")) == 1


async def test_words_typed_during_the_last_answer_get_another_round() -> None:
    held = Held("finished")
    with bench(ScriptedProvider(held), tools={}) as run:
        run.submit("one")
        async with run.serving():
            await held.reached.wait()
            key = run.submit("two")
            held.release.set()
        assert (run.outcome(key), run.end["rounds"]) == ("done", 2)
        assert typed(run.provider.requests[1].messages) == ["one", "two"]


async def test_later_words_wait_for_the_turns_end() -> None:
    held = Held("finished")
    with bench(ScriptedProvider(held), tools={}) as run:
        run.submit("one")
        async with run.serving():
            await held.reached.wait()
            run.submit("three", later=True)
            run.submit("two")
            held.release.set()
        assert [typed(r.messages) for r in run.provider.requests] == [
            ["one"],
            ["one", "two"],
            ["one", "two", "three"],
        ]
        assert [p["rounds"] for p in run.payloads("turn_completed")] == [2, 1]


async def test_words_survive_an_interrupt_in_their_order() -> None:
    held = Held("half")
    with bench(ScriptedProvider(held), tools={}) as run:
        run.submit("one")
        async with run.serving():
            await held.reached.wait()
            keys = [run.submit("two"), run.interrupt(), run.submit("three")]
        assert [run.outcome(key) for key in keys] == ["done"] * 3
        assert typed(tuple(run.messages())) == ["one", "two", "three"]
        assert run.payloads("turn_completed")[0]["termination_reason"] == "user_cancelled"


async def test_words_for_a_dead_turn_join_it() -> None:
    held = Held("half")
    with bench(ScriptedProvider(held), tools={}) as run:
        run.submit("one")
        async with run.worker() as made:
            task = asyncio.create_task(made.run())
            await held.reached.wait()
            await run.die(task)
        await run.turn("two")
        assert [p["joins"] for p in run.payloads("user_input_received")] == [False, True]
        assert typed(run.provider.requests[-1].messages) == ["one", "two"]
        assert len(run.payloads("turn_completed")) == 1


async def test_a_command_sent_twice_with_one_key_is_one_command() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        kind, payload = cmd.encode(cmd.Submit("once"))
        for _ in range(2):
            cmd.send(run.db, SESSION, kind, payload, client_id="c", key="same", now=0.0)
        await run.serve()
        assert typed(tuple(run.messages())) == ["once"]


async def test_half_a_character_is_made_storable_when_it_enters() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        run.submit("a\ud800b 🍸")
        await run.serve()
        assert run.messages()[0].text == "a\ufffdb 🍸"
        assert run.ending == "natural"


# -- other commands ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("limit", "value", "changed"),
    [
        ("rounds", "7", {"max_rounds": 7}),
        ("time", "90.5", {"time_budget_s": 90.5}),
        ("session", "0", {"session_budget_s": 0.0}),
        ("cost", "0.25", {"cost_budget_micro": 250_000}),
    ],
)
async def test_a_limit_can_be_set(limit: str, value: str, changed: dict[str, float]) -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        await run.turn()
        key = run.send(Budget(limit, value))
        await run.serve()
        assert run.outcome(key) == "done"
        after = msgspec.structs.replace(Limits(), **changed)
        assert run.named("limits_changed")["limits"] == msgspec.to_builtins(after)
        assert run.payloads("session_started")[-1]["limits"] == msgspec.to_builtins(Limits())
        await run.serve()
        assert run.payloads("session_started")[-1]["limits"] == msgspec.to_builtins(after), "a later worker keeps it"


@pytest.mark.parametrize(
    ("limit", "value", "why"),
    [
        ("rounds", "many", "'many' is no number"),
        ("time", "-1", "a limit is 0 (none) to 1,000,000,000"),
        ("time", "nan", "a limit is 0 (none) to 1,000,000,000"),
        ("cost", "1e400", "a limit is 0 (none) to 1,000,000,000"),
        ("rounds", "1e999999", "a limit is 0 (none) to 1,000,000,000"),
        ("tokens", "5", "'tokens' is no limit: rounds, time, session or cost"),
    ],
)
@pytest.mark.parametrize("running", [False, True])
async def test_a_limit_that_makes_no_sense_is_refused_and_the_run_goes_on(
    limit: str, value: str, why: str, running: bool
) -> None:
    held = Held("fine")
    with bench(ScriptedProvider(held), tools={}) as run:
        if running:
            run.submit()
        async with run.serving():
            if running:
                await held.reached.wait()
            key = run.send(Budget(limit, value))
            assert await run.settled(key) == "refused"
            held.release.set()
        assert run.detail(key) == why
        assert run.events("limits_changed") == []
        assert run.payloads("turn_completed") == [] or run.ending == "natural"


@pytest.mark.parametrize(
    ("kind", "payload"),
    [("dance", "{}"), ("submit", "{}"), ("submit", '{"text": 5}'), ("decide", "[]"), ("budget", "{")],
)
@pytest.mark.parametrize("running", [False, True])
async def test_a_command_that_is_not_understood_is_refused(kind: str, payload: str, running: bool) -> None:
    held = Held("fine")
    with bench(ScriptedProvider(held), tools={}) as run:
        if running:
            run.submit()
        async with run.serving():
            if running:
                await held.reached.wait()
            key = run.send_raw(kind, payload)
            assert await run.settled(key) == "refused"
            held.release.set()
        assert run.detail(key).startswith("this command is not understood: ")


async def test_resuming_what_goes_on_already_is_refused() -> None:
    held = Held("fine")
    with bench(ScriptedProvider(held), tools={}) as run:
        run.submit()
        async with run.serving():
            await held.reached.wait()
            key = run.send_raw("resume", "{}")
            assert await run.settled(key) == "refused"
            held.release.set()
        assert run.ending == "natural"


# -- options ----------------------------------------------------------------------------------------------------------
async def test_b129_a_stricter_mode_stays_through_turns_cancel_death_and_resume() -> None:
    held = Held("half")
    tools = toolbox(stub("look"))
    with bench(ScriptedProvider(), tools=tools, approve="all") as run:
        await run.turn()
        strict = msgspec.structs.replace(run.options, approve="ask")
        await run.turn("stricter", strict)
        assert run.named("approvals_changed") == {"approve": "ask"}
        run.provider.steps = [held]
        run.submit("cancelled")
        async with run.serving():
            await held.reached.wait()
            run.interrupt()
        run.provider.steps = [held := Held("half")]
        run.submit("killed")
        async with run.worker() as made:
            task = asyncio.create_task(made.run())
            await held.reached.wait()
            await run.die(task)
        run.provider.steps = [call("look")]
        run.send_raw("resume", "{}")
        async with run.serving():
            await run.seen("tool_approval_requested")
            run.interrupt()
        assert [p["approve"] for p in run.payloads("session_started")] == ["all", "all", "ask", "ask", "ask"]


async def test_who_answers_is_not_changed_by_a_turns_options() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        await run.turn()
        await run.turn("more", msgspec.structs.replace(run.options, model="other", provider="other", seed=9))
        assert run.provider.requests[-1].model == "offline-planner"
        assert run.stored_options() == run.options


async def test_limits_of_a_later_turn_are_told_and_kept() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        await run.turn()
        limits = Limits(max_rounds=3)
        await run.turn("more", msgspec.structs.replace(run.options, limits=limits))
        assert run.named("limits_changed")["limits"] == msgspec.to_builtins(limits)
        stored = run.stored_options()
        assert stored is not None
        assert stored.limits == limits


def outcomes(run: Bench) -> list[str]:
    return [p["outcome"] for p in run.payloads("command_finished")]


async def test_every_command_has_exactly_one_outcome() -> None:
    held = Held("fine")
    with bench(ScriptedProvider(held), tools={}) as run:
        keys = [run.decide(), run.interrupt(), run.submit("one")]
        async with run.serving():
            await held.reached.wait()
            keys += [run.send(Budget("rounds", "5")), run.decide("allow", "gone"), run.submit("two"), run.interrupt()]
        keys.append(run.send_raw("resume", "{}"))
        await run.serve()
        assert all(run.outcome(key) is not None for key in keys)
        assert len(outcomes(run)) == len(keys)
