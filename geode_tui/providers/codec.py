"""What the encoders and assemblies of all wires share: exact JSON, tool arguments, the order of results. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from geode_tui.core.messages import Message, ThinkingBlock, ToolResultBlock
from geode_tui.core.text import scrub
from geode_tui.core.usage import Usage
from geode_tui.providers.base import Finished
from geode_tui.providers.errors import ErrorKind, MalformedEvent, ProviderError

Wire: TypeAlias = dict[str, Any]
"""A JSON object as a wire has it."""

MALFORMED_ARGUMENTS = "_malformed_arguments"
"""The one argument under which text that is no JSON object is replayed."""
MAX_FUNCTIONS = 128
"""Tools that one request may offer on OpenAI's wires (RUNTIME.md 7); those after are not offered."""
MAX_CACHE_KEY = 64
"""Characters of a cache key that OpenAI takes."""
NO_OUTPUT = "(no output)"
"""Stands for a result without content: the vendors refuse an empty one."""


def exact(value: Any) -> str:
    """JSON text that decodes to ``value`` again. Half a surrogate pair cannot be stored, so there it is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if scrub(text) == text else json.dumps(value, separators=(",", ":"))


def arguments_object(text: str) -> Wire:
    """The object ``text`` holds; no text is no arguments, anything else is kept under `MALFORMED_ARGUMENTS`."""
    parsed = _parsed(text)
    return {MALFORMED_ARGUMENTS: scrub(text)} if parsed is None else parsed


def arguments_text(text: str) -> str:
    """As `arguments_object`, as JSON text: what is an object already stays exactly as the model wrote it."""
    if not text.strip():
        return "{}"
    return exact({MALFORMED_ARGUMENTS: scrub(text)}) if _parsed(text) is None else text


def _parsed(text: str) -> Wire | None:
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
        # What could not be sent again is malformed too: NaN, infinity, half a surrogate pair.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def in_call_order(messages: tuple[Message, ...]) -> list[Message]:
    """``messages`` with the results of every batch in the order of its calls; all else stays where it is."""
    ordered: list[Message] = []
    batch: list[Message] = []
    order: dict[str, int] = {}
    for message in messages:
        if message.role == "tool":
            batch.append(message)
            continue
        ordered += sorted(batch, key=lambda result: _position(result, order))
        batch = []
        ordered.append(message)
        if message.role == "assistant":
            order = {call.call_id: i for i, call in enumerate(message.calls)}
    return ordered + sorted(batch, key=lambda result: _position(result, order))


def _position(message: Message, order: Mapping[str, int]) -> int:
    ids = (block.call_id for block in message.blocks if isinstance(block, ToolResultBlock))
    return order.get(next(ids, ""), len(order))


def checked(answer: Finished) -> Finished:
    """``answer``, unless it claims to be complete and holds nothing but reasoning. Raises `ProviderError`."""
    if answer.stop_reason == "end_turn" and all(isinstance(block, ThinkingBlock) for block in answer.blocks):
        raise ProviderError(ErrorKind.EMPTY, "the model answered with nothing", usage=answer.usage)
    return answer


def cut_short(visible: bool, usage: Usage | None) -> ProviderError:
    """The error of a stream that ended before its answer was complete."""
    kind = ErrorKind.STREAM_INTERRUPTED if visible else ErrorKind.CONNECTION
    return ProviderError(kind, "the stream ended before the answer was complete", visible=visible, usage=usage)


def object_in(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object at ``name``. Raises `MalformedEvent`."""
    value = fields.get(name)
    if not isinstance(value, Mapping):
        raise MalformedEvent(f"an event has no {name}")
    return value


def text_in(fields: Mapping[str, Any], name: str) -> str:
    """The text at ``name``. Raises `MalformedEvent`."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise MalformedEvent(f"an event has no {name}")
    return value


def index_in(fields: Mapping[str, Any], name: str = "index") -> int:
    """The integer at ``name``. Raises `MalformedEvent`."""
    value = fields.get(name)
    if not isinstance(value, int):
        raise MalformedEvent(f"an event has no {name}")
    return value
