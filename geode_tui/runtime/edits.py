"""What a provider is asked to take off a request's prompt by itself, by its route and its budget. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from geode_tui.context.protect import RECALL, SKILL
from geode_tui.core.messages import Message
from geode_tui.providers.base import Edits
from geode_tui.routes.budget import NATIVE_FLOOR, Budget, native_trigger
from geode_tui.routes.catalog import Route

LEAST_KEPT = 5
"""Newest tool results that are never cleared (RUNTIME.md 3.1); all those of the last batch are kept."""
LEAST_CLEARED_PERCENT = 5
"""Of the prompt budget: clearing less is not worth the cached prefix that it costs (RUNTIME.md 3.1)."""


def edits_for(route: Route, budget: Budget, messages: Sequence[Message]) -> Edits:
    """The edits of a request on ``route`` whose prompt may take ``budget``; none where the route offers none, no
    compaction where the window is too small for the least trigger that the provider takes.
    """
    trigger = native_trigger(budget)
    compact_at = trigger if route.threshold_compaction and trigger >= NATIVE_FLOOR else None
    if not route.clears_results:
        return Edits(compact_at)
    last = next((message.calls for message in reversed(messages) if message.calls), ())
    return Edits(
        compact_at=compact_at,
        clear_at=budget.warning,
        clear_keep=max(LEAST_KEPT, len(last)),
        clear_at_least=budget.prompt * LEAST_CLEARED_PERCENT // 100,
        clear_except=(SKILL, RECALL),
    )
