"""The public hooks: what each is told, what it may decide, and whether anything asks it yet (RUNTIME.md 10.2)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

SCHEMA = "geode.public-hook.v2"
CONTINUE, REWRITE, DEFER = "continue", "rewrite", "defer"
STOPPING = frozenset({"block", "deny"})
"""Decisions after which no further extension of the hook is asked."""


class HookName(StrEnum):
    """The hooks that an extension can register for."""

    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    PRE_TOOL_USE = "PreToolUse"
    PERMISSION_REQUEST = "PermissionRequest"
    POST_TOOL_USE = "PostToolUse"
    PRE_COMPACT = "PreCompact"
    POST_COMPACT = "PostCompact"
    SESSION_START = "SessionStart"
    SESSION_END = "SessionEnd"
    SUBAGENT_START = "SubagentStart"
    SUBAGENT_STOP = "SubagentStop"
    PRE_VERIFY = "PreVerify"
    POST_VERIFY = "PostVerify"
    STOP = "Stop"


class Contract(msgspec.Struct, frozen=True):
    """A hook's contract. ``required`` are the fields of its payload, ``allowed`` its decisions; ``rewrites`` are the
    fields that a rewrite may carry, with the type of each; ``called`` is whether anything asks the hook yet.
    """

    required: tuple[str, ...]
    allowed: tuple[str, ...] = (CONTINUE,)
    rewrites: Mapping[str, type[Any]] = {}
    called: bool = False


_SUBAGENT = ("task_id", "task_type")
_VERIFY = ("termination_reason", "rounds", "tool_call_count", "candidate_summary")
_VERDICT = (*_VERIFY, "passed", "mode", "score", "rubric_misses")

CONTRACTS: Mapping[HookName, Contract] = {
    HookName.USER_PROMPT_SUBMIT: Contract(("user_input",), (CONTINUE, REWRITE, "block"), {"user_input": str}),
    HookName.PRE_TOOL_USE: Contract(
        ("tool_name", "arguments"), (CONTINUE, REWRITE, "block", "request_permission"), {"arguments": dict}
    ),
    HookName.PERMISSION_REQUEST: Contract(("tool_name", "safety_level", "detail"), ("allow", "deny", "ask")),
    HookName.POST_TOOL_USE: Contract(
        ("tool_name", "arguments", "result", "has_error", "executed"), (CONTINUE, "add_context", "block")
    ),
    HookName.PRE_COMPACT: Contract(
        ("model", "provider", "message_count", "keep_recent", "trigger", "hard"),
        (CONTINUE, REWRITE, DEFER),
        {"keep_recent": int},
        called=True,
    ),
    HookName.POST_COMPACT: Contract(
        (
            "model",
            "provider",
            "original_message_count",
            "new_message_count",
            "keep_recent",
            "trigger",
            "persisted",
        ),
        called=True,
    ),
    HookName.SESSION_START: Contract(("model", "provider", "resumed", "status")),
    HookName.SESSION_END: Contract(("reason", "status")),
    HookName.SUBAGENT_START: Contract((*_SUBAGENT, "description", "child_session_key", "parent_session_key")),
    HookName.SUBAGENT_STOP: Contract((*_SUBAGENT, "success", "status", "duration_ms", "error", "child_session_key")),
    HookName.PRE_VERIFY: Contract(_VERIFY, (CONTINUE, "strengthen")),
    HookName.POST_VERIFY: Contract(_VERDICT, ("accept", "revise", "escalate")),
    HookName.STOP: Contract((*_VERDICT, "policy_action", "evidence_refs"), ("finalize", CONTINUE)),
}


class Correlation(msgspec.Struct, frozen=True):
    """What a payload belongs to; every hook is told all of it, empty where there is none."""

    session_id: str = ""
    turn_id: str = ""
    step_id: str = ""
    run_id: str = ""
    session_generation: int = 0
    verify_attempt: int = 0
    tool_call_id: str = ""
    llm_call_id: str = ""
    llm_attempt_id: str = ""


class Reply(msgspec.Struct, frozen=True):
    """An extension's answer: its decision, for a rewrite the fields it changes, and one line of reason.

    An extension that answers None continues. Raises `TypeError` for fields of other types.
    """

    decision: str = CONTINUE
    updates: Mapping[str, Any] = {}
    reason: str = ""

    def __post_init__(self) -> None:
        for field, kind in ((self.decision, str), (self.updates, Mapping), (self.reason, str)):
            if not isinstance(field, kind):
                raise TypeError(f"a reply's field is {type(field).__name__} where {kind.__name__} is wanted")
