"""What the scripted model answers: steps that know nothing of a wire.

A script is a list of steps, one a request. A step may also be a callable that gets the request's parsed body and
returns a step, so that the "model" can react to what it was sent. Where a step counts characters, it counts those of
text, thinking and tool arguments together, in the order they are streamed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tests.lab.gate import Gate


@dataclass(frozen=True)
class Say:
    """Text, in pieces of ``chunk`` characters or exactly ``chunks``; ``delay_s`` is the wait before each, seconds."""

    text: str
    chunk: int = 24
    chunks: tuple[str, ...] = ()
    delay_s: float = 0.0


@dataclass(frozen=True)
class Think:
    """Reasoning. ``signature`` None is signed by the lab; an empty one is never sent."""

    text: str
    signature: str | None = None


@dataclass(frozen=True)
class Call:
    """A tool call. ``arguments`` as a str is streamed as it is, malformed or not. An empty ``id`` is numbered by the
    lab. ``inline`` puts the arguments into the opening event instead of streaming them."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""
    inline: bool = False


@dataclass(frozen=True)
class Block:
    """Any other content block, sent whole in its opening event, then ``deltas``."""

    block: Mapping[str, Any]
    deltas: tuple[Mapping[str, Any], ...] = ()


Part: TypeAlias = Say | Think | Call | Block


@dataclass(frozen=True)
class Answer:
    """One complete answer. ``stop_reason`` None is worked out from the parts; ``usage`` replaces single fields of what
    the lab counted."""

    parts: tuple[Part, ...] = ()
    stop_reason: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fail:
    """An HTTP error. ``body`` replaces the wire's own error body."""

    status: int
    type: str = "api_error"
    message: str = "Internal server error"
    headers: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] | None = None
    body: bytes | None = None


@dataclass(frozen=True)
class StreamError:
    """An error event inside a stream that began well, after ``parts`` were streamed completely."""

    parts: tuple[Part, ...] = ()
    type: str = "overloaded_error"
    message: str = "Overloaded"


@dataclass(frozen=True)
class Cut:
    """The stream ends after ``after_chars`` characters of ``parts``; with None after all of them, before the closing
    events. ``how``: ``close`` ends the connection inside the body, ``reset`` aborts it, ``clean`` ends the body
    properly, as if the answer were complete. ``silence_s`` is the wait before the end, seconds."""

    parts: tuple[Part, ...] = ()
    after_chars: int | None = None
    how: Literal["close", "reset", "clean"] = "close"
    silence_s: float = 0.0


@dataclass(frozen=True)
class HangUp:
    """The connection is closed without a byte of answer."""


@dataclass(frozen=True)
class Stall:
    """The stream stops after ``after_chars`` characters, opens ``reached``, and goes on when ``release`` is opened."""

    parts: tuple[Part, ...] = ()
    after_chars: int = 0
    reached: Gate = field(default_factory=Gate)
    release: Gate = field(default_factory=Gate)


@dataclass(frozen=True)
class Drip:
    """A complete answer, one character at a time."""

    parts: tuple[Part, ...]
    chars_per_s: float = 200.0


@dataclass(frozen=True)
class Malformed:
    """After ``parts`` one event whose data is ``data``; the stream then goes on to its proper end."""

    parts: tuple[Part, ...] = ()
    data: str = '{"type": "content_block_delta", "index"'


@dataclass(frozen=True)
class Events:
    """Exactly these events of the wire, then a clean end."""

    events: tuple[Mapping[str, Any], ...]


def Empty() -> Answer:
    """An answer without content that claims to be complete."""
    return Answer(())


def Refusal() -> Answer:
    """The model declines: no content, stop reason ``refusal``."""
    return Answer((), stop_reason="refusal")


Reply: TypeAlias = Answer | Fail | StreamError | Cut | HangUp | Stall | Drip | Malformed | Events
Step: TypeAlias = Reply | Part | tuple[Part, ...]
ScriptStep: TypeAlias = Step | Callable[[dict[str, Any]], Step]


def reply_of(step: ScriptStep, body: dict[str, Any]) -> Reply:
    """``step`` as a full reply: callables are asked, single parts and tuples of parts become a complete answer."""
    if isinstance(step, Say | Think | Call | Block):
        return Answer((step,))
    if isinstance(step, tuple):
        return Answer(step)
    if callable(step):
        return reply_of(step(body), body)
    return step
