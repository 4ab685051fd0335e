"""Events of messages and of the tool calls in them."""

from __future__ import annotations

from typing import Literal

import msgspec

from geode_tui.core.events.base import Payload


class BlobRef(msgspec.Struct, frozen=True):
    """What stands in a row or an event for bytes in a file that is named by their hash. ``bytes`` is their number,
    ``path`` is relative to ``.geode`` (RUNTIME.md, decision 5).
    """

    sha256: str
    bytes: int
    path: str


class MessageOpened(Payload, frozen=True):
    """An answer began to stream into an open message row."""

    message_id: int
    seq: int


class MessageCompleted(Payload, frozen=True):
    """A message row is whole (``complete``) or will never be (``interrupted``)."""

    message_id: int
    seq: int
    role: str
    chars: int
    status: Literal["complete", "interrupted"] = "complete"
    calls: int = 0


class ToolApprovalRequested(Payload, frozen=True):
    """A call waits for the person. ``arguments`` are the JSON text that would be run, where it is not the model's; a
    large one stands in a file, as the body of a message does.
    """

    approval_id: str
    call_id: str
    tool_name: str
    safety_level: str
    brief: str
    message_seq: int
    why: str = ""
    arguments: str | None = None


class ApprovalTransition(Payload, frozen=True):
    """An approval moved: requested, allowed, denied, expired (nobody answered a headless run) or dropped (the turn
    ended first). ``by`` names who decided: person, policy, timeout.
    """

    approval_id: str
    call_id: str
    tool_name: str
    state: Literal["requested", "allowed", "denied", "expired", "dropped"]
    by: str
    detail: str = ""
    always: bool = False


class ToolExecStarted(Payload, frozen=True):
    """Intent to run a call; ``group`` and ``started`` find its processes later. ``arguments`` is cut at 4,000
    characters; the whole stands in the message.
    """

    call_id: str
    tool_name: str
    safety_level: str
    brief: str
    arguments: str
    group: int | None = None
    started: float | None = None


class ToolExecEnded(Payload, frozen=True):
    """A call has its result. ``executed`` is false where it never began. ``not_stored`` is why a result that is too
    large for the context has no file of its own, empty where it has one or needs none. ``receipt`` is the untouched
    result, where it is larger than a row or what is in the row was cut.
    """

    call_id: str
    tool_name: str
    duration_ms: int
    has_error: bool
    executed: bool
    summary: str
    tokens: int
    chars: int
    message_id: int
    seq: int
    not_stored: str = ""
    receipt: BlobRef | None = None


class ToolExecFailed(Payload, frozen=True):
    """The tool itself broke, or its outcome is not known."""

    call_id: str
    tool_name: str
    error: str
    error_type: str
    recoverable: bool


class PlanUpdated(Payload, frozen=True):
    """The agent's task list, whole: ``[[step, pending|active|done], ...]``."""

    steps: tuple[tuple[str, str], ...]
