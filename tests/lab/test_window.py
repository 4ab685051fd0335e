"""The lab's window on every wire: what it takes, what it refuses and how, and what it tells of it afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from geode_tui.context.prompt import static_prompt
from geode_tui.context.summary_source import SUMMARY_SYSTEM
from geode_tui.core.messages import user_text
from geode_tui.providers.base import SystemPart
from geode_tui.providers.errors import ErrorKind, ProviderError
from tests.lab import Lab
from tests.lab.kinds import AGENT, kind_of
from tests.providers.wires import LOCAL, READ, Route, adapter, answer, every_wire, request, routes_where

AGENTS = (SystemPart(static_prompt()),)
SUMMARY = (SystemPart(SUMMARY_SYSTEM),)
LONG = user_text("word " * 4_000)
"""About 5,000 tokens by the lab's count."""

windowed = routes_where(lambda route: route.window)


async def refused(lab: Lab, route: Route, **more: Any) -> ProviderError:
    async with adapter(lab, route) as provider:
        with pytest.raises(ProviderError) as caught:
            await answer(provider, request(route, **more))
    return caught.value


@windowed
async def test_a_prompt_is_refused_where_the_window_really_ends_not_where_it_is_said_to(route: Route) -> None:
    asked = request(route, LONG)
    async with Lab(window=20_000) as lab, adapter(lab, route) as provider:
        await answer(provider, asked)
        largest = lab.sent.largest
    assert 5_000 < largest < 6_000
    async with Lab(window=20_000, reject_at=0.2) as lab, adapter(lab, route) as provider:
        with pytest.raises(ProviderError) as caught:
            await answer(provider, asked)
        await answer(provider, request(route, max_tokens=100))
        report = lab.sent
    assert caught.value.kind is ErrorKind.CONTEXT_OVERFLOW
    assert (report.requests, report.rejections, report.largest) == (2, 1, largest)
    assert report.largest_taken < 1_000


@windowed
async def test_the_agents_requests_never_fit_while_others_do(route: Route) -> None:
    async with Lab(always_overflow=True) as lab:
        error = await refused(lab, route, system=AGENTS, tools=(READ,))
        async with adapter(lab, route) as provider:
            await answer(provider, request(route, system=SUMMARY))
        assert error.kind is ErrorKind.CONTEXT_OVERFLOW
        assert lab.sent.kinds == ("turn", "summary")
        assert [received.overflow for received in lab.requests] == [True, False]


@every_wire
async def test_every_wire_tells_what_a_request_is_for(route: Route) -> None:
    async with Lab() as lab, adapter(lab, route) as provider:
        for system in (AGENTS, SUMMARY, (SystemPart("Be brief."),)):
            await answer(provider, request(route, system=system))
        assert lab.sent.kinds == ("turn", "summary", "other")
        assert [lab.sent.count(kind) for kind in ("turn", "summary", "other")] == [1, 1, 1]


async def test_a_server_that_cuts_is_measured_as_well() -> None:
    async with Lab(window=1_000) as lab, adapter(lab, LOCAL) as provider:
        await answer(provider, request(LOCAL, LONG))
        assert lab.sent.rejections == 0
        assert lab.sent.largest > 5_000


async def test_the_report_of_a_lab_that_was_asked_nothing_is_empty() -> None:
    async with Lab() as lab:
        assert (lab.sent.requests, lab.sent.largest, lab.sent.kinds) == (0, 0, ())


def test_the_agent_is_known_by_how_its_prompt_begins() -> None:
    assert static_prompt().startswith(AGENT)
    assert kind_of({"system": static_prompt() + "\nWrite no summary.", "messages": []}) == "turn"
