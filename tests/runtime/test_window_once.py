"""One pass over the window a request, and who has a say in it: the fit check, soft steps, middleware, a switch."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from geode_tui.context.view import View
from geode_tui.core.messages import user_text
from geode_tui.core.text import Redactor
from geode_tui.log import commands as cmd
from geode_tui.providers.base import Request, SystemPart
from geode_tui.routes.catalog import Route
from geode_tui.runtime.middleware_requests import Changed
from geode_tui.runtime.opened import OpenedRoute
from geode_tui.runtime.request import RequestPath, exhausted, fits
from geode_tui.runtime.session import Session
from tests.runtime.harness import PATIENCE_S, Bench, bench
from tests.runtime.test_window import TASK, looks
from tests.runtime.window_model import WindowModel, prompt_tokens, small_route, summary_of


def summarising(rounds: int, summary: str | None = None, **facts: Any) -> WindowModel:
    """A model of many rounds whose summary keeps the task."""
    return WindowModel(rounds, summary=lambda request: summary_of(TASK) if summary is None else summary, **facts)


async def turn(run: Bench, prepare: Callable[[Session], None], text: str = TASK) -> None:
    """One turn of a worker whose session ``prepare`` has extended."""
    run.submit(text)
    async with run.worker() as made:
        prepare(made.session)
        await asyncio.wait_for(made.run(), PATIENCE_S)


def passes(run: Bench) -> list[int]:
    """How many passes over the window began before each request of a turn."""
    names = [
        "pass" if name == "maintenance_started" else "call"
        for name, payload in run.events("maintenance_started", "llm_call_started")
        if name == "maintenance_started" or payload["purpose"] == "turn"
    ]
    return [len(list(group)) for name, group in itertools.groupby(names) if name == "pass"]


# -- the fit check ----------------------------------------------------------------------------------------------------
async def test_the_fit_check_changes_nothing_and_asks_nobody() -> None:
    asked: list[Any] = []

    def hooked(session: Session) -> None:
        session.hooks.register("PreCompact", asked.append, extension="watches")
        session.journal.observers.subscribe("*", lambda name, _payload: asked.append(name), extension="watches")

    with bench(summarising(12), tools=looks(500)) as run:
        run.route = small_route(200_000)
        await run.turn(TASK)
        async with run.worker() as made:
            session = made.session
            hooked(session)
            await session.reload()
            session.route = session.conversation.route = msgspec.structs.replace(session.route, window=36_000)
            before, events = frozen(session), run.last_event
            need = RequestPath(session, Redactor()).need()
            gauge = session.conversation.figures(need.budget, need.prefix, simulated=need.simulated)
            assert not fits(gauge), "what does not fit would have to be made smaller"
            assert "Nothing was reset" in exhausted(gauge)
            assert session.conversation.figures(need.budget, need.prefix, simulated=need.simulated) == gauge
            assert frozen(session) == before
            assert (run.last_event, asked) == (events, [])


def frozen(session: Session) -> bytes:
    """Everything of a session that a check could change, but for its gauge."""
    conversation = session.conversation
    state = [conversation.items, conversation.sent, conversation.messages, conversation.view.versions]
    return msgspec.json.encode([state, session.options, session.rounds, session.spent_micro, session.turn_calls])


async def test_a_run_that_always_fits_asks_no_extension_and_tells_of_no_pass() -> None:
    asked: list[Any] = []
    with bench(summarising(8), tools=looks(50)) as run:
        run.route = small_route(200_000)
        await turn(run, lambda session: session.hooks.register("PreCompact", asked.append, extension="watches"))
        assert run.ending == "natural"
        assert asked == []
        assert run.events("maintenance_started", "maintenance_ended", "view_changed", "context_critical") == []


# -- soft steps -------------------------------------------------------------------------------------------------------
async def test_a_soft_summary_that_fails_leaves_every_message_where_it_was() -> None:
    model = WindowModel(14, summary=lambda request: "")
    with bench(model, tools=looks(250)) as run:
        run.route = small_route(60_000)
        await run.turn("word " * 9_000 + TASK)
        failed = [p for p in run.payloads("maintenance_ended") if p["error_type"] == "summary_empty"]
        assert failed
        assert {p["trigger"] for p in failed} == {"warning"}
        assert run.session is not None
        conversation = run.session.conversation
        view = conversation.view
        only_stubs = msgspec.structs.replace(View(view.versions, view.active), stubs=view.stubs, cuts=view.cuts)
        assert view == only_stubs
        assert [s.seq for s in conversation.sent] == [item.seq for item in conversation.items]
        stored = {item.seq: item.message for item in conversation.items}
        assert all(s.message is stored[s.seq] for s in conversation.sent if s.seq not in view.stubs)


# -- middleware -------------------------------------------------------------------------------------------------------
def reads(request: Request) -> Request:
    return request


def less_output(request: Request) -> Request:
    return msgspec.structs.replace(request, max_tokens=8_000)


def other_system(request: Request) -> Changed:
    parts = (*request.system, SystemPart("Be brief."))
    return Changed(msgspec.structs.replace(request, system=parts), "the house style changed")


def other_messages(request: Request) -> Changed:
    return Changed(msgspec.structs.replace(request, messages=(user_text("something else"),)), "a test")


@pytest.mark.parametrize("target", [reads, less_output, other_system])
async def test_a_request_with_its_own_conversation_is_maintained_once(target: Any) -> None:
    model = summarising(40)
    with bench(model, tools=looks(700)) as run:
        run.route = small_route()
        await turn(run, lambda s: s.middleware.add("llm_request", "m", target, allow_cache_invalidation=True))
        assert run.ending == "natural"
        assert run.payloads("view_changed")
        assert set(passes(run)) == {1}
        assert max(map(prompt_tokens, model.turns)) < 40_000
        sent = model.turns[-1]
        assert (sent.max_tokens == 8_000) == (target is less_output)
        assert (sent.system[-1].text == "Be brief.") == (target is other_system)


async def test_a_request_with_another_conversation_is_not_maintained_and_neither_is_the_sessions_own() -> None:
    model = summarising(40)
    with bench(model, tools=looks(700)) as run:
        run.route = small_route()
        await turn(run, lambda s: s.middleware.add("llm_request", "m", other_messages, allow_cache_invalidation=True))
        assert run.ending == "natural"
        assert len(model.turns) == 41
        assert run.events("maintenance_started", "maintenance_ended", "view_changed", "context_critical") == []
        assert model.summaries == []


async def test_what_was_counted_of_another_conversation_says_nothing_of_the_sessions_own() -> None:
    model = summarising(40)
    with bench(model, tools=looks(700)) as run:
        run.route = small_route()
        await turn(run, lambda s: s.middleware.add("llm_request", "m", other_messages, allow_cache_invalidation=True))
        replaced = len(model.turns)
        await run.turn("and now with all of it")
        assert run.ending == "natural"
        assert run.payloads("view_changed"), "40 results of 700 words do not fit into 60,000 tokens"
        assert all(prompt_tokens(request) < 40_000 for request in model.turns[replaced:])


# -- another model ----------------------------------------------------------------------------------------------------
class Smaller:
    """A second model with a window of its own."""

    def __init__(self, run: Bench, window: int) -> None:
        self.model = summarising(0)
        self.route: Route = small_route(window, model="smaller")
        run.opener = self.open

    async def open(self, service: str, model: str, effort: str) -> OpenedRoute:
        return OpenedRoute(self.route.provider, self.route, self.model)


@pytest.mark.parametrize("window", [80_000, 60_000])
async def test_a_switch_to_a_smaller_window_has_the_old_model_make_room(window: int) -> None:
    model = summarising(40)
    with bench(model, tools=looks(700)) as run:
        run.route = small_route(200_000)
        await run.turn(TASK)
        other = Smaller(run, window)
        key = run.send(cmd.Model("smaller"))
        await run.turn("go on with it")
        assert run.outcome(key) == "done", run.detail(key)
        assert (len(model.summaries), other.model.summaries) == (1, [])
        assert run.payloads("view_changed")[0]["cause"] == "model_switch"
        assert run.ending == "natural"
        (request,) = other.model.turns
        assert prompt_tokens(request) < window - 32_768
        assert any("go on with it" in m.text for m in request.messages)


async def test_a_switch_that_cannot_fit_is_refused_with_what_can_be_done() -> None:
    model = summarising(8, summary="")
    with bench(model, tools=looks(3_000)) as run:
        run.route = small_route(200_000)
        await run.turn("word " * 40_000 + TASK)
        Smaller(run, 60_000)
        key = run.send(cmd.Model("smaller"))
        await run.turn("go on")
        assert run.outcome(key) == "refused"
        assert "/compact" in run.detail(key)
        assert run.state.model != "smaller"
        assert model.turns[-1].messages[-1].text == "go on"
        assert run.ending == "natural"
