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
from geode_tui.providers.anthropic_edits import cleared_in
from geode_tui.providers.anthropic_request import PROVIDER
from geode_tui.providers.anthropic_usage import by_iteration, only_compacted, usage_of
from geode_tui.providers.base import CacheMiss, Cleared, Delta, Finished, Opened, Progress, StreamEvent
from geode_tui.providers.codec import checked, cut_short, exact, index_in, object_in, text_in
from geode_tui.providers.errors import MalformedEvent
from geode_tui.providers.usage_report import merge_usage, part, tokens

_APPENDED = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Deltas that come in many pieces, and the field that holds the piece."""


class _OpenBlock:
    """A block while it streams: its opening object and the pieces appended to it."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.start = start
        self.kind = text_in(start, "type")
        self.pieces: list[str] = []

    def grow(self, delta: Mapping[str, Any]) -> str:
        """Take in a delta; returns the appended text, empty where it appended none."""
        field = _APPENDED.get(text_in(delta, "type"))
        if field is not None:
            piece = text_in(delta, field)
            self.pieces.append(piece)
            return piece
        if "citation" in delta:
            self.start["citations"] = [*(self.start.get("citations") or []), delta["citation"]]
        else:
            self.start |= {name: value for name, value in delta.items() if name != "type"}
        return ""

    def finished(self) -> Block | None:
        """The neutral block, or None for one without content."""
        joined = "".join(self.pieces)
        if self.kind == "text":
            text = str(self.start.get("text") or "") + joined
            return TextBlock(scrub(text), *self._extra("text")) if text else None
        if self.kind == "thinking":
            return self._thinking(str(self.start.get("thinking") or "") + joined)
        if self.kind == "tool_use":
            given = self.start.get("input")
            arguments = joined or (exact(given) if given else "")
            extra = self._extra("id", "name", "input")
            return ToolCallBlock(text_in(self.start, "id"), text_in(self.start, "name"), scrub(arguments), *extra)
        return OpaqueBlock(PROVIDER, self.kind, exact(self._opaque(joined)))

    def _extra(self, *known: str) -> tuple[str, str | None]:
        """The provider and the fields the neutral block has no place for, where there are any."""
        fields = {name: value for name, value in self.start.items() if name not in {"type", *known} and value}
        return (PROVIDER, exact(fields)) if fields else ("", None)

    def _thinking(self, text: str) -> ThinkingBlock | None:
        if not self.start.get("signature"):
            return ThinkingBlock(scrub(text), PROVIDER) if text else None
        return ThinkingBlock(scrub(text), PROVIDER, exact({**self.start, "thinking": text}))

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
        self._cache_miss: CacheMiss | None = None
        self._cleared: Cleared | None = None

    @property
    def usage(self) -> Usage | None:
        """The last figures reported, a lower bound until the end; None before any."""
        return None if self._usage is None else usage_of(self._usage)

    def feed(self, event: object) -> list[StreamEvent]:
        """Take in one decoded event; returns what there is to pass on. Raises `MalformedEvent`."""
        if not isinstance(event, dict):
            raise MalformedEvent("an event is not an object")
        passed_on = self._taken(event)
        return [] if passed_on is None else [passed_on]

    def _taken(self, event: dict[str, Any]) -> StreamEvent | None:
        kind = event.get("type")
        if kind == "message_start":
            return self._opened(object_in(event, "message"))
        if kind == "content_block_start":
            return self._started(index_in(event), dict(object_in(event, "content_block")))
        if kind == "content_block_delta":
            return self._grown(index_in(event), object_in(event, "delta"))
        if kind == "content_block_stop":
            index = index_in(event)
            self._closed[index] = self._block(index).finished()
            del self._open[index]
        elif kind == "message_delta":
            self._stop_reason = object_in(event, "delta").get("stop_reason") or self._stop_reason
            self._usage = merge_usage(self._usage or {}, event.get("usage"))
            self._cleared = cleared_in(event) or self._cleared
            return Progress(usage_of(self._usage))
        elif kind == "message_stop":
            self.complete = self._stop_reason is not None
        return None

    def finish(self) -> Finished:
        """The complete answer. Raises `ProviderError` where the stream ended too early or said nothing at all.

        A stream that gave its stop reason and closed every block is complete even without its very last event.
        """
        if self._stop_reason is None or self._open:
            raise cut_short(self.visible, self.usage)
        blocks = tuple(
            block for _, block in sorted(self._closed.items(), key=lambda item: item[0]) if block is not None
        )
        usage, extra = by_iteration(self._usage or {})
        answer = Finished(
            blocks,
            self._stop_reason,
            usage,
            self._id,
            self._model,
            cache_miss=self._cache_miss,
            extra_usage=extra,
            cleared=self._cleared,
        )
        # A compaction that came to nothing has no block: it was paid for, and whoever asked reads the reason to stop.
        return answer if only_compacted(self._usage or {}) else checked(answer)

    def _opened(self, message: Mapping[str, Any]) -> Opened:
        self._id, self._model = str(message.get("id") or ""), str(message.get("model") or "")
        self._usage = merge_usage({}, message.get("usage"))
        self._cache_miss = _cache_miss(part(part(message, "diagnostics"), "cache_miss_reason"))
        return Opened(self._id, self._model, usage_of(self._usage))

    def _started(self, index: int, start: dict[str, Any]) -> Delta | None:
        block = self._open[index] = _OpenBlock(start)
        if block.kind != "tool_use":
            return None
        self.visible = True
        return Delta(index, "tool_call", "", text_in(start, "name"))

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


def _cache_miss(reason: Mapping[str, Any]) -> CacheMiss | None:
    """What changed; None where nothing did, or where the provider has nothing to compare with."""
    kind = str(reason.get("type") or "")
    return CacheMiss(kind, tokens(reason, "cache_missed_input_tokens")) if kind.endswith("_changed") else None
