"""The Anthropic Messages wire: steps of a script in, HTTP answers and server-sent events out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeAlias

from tests.lab.cache import PromptCache, Split
from tests.lab.http import Action, Dropped, End, Hold, Pause, Received, Response, Send, Streamed, Whole
from tests.lab.rules import COUNT_RULES, Inquiry, Limits, Refused, invalid, parse_body, refusal, sign
from tests.lab.scripts import (
    Answer,
    Block,
    Call,
    Cut,
    Drip,
    Events,
    Fail,
    HangUp,
    Malformed,
    Part,
    Reply,
    Say,
    Stall,
    StreamError,
    Think,
)
from tests.lab.tokens import count_block, count_text

MESSAGES = "/v1/messages"
COUNT_TOKENS = "/v1/messages/count_tokens"

Event: TypeAlias = Mapping[str, Any]
_WithParts: TypeAlias = Answer | StreamError | Cut | Stall | Drip | Malformed


@dataclass(frozen=True)
class Piece:
    """An event, how many streamed characters it carries, and the seconds to wait before it."""

    event: Event
    chars: int = 0
    delay_s: float = 0.0


class AnthropicWire:
    """One model behind the Messages API. It keeps the prompt cache and the numbering of ids."""

    def __init__(self, limits: Limits, cache: PromptCache, secret: bytes) -> None:
        self._limits = limits
        self._cache = cache
        self._secret = secret
        self._message_numbers = count(1)
        self._call_numbers = count(1)

    def respond(self, received: Received, next_reply: Callable[[dict[str, Any]], Reply]) -> Response:
        """Answer a request. ``next_reply`` is asked only when no rule refuses it."""
        if received.method != "POST" or received.path not in {MESSAGES, COUNT_TOKENS}:
            return _error(Refused(404, "not_found_error", "Not found"))
        if received.too_large:
            return _error(Refused(413, "request_too_large", "Request exceeds the maximum size"))
        body = parse_body(received.raw)
        if isinstance(body, Refused):
            return _error(body)
        inquiry = Inquiry(received.headers, body, self._limits, lambda b: self._cache.measure(b).total, self._secret)
        if received.path == COUNT_TOKENS:
            refused = refusal(inquiry, COUNT_RULES)
            return _error(refused) if refused else _json(200, {"input_tokens": self._cache.measure(body).total})
        refused = refusal(inquiry)
        if refused is None and body.get("stream") is not True:
            refused = invalid("stream: this server only streams")
        return _error(refused) if refused else self._reply(body, next_reply(body))

    def _reply(self, body: dict[str, Any], reply: Reply) -> Response:
        if isinstance(reply, HangUp):
            return Dropped()
        if isinstance(reply, Fail):
            return _failed(reply)
        if isinstance(reply, Events):
            return _event_stream(_sent(Piece(event) for event in reply.events))
        return _event_stream(self._actions(reply, self._opening(body, reply)))

    def _actions(self, reply: _WithParts, stream: _Stream) -> Iterator[Action]:
        if isinstance(reply, Answer):
            return _sent([*stream.content, *stream.closing])
        if isinstance(reply, StreamError):
            return _sent([*stream.content, Piece(error_body(reply.type, reply.message))])
        if isinstance(reply, Malformed):
            broken = Send(f"event: content_block_delta\ndata: {reply.data}\n\n".encode())
            return iter([*_sent(stream.content), broken, *_sent(stream.closing)])
        if isinstance(reply, Drip):
            return _sent(
                replace(piece, delay_s=piece.chars / reply.chars_per_s) for piece in [*stream.content, *stream.closing]
            )
        before, after = _split(stream.content, reply.after_chars)
        if isinstance(reply, Stall):
            return iter([*_sent(before), Hold(reply.reached, reply.release), *_sent([*after, *stream.closing])])
        return iter([*_sent(before), *([] if reply.how == "clean" else [End(reply.how)])])

    def _opening(self, body: dict[str, Any], reply: _WithParts) -> _Stream:
        """The events of a reply's parts, with everything counted. The prompt is now in the cache."""
        usage = _prompt_usage(self._cache.serve(body))
        single = isinstance(reply, Cut | Stall | Drip)
        blocks = [self._numbered(part) for part in reply.parts]
        extra = reply.usage if isinstance(reply, Answer) else {}
        start = {
            "type": "message_start",
            "message": {
                "id": f"msg_{next(self._message_numbers):04d}",
                "type": "message",
                "role": "assistant",
                "model": body["model"],
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {**usage, "output_tokens": 1, "service_tier": "standard", **extra},
            },
        }
        content = [Piece(start), Piece({"type": "ping"})]
        done: list[Mapping[str, Any]] = []
        for index, part in enumerate(blocks):
            signature = self._signature(part, body, done)
            content += _block_pieces(index, part, signature, 1 if single else None)
            done.append(_finished_block(part, signature))
        closing = _closing(reply, blocks, {**_flat(usage), **_output_usage(blocks, done), **extra})
        return _Stream(content, closing)

    def _numbered(self, part: Part) -> Part:
        if isinstance(part, Call) and not part.id:
            return replace(part, id=f"toolu_{next(self._call_numbers):02d}")
        return part

    def _signature(self, part: Part, body: Mapping[str, Any], beside: list[Mapping[str, Any]]) -> str:
        if not isinstance(part, Think):
            return ""
        if part.signature is not None:
            return part.signature
        return sign(self._secret, part.text, body["messages"], beside)


