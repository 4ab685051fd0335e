"""The events of one Responses stream, assembled into neutral ones.

An item is taken from the event that closes it: what is sealed in it is not whole before. The pieces before are only
for showing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from geode_tui.core.messages import Block, OpaqueBlock, TextBlock, ThinkingBlock, ToolCallBlock
from geode_tui.core.text import scrub
from geode_tui.core.usage import Usage
from geode_tui.providers.base import CacheMiss, Delta, Finished, Opened, Progress, StreamEvent
from geode_tui.providers.codec import checked, cut_short, exact, index_in, object_in, text_in
from geode_tui.providers.errors import ErrorEvent, MalformedEvent
from geode_tui.providers.openai_usage import responses_usage
from geode_tui.providers.usage_report import merge_usage, part, tokens

_TEXT = {"response.output_text.delta", "response.refusal.delta"}
_THINKING = {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}
_ARGUMENTS = "response.function_call_arguments.delta"
_ENDS = {"response.completed", "response.incomplete"}
_STOP_REASONS = {"max_output_tokens": "max_tokens"}


class Assembly:
    """One answer while it streams. See `providers.wire.Assembly`."""

    def __init__(self, provider: str) -> None:
        """``provider`` is what the blocks are marked with."""
        self.visible = False
        self.complete = False
        self._provider = provider
        self._begun: set[int] = set()
        self._closed: dict[int, tuple[Block, ...]] = {}
        self._refused = False
        self._numbers: dict[tuple[int, int], int] = {}
        self._usage: dict[str, Any] | None = None
        self._response: Mapping[str, Any] = {}

    @property
    def usage(self) -> Usage | None:
        """See `providers.wire.Assembly`."""
        return None if self._usage is None else responses_usage(self._usage)

    def feed(self, event: object) -> list[StreamEvent]:
        """See `providers.wire.Assembly`."""
        if not isinstance(event, dict):
            raise MalformedEvent("an event is not an object")
        kind = str(event.get("type"))
        if kind == "response.created":
            self._told(object_in(event, "response"))
            return [Opened(self._id, self._model, self.usage or Usage())]
        if kind == "response.output_item.added":
            return self._started(index_in(event, "output_index"), object_in(event, "item"))
        if kind == "response.output_item.done":
            self._close(index_in(event, "output_index"), object_in(event, "item"))
        elif kind in _ENDS or kind == "response.failed":
            return self._ended(object_in(event, "response"), failed=kind == "response.failed")
        elif kind == "error":
            raise ErrorEvent(event.get("error") or event)
        else:
            return self._grown(kind, event)
        return []

    def finish(self) -> Finished:
        """See `providers.wire.Assembly`."""
        if not self.complete or not self._begun <= self._closed.keys():
            raise cut_short(self.visible, self.usage)
        blocks = tuple(
            block for _, closed in sorted(self._closed.items(), key=lambda entry: entry[0]) for block in closed
        )
        usage = self.usage or Usage()
        miss = _cache_miss(part(self._response, "prompt_cache_diagnostics"))
        return checked(Finished(blocks, self._stop_reason(blocks), usage, self._id, self._model, cache_miss=miss))

    @property
    def _id(self) -> str:
        return str(self._response.get("id") or "")

    @property
    def _model(self) -> str:
        return str(self._response.get("model") or "")

    def _told(self, response: Mapping[str, Any]) -> None:
        self._response = response
        if isinstance(response.get("usage"), Mapping):
            self._usage = merge_usage(self._usage or {}, response["usage"])

    def _started(self, index: int, item: Mapping[str, Any]) -> list[StreamEvent]:
        self._begun.add(index)
        if item.get("type") != "function_call":
            return []
        self.visible = True
        return [Delta(self._number(index), "tool_call", "", text_in(item, "name"))]

    def _grown(self, kind: str, event: Mapping[str, Any]) -> list[StreamEvent]:
        if kind in _TEXT:
            return self._piece(event, "text", index_in(event, "content_index"))
        if kind in _THINKING:
            return self._piece(event, "thinking")
        if kind == _ARGUMENTS:
            return self._piece(event, "tool_call")
        if kind == "response.reasoning_summary_part.added" and index_in(event, "summary_index"):
            return [Delta(self._number(index_in(event, "output_index")), "thinking", "\n\n")]
        return []

    def _piece(
        self, event: Mapping[str, Any], kind: Literal["text", "thinking", "tool_call"], place: int = 0
    ) -> list[StreamEvent]:
        piece = scrub(text_in(event, "delta"))
        if not piece:
            return []
        self.visible = self.visible or kind != "thinking"
        return [Delta(self._number(index_in(event, "output_index"), place), kind, piece)]

    def _number(self, index: int, place: int = 0) -> int:
        """The number of the block at ``place`` of an item."""
        return self._numbers.setdefault((index, place), len(self._numbers))

    def _ended(self, response: Mapping[str, Any], *, failed: bool) -> list[StreamEvent]:
        self._told(response)
        if failed or response.get("status") == "failed" or response.get("error"):
            raise ErrorEvent(response.get("error") or dict(response))
        output = response.get("output")
        # An item that was cut by a limit need not have been closed on its own.
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if index not in self._closed and isinstance(item, Mapping):
                self._close(index, item)
        self.complete = True
        return [Progress(self.usage or Usage())]

    def _close(self, index: int, item: Mapping[str, Any]) -> None:
        self._closed[index] = tuple(self._blocks(item))
        self._refused = self._refused or any(content.get("type") == "refusal" for content in _contents(item))

    def _stop_reason(self, blocks: tuple[Block, ...]) -> str:
        if self._response.get("status") == "incomplete":
            reason = str(part(self._response, "incomplete_details").get("reason") or "incomplete")
            return _STOP_REASONS.get(reason, reason)
        if self._refused:
            return "refusal"
        return "tool_use" if any(isinstance(block, ToolCallBlock) for block in blocks) else "end_turn"

    def _blocks(self, item: Mapping[str, Any]) -> Iterator[Block]:
        kind = text_in(item, "type")
        if kind == "message":
            yield from self._texts(item)
        elif kind == "function_call":
            known = ("call_id", "name", "arguments")
            extra = exact({name: value for name, value in item.items() if name not in known})
            call_id, name, arguments = (text_in(item, field) for field in known)
            yield ToolCallBlock(call_id, name, scrub(arguments), self._provider, extra)
        elif kind == "reasoning":
            yield from self._reasoning(item)
        else:
            yield OpaqueBlock(self._provider, kind, exact(item))

    def _texts(self, item: Mapping[str, Any]) -> Iterator[TextBlock]:
        fields = {name: value for name, value in item.items() if name != "content"}
        for content in _contents(item):
            name = "refusal" if content.get("type") == "refusal" else "text"
            text = scrub(text_in(content, name))
            if text:
                others = {key: value for key, value in content.items() if key != name}
                yield TextBlock(text, self._provider, exact({"item": fields, "part": others}))

    def _reasoning(self, item: Mapping[str, Any]) -> Iterator[ThinkingBlock]:
        """Reasoning. Unsealed it is of no use to a provider that stores nothing, and so is never sent back."""
        parts = _contents(item, "summary") or _contents(item)
        text = scrub("\n\n".join(str(entry.get("text") or "") for entry in parts))
        raw = exact(item) if item.get("encrypted_content") else None
        if text or raw:
            yield ThinkingBlock(text, self._provider, raw)


def _contents(item: Mapping[str, Any], name: str = "content") -> list[Mapping[str, Any]]:
    value = item.get(name)
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _cache_miss(diagnostics: Mapping[str, Any]) -> CacheMiss | None:
    """Why the prefix was not read; None where it was, or where the provider has nothing to compare with."""
    if diagnostics.get("type") != "cache_miss":
        return None
    return CacheMiss(str(diagnostics.get("reason") or ""), tokens(diagnostics, "cache_missed_tokens"))
