"""The events of one Messages stream, assembled into neutral ones.

Blocks are put together here from the raw events, not by the SDK: its helper turns malformed tool arguments into an
empty object, and its typed models do not promise to give a block back exactly as it came.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from geode_tui.core.messages import Block, OpaqueBlock, TextBlock, ThinkingBlock, ToolCallBlock
from geode_tui.core.text import scrub
from geode_tui.core.usage import Usage
from geode_tui.providers.anthropic_request import PROVIDER
from geode_tui.providers.anthropic_usage import merge_usage, usage_of
from geode_tui.providers.base import Delta, Finished, Opened, Progress, StreamEvent
from geode_tui.providers.errors import ErrorKind, ProviderError

_APPENDED = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Deltas that come in many pieces, and the field that holds the piece."""


class MalformedEvent(ValueError):
    """An event that does not have the shape the wire promises."""


class _OpenBlock:
    """A block while it streams: its opening object and the pieces appended to it."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.start = start
        self.kind = _text(start, "type")
        self.pieces: list[str] = []

    def grow(self, delta: Mapping[str, Any]) -> str:
        """Take in a delta; returns the appended text, empty where it appended none."""
        field = _APPENDED.get(_text(delta, "type"))
        if field is not None:
            piece = _text(delta, field)
            self.pieces.append(piece)
            return piece
        self.start |= {name: value for name, value in delta.items() if name != "type"}
        return ""

    def finished(self) -> Block | None:
        """The neutral block, or None for one without content."""
        joined = "".join(self.pieces)
        if self.kind == "text":
            text = str(self.start.get("text") or "") + joined
            return TextBlock(scrub(text)) if text else None
        if self.kind == "thinking":
            return self._thinking(str(self.start.get("thinking") or "") + joined)
        if self.kind == "tool_use":
            given = self.start.get("input")
            arguments = joined or (_exact(given) if given else "")
            return ToolCallBlock(_text(self.start, "id"), _text(self.start, "name"), scrub(arguments))
        return OpaqueBlock(PROVIDER, self.kind, _exact(self._opaque(joined)))

    def _thinking(self, text: str) -> ThinkingBlock | None:
        if not self.start.get("signature"):
            return ThinkingBlock(scrub(text), PROVIDER) if text else None
        return ThinkingBlock(scrub(text), PROVIDER, _exact({**self.start, "thinking": text}))

    def _opaque(self, joined: str) -> dict[str, Any]:
        """The block with streamed input put in; only the provider's own tools stream any into such a block."""
        if not joined:
            return self.start
        try:
            return {**self.start, "input": json.loads(joined)}
        except (ValueError, RecursionError) as error:
            raise MalformedEvent(f"the input of a {self.kind} block is not valid JSON") from error


class Assembly:
    """One answer while it streams. Feed it every event in order, then ask for `finish`."""

    def __init__(self) -> None:
        self.visible = False
        """Whether a piece of text or of a tool call was given out."""
        self.complete = False
        """Whether the provider said that the answer ended."""
        self._open: dict[int, _OpenBlock] = {}
        self._closed: dict[int, Block | None] = {}
        self._usage: dict[str, Any] | None = None
        self._stop_reason: str | None = None
        self._id = ""
        self._model = ""

    @property
    def usage(self) -> Usage | None:
        """The last figures reported, a lower bound until the end; None before any."""
        return None if self._usage is None else usage_of(self._usage)

    def feed(self, event: object) -> StreamEvent | None:
        """Take in one decoded event; returns what there is to pass on. Raises `MalformedEvent`."""
        if not isinstance(event, dict):
            raise MalformedEvent("an event is not an object")
        kind = event.get("type")
        if kind == "message_start":
            return self._opened(_object(event, "message"))
        if kind == "content_block_start":
            return self._started(_index(event), dict(_object(event, "content_block")))
        if kind == "content_block_delta":
            return self._grown(_index(event), _object(event, "delta"))
        if kind == "content_block_stop":
            index = _index(event)
            self._closed[index] = self._block(index).finished()
            del self._open[index]
        elif kind == "message_delta":
            self._stop_reason = _object(event, "delta").get("stop_reason") or self._stop_reason
            self._usage = merge_usage(self._usage or {}, event.get("usage"))
            return Progress(usage_of(self._usage))
        elif kind == "message_stop":
            self.complete = self._stop_reason is not None
        return None

    def finish(self) -> Finished:
        """The complete answer. Raises `ProviderError` where the stream ended too early or said nothing at all.

        A stream that gave its stop reason and closed every block is complete even without its very last event.
        """
        if self._stop_reason is None or self._open:
            kind = ErrorKind.STREAM_INTERRUPTED if self.visible else ErrorKind.CONNECTION
            message = "the stream ended before the answer was complete"
            raise ProviderError(kind, message, visible=self.visible, usage=self.usage)
        blocks = tuple(
            block for _, block in sorted(self._closed.items(), key=lambda item: item[0]) if block is not None
        )
        if not blocks and self._stop_reason == "end_turn":
            raise ProviderError(ErrorKind.EMPTY, "the model answered with nothing", usage=self.usage)
        return Finished(blocks, self._stop_reason, self.usage or Usage(), self._id, self._model)

    def _opened(self, message: Mapping[str, Any]) -> Opened:
        self._id, self._model = str(message.get("id") or ""), str(message.get("model") or "")
        self._usage = merge_usage({}, message.get("usage"))
        return Opened(self._id, self._model, usage_of(self._usage))

    def _started(self, index: int, start: dict[str, Any]) -> Delta | None:
        block = self._open[index] = _OpenBlock(start)
        if block.kind != "tool_use":
            return None
        self.visible = True
        return Delta(index, "tool_call", "", _text(start, "name"))

    def _grown(self, index: int, delta: Mapping[str, Any]) -> Delta | None:
        block = self._block(index)
        piece = scrub(block.grow(delta))
        if not piece:
            return None
        if block.kind == "text":
            self.visible = True
            return Delta(index, "text", piece)
        if block.kind == "thinking":
            return Delta(index, "thinking", piece)
        return Delta(index, "tool_call", piece) if block.kind == "tool_use" else None

    def _block(self, index: int) -> _OpenBlock:
        if index not in self._open:
            raise MalformedEvent(f"block {index} is not open")
        return self._open[index]


def _exact(block: Any) -> str:
    """JSON text that decodes to ``block`` again. Half a surrogate pair cannot be stored, so there it is escaped."""
    text = json.dumps(block, ensure_ascii=False, separators=(",", ":"))
    return text if scrub(text) == text else json.dumps(block, separators=(",", ":"))


def _object(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = fields.get(name)
    if not isinstance(value, Mapping):
        raise MalformedEvent(f"an event has no {name}")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise MalformedEvent(f"an event has no {name}")
    return value


def _index(event: Mapping[str, Any]) -> int:
    value = event.get("index")
    if not isinstance(value, int):
        raise MalformedEvent("an event has no index")
    return value
