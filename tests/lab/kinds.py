"""What a request is for. No wire says so but of a compaction: it is told from the request's system text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from tests.lab.asked import system_of

Kind: TypeAlias = Literal["turn", "summary", "compaction", "other"]
AGENT = "You are an agent that works inside one project folder"
"""How the agent's system text begins."""
_SUMMARY = re.compile(r"summar|compact|condens", re.IGNORECASE)


def kind_of(body: Mapping[str, Any]) -> Kind:
    """``turn`` for a round of the agent, ``summary`` for a request that asks to summarise, ``compaction`` for one that
    asks the vendor to, else ``other``."""
    if body.get("compaction") is not None:
        return "compaction"
    system = system_of(body)
    if system.startswith(AGENT):
        return "turn"
    return "summary" if _SUMMARY.search(system) and not body.get("tools") else "other"
