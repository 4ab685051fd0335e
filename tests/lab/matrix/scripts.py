"""The scenarios in each server's own words: what it answers to the first request, and to those after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from tests.lab.scripts import (
    Answer,
    Call,
    Cut,
    Empty,
    Fail,
    Malformed,
    Refusal,
    Say,
    ScriptStep,
    Stall,
    Think,
)

Json: TypeAlias = dict[str, Any]
TOOL = "list_dir"
PART = "This is the beginning of a longer answer that breaks off"
LAB: Mapping[str, tuple[ScriptStep, ...]] = {
    "text": (Say("all good"),),
    "parallel": ((Say("Both."), Call(TOOL, {"depth": 1}), Call(TOOL, {"depth": 2})),),
    "thinking": ((Think("I should look first."), Call(TOOL, {"depth": 1})), (Think("Enough."), Say("done"))),
    "auth": (Fail(401, "authentication_error", "the key is not valid"),),
    "billing": (Fail(402, "billing_error", "your credit is used up"),),
    "rate_limit": (Fail(429, "rate_limit_error", "slow down", {"retry-after-ms": "200"}),),
    "overloaded": (Fail(529, "overloaded_error", "Overloaded"),),
    "server": (Fail(500),),
    "overflow": (),
    "cut_before": (Cut(),),
    "cut_after": (Cut((Say(PART),), 20),),
    "stall": (Stall(),),
    "malformed_sse": (Malformed(),),
    "malformed_arguments": (Call(TOOL, '{"depth": '),),
    "empty": (Empty(),),
    "refusal": (Refusal(),),
    "pause": (Answer((Say("Looking."),), stop_reason="pause_turn"),),
    "output_limit": (Answer((Say("half of it"),), stop_reason="max_tokens"),),
}


# -- llmock: behaviours that the next requests consume, one of each category a request --------------------------------
_OVERFLOWS = {
    "anthropic": {"message": "prompt is too long: 213462 tokens > 200000 maximum"},
    "responses": {"message": "Your input exceeds the context window.", "code": "context_length_exceeded"},
    "codex": {"message": "Your input exceeds the context window.", "code": "context_length_exceeded"},
    "chat": {"message": "Prompt exceeds max length", "code": "1261"},
}
_CHUNKS_TO_TEXT = {"anthropic": 5, "responses": 7, "codex": 7, "chat": 4}
"""Events of a stream up to the second piece of text."""


def llmock(scenario: str, wire: str) -> list[Json]:
    """The behaviours of a scenario; a permanent answer ends them."""
    return [*_llmock_first(scenario, wire), {"type": "reply", "text": "done", "times": None}]


def _llmock_first(scenario: str, wire: str) -> list[Json]:
    def call(depth: int) -> Json:
        return {"name": TOOL, "arguments": {"depth": depth}}

    def fault(kind: str, after: int = 1) -> list[Json]:
        broken = {"type": "stream_fault", "kind": kind, "after_chunks": after, "stall_seconds": 30.0}
        return [broken, {"type": "reply", "text": PART}]

    firsts: dict[str, list[Json]] = {
        "parallel": [{"type": "reply", "text": "Both.", "tool_calls": [call(1), call(2)]}],
        "auth": [{"type": "fail", "status": 401}],
        "billing": [{"type": "fail", "status": 402}],
        "rate_limit": [{"type": "fail", "status": 429, "retry_after": 0.2}],
        "overloaded": [{"type": "fail", "status": 529, "retry_after": 0.2}],
        "server": [{"type": "fail", "status": 500}],
        "overflow": [{"type": "fail", "status": 400, **_OVERFLOWS[wire]}],
        "cut_before": fault("truncate"),
        "cut_after": fault("disconnect", _CHUNKS_TO_TEXT[wire]),
        "stall": fault("stall"),
        "malformed_sse": fault("malformed"),
        "malformed_arguments": [
            {"type": "tool_fault", "kind": "malformed_arguments"},
            {"type": "reply", "tool_calls": [call(1)]},
        ],
        "empty": [{"type": "reply", "text": ""}],
        "refusal": [{"type": "reply", "text": "", "finish_reason": "content_filter"}],
        "pause": [{"type": "reply", "text": "Looking.", "finish_reason": "pause_turn"}],
        "output_limit": [{"type": "reply", "text": "half of it", "finish_reason": "length"}],
    }
    return firsts.get(scenario, [])


# -- aimock: fixtures, matched by the cell's name and how often that was asked ----------------------------------------
def aimock(scenario: str, wire: str, named: str) -> list[Json]:
    """The fixtures of a scenario whose prompt holds ``named``."""
    firsts = _aimock_first(scenario, wire)
    return [
        *({"match": {"userMessage": named, "sequenceIndex": i}, **first} for i, first in enumerate(firsts)),
        {"match": {"userMessage": named}, "response": {"content": "done"}},
    ]


_AIMOCK_REFUSALS = {"anthropic": "refusal"}
"""Finish reasons that it passes on as they are."""


def _aimock_first(scenario: str, wire: str) -> list[Json]:
    def call(arguments: Any) -> Json:
        return {"name": TOOL, "arguments": arguments}

    def fail(status: int, kind: str, message: str, **more: Any) -> list[Json]:
        code = {"code": more.pop("code")} if "code" in more else {}
        return [{"response": {"error": {"message": message, "type": kind, **code}, "status": status, **more}}]

    firsts: dict[str, list[Json]] = {
        "parallel": [{"response": {"content": "Both.", "toolCalls": [call({"depth": 1}), call({"depth": 2})]}}],
        "thinking": [
            {"response": {"reasoning": "I should look first.", "toolCalls": [call({"depth": 1})]}},
            {"response": {"reasoning": "Enough.", "content": "done"}},
        ],
        "auth": fail(401, "authentication_error", "the key is not valid", code="invalid_api_key"),
        "billing": fail(402, "billing_error", "your credit is used up"),
        "rate_limit": fail(429, "rate_limit_error", "slow down", retryAfter=1),
        "overloaded": fail(529, "overloaded_error", "Overloaded"),
        "server": fail(500, "api_error", "Internal server error"),
        "overflow": fail(400, "invalid_request_error", **_OVERFLOWS[wire]),
        # Without a pause between two events nothing of them has left when the connection is closed.
        "cut_before": [{"response": {"content": PART}, "latency": 20, "truncateAfterChunks": 1}],
        "cut_after": [{"response": {"content": PART}, "latency": 20, "chunkSize": 4, "truncateAfterChunks": 9}],
        "stall": [{"response": {"content": PART}, "latency": 20_000}],
        "malformed_sse": [{"response": {"content": PART}, "chaos": {"malformedRate": 1}}],
        "malformed_arguments": [{"response": {"toolCalls": [call('{"depth": ')]}}],
        "empty": [{"response": {"content": ""}}],
        "refusal": [{"response": {"content": "No.", "finishReason": _AIMOCK_REFUSALS.get(wire, "content_filter")}}],
        "pause": [{"response": {"content": "Looking.", "finishReason": "pause_turn"}}],
        "output_limit": [{"response": {"content": "half of it", "finishReason": "length"}}],
    }
    return firsts.get(scenario, [])
