"""Every wire the adapters speak, against the lab: one table for the tests of what all of them have in common."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from geode_tui.core.messages import Message, user_text
from geode_tui.core.tools import ToolSpec
from geode_tui.providers.anthropic import AnthropicProvider
from geode_tui.providers.base import Delta, Finished, Provider, Request, StreamEvent, SystemPart
from geode_tui.providers.errors import ProviderError
from geode_tui.providers.openai_chat import ChatProvider
from geode_tui.providers.openai_responses import Codex, ResponsesProvider
from geode_tui.providers.wire import WireProvider
from tests.lab import Lab

KEY = "sk-test-0123456789abcdef"
GO = user_text("go")
SYSTEM = (SystemPart("Be brief.", "1h"), SystemPart("Today is Monday."))
READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


@dataclass(frozen=True)
class Route:
    """One wire: its adapter for a lab, a model it serves, and what it cannot do."""

    name: str
    model: str
    build: Callable[..., WireProvider[Any]]
    url: Callable[[Lab], str]
    thinks: bool = True
    """Whether reasoning is shown."""
    limits: bool = True
    """Whether it is told how much to write."""
    window: bool = True
    """Whether a prompt that does not fit is refused."""
    cached: bool = True
    """Whether it says what it read from a cache."""


def _chat(name: str, source: str) -> Callable[..., ChatProvider]:
    return lambda key, url, **options: ChatProvider(name, key, url, source=source, **options)


def _codex(key: str, url: str, **options: Any) -> ResponsesProvider:
    return ResponsesProvider(key, url, codex=Codex("account-1"), **options)


ANTHROPIC = Route("anthropic", "claude-sonnet-5", AnthropicProvider, lambda lab: lab.base_url)
BOUND = tuple(
    replace(ANTHROPIC, name=f"anthropic-{model}", model=model) for model in ("claude-opus-5-5", "claude-fable-5-1")
)
"""Those whose signed thinking holds only after what it was written after."""
RESPONSES = Route("responses", "gpt-6-sol", ResponsesProvider, lambda lab: lab.openai_url)
CODEX = Route("codex", "gpt-6-sol", _codex, lambda lab: lab.codex_url, limits=False)
CHAT = Route("chat", "gpt-5.4", _chat("openai", "payg"), lambda lab: lab.chat_url("openai"), thinks=False)
ROUTER = Route(
    "openrouter",
    "openrouter/anthropic/claude-sonnet-5",
    _chat("openrouter", "payg"),
    lambda lab: lab.chat_url("openrouter"),
)
ROUTER_SEALED = Route("openrouter-sealed", "openrouter/openai/gpt-6-sol", ROUTER.build, ROUTER.url)
GLM = Route("glm", "glm-5.3", _chat("glm", "payg"), lambda lab: lab.chat_url("glm"))
LOCAL = Route(
    "local", "qwen3:8b", _chat("local", "adapter"), lambda lab: lab.chat_url("ollama"), window=False, cached=False
)
ROUTES = (ANTHROPIC, RESPONSES, CODEX, CHAT, ROUTER, ROUTER_SEALED, GLM, LOCAL)

every_wire = pytest.mark.parametrize("route", [ANTHROPIC, RESPONSES, ROUTER], ids=lambda route: route.name)
"""For what does not differ between those who speak the same wire."""
SHORT = {ANTHROPIC, RESPONSES, CODEX, ROUTER}
"""Every wire once. The other routes differ from these in little, and are looked at in the long form."""


def _parameters(routes: Iterable[Route]) -> pytest.MarkDecorator:
    values = [pytest.param(r, id=r.name, marks=() if r in SHORT else pytest.mark.long) for r in routes]
    return pytest.mark.parametrize("route", values)


every_route = _parameters(ROUTES)


def routes_where(wanted: Callable[[Route], bool]) -> pytest.MarkDecorator:
    """Parametrises over the routes that can do something."""
    return _parameters(r for r in ROUTES if wanted(r))


@contextlib.asynccontextmanager
async def adapter(lab: Lab, route: Route, **options: Any) -> AsyncIterator[WireProvider[Any]]:
    """The route's adapter, pointed at ``lab``."""
    provider = route.build(KEY, route.url(lab), **options)
    try:
        yield provider
    finally:
        await provider.aclose()


def request(route: Route, *messages: Message, **more: Any) -> Request:
    """A small request; thinking is asked for in the words every wire understands."""
    given = {"system": SYSTEM, "messages": messages or (GO,), "max_tokens": 4_096, "thinking": "adaptive", **more}
    return Request(**{"model": route.model, **given})


async def events(provider: Provider, asked: Request) -> list[StreamEvent]:
    return [event async for event in provider.stream(asked)]


async def answer(provider: Provider, asked: Request) -> Finished:
    last = (await events(provider, asked))[-1]
    assert isinstance(last, Finished)
    return last


async def failure(lab: Lab, route: Route, **options: Any) -> tuple[ProviderError, list[StreamEvent]]:
    """The error of one request, and what had been streamed before it."""
    streamed: list[StreamEvent] = []
    async with adapter(lab, route, **options) as provider:
        with pytest.raises(ProviderError) as caught:
            await _collect(provider, request(route), streamed)
    assert KEY not in f"{caught.value} {caught.value.message}"
    return caught.value, streamed


async def _collect(provider: Provider, asked: Request, into: list[StreamEvent]) -> None:
    async for event in provider.stream(asked):
        into.append(event)  # noqa: PERF401 - what came before an error must be kept


def said(streamed: list[StreamEvent], kind: str = "text") -> str:
    """What was streamed of a kind, joined."""
    return "".join(e.text for e in streamed if isinstance(e, Delta) and e.kind == kind)
