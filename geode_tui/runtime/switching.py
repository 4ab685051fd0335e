"""Whether a conversation can go on with another model (RUNTIME.md 2.10). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from geode_tui.context.travel import tag_of
from geode_tui.core.events import ContextFigures
from geode_tui.core.messages import Message, OpaqueBlock
from geode_tui.core.native import is_native
from geode_tui.routes.catalog import Route

REASONING = frozenset({"redacted_thinking", "reasoning", "reasoning_details"})
"""Kinds of blocks without which a conversation still says the same: another provider's are left out."""


def refusal(messages: Sequence[Message], route: Route, gauge: ContextFigures) -> str:
    """Why the conversation cannot go on with ``route``, as one line; empty where it can.

    It must fit the route's budget, which ``gauge`` shows for what of it travels, and whatever stands for a part of it
    must be readable there: a compaction block is read by its own provider only, by those of its models that compact.
    """
    tag = tag_of(route)
    for block in (b for m in messages for b in m.blocks if isinstance(b, OpaqueBlock)):
        if is_native(block) and block.provider == tag and not (route.threshold_compaction or route.compacts_on_demand):
            return (
                f"the conversation holds a compaction block, which {route.model} does not read: it goes into a new"
                " session"
            )
        if block.provider != tag and block.kind not in REASONING:
            return (
                f"the conversation holds a {block.kind} block that only {block.provider} can read:"
                f" {route.model} goes into a new session"
            )
    if gauge.used > gauge.budget:
        return (
            f"the conversation needs about {gauge.used} tokens and {gauge.budget} fit with {route.model}:"
            " run /compact (or /compact --prune) first, or choose a model with a larger window"
        )
    return ""


def mixes_money(spent_micro: int, *, simulated: bool, target_simulated: bool) -> str:
    """Why a switch would add money that is real to money that is not, as one line; empty where it would not."""
    if not spent_micro or simulated == target_simulated:
        return ""
    real, other = ("simulated", "real") if simulated else ("real", "simulated")
    return f"this run's money is {real} and that model's is {other}: start a new session with it"
