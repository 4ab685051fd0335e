"""A neutral request as the body of a Chat Completions request, as each of those who speak it wants it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from geode_tui.core.messages import Block, ImageBlock, Message, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from geode_tui.core.tools import ToolSpec
from geode_tui.providers.base import Request, SystemPart
from geode_tui.providers.cache_marks import mark, system_blocks
from geode_tui.providers.codec import MAX_CACHE_KEY, MAX_FUNCTIONS, NO_OUTPUT, Wire, arguments_text, in_call_order

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
"""The fields of a message that reasoning comes in, and goes back in."""
_ROUTER_PREFIX = "openrouter/"


def encode_request(request: Request, provider: str) -> Wire:
    """The JSON body for ``request`` to ``provider``, streaming. Never raises on what a model may have written.

    Raises ``ValueError`` where a stored provider block is no JSON any more.
    """
    model = request.model.removeprefix(_ROUTER_PREFIX) if provider == "openrouter" else request.model
    messages, carriers = _messages(in_call_order(request.messages), provider)
    system = _system(request.system)
    if provider == "openrouter" and model.startswith("anthropic/"):
        # Claude reads nothing from a cache that was not marked to be written to it.
        blocks = system_blocks(request.system)
        mark([_markable(carrier) for carrier in carriers], request.cache_messages, blocks)
        system = [{"role": "system", "content": blocks}] if blocks else []
    body: Wire = {
        "model": model,
        "messages": [*system, *messages],
        "max_completion_tokens" if provider == "openai" else "max_tokens": request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools[:MAX_FUNCTIONS]]
        body["tool_choice"] = request.tool_choice
    if provider == "openai" and request.cache_key:
        body["prompt_cache_key"] = request.cache_key[:MAX_CACHE_KEY]
    return body | _thinking(request, provider)


def _thinking(request: Request, provider: str) -> Wire:
    """Whether and how hard to think, in the provider's own words."""
    effort = {} if request.effort is None else {"reasoning_effort": request.effort}
    if provider == "glm":
        kind = "disabled" if request.thinking == "off" else "enabled"
        return effort if request.thinking == "default" else {"thinking": {"type": kind}, **effort}
    if provider != "openrouter":
        return effort
    if request.thinking == "off":
        return {"reasoning": {"effort": request.effort or "none"}}
    if request.thinking == "budgeted":
        return {"reasoning": {"max_tokens": request.thinking_budget}}
    if request.effort is not None:
        return {"reasoning": {"effort": request.effort}}
    return {} if request.thinking == "default" else {"reasoning": {"enabled": True}}


def _system(parts: Iterable[SystemPart]) -> list[Wire]:
    """One message, first of all: templates of local models take no other."""
    text = "\n\n".join(part.text for part in parts if part.text.strip())
    return [{"role": "system", "content": text}] if text else []


def _tool(tool: ToolSpec) -> Wire:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def _messages(messages: Iterable[Message], provider: str) -> tuple[list[Wire], list[Wire | None]]:
    """The wire's messages, and for each neutral one the message that stands for it.

    A result may only hold text, and nothing may stand between the results of a batch: images wait for its end.
    """
    wire: list[Wire] = []
    carriers: list[Wire | None] = []
    images: list[Wire] = []
    for message in messages:
        if message.role != "tool" and images:
            wire.append({"role": "user", "content": images})
            images = []
        if message.role == "tool":
            results = [block for block in message.blocks if isinstance(block, ToolResultBlock)]
            made = [_result(result) for result in results]
            images += [part for result in results for part in _images(result)]
        else:
            encoded = _answer(message, provider) if message.role == "assistant" else _user(message.blocks)
            made = [encoded] if encoded else []
        wire += made
        carriers.append(made[-1] if made else None)
    if images:
        wire.append({"role": "user", "content": images})
    return wire, carriers


def _markable(message: Wire | None) -> Wire | None:
    """The part of ``message`` that can carry a cache mark.

    Every message becomes one of parts, so that a mark that moves on changes nothing else.
    """
    if message is None or not message["content"]:
        return None
    if isinstance(message["content"], str):
        message["content"] = [{"type": "text", "text": message["content"]}]
    last: Wire = message["content"][-1]
    return last


def _user(blocks: Sequence[Block]) -> Wire | None:
    parts = [part for block in blocks if (part := _part(block)) is not None]
    if not parts:
        return None
    if all(part["type"] == "text" for part in parts):
        return {"role": "user", "content": "\n\n".join(part["text"] for part in parts)}
    return {"role": "user", "content": parts}


def _part(block: Block) -> Wire | None:
    if isinstance(block, TextBlock) and block.text.strip():
        return {"type": "text", "text": block.text}
    if isinstance(block, ImageBlock):
        return {"type": "image_url", "image_url": {"url": f"data:{block.media_type};base64,{block.data}"}}
    return None


def _result(block: ToolResultBlock) -> Wire:
    pictured = any(isinstance(inner, ImageBlock) for inner in block.content)
    text = block.text if block.text.strip() else "(an image, which follows)" if pictured else NO_OUTPUT
    return {"role": "tool", "tool_call_id": block.call_id, "content": text}


def _images(block: ToolResultBlock) -> list[Wire]:
    """The images of a result, introduced by whose they are."""
    parts = [part for inner in block.content if isinstance(inner, ImageBlock) and (part := _part(inner)) is not None]
    note = {"type": "text", "text": f"Returned by {block.name} ({block.call_id}):"}
    return [note, *parts] if parts else []


def _answer(message: Message, provider: str) -> Wire | None:
    """An answer. Its reasoning goes back in the fields it came in, to the provider it came from."""
    text = "\n\n".join(b.text for b in message.blocks if isinstance(b, TextBlock) and b.text.strip())
    calls = [_call(block) for block in message.blocks if isinstance(block, ToolCallBlock)]
    if not text and not calls:
        return None
    encoded: Wire = {"role": "assistant", "content": text or None}
    for block in message.blocks:
        if isinstance(block, ThinkingBlock) and block.raw is not None and block.provider == provider:
            fields = json.loads(block.raw)
            encoded |= {name: fields[name] for name in REASONING_FIELDS if name in fields}
    return encoded | {"tool_calls": calls} if calls else encoded


def _call(block: ToolCallBlock) -> Wire:
    function = {"name": block.name, "arguments": arguments_text(block.arguments)}
    return {"id": block.call_id, "type": "function", "function": function}
