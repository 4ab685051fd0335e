"""Extensions in a run: what middleware around a tool call changes, and what observers are told of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.core.messages import ToolCallBlock
from geode_tui.core.tools import Safety
from geode_tui.log import commands as cmd
from geode_tui.paths import Project
from geode_tui.runtime.middleware import EXECUTIONS, JoinPoint, Proceed
from geode_tui.runtime.session import Session
from geode_tui.runtime.tools.base import ToolOutcome
from tests.runtime.harness import PATIENCE_S, SESSION, Bench, ScriptedProvider, StubTool, asks, bench, calls, toolbox


class Look:
    """A tool that remembers the arguments it was run with."""

    def __init__(self, safety: Safety = Safety.READ) -> None:
        self.ran: list[Any] = []
        self.tool = StubTool("look", self._run, safety)

    async def _run(self, arguments: str) -> ToolOutcome:
        self.ran.append(json.loads(arguments))
        return ToolOutcome("seen")


def extended(look: Look, **facts: Any) -> Any:
    """A run whose model looks at a once."""
    return bench(ScriptedProvider(calls(asks("look", "t1", path="a"))), tools=toolbox(look.tool), **facts)


async def turn(run: Bench, prepare: Any) -> None:
    """One turn of a worker whose session ``prepare`` has extended."""
    run.submit()
    async with run.worker() as made:
        prepare(made.session)
        await asyncio.wait_for(made.run(), PATIENCE_S)


def invoked(run: Bench) -> list[tuple[str, str, str]]:
    return [(p["name"], p["extension"], p["status"]) for p in run.payloads("extension_invoked")]


def to_b(_tool: str, arguments: str) -> str:
    return json.dumps({**json.loads(arguments), "path": "b"})


def rewriting(session: Session) -> None:
    session.middleware.add("tool_request", "to-b", to_b)


async def test_without_extensions_nothing_is_written_down() -> None:
    with extended(Look()) as run:
        await turn(run, lambda _session: None)
        assert invoked(run) == []


async def test_rewritten_arguments_are_what_is_run_and_the_conversation_keeps_the_models_own() -> None:
    look = Look()
    with extended(look) as run:
        await turn(run, rewriting)
        assert look.ran == [{"path": "b"}]
        assert json.loads(run.named("tool_exec_started")["arguments"]) == {"path": "b"}
        assert [c.arguments for m in run.messages() for c in m.calls] == ['{"path": "a"}']
        assert invoked(run) == [("tool_request", "to-b", "changed")]
        assert run.results() == [("t1", "seen", False)]


@pytest.mark.parametrize("path", ["b", "b" * 400_000], ids=["small", "large"])
async def test_a_person_approves_the_rewritten_arguments_and_is_told_so(path: str) -> None:
    look = Look(Safety.WRITE)
    with extended(look, approve="ask") as run:
        run.submit()
        async with run.worker() as made:
            made.session.middleware.add("tool_request", "other", lambda _tool, _text: json.dumps({"path": path}))
            task = asyncio.create_task(made.run())
            (asked,) = await run.seen("tool_approval_requested")
            assert len(asked["arguments"]) < 1_000
            assert asked["why"] == "approvals are set to ask; a middleware rewrote the arguments"
            source = StoreSource(Env(run.root, {}, project=Project(run.root)), SESSION)
            assert json.loads(source.arguments("t1")) == {"path": path}
            run.send(cmd.Decide("allow", asked["approval_id"]))
            await asyncio.wait_for(task, PATIENCE_S)
        assert look.ran == [{"path": path}]


async def test_a_person_is_shown_the_models_arguments_where_nobody_rewrote_them() -> None:
    with extended(Look(Safety.WRITE), approve="ask") as run:
        run.submit()
        async with run.serving():
            (asked,) = await run.seen("tool_approval_requested")
            assert asked["arguments"] is None
            source = StoreSource(Env(run.root, {}, project=Project(run.root)), SESSION)
            assert json.loads(source.arguments("t1")) == {"path": "a"}
            run.send(cmd.Decide("deny", asked["approval_id"]))


async def test_a_middleware_that_fails_before_a_call_is_its_result_and_the_run_goes_on() -> None:
    def fails(_tool: str, _arguments: str) -> str:
        raise ValueError("closed")

    look = Look()
    with extended(look) as run:
        await turn(run, lambda session: session.middleware.add("tool_request", "guard", fails))
        expected = "not run: the tool_request middleware guard failed: ValueError: closed"
        assert run.results() == [("t1", expected, True)]
        assert run.events("tool_exec_started") == []
        assert invoked(run) == [("tool_request", "guard", "error")]
        assert (look.ran, run.ending) == ([], "natural")


async def fails_after(_call: ToolCallBlock, proceed: Proceed[ToolOutcome]) -> ToolOutcome:
    await proceed()
    raise ValueError("late")


async def fails_before(_call: ToolCallBlock, _proceed: Proceed[ToolOutcome]) -> ToolOutcome:
    raise ValueError("early")


async def answers(_call: ToolCallBlock, _proceed: Proceed[ToolOutcome]) -> ToolOutcome:
    return ToolOutcome("from a cache")


async def marks(_call: ToolCallBlock, proceed: Proceed[ToolOutcome]) -> ToolOutcome:
    outcome = await proceed()
    return msgspec.structs.replace(outcome, text=outcome.text + ", marked")


EARLY = "not run: the tool_execution middleware m failed: ValueError: early"


@pytest.mark.parametrize(
    ("target", "text", "ran", "status"),
    [
        (fails_after, "seen", True, "error"),
        (fails_before, EARLY, False, "error"),
        (answers, "from a cache", False, "changed"),
        (marks, "seen, marked", True, "changed"),
    ],
)
async def test_middleware_around_a_call_runs_it_once_at_most(target: Any, text: str, ran: bool, status: str) -> None:
    look = Look()
    with extended(look) as run:
        await turn(run, lambda session: session.middleware.add("tool_execution", "m", target))
        assert run.results() == [("t1", text, text == EARLY)]
        assert len(look.ran) == int(ran)
        assert run.named("tool_exec_ended")["executed"] is ran
        assert invoked(run) == [("tool_execution", "m", status)]
        assert run.ending == "natural"


async def test_a_tool_that_times_out_is_an_outcome_like_any_other_to_the_middleware() -> None:
    async def hangs(_arguments: str) -> ToolOutcome:
        await asyncio.Event().wait()
        raise AssertionError

    tools = toolbox(StubTool("look", hangs, Safety.EXECUTE))
    with bench(ScriptedProvider(calls(asks("look", "t1"))), tools=tools) as run:
        run.deadline_s = 0.05
        await turn(run, lambda session: session.middleware.add("tool_execution", "marks", marks))
        assert run.results() == [("t1", "timed out after 0 s, marked", True)]


async def test_a_run_passes_through_every_join_point() -> None:
    async def passes(_subject: Any, proceed: Proceed[Any]) -> Any:
        return await proceed()

    def prepare(session: Session) -> None:
        session.middleware.add("tool_request", "m", lambda _tool, arguments: arguments)
        session.middleware.add("llm_request", "m", lambda request: request)
        for join_point in EXECUTIONS:
            session.middleware.add(join_point, "m", passes)

    with extended(Look()) as run:
        await turn(run, prepare)
        assert {name for name, _, _ in invoked(run)} == set(JoinPoint)
        assert run.ending == "natural"


async def test_observers_are_told_of_every_event_of_a_run_once_and_in_order() -> None:
    told: list[tuple[int, str]] = []

    def sees(event: str, payload: dict[str, Any]) -> None:
        told.append((payload["event_id"], event))

    def fails(_event: str, _payload: dict[str, Any]) -> None:
        raise ValueError("no")

    def prepare(session: Session) -> None:
        session.journal.observers.subscribe("*", sees, extension="sees")
        session.journal.observers.subscribe("turn_completed", fails, extension="fails")

    with extended(Look()) as run:
        await turn(run, prepare)
        assert [number for number, _ in told] == sorted({number for number, _ in told})
        names = [name for name, _ in run.events()]
        assert [name for _, name in told] == names
        assert run.payloads("observer_failed") == [{"observer": "fails", "error": "turn_completed: ValueError: no"}]
        assert run.ending == "natural"
