"""What a prompt is made of for a provider's cache, and why a part of it was not read from there."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

CacheCause: TypeAlias = Literal[
    "model", "tools", "system", "dynamic", "settings", "message", "removed", "compacted", "key", "expired", "unknown"
]
"""Why a cached prefix was not read: another model; another list of tools; the static or the dynamic part of the system
prompt; how the model was asked to answer (effort, thinking, whether tools may be called); a message that changed or is
gone; a summary; another cache key; time; or nothing that is known of."""


class PromptLayers(msgspec.Struct, frozen=True):
    """Names of the exact content of a prompt's layers, in the order in which a cache reads them. ``history`` names the
    first ``messages`` messages of the conversation.
    """

    tools: str
    system: str
    dynamic: str
    settings: str
    history: str
    messages: int
