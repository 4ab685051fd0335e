"""The event catalogue: names of RUNTIME.md 10.3 as far as this program produces them, with typed payloads.

An event is a fact in the past tense: small, ids and counts, no bodies. Its class's name in snake case is its name in
the log. Fields may be added with a default; none may be renamed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec

from geode_tui.core.layers import CacheCause, PromptLayers
from geode_tui.core.limits import Limits
from geode_tui.core.usage import Usage


class Payload(msgspec.Struct, frozen=True):
    """Base of every payload."""


Measured: TypeAlias = Literal["confirmed", "counted", "estimated"]


class ContextFigures(msgspec.Struct, frozen=True):
    """The context gauge at one moment, in tokens. ``parts`` maps category (system, tools, native, summaries, user,
    agent, thinking, results, images, unattributed) to tokens and adds up to ``used``.
    """

    used: int
    window: int
    output_reserve: int
    budget: int
    warning: int
    critical: int
    warning_percent: int
    critical_percent: int
    provenance: str
    measured: Measured
    parts: dict[str, int]
    input_cap: int | None = None
    simulated: bool = False
    margin_percent: int = 0
    """Added to ``used`` where it is compared with the thresholds, while nothing of this route is confirmed."""
    suspect: bool = False
    """The provider reported a size that cannot be; ``used`` is estimated instead."""
    dynamic: int | None = None
    """Of the part "system", what may change from turn to turn; the rest is the static prefix."""
    price_tiers: tuple[int, ...] = ()
    """Prompt sizes inside the window above which the whole request is billed at another rate, lowest first."""


class SessionStarted(Payload, frozen=True):
    """A worker took the session: once each start."""

    session_id: str
    model: str
    provider: str
    source: str
    resumed: bool
    epoch: int
    pid: int
    approve: str
    limits: Limits
    simulated: bool = False
    title: str = ""
    seed: int = 0


class SessionEnded(Payload, frozen=True):
    """The worker left: nothing more to do."""

    session_id: str
    termination_reason: str
    rounds: int


class ShutdownStarted(Payload, frozen=True):
    """The worker was asked to stop by its machine."""

    active_sessions: int


class UserInputReceived(Payload, frozen=True):
    """A person's words became a message. ``joins`` is true where they joined a turn that was going on."""

    session_id: str
    turn_id: str
    seq: int
    message_id: int
    chars: int
    origin: str
    joins: bool = False


class PromptAssembled(Payload, frozen=True):
    """The system prompt was built. ``prompt_len`` in characters."""

    model: str
    provider: str
    reason: str
    prompt_len: int


class LlmCall(Payload, frozen=True):
    """What every event of one attempt at a request names. No event itself."""

    call_id: str
    attempt: int
    purpose: str
    model: str
    provider: str
    source: str


class LlmCallStarted(LlmCall, frozen=True):
    """Intent to send a request; ``worst_micro`` bounds what it can cost, None where no price is known."""

    effort: str | None
    max_tokens: int
    context: ContextFigures
    worst_micro: int | None = None
    forced: bool = False


class LlmCallEnded(LlmCall, frozen=True):
    """A complete answer. ``context`` is the gauge with the provider's own count of the prompt."""

    latency_ms: int
    usage: Usage
    cost_micro: int | None
    stop_reason: str
    context: ContextFigures
    response_id: str = ""
    response_model: str = ""
    message_seq: int | None = None
    simulated: bool = False
    prefix: str = ""
    """Names the system text and the tools that the prompt began with."""
    layers: PromptLayers | None = None
    """What the prompt was made of, to compare the next one with."""
    beside: Usage | None = None
    """What the provider billed for work of its own beside the answer; ``cost_micro`` holds it, ``context`` does not."""


class LlmCallFailed(LlmCall, frozen=True):
    """An attempt without a complete answer. ``usage`` is the last known figure: a lower bound of what was billed."""

    error_type: str
    severity: str
    message: str
    usage: Usage | None = None
    cost_micro: int | None = None
    visible: bool = False
    simulated: bool = False


class CacheBroken(Payload, frozen=True):
    """A request paid again for ``tokens`` of its prompt that could have been read from the provider's cache.

    ``cost_micro`` is what that cost more than reading them, None where no price is known. ``said`` is the provider's
    own word for the cause, empty where it gave none. ``position`` is the place of the first message that differs,
    counted from 1; 0 where the cause is no message.
    """

    call_id: str
    cause: CacheCause
    tokens: int
    cost_micro: int | None = None
    said: str = ""
    position: int = 0


class CacheHitLow(Payload, frozen=True):
    """Only ``read_tokens`` of the ``cacheable_tokens`` of a session's prompts came from the provider's cache: told once
    a session (RUNTIME.md 7).
    """

    read_tokens: int
    cacheable_tokens: int


class LlmCallRetried(Payload, frozen=True):
    """The same request will be sent again after ``delay_s`` seconds, at ``at`` (epoch seconds)."""

    call_id: str
    attempt: int
    error_type: str
    delay_s: float
    at: float
    max_attempts: int | None = None


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
    """A call waits for the person."""

    approval_id: str
    call_id: str
    tool_name: str
    safety_level: str
    brief: str
    message_seq: int
    why: str = ""


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
    """A call has its result. ``executed`` is false where it never began."""

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


