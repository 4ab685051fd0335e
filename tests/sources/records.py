"""Lines of transcripts as the tests of sources write them, and where the real ones are, on machines that have them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from geode_tui.sources.base import Answer, ForeignRun, Item, Said
from geode_tui.sources.claude_code import read_claude_code

REAL = Path(__file__).parents[3] / "shared" / "real"
_NUMBERS = itertools.count(1)


def real(name: str) -> Path:
    """A public sample; its test is skipped where there is none."""
    path = REAL / name
    if not path.exists():
        pytest.skip(f"{name} is not on this machine")
    return path


def row(kind: str, **fields: Any) -> dict[str, Any]:
    """A record; a second apart from the one before."""
    number = next(_NUMBERS)
    at = f"2026-02-11T{10 + number // 3600 % 10:02d}:{number // 60 % 60:02d}:{number % 60:02d}.500Z"
    return {"type": kind, "uuid": f"u-{number}", "sessionId": "s-1", "timestamp": at, "isSidechain": False, **fields}


def said(content: Any, **fields: Any) -> dict[str, Any]:
    """What a person, or the program in their name, says."""
    return row("user", message={"role": "user", "content": content}, **fields)


def result(call_id: str, content: Any = "done", **fields: Any) -> dict[str, Any]:
    """The result of a call."""
    return said([{"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}])


def answer(
    answer_id: str, *blocks: dict[str, Any], usage: dict[str, Any] | None = None, **fields: Any
) -> dict[str, Any]:
    """One record of an answer."""
    message = {"id": answer_id, "role": "assistant", "model": "claude-opus-4-6", "content": list(blocks)}
    return row("assistant", message={**message, "usage": usage or {"input_tokens": 5, "output_tokens": 7}}, **fields)


def text(words: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words}


def call(call_id: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    """A tool call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def boundary(**metadata: Any) -> dict[str, Any]:
    """A compaction."""
    return row("system", subtype="compact_boundary", compactMetadata=metadata)


def lines(*rows: dict[str, Any] | bytes) -> list[bytes]:
    """The rows as lines of a file; bytes as they are."""
    return [r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in rows]


def read(*rows: dict[str, Any] | bytes) -> ForeignRun:
    """A transcript of these rows, decoded."""
    return read_claude_code(lines(*rows))


def told(items: tuple[Item, ...]) -> list[tuple[str, str]]:
    """(role, text) of every message, results and calls by their ids."""
    made: list[tuple[str, str]] = []
    for item in items:
        if isinstance(item, Said | Answer):
            message = item.message
            ids = [getattr(b, "call_id", "") for b in message.blocks]
            made.append((message.role, message.text or " ".join(filter(None, ids))))
    return made