@dataclass(frozen=True)
class _Stream:
    content: list[Piece]
    closing: list[Piece]


def error_body(kind: str, message: str, details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The vendor's error object, as a body or as the data of an error event."""
    error: dict[str, Any] = {"type": kind, "message": message}
    return {"type": "error", "error": {**error, "details": details} if details else error}


def sse(event: Event) -> bytes:
    """One server-sent event, named by its type."""
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n".encode()


def _error(refused: Refused) -> Whole:
    return _json(refused.status, error_body(refused.type, refused.message))


def _failed(fail: Fail) -> Whole:
    if fail.body is not None:
        return Whole(fail.status, fail.body, dict(fail.headers))
    return _json(fail.status, error_body(fail.type, fail.message, fail.details), fail.headers)


def _json(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Whole:
    return Whole(status, json.dumps(body).encode(), {"content-type": "application/json", **(headers or {})})


def _event_stream(actions: Iterator[Action]) -> Streamed:
    return Streamed(actions, {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"})


def _sent(pieces: Iterable[Piece]) -> Iterator[Action]:
    for piece in pieces:
        if piece.delay_s:
            yield Pause(piece.delay_s)
        yield Send(sse(piece.event))


def _split(pieces: list[Piece], after_chars: int | None) -> tuple[list[Piece], list[Piece]]:
    """The pieces up to the one that completes ``after_chars`` characters, and the rest. Zero ends before the first
    character."""
    if after_chars is None:
        return pieces, []
    total = 0
    for i, piece in enumerate(pieces):
        if piece.chars and total >= after_chars:
            return pieces[:i], pieces[i:]
        total += piece.chars
    return pieces, []


def _block_pieces(index: int, part: Part, signature: str, chunk: int | None) -> list[Piece]:
    start, deltas = _start_and_deltas(part, signature, chunk)
    return [
        Piece({"type": "content_block_start", "index": index, "content_block": start}),
        *(
            Piece({"type": "content_block_delta", "index": index, "delta": delta}, chars, delay)
            for delta, chars, delay in deltas
        ),
        Piece({"type": "content_block_stop", "index": index}),
    ]


def _start_and_deltas(
    part: Part, signature: str, chunk: int | None
) -> tuple[Mapping[str, Any], list[tuple[Mapping[str, Any], int, float]]]:
    if isinstance(part, Say):
        texts = _pieces(part.text, chunk or part.chunk) if chunk or not part.chunks else part.chunks
        deltas = [({"type": "text_delta", "text": t}, len(t), part.delay_s) for t in texts]
        return {"type": "text", "text": ""}, list(deltas)
    if isinstance(part, Think):
        thoughts = [({"type": "thinking_delta", "thinking": t}, len(t), 0.0) for t in _pieces(part.text, chunk or 24)]
        signed = [({"type": "signature_delta", "signature": signature}, 0, 0.0)] if signature else []
        return {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, *signed]
    if isinstance(part, Call):
        opening = {"type": "tool_use", "id": part.id, "name": part.name}
        if part.inline:
            return {**opening, "input": part.arguments}, []
        return {**opening, "input": {}}, [
            ({"type": "input_json_delta", "partial_json": t}, len(t), 0.0)
            for t in _pieces(arguments_text(part), chunk or 16)
        ]
    return part.block, [(delta, 0, 0.0) for delta in part.deltas]


def arguments_text(call: Call) -> str:
    """The argument text as it is streamed; no arguments are no text."""
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(call.arguments, ensure_ascii=False) if call.arguments else ""


def _pieces(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def _finished_block(part: Part, signature: str) -> Mapping[str, Any]:
    """The block as the client should send it back; what a signature after it covers."""
    if isinstance(part, Say):
        return {"type": "text", "text": part.text}
    if isinstance(part, Think):
        return {"type": "thinking", "thinking": part.text, "signature": signature}
    if isinstance(part, Call):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": _object(part)}
    assert isinstance(part, Block)
    return part.block


def _object(call: Call) -> Any:
    if not isinstance(call.arguments, str):
        return call.arguments
    try:
        return json.loads(call.arguments or "{}")
    except ValueError:
        return {}


def _closing(reply: _WithParts, parts: list[Part], usage: Mapping[str, Any]) -> list[Piece]:
    reason = reply.stop_reason if isinstance(reply, Answer) else None
    if reason is None:
        reason = "tool_use" if any(isinstance(part, Call) for part in parts) else "end_turn"
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [Piece({"type": "message_delta", "delta": delta, "usage": usage}), Piece({"type": "message_stop"})]


def _prompt_usage(split: Split) -> dict[str, Any]:
    return {
        "input_tokens": split.uncached,
        "cache_read_input_tokens": split.read,
        "cache_creation_input_tokens": split.written_5m + split.written_1h,
        "cache_creation": {
            "ephemeral_5m_input_tokens": split.written_5m,
            "ephemeral_1h_input_tokens": split.written_1h,
        },
    }


def _flat(usage: Mapping[str, Any]) -> dict[str, Any]:
    """The prompt's usage as the closing event repeats it: without the split by lifetime."""
    return {name: value for name, value in usage.items() if name != "cache_creation"}


def _output_usage(parts: list[Part], blocks: list[Mapping[str, Any]]) -> dict[str, Any]:
    thinking = sum(count_text(part.text) for part in parts if isinstance(part, Think))
    usage: dict[str, Any] = {"output_tokens": max(1, sum(count_block(block) for block in blocks))}
    return {**usage, "output_tokens_details": {"thinking_tokens": thinking}} if thinking else usage
