"""Whether a conversation can go on with another model, and what of it travels (RUNTIME.md 2.10). Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from geode_tui.core.events import ContextFigures
from geode_tui.core.messages import Message, OpaqueBlock, ThinkingBlock
from geode_tui.routes.catalog import Route

REASONING = frozenset({"redacted_thinking", "reasoning", "reasoning_details"})
"""Kinds of blocks without which a conversation still says the same: another provider's are left out."""


def tag_of(route: Route) -> str:
    """The name under which a route's adapter marks its own blocks."""
    return "codex" if (route.provider, route.source) == ("openai", "subscription") else route.provider


def travelling(message: Message, route: Route) -> Message:
    """``message`` as it is sent on ``route``: other providers' own blocks stay behind."""
    tag = tag_of(route)
    kept = tuple(b for b in message.blocks if not isinstance(b, ThinkingBlock | OpaqueBlock) or b.provider == tag)
    return message if len(kept) == len(message.blocks) else msgspec.structs.replace(message, blocks=kept)


def refusal(messages: Sequence[Message], route: Route, gauge: ContextFigures) -> str:
    """Why the conversation cannot go on with ``route``, as one line; empty where it can.

    It must fit the route's budget, which ``gauge`` shows for what of it travels, and whatever stands for a part of it
    must be readable there: a compaction block is read by its own provider only.
    """
    tag = tag_of(route)
    for block in (b for m in messages for b in m.blocks if isinstance(b, OpaqueBlock)):
        if block.provider != tag and block.kind not in REASONING:
            return (
                f"the conversation holds a {block.kind} block that only {block.provider} can read:"
                f" {route.model} goes into a new session"
            )
    if gauge.used > gauge.budget:
        return (
            f"the conversation needs about {gauge.used} tokens and {gauge.budget} fit with {route.model}:"
            " choose a model with a larger window, or start a new session"
        )
    return ""


def mixes_money(spent_micro: int, *, simulated: bool, target_simulated: bool) -> str:
    """Why a switch would add money that is real to money that is not, as one line; empty where it would not."""
    if not spent_micro or simulated == target_simulated:
        return ""
    real, other = ("simulated", "real") if simulated else ("real", "simulated")
    return f"this run's money is {real} and that model's is {other}: start a new session with it"
