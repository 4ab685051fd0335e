"""Events of what the model is sent: the window's upkeep, and the versions of the view that it leaves behind."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from geode_tui.core.events.base import ContextFigures, Payload

MaintenanceAction: TypeAlias = Literal["compact", "prune", "mask", "none"]
MaintenanceStatus: TypeAlias = Literal["changed", "unchanged", "deferred", "failed", "unsupported"]
LostKind: TypeAlias = Literal["rule", "question", "error", "path", "number", "identifier"]


class ContextCompacted(Payload, frozen=True):
    """What the model was sent so far gave way to a summary, by another program. Tokens as that program states them."""

    trigger: str
    tokens_before: int | None = None
    tokens_after: int | None = None


class ProviderCompacted(Payload, frozen=True):
    """The provider compacted the conversation by itself: the answer ``seq`` holds the block that stands for what came
    before it. Tokens of the prompt before, as the gauge had it, and after, as the provider counted it; 0 where it did
    not.
    """

    call_id: str
    seq: int
    tokens_before: int
    tokens_after: int


class ProviderCleared(Payload, frozen=True):
    """The provider emptied ``tool_uses`` results in the prompt of a request, which took ``tokens`` off it. The log and
    later requests still hold them.
    """

    call_id: str
    tool_uses: int
    tokens: int


class ContextCritical(Payload, frozen=True):
    """The next prompt has reached the critical threshold; nothing was done about it yet (RUNTIME.md 2.5)."""

    metrics: ContextFigures
    model: str
    provider: str
    source: str
    session_id: str
    turn_id: str


class ContextOverflowAction(Payload, frozen=True):
    """What was done about a context that had become too large. It tells; it selects nothing (RUNTIME.md 2.5)."""

    metrics: ContextFigures
    model: str
    provider: str
    action: MaintenanceAction
    trigger: str


class MaintenanceStarted(Payload, frozen=True):
    """The window's upkeep began to do something. ``trigger`` is its cause, ``hard`` whether the run depends on it."""

    trigger: str
    hard: bool
    context: ContextFigures


class MaintenanceEnded(Payload, frozen=True):
    """How it ended (RUNTIME.md 2.5). Counts are of messages sent, tokens by one estimator. Where the worker died during
    it, another one writes this: it is ``failed`` as ``interrupted``, with counts of 0.

    ``detail`` is one line that says why nothing or less was done. ``persisted`` is whether the summary's artifact was
    stored.
    """

    trigger: str
    action: MaintenanceAction
    status: MaintenanceStatus
    original_count: int
    new_count: int
    tokens_before: int
    tokens_after: int
    error_type: str = ""
    detail: str = ""
    persisted: bool = False
    paused: bool = False
    """Maintenance rests from here on: it did not help often enough to be worth its price."""


class LostItem(msgspec.Struct, frozen=True):
    """Something that was said before a summary and that the model does not see any more. ``text`` is one line of at
    most 160 characters. ``seq`` is the message that said it last, 0 where only the former summary did.
    """

    kind: LostKind
    text: str
    seq: int


class ViewChanged(Payload, frozen=True):
    """Another version of the view is active. ``operations`` counts them by kind (mask, summarise ...).

    ``first_changed`` is the seq of the first message that is sent in another form, 0 where none is. ``takes_back`` are
    versions whose operations no longer hold. ``unbound`` counts signed thinking that can no longer be sent.
    """

    version: int
    parent: int
    cause: str
    mode: str
    operations: dict[str, int]
    tokens_before: int
    tokens_after: int
    first_changed: int
    context: ContextFigures
    artifact_id: str = ""
    local: bool = False
    """The summary was written here, not by a model."""
    takes_back: tuple[int, ...] = ()
    unbound: int = 0
    upto: int = 0
    """The last message that a summary stands for or that is left out; 0 where there is none."""
    lost: tuple[LostItem, ...] = ()
    """What neither a new summary nor the messages that stay hold any more: at most 60, the weightiest first."""
    back: tuple[int, int] | None = None
    """The version whose summary lost something, and which of its ``lost`` was told again in a pinned note."""
    gives_back: tuple[int, ...] = ()
    """Versions whose operations hold again."""


class WindowObserved(Payload, frozen=True):
    """The provider's own word on how much fits: ``limit`` tokens of prompt and output, and what it counted."""

    model: str
    provider: str
    source: str
    limit: int
    actual: int | None = None
    estimated: int | None = None
    """What had been estimated here."""


class ToolResultOffloaded(Payload, frozen=True):
    """A result's text stands in a file of its own now, and a stub in the view (RUNTIME.md 4.6)."""

    ref_id: str
    original_tokens: int
    block_id: str
    tool_name: str
    session_id: str
    turn_id: str
    tool_call_id: str
    path: str
    extrapolated: bool = False
    """Whether ``original_tokens`` was counted on a sample."""


class ToolResultRecalled(Payload, frozen=True):
    """A stored result was read again, ``chars`` of it from character ``offset`` on: by the model with its tool, or by
    the person, who had it told to the model.
    """

    ref_id: str
    offset: int
    chars: int
    by: Literal["model", "person"] = "model"


class OffloadsSwept(Payload, frozen=True):
    """Stored results left: ``expired`` of them were older than they are kept, ``crowded`` had to make room for others.
    ``damaged`` are files that were none of them and were set aside. ``freed`` is in bytes.
    """

    expired: int = 0
    crowded: int = 0
    receipts: int = 0
    freed: int = 0
    damaged: tuple[str, ...] = ()


class ExtensionInvoked(Payload, frozen=True):
    """A hook, a middleware or an observer was called: ``surface`` names which. ``status`` is what came of it."""

    surface: str
    name: str
    extension: str
    status: str
    reason: str = ""
    duration_ms: int = 0


class SessionForked(Payload, frozen=True):
    """The session began as a copy of ``parent`` up to its message ``seq``. ``context`` is its gauge, estimated."""

    parent: str
    turn: int
    round: int
    seq: int
    view_version: int = 0
    """The version of the view that it began with, which came along."""
    view_cause: str = ""
    context: ContextFigures | None = None
