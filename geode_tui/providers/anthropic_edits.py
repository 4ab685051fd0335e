"""What the Messages API takes off a prompt by itself: how it is asked to, and what it says it did. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geode_tui.core.native import is_native
from geode_tui.providers.base import Cleared, Edits, Request
from geode_tui.providers.codec import Wire
from geode_tui.providers.usage_report import part, tokens

CLEAR, COMPACT = "clear_tool_uses_20250919", "compact_20260112"
EDITS_BETA, COMPACT_BETA, ON_DEMAND_BETA = "context-management-2025-06-27", "compact-2026-01-12", "compact-2026-09-04"


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


def encode_compaction(instructions: str) -> Wire:
    """The parameter that asks for a compaction and nothing else; ``instructions`` take the place of the vendor's own
    prompt, blank ones do not.
    """
    return {"type": "summarize", **({"instructions": instructions} if instructions.strip() else {})}


def betas_for(request: Request) -> tuple[str, ...]:
    """The beta features without which ``request`` would be refused: for its edits, for a compaction that it asks for,
    and for the blocks of earlier ones.

    A block that the vendor wrote when asked is the first of all, in place of what it stands for; one that it wrote by
    itself stands in the answer it came with. Each kind has a feature of its own.
    """
    blocks = [block for message in request.messages for block in message.blocks]
    first = bool(blocks) and is_native(blocks[0])
    edits = Edits() if request.compaction is not None else request.edits
    wanted = {
        EDITS_BETA: bool(encode_edits(edits)),
        COMPACT_BETA: edits.compact_at is not None or any(map(is_native, blocks[1:])),
        ON_DEMAND_BETA: request.compaction is not None or first,
    }
    return tuple(beta for beta, needed in wanted.items() if needed)


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
