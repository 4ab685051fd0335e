"""What a provider is asked to take off a request's prompt by itself, by its route and its budget. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from geode_tui.context.protect import RECALL, SKILL
from geode_tui.context.view import View
from geode_tui.core.messages import Message
from geode_tui.core.native import is_native
from geode_tui.core.views import Version
from geode_tui.providers.base import Edits
from geode_tui.routes.budget import NATIVE_FLOOR, Budget, native_trigger
from geode_tui.routes.catalog import Route

LEAST_KEPT = 5
"""Newest tool results that are never cleared (RUNTIME.md 3.1); all those of the last batch are kept."""
LEAST_CLEARED_PERCENT = 5
"""Of the prompt budget: clearing less is not worth the cached prefix that it costs (RUNTIME.md 3.1)."""


def edits_for(route: Route, budget: Budget, messages: Sequence[Message], view: View) -> Edits:
    """The edits of a request on ``route`` whose prompt may take ``budget`` and is sent as ``view`` has it.

    None where the route offers none. No compaction where the window is too small for the least trigger that the
    provider takes, nor beside a block that it wrote when asked: it does not take both. A block that it wrote by itself
    is read only where another compaction may follow, so that asks for one in any case.
    """
    trigger = _trigger(budget, view.held)
    if any(map(is_native, (block for message in messages for block in message.blocks))):
        trigger = max(trigger, NATIVE_FLOOR)
    may = route.threshold_compaction and view.native is None and trigger >= NATIVE_FLOOR
    compact_at = trigger if may else None
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


def _trigger(budget: Budget, held: Version | None) -> int:
    """At the warning. After a step back of the person's to above that only where what is left by it is used up, or it
    would be done again at once.
    """
    usual = native_trigger(budget)
    if held is None or held.tokens_after < usual:
        return usual
    return max(usual, budget.critical if held.tokens_after < budget.critical else budget.prompt)
