"""The offline planner behind every wire: a model that works a task to its end, from nothing but the request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from geode_tui.core.messages import (
    Block,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    user_text,
)
from geode_tui.core.tools import ToolSpec
from geode_tui.providers.base import Request
from geode_tui.providers.offline.answer import answer
from tests.lab.compaction import is_on_demand
from tests.lab.kinds import kind_of
from tests.lab.scripts import Answer, Call, Part, Say, Step, Think
from tests.lab.tokens import items_of, text_blocks

CHUNK = 400
"""Characters of a streamed piece: a long run should not be slow because of its streaming."""
_OUTPUT = ("max_tokens", "max_output_tokens", "max_completion_tokens")
MAX_TOKENS = 32_768
"""Tokens of an answer where the request names no limit."""


def planner(seed: int = 0, *, thinks: bool = False, notes: int = 0) -> Callable[[dict[str, Any]], Step]:
    """A step that answers as the offline provider would; with ``thinks`` each answer begins with a thought.

    ``notes`` are characters of what it was just shown that it writes down before it goes on, as models do: what it says
    itself stays in the context when results are masked.
    """

    def step(body: dict[str, Any]) -> Step:
        request = neutral(body)
        made = answer(request, seed)
        thought = (Think(f"The conversation has {len(request.messages)} messages so far."),) if thinks else ()
        stop = made.stop_reason if made.stop_reason == "max_tokens" else None
        noted = (Say(note, chunk=CHUNK),) if (note := _noted(request, made.blocks, notes)) else ()
        return Answer((*thought, *noted, *(_part(block) for block in made.blocks)), stop)

    return step


def _noted(request: Request, blocks: tuple[Block, ...], chars: int) -> str:
    """The beginnings of lines of the newest result, where the answer goes on with a call."""
    last = request.messages[-1].blocks[-1] if request.messages else None
    if not chars or not isinstance(last, ToolResultBlock) or not any(isinstance(b, ToolCallBlock) for b in blocks):
        return ""
    lines = last.text.splitlines()
    some = lines[:: max(1, len(lines) * 60 // max(1, chars))]
    return "What I take from it:\n" + "\n".join(line[:58] for line in some)[:chars]


def _part(block: Block) -> Part:
    if isinstance(block, ToolCallBlock):
        return Call(block.name, block.arguments)
    assert isinstance(block, TextBlock)
    return Say(block.text, chunk=CHUNK)


def neutral(body: Mapping[str, Any]) -> Request:
    """``body`` of any wire as a neutral request. No wire tells what of a user's words a person typed."""
    choice = body.get("tool_choice")
    none = choice == "none" or (isinstance(choice, Mapping) and choice.get("type") == "none")
    return Request(
        model=str(body["model"]),
        system=(),
        messages=tuple(_joined(_from_items(body) if "input" in body else _from_messages(body))),
        tools=tuple(_tool(tool) for tool in body.get("tools") or ()),
        tool_choice="none" if none else "auto",
        max_tokens=next((body[name] for name in _OUTPUT if body.get(name)), MAX_TOKENS),
        purpose="summary" if kind_of(body) in {"summary", "compaction"} else "turn",
    )


def _tool(tool: Mapping[str, Any]) -> ToolSpec:
    told = tool.get("function", tool)
    return ToolSpec(told["name"], told.get("description", ""), told.get("parameters", told.get("input_schema", {})))


def _joined(messages: Iterator[Message]) -> Iterator[Message]:
    """``messages`` with those of the assistant that follow each other as one: a wire may send an answer in pieces."""
    last: Message | None = None
    for message in messages:
        if last is not None and last.role == message.role == "assistant":
            last = msgspec.structs.replace(last, blocks=(*last.blocks, *message.blocks))
            continue
        if last is not None:
            yield last
        last = message
    if last is not None:
        yield last


def _from_items(body: Mapping[str, Any]) -> Iterator[Message]:
    for item in items_of(body):
        kind = item.get("type", "message")
        if kind == "function_call":
            yield Message("assistant", (ToolCallBlock(item["call_id"], item["name"], item["arguments"]),))
        elif kind == "function_call_output":
            yield _result(item["call_id"], item["output"])
        elif kind == "message" and item["role"] in {"user", "assistant"}:
            yield _said(item["role"], _text(item["content"]))


def _from_messages(body: Mapping[str, Any]) -> Iterator[Message]:
    for message in body["messages"]:
        role = message["role"]
        blocks = text_blocks(message.get("content"))
        if role == "tool":
            yield _result(message["tool_call_id"], message["content"])
        elif role == "user":
            yield from (_result(b["tool_use_id"], b.get("content")) for b in blocks if b["type"] == "tool_result")
            yield from (_said("user", b["text"]) for b in blocks if b["type"] == "text")
        elif role == "assistant":
            # What it asked for itself, a client gives the model in place of what was said before.
            yield from (_said("user", b["content"]) for b in blocks if is_on_demand(b))
            yield _said("assistant", _text(blocks), *_calls(message, blocks))


def _calls(message: Mapping[str, Any], blocks: list[dict[str, Any]]) -> Iterator[ToolCallBlock]:
    for block in blocks:
        if block.get("type") == "tool_use":
            yield ToolCallBlock(block["id"], block["name"], json.dumps(block["input"], ensure_ascii=False))
    for call in message.get("tool_calls") or ():
        yield ToolCallBlock(call["id"], call["function"]["name"], call["function"]["arguments"])


def _said(role: str, text: str, *calls: ToolCallBlock) -> Message:
    if role == "user":
        return user_text(text, "agent")
    return Message("assistant", (*((TextBlock(text),) if text else ()), *calls))


def _result(call_id: str, content: Any) -> Message:
    return Message("tool", (ToolResultBlock(call_id, "", (TextBlock(_text(content)),)),), "tool")


def _text(content: Any) -> str:
    return "\n".join(str(part.get("text", "")) for part in text_blocks(content))
