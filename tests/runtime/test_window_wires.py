"""The window kept by itself and by hand over every wire: real adapters and sockets, and a lab that checks it all."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from geode_tui.context.pressure import Need
from geode_tui.context.preview import preview
from geode_tui.core.messages import answered, user_text
from geode_tui.core.tools import Safety
from geode_tui.log import commands as cmd
from geode_tui.providers.base import Request
from geode_tui.routes.budget import budget_of
from geode_tui.routes.catalog import Catalog
from geode_tui.runtime.middleware_requests import Changed
from geode_tui.runtime.opened import OpenedRoute
from geode_tui.runtime.tools.base import ToolOutcome
from tests.lab import Call, Lab, Say, ScriptStep, Think
from tests.lab.kinds import kind_of
from tests.lab.scripts import Step
from tests.lab.summaries import by_kind, good
from tests.providers.wires import ANTHROPIC, BOUND, KEY, ROUTES, SHORT, Route, adapter
from tests.runtime.harness import Bench, StubTool, bench

TASK = "Look at all parts of the ledger and never touch config.toml"
TEXTS = replace(ANTHROPIC, name="anthropic-claude-haiku-4-5", model="claude-haiku-4-5")
"""Its server does not compact: texts stand for what is older, as on every other vendor's wire."""
NOT_LONG = {*SHORT, TEXTS, BOUND[0]}
every_wire = pytest.mark.parametrize(
    "route",
    [pytest.param(r, id=r.name, marks=() if r in NOT_LONG else pytest.mark.long) for r in (*ROUTES, TEXTS, *BOUND)],
)


def native(route: Route) -> bool:
    """Whether the provider itself writes what stands for older messages there."""
    return Catalog().route(route.model, "anthropic", "payg").compacts_on_demand


WINDOW, ROUNDS = 60_000, 22


class Works:
    """A model that works on for as many rounds as it is told: a thought, ``words`` words, and ``calls`` calls."""

    def __init__(self, rounds: int, *, words: int = 20, calls: int = 1) -> None:
        self.rounds = rounds
        self.words = words
        self.calls = calls
        self.number = 0

    def __call__(self, body: dict[str, Any]) -> Step:
        if not self.rounds:
            return Say("done")
        self.rounds -= 1
        self.number += 1
        said = f"(said {self.number}) " + " ".join(f"v{self.number}x{n}" for n in range(self.words))
        calls = (Call("look", {"round": self.number, "part": part}) for part in range(self.calls))
        return (Think(f"(thought {self.number})"), Say(said, chunk=4_000), *calls)


def looks(words: int) -> dict[str, StubTool]:
    """A tool whose results are all different."""
    numbers = itertools.count(1)

    async def effect(_arguments: str) -> ToolOutcome:
        number = next(numbers)
        return ToolOutcome(f"(seen {number}) " + " ".join(f"w{number}x{n}" for n in range(words)))

    return {"look": StubTool("look", effect, Safety.READ)}


@contextlib.asynccontextmanager
async def working(route: Route, model: ScriptStep, *, words: int, window: int = 0) -> AsyncIterator[tuple[Bench, Lab]]:
    """A run on ``route``. ``window`` is that of the route and of the lab, tokens; 0 is the route's own."""
    answers = by_kind({"turn": model, "summary": good(TASK, "several parts were looked at")})
    lab = Lab(window=window or 10_000_000, otherwise=answers)
    async with lab, adapter(lab, route) as provider:
        with bench(provider, model=route.model, tools=looks(words)) as run:
            run.route = Catalog().route(route.model, provider.name, provider.source, window=window or None)
            yield run, lab


def turns(lab: Lab) -> list[dict[str, Any]]:
    """The bodies of the rounds, in order."""
    return [r.body for r in lab.requests if kind_of(r.body) == "turn"]


def marks(body: dict[str, Any], kind: str) -> set[int]:
    """The numbers of what a body holds of a kind: ``said``, ``seen`` or ``thought``."""
    return {int(number) for number in re.findall(rf"\({kind} (\d+)\)", json.dumps(body))}


# -- by hand ----------------------------------------------------------------------------------------------------------
async def changed(run: Bench, command: cmd.Command) -> dict[str, Any]:
    """What came of a command that changes the view of a session at rest."""
    key = run.send(command)
    await run.serve()
    assert run.outcome(key) == "done", run.detail(key)
    return run.payloads("view_changed")[-1]


@every_wire
async def test_a_preview_a_compaction_and_its_undo_leave_no_byte_changed(route: Route) -> None:
    async with working(route, Works(6, calls=2), words=200) as (run, lab):
        await run.turn(TASK)
        await run.turn("go on")
        never_compacted = lab.requests[-1].raw
    model = Works(6, calls=2)
    async with working(route, model, words=200) as (run, lab):
        await run.turn(TASK)
        session = run.session
        assert session is not None
        need = Need(session.route, budget_of(session.route, 32_768), session.prefix, simulated=False)
        shown = preview(session.conversation, need, keep=2)
        done = await changed(run, cmd.Compact(keep=2))
        assert shown.allowed
        assert shown.summarised is not None
        assert shown.summarised[1] == done["upto"]
        await changed(run, cmd.Undo())
        await run.turn("go on")
        assert lab.requests[-1].raw == never_compacted

        await changed(run, cmd.Compact(keep=2))
        model.rounds = 5
        await run.turn("five more")
        assert marks(turns(lab)[-1], "said") == {7, 8, 9, 10, 11}
        back = await changed(run, cmd.Undo())
        await run.turn("and now all of it")
        last = turns(lab)[-1]
        assert marks(last, "said") == set(range(1, 12))
        assert marks(last, "seen") == set(range(1, 23))
        assert lab.sent.count("compaction" if native(route) else "summary") == 2
        assert {r.status for r in lab.requests} == {200}
        bound = route in BOUND
        assert back["unbound"] == (5 if bound else 0)
        if route.thinks and route.name.startswith("anthropic"):
            assert marks(last, "thought") == set(range(1, 7 if bound else 12))


