"""What a request asks, whichever wire it came over: the view a scripted model has of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.lab.tokens import items_of, text_blocks


@dataclass(frozen=True)
class Asked:
    """The last words of the person, the names of the tools on offer, and the results of calls since those words."""

    text: str
    tools: tuple[str, ...]
    results: tuple[str, ...]


def asked(body: Mapping[str, Any]) -> Asked:
    """``body`` of any wire."""
    words, results = "", []
    for kind, text in _said_items(body) if "input" in body else _said_messages(body):
        if kind == "result":
            results.append(text)
        else:
            words, results = text, []
    return Asked(words, tuple(_tool_names(body)), tuple(results))


def system_of(body: Mapping[str, Any]) -> str:
    """The system text of a request of any wire, its parts joined."""
    parts = [_text(body.get("system", ())), str(body.get("instructions") or "")]
    said = items_of(body) if "input" in body else body.get("messages", ())
    parts += [_text(item["content"]) for item in said if item.get("role") in {"system", "developer"}]
    return "\n".join(part for part in parts if part)


def _tool_names(body: Mapping[str, Any]) -> Iterator[str]:
    for tool in body.get("tools") or ():
        yield str(tool["function"]["name"] if "function" in tool else tool["name"])


def _said_items(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for item in items_of(body):
        if item.get("type") == "function_call_output":
            yield "result", _text(item["output"])
        elif item.get("role") == "user":
            yield "user", _text(item["content"])


def _said_messages(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for message in body["messages"]:
        if message["role"] == "tool":
            yield "result", _text(message["content"])
        elif message["role"] == "user":
            blocks = text_blocks(message["content"])
            for block in blocks:
                if block.get("type") == "tool_result":
                    yield "result", _text(block.get("content", ()))
            if text := _text([block for block in blocks if block.get("type") == "text"]):
                yield "user", text


def _text(content: Any) -> str:
    return "\n".join(str(part.get("text", "")) for part in text_blocks(content))
