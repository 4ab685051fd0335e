"""The chunks of one Chat Completions stream, assembled into neutral events and blocks.

What servers make of this wire differs: reasoning has three names, ids and names of calls come late or twice, usage
comes once or with every chunk, and the last event may be missing. Each difference is met here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from geode_tui.core.messages import Block, TextBlock, ThinkingBlock, ToolCallBlock
from geode_tui.core.text import scrub
from geode_tui.core.usage import Usage
from geode_tui.providers.base import Delta, Finished, Opened, Progress, StreamEvent
from geode_tui.providers.codec import checked, cut_short, exact
from geode_tui.providers.errors import ErrorEvent, MalformedEvent
from geode_tui.providers.openai_chat_request import REASONING_FIELDS
from geode_tui.providers.openai_usage import chat_usage, reported_micro
from geode_tui.providers.usage_report import merge_usage, part

*_REASONING, _DETAILS = REASONING_FIELDS
_JOINED = ("text", "summary")
"""Fields of a reasoning detail that come in pieces."""
_STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "sensitive": "content_filter",
}
_FAILED = {"error", "network_error"}
"""Finish reasons that say that the server failed."""


class _Call:
    """A tool call while it streams."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self._shown = 0

    def grow(self, delta: Mapping[str, Any]) -> Delta | None:
        """Take in a delta; returns what there is to show. Nothing is shown before the name is known."""
        function = part(delta, "function")
        self.id = self.id or str(delta.get("id") or "")
        first = not self.name
        self.name = self.name or str(function.get("name") or "")
        arguments = function.get("arguments")
        if arguments:
            self.pieces.append(arguments if isinstance(arguments, str) else exact(arguments))
        if not self.name:
            return None
        piece = scrub("".join(self.pieces[self._shown :]))
        self._shown = len(self.pieces)
        if not piece and not first:
            return None
        return Delta(self.number, "tool_call", piece, self.name if first else "")