class CostWarning(Payload, frozen=True):
    """80 % of the cost budget is spent: told once a session."""

    total_micro: int
    limit_micro: int


class CostLimitExceeded(Payload, frozen=True):
    """The cost budget is spent: told once a session."""

    total_micro: int
    limit_micro: int


class HandoffTriggered(Payload, frozen=True):
    """The session's time is nearly over: once a session (RUNTIME.md 8.2)."""

    session_id: str
    remaining_s: float
    budget_total_s: float
    handoff_threshold_s: float


class WrapUpStarted(Payload, frozen=True):
    """The next answer is the last: no tools, a short output. ``guard`` is the limit that is near."""

    guard: str
    max_tokens: int


class LimitsChanged(Payload, frozen=True):
    """The person changed a limit."""

    limits: Limits


class ModelSwitched(Payload, frozen=True):
    """Another model answers from the next round on. ``context`` is the gauge on its route, estimated anew."""

    from_model: str
    to_model: str
    reason: str
    from_provider: str
    from_source: str
    provider: str
    source: str
    context: ContextFigures
    effort: str = ""
    simulated: bool = False


class ApprovalsChanged(Payload, frozen=True):
    """The person changed what is asked for: ask, reads or all."""

    approve: str


class ExecutionCancelled(Payload, frozen=True):
    """The turn was interrupted and everything it ran has ended."""

    session_id: str
    by: str


class SuspensionAbsorbed(Payload, frozen=True):
    """The machine slept or the worker was stopped for ``gap_s`` seconds that count for no budget."""

    gap_s: float


class ObserverFailed(Payload, frozen=True):
    """Something that only watches raised; the run went on."""

    observer: str
    error: str


class SettingIgnored(Payload, frozen=True):
    """A project's setting counts only in a trusted folder."""

    setting: str
    reason: str


class ContextCompacted(Payload, frozen=True):
    """What the model was sent so far gave way to a summary, by another program. Tokens as that program states them."""

    trigger: str
    tokens_before: int | None = None
    tokens_after: int | None = None


class TranscriptImported(Payload, frozen=True):
    """A foreign transcript was read to its end: ``bytes`` of the file at ``path``, with that hash."""

    format: str
    path: str
    sha256: str
    bytes: int
    rows: int
    skipped: int
    unknown: dict[str, int] = {}
    own_file: bool = True
    """False for a sub-agent whose records stand in the file of the conversation that called it."""


class CommandFinished(Payload, frozen=True):
    """The one outcome of a command: done, refused, too_late, unknown."""

    command_id: int
    key: str
    kind: str
    outcome: Literal["done", "refused", "too_late", "unknown"]
    detail: str = ""


class ReasoningMetrics(Payload, frozen=True):
    """Figures of a turn, for the record."""

    total_rounds: int
    thinking_tokens: int
    output_tokens: int
    tool_calls_total: int
    empty_rounds: int
    cost_micro: int


class TurnCompleted(Payload, frozen=True):
    """The turn's last event. ``forced`` marks a closing answer made under a limit; ``detail`` is one line that says
    what happened and what to do, where the reason alone does not.
    """

    session_id: str
    turn_id: str
    model: str
    provider: str
    rounds: int
    tool_calls: tuple[str, ...]
    termination_reason: str
    forced: bool = False
    detail: str = ""
    cost_micro: int = 0
    error_type: str = ""


@functools.cache
def event_name(kind: type[Payload]) -> str:
    """``LlmCallStarted`` -> ``llm_call_started``."""
    return re.sub(r"(?<=.)(?=[A-Z])", "_", kind.__name__).lower()


def _kinds(base: type[Payload]) -> Iterator[type[Payload]]:
    """The payloads below ``base``: those that nothing is made of."""
    for kind in base.__subclasses__():
        if kind.__subclasses__():
            yield from _kinds(kind)
        else:
            yield kind


CATALOGUE: dict[str, type[Payload]] = {event_name(kind): kind for kind in _kinds(Payload)}
"""Every event this program writes, by name."""

LEGACY_NAMES = {
    "session_start": "session_started",
    "session_end": "session_ended",
    "turn_complete": "turn_completed",
    "llm_call_start": "llm_call_started",
    "llm_call_end": "llm_call_ended",
    "llm_call_retry": "llm_call_retried",
    "tool_exec_start": "tool_exec_started",
    "tool_exec_end": "tool_exec_ended",
}
"""Names in older records (RUNTIME.md 10.3)."""


class EventRow(msgspec.Struct, frozen=True, array_like=True):
    """One row of the log, payload still as JSON text. Times are UTC epoch seconds."""

    id: int
    ts: float
    turn: int
    round: int
    event: str
    payload: str


_ENCODER = msgspec.json.Encoder()
_DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in CATALOGUE.items()}


def encode_payload(payload: Payload) -> str:
    """JSON text of a payload."""
    return _ENCODER.encode(payload).decode()


def decode_payload(name: str, text: str) -> Payload | None:
    """The typed payload of event ``name``, or None for a name this program does not know. Raises
    ``msgspec.ValidationError`` when the row is damaged.
    """
    decoder: msgspec.json.Decoder[Any] | None = _DECODERS.get(LEGACY_NAMES.get(name, name))
    return None if decoder is None else decoder.decode(text)
