"""Rows as readers get them."""

from __future__ import annotations

from typing import Literal

import msgspec

from geode_tui.core.messages import Message

Status = Literal["open", "complete", "interrupted"]
Fate = Literal["", "unknown", "interrupted", "not_started"]


class ResultMeta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a tool result's row says of its call, so that a card needs no body."""

    summary: str = ""
    duration_ms: int = 0
    tokens: int = 0
    is_error: bool = False
    executed: bool = True
    denied: bool = False
    fate: Fate = ""
    """Where the result is not the tool's own: it was begun and its outcome is not known (``unknown``), the person
    ended it (``interrupted``), or it never began (``not_started``)."""
    facts: dict[str, str | int | float | bool] = {}


class MessageRow(msgspec.Struct, frozen=True):
    """A message without its body: what a list of thousands can hold. ``id`` orders rows as they were begun; ``seq``
    numbers the session's messages and is never used again."""

    id: int
    seq: int
    turn: int
    round: int
    role: str
    origin: str
    status: Status
    chars: int
    timestamp: float
    call_id: str = ""
    tool: str = ""
    calls: tuple[str, ...] = ()
    """Ids of the tool calls in an assistant message."""
    result: ResultMeta | None = None


class StoredMessage(msgspec.Struct, frozen=True):
    """A message with its body."""

    row: MessageRow
    message: Message


class ChunkRow(msgspec.Struct, frozen=True):
    """A piece of an open message. ``block`` numbers the answer's blocks; ``kind`` is text, thinking or tool_call;
    ``name`` is the tool's name on the first piece of a call. The text is raw: clean it before it is shown."""

    message_id: int
    seq: int
    block: int
    kind: str
    text: str
    name: str = ""


class PendingCommand(msgspec.Struct, frozen=True):
    """A command without an outcome. ``text`` is what a person typed, for a submit."""

    id: int
    key: str
    kind: str
    text: str
    created_at: float
    claimed: bool


class Liveness(msgspec.Struct, frozen=True):
    """What the session's lock says: nobody (``free``), a worker (``held``), or one whose heartbeat is stale."""

    state: Literal["free", "held", "stale"]
    pid: int = 0
    started: float = 0.0
    epoch: int = 0
    heartbeat_age_s: float = 0.0
    trouble: str = ""
    """One line while the worker cannot write the store."""


class SessionRow(msgspec.Struct, frozen=True):
    """One session in the store."""

    number: int
    """Its integer row id: ``events.session``."""
    session_id: str
    title: str
    model: str
    provider: str
    source: str
    origin: str
    created_at: float
    updated_at: float
    options: str
    """`core.limits.RunOptions` as JSON."""
