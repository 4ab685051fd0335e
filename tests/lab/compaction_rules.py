"""The vendor's rules for compaction blocks that come back: where each kind may stand, and that it is whole.

A block that the vendor wrote by itself stays in its answer, and is read where the request asks for that kind again. One
that was asked for is the first block of all, the only one, and bears no compaction at a threshold beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.lab.anthropic_edits import COMPACT, COMPACT_BETA, ON_DEMAND_BETA, betas_of, compacts, refused
from tests.lab.compaction import is_on_demand, seal_of
from tests.lab.rules import Inquiry, Refused
from tests.lab.tokens import text_blocks

_FIELDS = {"type", "content", "encrypted_content", "signature", "tool_changes", "cache_control"}


def compactions_valid(inquiry: Inquiry) -> Refused | None:
    """Every compaction block as it was given out, where its kind may stand, to a model that reads it."""
    blocks = [
        (f"messages.{i}.content.{j}", message["role"], block)
        for i, message in enumerate(inquiry.body["messages"])
        for j, block in enumerate(text_blocks(message["content"]))
        if block.get("type") == "compaction"
    ]
    objections = (
        *(_readable(inquiry, where, block) for where, _, block in blocks),
        _single([block for _, _, block in blocks]),
        *(_placed(inquiry, where, role, block) or _whole(inquiry, where, block) for where, role, block in blocks),
    )
    return next((objection for objection in objections if objection), None)


def _single(blocks: Sequence[Mapping[str, Any]]) -> Refused | None:
    texts = [block for block in blocks if block.get("content")]
    if len(texts) < 2 or not any(map(is_on_demand, texts)):
        return None
    return refused("messages: more than one `compaction` block with `content`", "compaction_block_ambiguous")


def _readable(inquiry: Inquiry, where: str, block: Mapping[str, Any]) -> Refused | None:
    if not betas_of(inquiry) & {COMPACT_BETA, ON_DEMAND_BETA}:
        return refused(f"{where}: Input tag 'compaction' found using 'type' does not match any of the expected tags")
    if not compacts(inquiry.body["model"]):
        return refused(f"{where}: {inquiry.body['model']} does not support compaction")
    if extra := sorted(block.keys() - _FIELDS):
        return refused(f"{where}.compaction.{extra[0]}: Extra inputs are not permitted")
    if block.get("content") == "":
        return refused(f"{where}.compaction.content: String should have at least 1 character")
    return None


def _placed(inquiry: Inquiry, where: str, role: str, block: Mapping[str, Any]) -> Refused | None:
    if block.get("content") is None:
        return None
    asking = inquiry.body.get("compaction") is not None
    if is_on_demand(block) or asking or COMPACT_BETA not in betas_of(inquiry):
        return _first(inquiry, where, block)
    if role != "assistant":
        return refused(f"{where}: `compaction` blocks are the assistant's", "compaction_block_misplaced")
    if not _compacts_at_threshold(inquiry):
        return refused(f"{where}: `compaction` blocks require a `{COMPACT}` strategy in `context_management.edits`.")
    return None


def _first(inquiry: Inquiry, where: str, block: Mapping[str, Any]) -> Refused | None:
    if not block.get("signature"):
        return refused(
            f"{where}: a `compaction` block with `content` requires its `signature`: send the block exactly as it was "
            "returned"
        )
    if ON_DEMAND_BETA not in betas_of(inquiry):
        return refused(f"{where}: a `compaction` block with a `signature` requires anthropic-beta: {ON_DEMAND_BETA}")
    if where != "messages.0.content.0":
        text = f"{where}: the `compaction` block is not the first block of the conversation"
        return refused(text, "compaction_block_misplaced")
    if _compacts_at_threshold(inquiry):
        text = f"context_management.edits: `{COMPACT}` cannot run on a request that carries a signed `compaction` block"
        return refused(text)
    return None


def _compacts_at_threshold(inquiry: Inquiry) -> bool:
    edits = (inquiry.body.get("context_management") or {}).get("edits", ())
    return any(edit.get("type") == COMPACT for edit in edits)


def _whole(inquiry: Inquiry, where: str, block: Mapping[str, Any]) -> Refused | None:
    if block.get("content") is None:
        return None
    seal = seal_of(inquiry.secret, block)
    if seal == "forged":
        return refused(f"{where}: Invalid `signature` in `compaction` block", "compaction_signature_invalid")
    if seal == "edited":
        text = f"{where}: `compaction` block `content` does not match its `signature`"
        return refused(text, "compaction_content_mismatch")
    return None
