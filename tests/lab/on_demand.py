"""A compaction that is asked for: which requests for one the vendor takes, and what comes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.lab.anthropic_edits import ON_DEMAND_BETA, betas_of, compacts, refused
from tests.lab.playing import WithParts
from tests.lab.rules import Body, Inquiry, Refused
from tests.lab.scripts import Answer, Block, Call, Say
from tests.lab.tokens import text_blocks

LONGEST_INSTRUCTIONS = 16_384
"""Characters."""
_FIELDS = {"type", "instructions"}


@dataclass(frozen=True)
class Written:
    """What a call for a summary came to: its text, or a block that a script wrote itself, or neither; and why it
    ended."""

    stop_reason: str
    text: str = ""
    block: Mapping[str, Any] | None = None


def written(reply: WithParts) -> Written:
    """What ``reply`` is as the answer to the vendor's own call for a summary.

    A summary is produced only where that call ends normally, with a text and without a tool call. Of anything else no
    more is told than why it ended.
    """
    for part in reply.parts:
        if isinstance(part, Block) and part.block.get("type") == "compaction":
            return Written("compaction", block=part.block)
    ended = reply.stop_reason if isinstance(reply, Answer) else None
    ended = ended or ("tool_use" if any(isinstance(part, Call) for part in reply.parts) else "end_turn")
    text = "".join(part.text for part in reply.parts if isinstance(part, Say)).strip()
    return Written("compaction", text) if text and ended == "end_turn" else Written(ended)


# -- rules ------------------------------------------------------------------------------------------------------------
def summarisable(inquiry: Inquiry) -> Refused | None:
    """A request for a compaction has something in it to compact."""
    messages = inquiry.body.get("messages")
    if not _asked(inquiry.body) or messages is None or any(text_blocks(m.get("content")) for m in messages):
        return None
    return refused("messages: there is nothing to summarize", "compaction_nothing_to_summarize")


def compaction_valid(inquiry: Inquiry) -> Refused | None:
    """A compaction that is asked for has its beta feature and a model that writes one, stands beside nothing that only
    shapes a reply, and comes at the end of a turn."""
    body = inquiry.body
    if not _asked(body):
        return None
    if ON_DEMAND_BETA not in betas_of(inquiry):
        return refused(f"compaction: the `compaction` parameter requires anthropic-beta: {ON_DEMAND_BETA}")
    if problem := _shape(body["compaction"]) or _beside(body):
        return refused(problem)
    if not compacts(body["model"]):
        return refused(f"compaction: {body['model']} does not support compaction")
    last = body["messages"][-1]
    if last["role"] == "assistant" and any(b.get("type") == "tool_use" for b in text_blocks(last["content"])):
        return refused(
            "compaction: the last `assistant` turn is not finished, its `tool_use` blocks have no results",
            "compaction_incomplete_turn",
        )
    return None


def _asked(body: Body) -> bool:
    return body.get("compaction") is not None


def _shape(given: Mapping[str, Any]) -> str:
    """What is wrong with the parameter itself, empty for nothing."""
    if given.get("type") != "summarize":
        return "compaction.type: Input should be 'summarize'"
    if extra := sorted(given.keys() - _FIELDS):
        return f"compaction.{extra[0]}: Extra inputs are not permitted"
    if len(given.get("instructions") or "") > LONGEST_INSTRUCTIONS:
        return f"compaction.instructions: String should have at most {LONGEST_INSTRUCTIONS} characters"
    return ""


def _beside(body: Body) -> str:
    """What may not stand beside a compaction and does, empty for nothing."""
    shaping = body.get("output_config") or {}
    forbidden = {
        "context_management": body.get("context_management") is not None,
        "stop_sequences": bool(body.get("stop_sequences")),
        "tool_choice": (body.get("tool_choice") or {}).get("type") in {"any", "tool"},
        "output_format": body.get("output_format") is not None,
        "output_config.format": shaping.get("format") is not None,
        "output_config.task_budget.remaining": (shaping.get("task_budget") or {}).get("remaining") is not None,
    }
    return next(
        (f"{name}: cannot be used together with `compaction`" for name, given in forbidden.items() if given), ""
    )