class Assembly:
    """One answer while it streams. See `providers.wire.Assembly`."""

    def __init__(self, provider: str) -> None:
        """``provider`` is what reasoning is marked with."""
        self.visible = False
        self._provider = provider
        self._numbers: dict[str, int] = {}
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._fields: dict[str, str] = {}
        self._details: list[dict[str, Any]] = []
        self._calls: list[_Call] = []
        self._slots: dict[int, _Call] = {}
        self._refused = False
        self._finish_reason: str | None = None
        self._usage: dict[str, Any] | None = None
        self._id = ""
        self._model = ""
        self._opened = False

    @property
    def complete(self) -> bool:
        """See `providers.wire.Assembly`. The word that it is done may be missing after the finish reason."""
        return self._finish_reason is not None

    @property
    def usage(self) -> Usage | None:
        """See `providers.wire.Assembly`."""
        return None if self._usage is None else chat_usage(self._usage)

    def feed(self, event: object) -> list[StreamEvent]:
        """See `providers.wire.Assembly`."""
        if not isinstance(event, dict):
            raise MalformedEvent("a chunk is not an object")
        if event.get("error"):
            raise ErrorEvent(event["error"])
        return list(self._taken(event))

    def finish(self) -> Finished:
        """See `providers.wire.Assembly`."""
        if self._finish_reason is None:
            raise cut_short(self.visible, self.usage)
        blocks, usage, cost = tuple(self._blocks()), self.usage or Usage(), reported_micro(self._usage or {})
        return checked(Finished(blocks, self._stop_reason(), usage, self._id, self._model, reported_micro=cost))

    def _taken(self, chunk: Mapping[str, Any]) -> Iterator[StreamEvent]:
        self._id = self._id or str(chunk.get("id") or "")
        self._model = self._model or str(chunk.get("model") or "")
        if not self._opened:
            self._opened = True
            yield Opened(self._id, self._model)
        if isinstance(chunk.get("usage"), Mapping):
            self._usage = merge_usage(self._usage or {}, chunk["usage"])
            yield Progress(chat_usage(self._usage))
        for choice in _listed(chunk, "choices"):
            if isinstance(choice, Mapping) and not choice.get("index"):
                yield from self._grown(part(choice, "delta"))
                self._ended(choice.get("finish_reason"))

    def _ended(self, reason: object) -> None:
        if isinstance(reason, str) and reason in _FAILED:
            raise ErrorEvent({"code": "server_error", "message": f"the server ended its answer with {reason}"})
        if isinstance(reason, str) and reason:
            self._finish_reason = reason

    def _grown(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield from self._reasoned(delta)
        for kind, piece in _pieces(delta.get("content")):
            yield from self._thought(piece) if kind == "thinking" else self._said(piece)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
            yield from self._said(refusal)
        for call in _listed(delta, "tool_calls"):
            if not isinstance(call, Mapping):
                raise MalformedEvent("a tool call is not an object")
            shown = self._call(call).grow(call)
            if shown is not None:
                self.visible = True
                yield shown

    def _reasoned(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Reasoning. Where several fields carry the same piece it is shown once; each is kept to be sent back."""
        details = [detail for detail in _listed(delta, _DETAILS) if isinstance(detail, Mapping)]
        for detail in details:
            _join(self._details, detail)
        texts = {name: delta[name] for name in _REASONING if isinstance(delta.get(name), str) and delta[name]}
        for name, text in texts.items():
            self._fields[name] = self._fields.get(name, "") + text
        told = next(iter(texts.values()), None)
        if told is None:
            told = "".join(str(detail.get(name) or "") for detail in details for name in _JOINED)
        yield from self._thought(told)

    def _thought(self, piece: str) -> Iterator[StreamEvent]:
        if piece:
            self._thinking.append(piece)
            yield Delta(self._number("thinking"), "thinking", scrub(piece))

    def _said(self, piece: str) -> Iterator[StreamEvent]:
        if piece:
            self.visible = True
            self._text.append(piece)
            yield Delta(self._number("text"), "text", scrub(piece))

    def _call(self, delta: Mapping[str, Any]) -> _Call:
        """The call that ``delta`` belongs to: by its number, or a new one where another id comes with a name.

        Some servers count no calls, and some give every piece of one another id.
        """
        index, call_id = delta.get("index"), str(delta.get("id") or "")
        index = index if isinstance(index, int) else max(self._slots, default=0)
        known = self._slots.get(index)
        opens = call_id and part(delta, "function").get("name")
        if known is not None and not (opens and known.id and call_id != known.id):
            return known
        call = self._slots[index] = _Call(self._number(f"call {len(self._calls)}"))
        self._calls.append(call)
        return call

    def _number(self, block: str) -> int:
        return self._numbers.setdefault(block, len(self._numbers))

    def _stop_reason(self) -> str:
        reason = str(self._finish_reason)
        if self._refused:
            return "refusal"
        stop = _STOP_REASONS.get(reason, reason)
        if stop in {"end_turn", "tool_use"}:
            return "tool_use" if self._calls else "end_turn"
        return stop

    def _blocks(self) -> Iterator[Block]:
        fields: dict[str, Any] = {_DETAILS: self._details} if self._details else dict(self._fields)
        if self._thinking or fields:
            yield ThinkingBlock(scrub("".join(self._thinking)), self._provider, exact(fields) if fields else None)
        text = scrub("".join(self._text))
        if text:
            yield TextBlock(text)
        for call in self._calls:
            yield ToolCallBlock(call.id, call.name, scrub("".join(call.pieces)))


def _listed(fields: Mapping[str, Any], name: str) -> list[Any]:
    value = fields.get(name)
    return value if isinstance(value, list) else []


def _pieces(content: object) -> Iterator[tuple[str, str]]:
    """(kind, text) of what a delta's content holds: a text, or parts of which some may be reasoning."""
    if isinstance(content, str):
        yield "text", content
    for entry in content if isinstance(content, list) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("text"), str):
            yield "text", entry["text"]
        elif isinstance(entry, Mapping):
            yield from (("thinking", text) for _, text in _pieces(entry.get("thinking")))


def _join(details: list[dict[str, Any]], piece: Mapping[str, Any]) -> None:
    """Add a piece of the reasoning's details: pieces of one detail follow each other and become one again."""
    last = details[-1] if details else {}
    same = all(last.get(name) == piece.get(name) for name in ("type", "index")) and any(n in last for n in _JOINED)
    if not same:
        details.append(dict(piece))
        return
    for name, value in piece.items():
        if name in _JOINED and isinstance(value, str) and isinstance(last.get(name), str):
            last[name] += value
        elif value is not None or name not in last:
            last[name] = value
