"""Why a prompt was not read from its provider's cache: one request compared with the one before it. Pure.

A cache holds prefixes: the tools, then the system prompt, then the messages (RUNTIME.md 7). The first layer that
differs is the cause, and what lies behind it is paid for again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from geode_tui.core.layers import CacheCause, PromptLayers
from geode_tui.core.messages import Message
from geode_tui.core.usage import Usage
from geode_tui.routes.catalog import Route
from geode_tui.routes.prices import cost_micro

STEP_TOKENS = 128
"""OpenAI caches in steps of this size: a prefix may end this much before what was sent (its prompt caching guide)."""
LEAST_TOKENS = 1_024
"""The shortest prefix that OpenAI caches. What is lost for no known reason counts from here on."""
_LIVES_S = {"anthropic": (300.0, 3_600.0), "openai": (1_800.0, 86_400.0)}
_LIFE_S = (300.0, 86_400.0)
"""Seconds that an entry lives after its last use, at least and at most (both vendors' prompt caching guides): at
Anthropic as long as its mark says, at OpenAI longer than is promised. Of others nothing is promised."""
_IMPLICIT = frozenset({"openai", "glm"})
"""Providers that cache every long prompt, whether or not they say what they wrote."""

_SAID: dict[str, tuple[CacheCause, ...]] = {
    "model_changed": ("model",),
    "tools_changed": ("tools",),
    "system_changed": ("system", "dynamic"),
    "messages_changed": ("message", "removed", "settings"),
    "input_changed": ("message", "removed", "dynamic", "system"),
    "prompt_cache_key_changed": ("key", "tools", "system"),
    "reasoning_effort_changed": ("settings",),
    "verbosity_changed": ("settings",),
    "text_format_changed": ("settings",),
    "service_tier_changed": ("settings",),
    "context_compacted": ("compacted",),
}
"""What a provider's word can mean here, its plain meaning first."""


class Sent(msgspec.Struct, frozen=True):
    """A request that was answered. ``at`` is when it was sent, epoch seconds; ``names`` are those of its messages,
    empty where only the layers are known. ``caches`` tells whether its route is known to cache.
    """

    route: tuple[str, str, str]
    layers: PromptLayers
    usage: Usage
    at: float
    response_id: str = ""
    names: tuple[str, ...] = ()
    caches: bool = False


class Difference(msgspec.Struct, frozen=True):
    """The first difference between two requests; ``position`` is that of a message, from 1, 0 where it is not known."""

    cause: CacheCause
    position: int = 0


class Break(msgspec.Struct, frozen=True):
    """``tokens`` of a prompt that could have been read from the cache and were not."""

    difference: Difference
    tokens: int
    said: str = ""


class MessageNames:
    """Names of the messages of a conversation that grows, each made once."""

    def __init__(self) -> None:
        self._messages: tuple[Message, ...] = ()
        self._names: tuple[str, ...] = ()

    def of(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """The name of each message: of what is sent of it, so not of where it came from."""
        known = zip(self._messages, messages, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], known))
        added = (name_of([message.role, message.blocks]) for message in messages[same:])
        self._messages, self._names = tuple(messages), (*self._names[:same], *added)
        return self._names


def name_of(value: Any) -> str:
    """A short name of ``value``'s JSON text, keys in the order they are sent in."""
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=8).hexdigest()


def layers_of(tools: Iterable[Any], system: str, dynamic: str, settings: Any, names: Sequence[str]) -> PromptLayers:
    """The layers of a request. ``settings`` is all else that shapes its answer, ``names`` those of its messages."""
    return PromptLayers(
        name_of(list(tools)), name_of(system), name_of(dynamic), name_of(settings), name_of(names), len(names)
    )


def difference(before: Sent, after: Sent) -> Difference | None:
    """What of ``before`` is not at its place in ``after``; None where ``after`` only adds messages."""
    if before.route != after.route:
        return Difference("model")
    old, new = before.layers, after.layers
    layers: tuple[tuple[CacheCause, str, str], ...] = (
        ("tools", old.tools, new.tools),
        ("system", old.system, new.system),
        ("dynamic", old.dynamic, new.dynamic),
        ("settings", old.settings, new.settings),
    )
    for cause, one, other in layers:
        if one != other:
            return Difference(cause)
    if name_of(after.names[: old.messages]) == old.history:
        return None
    return _message_difference(before.names, after.names)


