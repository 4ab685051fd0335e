"""What the Messages API takes off a prompt by itself: how it is asked to, and what it says it did. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geode_tui.core.messages import OpaqueBlock
from geode_tui.providers.base import Cleared, Edits, Request
from geode_tui.providers.codec import Wire
from geode_tui.providers.usage_report import part, tokens

COMPACTION = "compaction"
"""The type of the block that stands for what came before it."""
CLEAR, COMPACT = "clear_tool_uses_20250919", "compact_20260112"
EDITS_BETA, COMPACT_BETA = "context-management-2025-06-27", "compact-2026-01-12"


def encode_edits(edits: Edits) -> list[Wire]:
    """The edits as the wire lists them: results are cleared before what is left is large enough to be compacted."""
    listed: list[Wire] = []
    if edits.clear_at is not None:
        listed.append(
            {
                "type": CLEAR,
                "trigger": _tokens(edits.clear_at),
                "keep": {"type": "tool_uses", "value": edits.clear_keep},
                "clear_at_least": _tokens(edits.clear_at_least),
                "exclude_tools": list(edits.clear_except),
                "clear_tool_inputs": False,
            }
        )
    if edits.compact_at is not None:
        listed.append({"type": COMPACT, "trigger": _tokens(edits.compact_at)})
    return listed


def betas_for(request: Request) -> tuple[str, ...]:
    """The beta features without which ``request`` would be refused: for its edits, and for the blocks of earlier
    compactions.
    """
    edits = request.edits
    compacts = edits.compact_at is not None or any(
        isinstance(block, OpaqueBlock) and block.kind == COMPACTION
        for message in request.messages
        for block in message.blocks
    )
    edited = edits.clear_at is not None or edits.compact_at is not None
    return (*((EDITS_BETA,) if edited else ()), *((COMPACT_BETA,) if compacts else ()))


def cleared_in(event: Mapping[str, Any]) -> Cleared | None:
    """The tool results that were emptied, as the end of an answer reports it; None where it reports none."""
    applied = part(event, "context_management").get("applied_edits")
    cleared = [
        edit
        for edit in (applied if isinstance(applied, list) else ())
        if isinstance(edit, Mapping) and edit.get("type") == CLEAR
    ]
    uses = sum(tokens(edit, "cleared_tool_uses") or 0 for edit in cleared)
    size = sum(tokens(edit, "cleared_input_tokens") or 0 for edit in cleared)
    return Cleared(uses, size) if uses or size else None


def _tokens(value: int) -> Wire:
    return {"type": "input_tokens", "value": value}
