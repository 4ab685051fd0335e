"""A deterministic token count: four UTF-8 bytes a token, plus fixed amounts for structure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

BLOCK_OVERHEAD = 4
"""Tokens added for every system part, tool and content block."""
IMAGE_TOKENS = 1_600
"""Tokens of an image, whatever its size."""


def count_text(text: str) -> int:
    """Tokens of ``text``: its UTF-8 bytes divided by four, rounded up."""
    return (len(text.encode()) + 3) // 4


def canonical(value: Any) -> str:
    """JSON text of ``value`` without cache marks, keys in the order they were sent."""
    text = _dumped(value)
    return _dumped(_unmarked(value)) if '"cache_control"' in text else text


def count_block(block: Mapping[str, Any]) -> int:
    """Tokens of a content block, a system part or a tool."""
    kind = block.get("type")
    if kind == "image":
        return IMAGE_TOKENS
    if kind == "text":
        return BLOCK_OVERHEAD + count_text(block["text"])
    if kind == "thinking":
        return BLOCK_OVERHEAD + count_text(block["thinking"])
    if kind == "tool_use":
        return BLOCK_OVERHEAD + count_text(block["name"]) + count_text(canonical(block["input"]))
    if kind == "tool_result":
        return BLOCK_OVERHEAD + sum(count_block(inner) for inner in text_blocks(block.get("content", ())))
    if kind == "compaction":
        return BLOCK_OVERHEAD + count_text(block["content"] or "")
    return BLOCK_OVERHEAD + count_text(canonical(block))


def text_blocks(content: Any) -> list[dict[str, Any]]:
    """``content`` as a list of blocks; a plain string is one text block, an empty one is none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def items_of(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The input as items; a plain string is one user message."""
    given = body.get("input") or []
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)


def prompt_text(parts: Iterable[Any]) -> str:
    """The prompt as one text, for wires that cache and count by the length of it. Images have a fixed size."""
    return "".join(canonical(_flattened(part)) + "\n" for part in parts)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _flattened(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("data:image/"):
        return (hashlib.sha256(value.encode()).hexdigest() * IMAGE_TOKENS)[: IMAGE_TOKENS * 4]
    if isinstance(value, Mapping):
        return {k: _flattened(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_flattened(v) for v in value]
    return value


def _unmarked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _unmarked(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list):
        return [_unmarked(v) for v in value]
    return value
