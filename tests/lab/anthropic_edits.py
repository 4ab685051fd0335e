"""What the vendor takes off a prompt by itself where a request's edits ask for it, and which edits it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.lab.cache import prompt_tokens
from tests.lab.rules import Body, Inquiry, Refused
from tests.lab.tokens import text_blocks

CLEAR, CLEAR_THINKING, COMPACT = "clear_tool_uses_20250919", "clear_thinking_20251015", "compact_20260112"
EDITS_BETA, COMPACT_BETA, ON_DEMAND_BETA = "context-management-2025-06-27", "compact-2026-01-12", "compact-2026-09-04"
COMPACTING = (
    "claude-fable-5-1", "claude-fable-5", "claude-opus-5-5", "claude-opus-5", "claude-opus-4-8", "claude-opus-4-7",
    "claude-opus-4-6", "claude-sonnet-5", "claude-sonnet-4-6",
)  # fmt: skip
"""Models that compact, at a threshold (RUNTIME.md 3.1) or when asked to."""
LEAST_TRIGGER = 50_000
CLEARED = "[Old tool result content cleared]"
_FIELDS = {
    CLEAR: {"type", "trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"},
    CLEAR_THINKING: {"type", "keep"},
    COMPACT: {"type", "trigger", "instructions", "pause_after_compaction"},
}
_DEFAULT = {CLEAR: 100_000, COMPACT: 150_000}
"""Tokens of prompt at which an edit is made that names no trigger."""


@dataclass(frozen=True)
class Edited:
    """A request's prompt after its edits. ``compacts``: what is left is large enough to be compacted."""

    body: Body
    cleared_uses: int = 0
    cleared_tokens: int = 0
    compacts: bool = False

    @property
    def applied(self) -> list[dict[str, Any]]:
        """The edits as an answer reports them: a compaction is not among them."""
        if not self.cleared_uses:
            return []
        size = {"cleared_input_tokens": self.cleared_tokens, "cleared_tool_uses": self.cleared_uses}
        return [{"type": CLEAR, **size}]


def edited(body: Body) -> Edited:
    """The prompt that the model reads of ``body``, whose edits are made in their order."""
    made = Edited(body)
    for edit in (body.get("context_management") or {}).get("edits", ()):
        if edit["type"] == CLEAR:
            made = _cleared(made.body, edit)
        elif edit["type"] == COMPACT:
            made = replace(made, compacts=prompt_tokens(made.body) >= _trigger(edit))
    return made


def edited_tokens(body: Body) -> int:
    """Tokens of the prompt that the model reads."""
    return prompt_tokens(edited(body).body)


def _cleared(body: Body, edit: Mapping[str, Any]) -> Edited:
    size = prompt_tokens(body)
    if size < _trigger(edit):
        return Edited(body)
    names = {b["id"]: b["name"] for b in _blocks(body) if b.get("type") == "tool_use"}
    results = [b["tool_use_id"] for b in _blocks(body) if b.get("type") == "tool_result"]
    kept = set(results[max(0, len(results) - edit.get("keep", {"value": 3})["value"]) :])
    spared = set(edit.get("exclude_tools") or ())
    gone = {use for use in results if use not in kept and names[use] not in spared}
    made = {**body, "messages": [_emptied(message, gone) for message in body["messages"]]}
    won = size - prompt_tokens(made)
    enough = won > 0 and won >= (edit.get("clear_at_least") or {"value": 0})["value"]
    return Edited(made, len(gone), won) if enough else Edited(body)


def _emptied(message: Mapping[str, Any], gone: set[str]) -> dict[str, Any]:
    content = [
        {**b, "content": CLEARED} if b.get("tool_use_id") in gone else b for b in text_blocks(message["content"])
    ]
    return {**message, "content": content}


def _trigger(edit: Mapping[str, Any]) -> int:
    return int((edit.get("trigger") or {"value": _DEFAULT[edit["type"]]})["value"])


def _blocks(body: Body) -> Iterator[Mapping[str, Any]]:
    for message in body["messages"]:
        yield from text_blocks(message["content"])


# -- rules ------------------------------------------------------------------------------------------------------------
def edits_valid(inquiry: Inquiry) -> Refused | None:
    """Edits that exist, each with its beta feature, its own fields and a trigger the vendor takes."""
    given = inquiry.body.get("context_management")
    if given is None:
        return None
    if not betas_of(inquiry) & {EDITS_BETA, COMPACT_BETA}:
        return refused("context_management: Extra inputs are not permitted")
    for i, edit in enumerate(given["edits"]):
        objection = _edit_valid(inquiry, f"context_management.edits.{i}", edit, first=not i)
        if objection:
            return objection
    return None


def _edit_valid(inquiry: Inquiry, where: str, edit: Mapping[str, Any], *, first: bool) -> Refused | None:
    kind = edit.get("type")
    if kind not in _FIELDS or (COMPACT_BETA if kind == COMPACT else EDITS_BETA) not in betas_of(inquiry):
        tags = ", ".join(f"'{tag}'" for tag in sorted(_FIELDS))
        return refused(
            f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
        )
    if extra := sorted(edit.keys() - _FIELDS[kind]):
        return refused(f"{where}.{kind}.{extra[0]}: Extra inputs are not permitted")
    if kind == CLEAR_THINKING and not first:
        return refused(f"{where}: `{CLEAR_THINKING}` must be the first edit")
    if kind == COMPACT and not compacts(inquiry.body["model"]):
        return refused(f"{where}: {inquiry.body['model']} does not support compaction")
    if kind == COMPACT and _trigger(edit) < LEAST_TRIGGER:
        return refused(f"{where}.{kind}.trigger.value: Input should be greater than or equal to {LEAST_TRIGGER}")
    return None


def compacts(model: Any) -> bool:
    """Whether ``model``, with or without a date, compacts."""
    return re.sub(r"-20\d{6}$", "", str(model)) in COMPACTING


def betas_of(inquiry: Inquiry) -> set[str]:
    """The beta features that a request switches on."""
    return {beta.strip() for beta in inquiry.headers.get("anthropic-beta", "").split(",")}


def refused(message: str, code: str | None = None) -> Refused:
    """A 400 of the vendor's most common type, with the code that tells it apart from others."""
    return Refused(400, "invalid_request_error", message, code=code)