@pytest.mark.parametrize("route", [BOUND[0], pytest.param(BOUND[1], marks=pytest.mark.long)], ids=lambda r: r.name)
async def test_thinking_stays_valid_over_switches_between_models_that_bind_it_and_that_do_not(route: Route) -> None:
    model = Works(6)
    async with working(route, model, words=200) as (run, lab):
        wires = {route.model: route, ANTHROPIC.model: ANTHROPIC}

        async def opens(service: str, wanted: str, _effort: str) -> OpenedRoute:
            provider = wires[wanted].build(KEY, wires[wanted].url(lab))
            return OpenedRoute(service, Catalog().route(wanted, provider.name, provider.source), provider)

        async def goes_on(text: str, *before: cmd.Command) -> None:
            keys = [run.send(command) for command in before]
            model.rounds = 3
            await run.turn(text)
            assert [run.outcome(key) for key in keys] == ["done"] * len(keys), [run.detail(key) for key in keys]
            assert run.ending == "natural", run.end

        run.opener = opens
        await run.turn(TASK)
        await goes_on("on a free model", cmd.Compact(keep=2), cmd.Model(ANTHROPIC.model, "anthropic"))
        await goes_on("compacted there as well", cmd.Compact(keep=2))
        await goes_on("back", cmd.Model(route.model, "anthropic"))
        await goes_on("all of the second half", cmd.Undo())
        await goes_on("all of it", cmd.Undo())
        await goes_on("and short again", cmd.Redo())
        assert {r.status for r in lab.requests} == {200}
        assert {b["model"] for b in turns(lab)} == set(wires)


async def test_a_thought_after_another_conversation_is_given_up_once_its_provider_does_not_take_it() -> None:
    def other(request: Request) -> Changed:
        return Changed(msgspec.structs.replace(request, messages=(user_text("something else"),)), "a test")

    model = Works(3)
    async with working(BOUND[0], model, words=20) as (run, lab):
        run.submit(TASK)
        async with run.worker() as made:
            made.session.middleware.add("llm_request", "other", other, allow_cache_invalidation=True)
            await made.run()
        model.rounds = 2
        await run.turn("now with all of it")
        assert run.ending == "natural", run.end
        assert [r.status for r in lab.requests] == [200] * 4 + [400] + [200] * 3
        assert marks(turns(lab)[-1], "said") == {1, 2, 3, 4, 5}
        assert marks(turns(lab)[-1], "thought") == {4, 5}


async def test_another_conversation_that_is_refused_is_not_replaced_by_the_sessions_own() -> None:
    def edited(request: Request) -> Changed:
        first, *rest = request.messages
        return Changed(msgspec.structs.replace(request, messages=(user_text(f"({first.text})"), *rest)), "a test")

    async with working(BOUND[0], Works(3), words=20) as (run, lab):
        await run.turn(TASK)
        run.submit("go on")
        async with run.worker() as made:
            made.session.middleware.add("llm_request", "edited", edited, allow_cache_invalidation=True)
            await made.run()
        assert run.ending == "model_action_required"
        assert [r.status for r in lab.requests] == [200] * 4 + [400]


# -- by itself --------------------------------------------------------------------------------------------------------
@every_wire
async def test_a_small_window_is_kept_and_nothing_is_refused(route: Route) -> None:
    model = Works(ROUNDS)

    def grows(body: dict[str, Any]) -> Step:
        model.words = 400 if model.number < 14 else 1_700 if model.number < 18 else 5_200
        return model(body)

    window = WINDOW + (16_000 if route is TEXTS else 0)  # which thinks within its output limit
    async with working(route, grows, words=700, window=window) as (run, lab):
        await run.turn(TASK)
        assert run.ending == "natural", run.end
        assert {r.status for r in lab.requests} == {200}
        assert lab.sent.count("compaction" if native(route) else "summary") >= 1
        changes = run.payloads("view_changed")
        done = {name for change in changes for name in change["operations"]}
        if native(route):
            assert done == {"native"}, "once a block of the provider stands, nothing else may change"
            assert {change["mode"] for change in changes} == {"on_demand"}
        else:
            assert {"mask", "shrink", "summarise", "trim"} <= done
        assert all(change["tokens_after"] < change["tokens_before"] for change in changes)
        assert all(TASK in json.dumps(body) for body in turns(lab))
        assert answered(tuple(run.messages()))
        assert sum(m.role == "assistant" for m in run.messages()) == ROUNDS + 1, "the transcript has lost nothing"
        assert len(run.payloads("maintenance_started")) <= len(turns(lab))
        if route.name.startswith("anthropic"):
            lost = sum(map(len, map(thoughts_lost, *zip(*itertools.pairwise(turns(lab)), strict=True))))
            assert sum(change["unbound"] for change in changes) == lost
            assert (lost > 0) == (route in BOUND)


def thoughts_lost(before: dict[str, Any], after: dict[str, Any]) -> set[int]:
    """The thoughts that are not sent any more, or were not sent once, of answers that are."""
    answered_since = marks(after, "said") - marks(before, "said")
    return ((marks(before, "thought") | answered_since) - marks(after, "thought")) & marks(after, "said")
