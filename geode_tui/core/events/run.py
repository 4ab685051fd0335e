"""Events of a run: its turns, limits, commands and endings."""

from __future__ import annotations

from typing import Literal

import msgspec

from geode_tui.core.events.base import ContextFigures, Payload
from geode_tui.core.limits import Limits


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


class TranscriptImported(Payload, frozen=True):
    """A foreign transcript was read to its end: ``bytes`` of the file at ``path``, with that hash."""

    format: str
    path: str
    sha256: str
    bytes: int
    rows: int
    skipped: int
    unknown: dict[str, int] = msgspec.field(default_factory=dict)
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
