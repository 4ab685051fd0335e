"""What of a message goes along to another provider. Pure."""

from __future__ import annotations

import msgspec

from geode_tui.core.messages import Message, OpaqueBlock, ThinkingBlock
from geode_tui.routes.catalog import Route


def tag_of(route: Route) -> str:
    """The name under which a route's adapter marks its own blocks."""
    return "codex" if (route.provider, route.source) == ("openai", "subscription") else route.provider


def travelling(message: Message, route: Route) -> Message:
    """``message`` as it is sent on ``route``: other providers' own blocks stay behind."""
    tag = tag_of(route)
    kept = tuple(b for b in message.blocks if not isinstance(b, ThinkingBlock | OpaqueBlock) or b.provider == tag)
    return message if len(kept) == len(message.blocks) else msgspec.structs.replace(message, blocks=kept)
