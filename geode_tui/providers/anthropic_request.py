"""A neutral request as the body of an Anthropic Messages request. Pure.

Two rules of that wire shape everything here: all results of a batch of calls stand at the head of the one user message
that follows it, and blocks the provider signed are sent back exactly as they came.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from geode_tui.core.messages import (
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from geode_tui.core.text import scrub
from geode_tui.core.tools import ToolSpec
from geode_tui.providers.base import Request, SystemPart

PROVIDER = "anthropic"
MAX_MARKS = 4
"""Cache breakpoints of one request (RUNTIME.md 7)."""
MALFORMED_ARGUMENTS = "_malformed_arguments"
"""The one argument under which text that is no JSON object is replayed."""

_Wire: TypeAlias = dict[str, Any]


def encode_request(request: Request) -> _Wire:
    """The JSON body for ``request``, streaming. Never raises on what a model may have written.

    Raises ``ValueError`` where a stored provider block is no JSON any more.
    """
    system = _system(request.system)
    messages, ends = _messages(request.messages)
    free = MAX_MARKS - sum("cache_control" in part for part in system)
    _mark(ends, request.cache_messages, free)
    body: _Wire = {"model": request.model, "max_tokens": request.max_tokens, "stream": True, "messages": messages}
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if request.tool_choice == "none":
            body["tool_choice"] = {"type": "none"}
    if request.thinking == "budgeted":
        body["thinking"] = {"type": "enabled", "budget_tokens": request.thinking_budget}
    elif request.thinking != "default":
        body["thinking"] = {"type": "adaptive" if request.thinking == "adaptive" else "disabled"}
    if request.effort is not None:
        body["output_config"] = {"effort": request.effort}
    return body


def _tool(tool: ToolSpec) -> _Wire:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}


def _system(parts: Iterable[SystemPart]) -> list[_Wire]:
    """Text blocks with their marks: the last four, and none of an hour after one of five minutes."""
    kept = [part for part in parts if part.text.strip()]
    marked = [i for i, part in enumerate(kept) if part.cache][-MAX_MARKS:]
    blocks: list[_Wire] = []
    short_seen = False
    for i, part in enumerate(kept):
        block: _Wire = {"type": "text", "text": part.text}
        if i in marked:
            short_seen = short_seen or part.cache == "5m"
            block["cache_control"] = _control("5m" if short_seen else "1h")
        blocks.append(block)
    return blocks


def _control(ttl: Literal["5m", "1h"]) -> _Wire:
    return {"type": "ephemeral", "ttl": "1h"} if ttl == "1h" else {"type": "ephemeral"}


def _mark(ends: list[_Wire | None], wanted: Iterable[int], free: int) -> None:
    """Mark the newest ``free`` of the ``wanted`` messages."""
    markable = [end for i in sorted(set(wanted)) if 0 <= i < len(ends) and (end := ends[i]) is not None]
    for end in markable[len(markable) - min(free, len(markable)) :]:
        end["cache_control"] = _control("5m")


def _messages(messages: tuple[Message, ...]) -> tuple[list[_Wire], list[_Wire | None]]:
    """The wire's messages, and for each neutral one the block that can carry a cache mark."""
    wire: list[_Wire] = []
    ends: list[_Wire | None] = []
    order: dict[str, int] = {}
    results: list[_Wire] | None = None  # content of the user message that still takes results
    for message in messages:
        blocks = [encoded for block in message.blocks if (encoded := _block(block)) is not None]
        ends.append(_markable(blocks))
        if not blocks:
            continue
        if message.role == "tool":
            if results is None:
                results = []
                wire.append({"role": "user", "content": results})
            results.extend(blocks)
            results.sort(key=lambda block: order.get(block.get("tool_use_id", ""), len(order)))
        elif message.role == "user" and results is not None:
            results.extend(blocks)
            results = None
        else:
            wire.append({"role": message.role, "content": blocks})
            results = None
        if message.role == "assistant":
            order = {call.call_id: i for i, call in enumerate(message.calls)}
    return wire, ends


def _markable(blocks: list[_Wire]) -> _Wire | None:
    own = ("text", "tool_use", "tool_result", "image")
    return next((block for block in reversed(blocks) if block["type"] in own), None)


def _block(block: Block) -> _Wire | None:
    """``block`` on the wire, or None where it may not be sent: blank text, unsigned thinking, another provider's."""
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text} if block.text.strip() else None
    if isinstance(block, ThinkingBlock | OpaqueBlock):
        return json.loads(block.raw) if block.raw is not None and block.provider == PROVIDER else None
    if isinstance(block, ToolCallBlock):
        return {"type": "tool_use", "id": block.call_id, "name": block.name, "input": _arguments(block.arguments)}
    if isinstance(block, ImageBlock):
        source = {"type": "base64", "media_type": block.media_type, "data": block.data}
        return {"type": "image", "source": source}
    return _result(block)


def _result(block: ToolResultBlock) -> _Wire:
    content = [encoded for inner in block.content if (encoded := _block(inner)) is not None]
    result: _Wire = {
        "type": "tool_result",
        "tool_use_id": block.call_id,
        "content": content or [{"type": "text", "text": "(no output)"}],
    }
    return {**result, "is_error": True} if block.is_error else result


def _arguments(text: str) -> _Wire:
    """The object ``text`` holds; no text is no arguments, anything else is kept under `MALFORMED_ARGUMENTS`."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
        # What could not be sent again is malformed too: NaN, infinity, half a surrogate pair.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {MALFORMED_ARGUMENTS: scrub(text)}
