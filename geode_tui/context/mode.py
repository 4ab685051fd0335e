"""How a conversation may be compacted on a route: by the provider, by texts of ours, or not at all. Pure.

What a provider's own block stands for may not be replaced by anybody else's text (RUNTIME.md 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from geode_tui.context.conversation import Conversation
from geode_tui.context.protect import has_native
from geode_tui.context.view import Item, View
from geode_tui.core.views import Mode
from geode_tui.routes.catalog import Route

THRESHOLD_STANDS = (
    "the history holds a compaction block that its provider wrote by itself, so nothing of it may be replaced here:"
    " the provider compacts again when it fills up; undo takes the block back, and a fork can begin before it"
)
ON_DEMAND_STANDS = (
    "the history begins with a compaction block of its provider, so no text of ours may stand for a part of it: only"
    " the provider can compact it again"
)


class Ways(msgspec.Struct, frozen=True):
    """``native``: the provider may be asked for a compaction now. ``text``: texts of ours may stand for a part, and
    parts may be left out; ``why`` is the one line that says why not.
    """

    mode: Mode
    native: bool
    text: bool
    why: str = ""


def ways(conversation: Conversation, route: Route) -> Ways:
    """What may be done to ``conversation`` for the sake of ``route``."""
    return ways_of(conversation.items, conversation.view, route)


def ways_of(items: Sequence[Item], view: View, route: Route) -> Ways:
    """The same, of a transcript under a view."""
    if has_native(items, view):
        return Ways("threshold", native=False, text=False, why=THRESHOLD_STANDS)
    if view.native is not None:
        return Ways("on_demand", native=route.compacts_on_demand, text=False, why=ON_DEMAND_STANDS)
    if route.contract == "unknown":
        return Ways("text", native=False, text=False, why=unknown(route))
    mode: Mode = "threshold" if route.contract == "threshold" else "text"
    return Ways(mode, native=route.compacts_on_demand, text=True)


def unknown(route: Route) -> str:
    """Why nothing is replaced on a route whose rules are not known."""
    return (
        f"it is not known what {route.model} accepts in place of its own history, so nothing is replaced:"
        " choose a model that is listed, or start a new session"
    )
