"""Watches a session's provider cache: what each request should have read from it, and what it cost where it did not."""

from __future__ import annotations

import msgspec

from geode_tui.context.cache import (
    MessageNames,
    Sent,
    break_between,
    caches,
    layers_of,
    loss_micro,
    name_of,
)
from geode_tui.context.estimate import plausible
from geode_tui.core.events import CacheBroken, CacheHitLow, LlmCallEnded, Payload
from geode_tui.core.messages import Message
from geode_tui.core.native import compacts
from geode_tui.core.text import clean_line
from geode_tui.core.tools import ToolSpec
from geode_tui.core.usage import CacheUse, Usage
from geode_tui.providers.base import Finished, Request, SystemPart
from geode_tui.routes.catalog import Route


class Answered(msgspec.Struct, frozen=True):
    """A request that was answered, and what it says of the cache: that it was broken, that too little is read."""

    sent: Sent
    events: tuple[Payload, ...]


class CacheWatch:
    """Knows the last request of the conversation, and the session's use of the cache so far. ``told`` is whether it was
    told that too little is read. ``diagnosed`` is whether the provider is asked why it missed.
    """

    def __init__(self, use: CacheUse = CacheUse(), *, told: bool = False) -> None:  # noqa: B008 - frozen
        self.diagnosed = False
        self._use = use
        self._told = told
        self._names = MessageNames()
        self._before: Sent | None = None

    def compare_with(self, route: Route) -> str | None:
        """What `providers.base.Request` takes under that name."""
        if not self.diagnosed:
            return None
        before = self._before
        return before.response_id if before is not None and before.route[1:] == route.key[1:] else ""

    def answered(self, call_id: str, request: Request, route: Route, answer: Finished, sent_at: float) -> Answered:
        """Compare an answered ``request`` with the one before. Nothing is taken note of before `keep`.

        ``sent_at`` is epoch seconds; prices are those of that moment.
        """
        static, dynamic = halves(request.system)
        settings = (request.tool_choice, request.thinking, request.thinking_budget, request.effort)
        names = self._names.of(request.messages)
        usage = answer.usage if plausible(answer.usage.prompt_tokens, route) else Usage()
        sent = Sent(
            route=route.key,
            layers=layers_of(request.tools, static, dynamic, settings, names),
            usage=usage,
            at=sent_at,
            response_id=answer.response_id,
            names=names,
            caches=caches(route, usage, self._before),
        )
        found = (self._broken(call_id, sent, route, answer), self._low(self._use.plus(usage)))
        return Answered(sent, tuple(event for event in found if event is not None))

    def _low(self, use: CacheUse) -> CacheHitLow | None:
        return CacheHitLow(use.read, use.cacheable) if use.low and not self._told else None

    def _broken(self, call_id: str, sent: Sent, route: Route, answer: Finished) -> CacheBroken | None:
        if self._before is None:
            return None
        said = answer.cache_miss.reason if answer.cache_miss is not None else ""
        found = break_between(self._before, sent, said or _edited(answer))
        if found is None:
            return None
        return CacheBroken(
            call_id=call_id,
            cause=found.difference.cause,
            tokens=found.tokens,
            cost_micro=loss_micro(route, sent.usage, found.tokens, sent.at),
            said=clean_line(said, 60),
            position=found.difference.position,
        )

    def keep(self, sent: Sent) -> None:
        """The next request is compared with this one."""
        self._use = self._use.plus(sent.usage)
        self._told = self._told or self._use.low
        self._before = sent

    def restore(self, call: LlmCallEnded, route: Route, ended_at: float) -> None:
        """Go on from a call that another worker made: the next request is compared with what the log says of it.

        Does nothing where this worker made a request itself, of which it knows more.
        """
        if self._before is not None or call.layers is None:
            return
        key = (call.model, call.provider, call.source)
        usage = Usage() if call.context.suspect else call.usage
        sent_at = ended_at - call.latency_ms / 1000
        known = route.key == key and caches(route, usage, None)
        self._before = Sent(key, call.layers, usage, sent_at, call.response_id, caches=known)


def _edited(answer: Finished) -> str:
    """What the provider itself changed before the model read the prompt, as a provider's word for the cause."""
    if compacts(Message("assistant", answer.blocks)):
        return "context_compacted"
    return "messages_changed" if answer.cleared is not None else ""


def halves(system: tuple[SystemPart, ...]) -> tuple[str, str]:
    """The part of a system prompt that stays as it is, up to its last cache mark, and the part that may change."""
    marked = [i for i, part in enumerate(system) if part.cache]
    end = marked[-1] + 1 if marked else len(system)
    return _joined(system[:end]), _joined(system[end:])


def cache_key(session_id: str, route: Route, system: tuple[SystemPart, ...], tools: tuple[ToolSpec, ...]) -> str:
    """Names the static prefix of a session's requests: sessions that share it share what is cached (RUNTIME.md 7).

    A subscription takes the key for the conversation's own name, so there it is the session's.
    """
    return session_id if route.source == "subscription" else f"geode-{name_of([halves(system)[0], tools])}"


def _joined(parts: tuple[SystemPart, ...]) -> str:
    return "\n\n".join(part.text for part in parts)
