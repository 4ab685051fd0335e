"""A neutral request as the body of an Anthropic Messages request. Pure.

Two rules of that wire shape everything here: all results of a batch of calls stand at the head of the one user message
that follows it, and blocks the provider signed are sent back exactly as they came.
"""

from __future__ import annotations

import json

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
from geode_tui.core.tools import ToolSpec
from geode_tui.providers.anthropic_edits import encode_compaction, encode_edits
from geode_tui.providers.base import Request
from geode_tui.providers.cache_marks import mark, system_blocks
from geode_tui.providers.codec import NO_OUTPUT, Wire, arguments_object, in_call_order

PROVIDER = "anthropic"


def encode_request(request: Request) -> Wire:
    """The JSON body for ``request``, streaming. Never raises on what a model may have written.

    Raises ``ValueError`` where a stored provider block is no JSON any more.
    """
    system = system_blocks(request.system)
    messages, ends = _messages(in_call_order(request.messages))
    mark(ends, request.cache_messages, system)
    body: Wire = {"model": request.model, "max_tokens": request.max_tokens, "stream": True, "messages": messages}
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if request.tool_choice == "none":
            body["tool_choice"] = {"type": "none"}
    if request.thinking == "budgeted":
        body["thinking"] = {"type": "enabled", "budget_tokens": request.thinking_budget}
    elif request.thinking == "adaptive":
        # Some models leave the text of their thinking out unless it is asked for.
        body["thinking"] = {"type": "adaptive", "display": "summarized"}
    elif request.thinking == "off":
        body["thinking"] = {"type": "disabled"}
    if request.effort is not None:
        body["output_config"] = {"effort": request.effort}
    if request.compaction is not None:
        # Beside a compaction the vendor takes no edits; the rest is as in a turn, and so is the prefix in its cache.
        return {**body, "compaction": encode_compaction(request.compaction)}
    if edits := encode_edits(request.edits):
        body["context_management"] = {"edits": edits}
    if request.compare_with is not None:
        body["diagnostics"] = {"previous_message_id": request.compare_with or None}
    return body


def _tool(tool: ToolSpec) -> Wire:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}


def _messages(messages: list[Message]) -> tuple[list[Wire], list[Wire | None]]:
    """The wire's messages, and for each neutral one the block that can carry a cache mark."""
    wire: list[Wire] = []
    ends: list[Wire | None] = []
    results: list[Wire] | None = None  # content of the user message that still takes results
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
        elif message.role == "user" and results is not None:
            results.extend(blocks)
            results = None
        else:
            wire.append({"role": message.role, "content": blocks})
            results = None
    return wire, ends


def _markable(blocks: list[Wire]) -> Wire | None:
    own = ("text", "tool_use", "tool_result", "image")
    return next((block for block in reversed(blocks) if block["type"] in own), None)


def _block(block: Block) -> Wire | None:
    """``block`` on the wire, or None where it may not be sent: blank text, unsigned thinking, another provider's."""
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text, **_extra(block)} if block.text.strip() else None
    if isinstance(block, ThinkingBlock | OpaqueBlock):
        return json.loads(block.raw) if block.raw is not None and block.provider == PROVIDER else None
    if isinstance(block, ToolCallBlock):
        arguments = arguments_object(block.arguments)
        return {"type": "tool_use", "id": block.call_id, "name": block.name, "input": arguments, **_extra(block)}
    if isinstance(block, ImageBlock):
        source = {"type": "base64", "media_type": block.media_type, "data": block.data}
        return {"type": "image", "source": source}
    return _result(block)


def _extra(block: TextBlock | ToolCallBlock) -> Wire:
    """The other fields that the provider gave the block."""
    fields: Wire = json.loads(block.extra) if block.extra is not None and block.provider == PROVIDER else {}
    return fields


def _result(block: ToolResultBlock) -> Wire:
    content = [encoded for inner in block.content if (encoded := _block(inner)) is not None]
    result: Wire = {
        "type": "tool_result",
        "tool_use_id": block.call_id,
        "content": content or [{"type": "text", "text": NO_OUTPUT}],
    }
    return {**result, "is_error": True} if block.is_error else result
