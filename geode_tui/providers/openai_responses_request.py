"""A neutral request as the body of an OpenAI Responses request, for the platform and for the Codex backend. Pure.

Nothing is stored at the provider, so everything it wants back goes back: reasoning items exactly as they came, in
their place before what they led to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

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
from geode_tui.providers.base import Request, SystemPart
from geode_tui.providers.codec import MAX_CACHE_KEY, MAX_FUNCTIONS, NO_OUTPUT, Wire, arguments_text, in_call_order

PROVIDER = "openai"
CODEX = "codex"
"""What the Codex backend's blocks are marked with: its sealed reasoning is of no use to the platform."""


def encode_request(request: Request, *, codex: bool = False) -> Wire:
    """The JSON body for ``request``, streaming. Never raises on what a model may have written.

    The Codex backend refuses to be told how much to write or what to do when a prompt is too long. Raises
    ``ValueError`` where a stored provider block is no JSON any more.
    """
    instructions, changing = _system(request.system)
    items = [_message("developer", [{"type": "input_text", "text": changing}])] if changing else []
    for message in in_call_order(request.messages):
        items += _items(message, CODEX if codex else PROVIDER)
    body: Wire = {
        "model": request.model,
        "input": items,
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if instructions:
        body["instructions"] = instructions
    if not codex:
        body |= {"truncation": "disabled", "max_output_tokens": request.max_tokens}
    if request.cache_key:
        body["prompt_cache_key"] = request.cache_key[:MAX_CACHE_KEY]
    if request.compare_with and not codex:
        body["prompt_cache_options"] = {"comparison_response_id": request.compare_with}
    if request.tools:
        body |= {"tools": [_tool(tool) for tool in request.tools[:MAX_FUNCTIONS]], "parallel_tool_calls": True}
        body["tool_choice"] = request.tool_choice
    if reasoning := _reasoning(request):
        body["reasoning"] = reasoning
    return body


def _system(parts: Sequence[SystemPart]) -> tuple[str, str]:
    """The part of the system prompt that stays the same, and the part that changes from session to session.

    The first is sent as ``instructions``, the second as a developer message after the tools, so that sessions of one
    project share all of the prefix before it. Without a mark nothing is known to change.
    """
    kept = [part for part in parts if part.text.strip()]
    marked = [i for i, part in enumerate(kept) if part.cache]
    end = marked[-1] + 1 if marked else len(kept)
    return "\n\n".join(p.text for p in kept[:end]), "\n\n".join(p.text for p in kept[end:])


def _tool(tool: ToolSpec) -> Wire:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.schema),
        "strict": False,
    }


def _reasoning(request: Request) -> Wire:
    """How hard to think, and a summary of it to read where thinking was asked for."""
    if request.thinking == "off":
        return {"effort": request.effort or "none"}
    wanted: Wire = {} if request.effort is None else {"effort": request.effort}
    return wanted | {"summary": "auto"} if wanted or request.thinking != "default" else {}


def _message(role: str, content: list[Wire]) -> Wire:
    return {"type": "message", "role": role, "content": content}


def _items(message: Message, provider: str) -> list[Wire]:
    if message.role == "assistant":
        return _answer(message.blocks, provider)
    if message.role == "tool":
        return [_output(block) for block in message.blocks if isinstance(block, ToolResultBlock)]
    content = _content(message.blocks)
    return [_message("user", content)] if content else []


def _content(blocks: Iterable[Block]) -> list[Wire]:
    content: list[Wire] = []
    for block in blocks:
        if isinstance(block, TextBlock) and block.text.strip():
            content.append({"type": "input_text", "text": block.text})
        elif isinstance(block, ImageBlock):
            content.append({"type": "input_image", "image_url": f"data:{block.media_type};base64,{block.data}"})
    return content


def _output(block: ToolResultBlock) -> Wire:
    """A result: plain text where it is nothing else."""
    content = _content(block.content)
    text = "\n".join(part["text"] for part in content if part["type"] == "input_text")
    images = any(part["type"] == "input_image" for part in content)
    output = content if images else text or NO_OUTPUT
    return {"type": "function_call_output", "call_id": block.call_id, "output": output}


def _answer(blocks: Iterable[Block], provider: str) -> list[Wire]:
    """The items of an answer. Reasoning that led to nothing is left out: it is refused without what follows it."""
    items: list[Wire] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            _add_text(items, block, provider)
        elif isinstance(block, ToolCallBlock):
            call = {"call_id": block.call_id, "name": block.name, "arguments": arguments_text(block.arguments)}
            items.append({"type": "function_call", **_extra(block, provider), **call})
        elif isinstance(block, ThinkingBlock | OpaqueBlock) and block.raw is not None and block.provider == provider:
            items.append(json.loads(block.raw))
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


def _add_text(items: list[Wire], block: TextBlock, provider: str) -> None:
    """Add ``block`` to the message it came in: one message may hold several texts."""
    if not block.text.strip():
        return
    extra = _extra(block, provider)
    fields = {"type": "message", "role": "assistant", **extra.get("item", {})}
    part: Wire = {"type": "output_text", **extra.get("part", {})}
    part["refusal" if part["type"] == "refusal" else "text"] = block.text
    last = items[-1] if items else {}
    if fields.get("id") and last.get("id") == fields["id"]:
        last["content"].append(part)
    else:
        items.append({**fields, "content": [part]})


def _extra(block: TextBlock | ToolCallBlock, provider: str) -> Wire:
    """What else the provider said of the block."""
    fields: Wire = json.loads(block.extra) if block.extra is not None and block.provider == provider else {}
    return fields