def _message_difference(old: Sequence[str], new: Sequence[str]) -> Difference:
    if not old:
        return Difference("message")
    place = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    gone = place >= len(new) or new[place] in old[place + 1 :]
    return Difference("removed" if gone else "message", place + 1)


def cached_tokens(sent: Sent) -> int | None:
    """How much of a request's prompt its provider keeps in its cache; None where it says nothing of its cache.

    Whoever reports what was written keeps just that and what was read. The others keep the whole prompt, in steps,
    where they cache at all.
    """
    usage = sent.usage
    written = (usage.cache_write_5m_tokens, usage.cache_write_1h_tokens)
    if written != (None, None):
        return (usage.cache_read_tokens or 0) + sum(tokens or 0 for tokens in written)
    if usage.cache_read_tokens is None:
        return None
    whole = usage.prompt_tokens - usage.prompt_tokens % STEP_TOKENS
    return whole if sent.caches and whole >= LEAST_TOKENS else 0


def caches(route: Route, usage: Usage, before: Sent | None) -> bool:
    """Whether a route is known to cache: by its name, or because it read something once."""
    same = before is not None and before.route == route.key and before.caches
    return same or route.provider in _IMPLICIT or bool(usage.cache_read_tokens)


def lost_tokens(before: Sent, after: Sent) -> int:
    """Tokens that ``after`` could have read from the cache and did not. What it does not send any more is not lost."""
    kept, read = cached_tokens(before), after.usage.cache_read_tokens
    if kept is None or read is None:
        return 0
    return max(0, min(kept, after.usage.prompt_tokens) - read)


def break_between(before: Sent, after: Sent, said: str = "") -> Break | None:
    """The cache break that ``after`` met, or None. ``said`` is its provider's own word for the cause, if it has one."""
    found = _cause(before, after, said)
    lost = lost_tokens(before, after)
    return Break(found, lost, said) if lost >= (LEAST_TOKENS if found.cause == "unknown" else STEP_TOKENS) else None


def _cause(before: Sent, after: Sent, said: str) -> Difference:
    """The provider's word first, made exact by what is known here. Where nothing can be left of the cache, time is the
    cause, whatever changed meanwhile.
    """
    own, gap_s = difference(before, after), after.at - before.at
    shortest_s, longest_s = _LIVES_S.get(before.route[1], _LIFE_S)
    if meant := _SAID.get(said):
        return own if own is not None and own.cause in meant else Difference(meant[0])
    if own is not None and gap_s <= longest_s:
        return own
    return Difference("expired" if gap_s > shortest_s else "unknown")


def loss_micro(route: Route, usage: Usage, lost: int, ts: float) -> int | None:
    """What ``usage`` cost more than if ``lost`` tokens of it had been read, micro-dollars; None without a price."""
    paid, read = cost_micro(route, usage, ts), cost_micro(route, as_read(usage, lost), ts)
    return None if paid is None or read is None else max(0, paid - read)


def as_read(usage: Usage, lost: int) -> Usage:
    """``usage`` as it would have been with ``lost`` more tokens read: those written for an hour stand before those
    written for five minutes, and these before what was not cached.
    """
    long = min(lost, usage.cache_write_1h_tokens or 0)
    short = min(lost - long, usage.cache_write_5m_tokens or 0)
    plain = min(lost - long - short, usage.input_tokens)
    return msgspec.structs.replace(
        usage,
        input_tokens=usage.input_tokens - plain,
        cache_read_tokens=(usage.cache_read_tokens or 0) + long + short + plain,
        cache_write_5m_tokens=_less(usage.cache_write_5m_tokens, short),
        cache_write_1h_tokens=_less(usage.cache_write_1h_tokens, long),
    )


def _less(tokens: int | None, by: int) -> int | None:
    return None if tokens is None else tokens - by
