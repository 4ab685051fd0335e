"""What every wire shares: a streamed answer as pieces, and how a reply's misbehaviour is played over them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from tests.lab.http import Action, Dropped, End, Hold, Pause, Received, Response, Send, Streamed, Whole
from tests.lab.scripts import (
    Answer,
    Call,
    Cut,
    Drip,
    Events,
    Fail,
    HangUp,
    Malformed,
    Reply,
    Say,
    Stall,
    StreamError,
)

REFUSAL = "I can't help with that."
"""What a refusal says on a wire that has none without words."""

Body: TypeAlias = dict[str, Any]
NextReply: TypeAlias = Callable[[Body], Reply]
WithParts: TypeAlias = Answer | StreamError | Cut | Stall | Drip | Malformed


@dataclass(frozen=True)
class Piece:
    """An event as it is sent, how many streamed characters it carries, and the seconds to wait before it."""

    data: bytes
    chars: int = 0
    delay_s: float = 0.0


@dataclass(frozen=True)
class Stream:
    """A whole answer: what is streamed of its parts, and the events that make it complete."""

    content: list[Piece]
    closing: list[Piece]


class Wire(Protocol):
    """One vendor's API behind some of the server's paths."""

    def respond(self, received: Received, next_reply: NextReply) -> Response:
        """Answer a request. ``next_reply`` is asked only when no rule refuses it."""
        ...


class Voice(Protocol):
    """How a wire says what a reply asks for."""

    def stream(self, body: Body, reply: WithParts) -> Stream:
        """The events of a reply's parts, with everything counted. The prompt is in the cache afterwards."""
        ...

    def event(self, event: Mapping[str, Any]) -> bytes:
        """One event of this wire."""
        ...

    def error_event(self, error: StreamError) -> bytes:
        """An error inside a stream that began well."""
        ...

    def broken_event(self, data: str) -> bytes:
        """An event whose data is ``data``."""
        ...

    def failed(self, fail: Fail) -> Whole:
        """An HTTP error in this vendor's shape."""
        ...


def perform(voice: Voice, body: Body, reply: Reply) -> Response:
    """The answer to an accepted request."""
    if isinstance(reply, HangUp):
        return Dropped()
    if isinstance(reply, Fail):
        return voice.failed(reply)
    if isinstance(reply, Events):
        return event_stream(_sent(Piece(voice.event(event)) for event in reply.events))
    return event_stream(_actions(voice, reply, voice.stream(body, reply)))


def _actions(voice: Voice, reply: WithParts, stream: Stream) -> Iterator[Action]:
    if isinstance(reply, Answer):
        return _sent([*stream.content, *stream.closing])
    if isinstance(reply, StreamError):
        return _sent([*stream.content, Piece(voice.error_event(reply))])
    if isinstance(reply, Malformed):
        return iter([*_sent(stream.content), Send(voice.broken_event(reply.data)), *_sent(stream.closing)])
    if isinstance(reply, Drip):
        pieces = [*stream.content, *stream.closing]
        return _sent(replace(piece, delay_s=piece.chars / reply.chars_per_s) for piece in pieces)
    before, after = _split(stream.content, reply.after_chars)
    if isinstance(reply, Stall):
        return iter([*_sent(before), Hold(reply.reached, reply.release), *_sent([*after, *stream.closing])])
    silence = [Pause(reply.silence_s)] if reply.silence_s else []
    return iter([*_sent(before), *silence, *([] if reply.how == "clean" else [End(reply.how)])])


def _sent(pieces: Iterable[Piece]) -> Iterator[Action]:
    for piece in pieces:
        if piece.delay_s:
            yield Pause(piece.delay_s)
        yield Send(piece.data)


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


def chunk_of(reply: WithParts) -> int | None:
    """Characters of a piece where the reply counts characters, else None: as each part says."""
    return 1 if isinstance(reply, Cut | Stall | Drip) else None


def texts_of(say: Say, chunk: int | None) -> list[str]:
    """The pieces a text is streamed in."""
    return list(say.chunks) if say.chunks and not chunk else cut_up(say.text, chunk or say.chunk)


def cut_up(text: str, size: int) -> list[str]:
    """``text`` in pieces of ``size`` characters."""
    return [text[i : i + size] for i in range(0, len(text), size)]


def arguments_text(call: Call) -> str:
    """The argument text of a call, malformed where the script says so."""
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)


def dumped(value: Any) -> str:
    """Compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def sse(data: str, name: str = "") -> bytes:
    """One server-sent event."""
    return (f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode()


def json_answer(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Whole:
    """An answer that is one JSON value."""
    return Whole(status, json.dumps(body).encode(), {"content-type": "application/json", **(headers or {})})


def failed_with(fail: Fail, body: Any) -> Whole:
    """The answer of a `Fail`: its own body if it has one, else ``body`` as JSON."""
    if fail.body is not None:
        return Whole(fail.status, fail.body, dict(fail.headers))
    return json_answer(fail.status, body, fail.headers)


def event_stream(actions: Iterator[Action]) -> Streamed:
    """A 200 answer of server-sent events."""
    return Streamed(actions, {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"})
