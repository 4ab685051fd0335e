"""What a state means for a person: pure functions that present figures and never compute them anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from geode_tui.core import format as fmt
from geode_tui.core.endings import GUARDS, RESUMABLE, SUCCESS, Ending
from geode_tui.core.events import ContextFigures
from geode_tui.core.strings import Strings
from geode_tui.core.text import clean_line
from geode_tui.core.usage import Usage
from geode_tui.log.rows import Liveness
from geode_tui.view.state import RoundFigures, RunState

Kind: TypeAlias = Literal["running", "waiting", "idle", "ended", "dead", "not_answering"]
Level: TypeAlias = Literal["ok", "warning", "critical", "over"]
GuardName: TypeAlias = Literal["session", "time", "rounds", "cost"]
Unit: TypeAlias = Literal["seconds", "rounds", "micro"]

OFFLINE = "offline"
"""The provider that plans without a language model."""


class Status(msgspec.Struct, frozen=True):
    """A run's state (ARCHITECTURE.md, "The worker"). ``elapsed_s`` is the session's clock; ``retry_in_s`` the seconds
    to the next attempt, None where none is planned.
    """

    kind: Kind
    round: int
    elapsed_s: float
    ending: Ending | None = None
    retry_in_s: float | None = None

    @property
    def ticks(self) -> bool:
        """Whether its clocks move."""
        return self.kind in {"running", "waiting"}

    @property
    def resumable(self) -> bool:
        """Whether resuming has something to go on with."""
        return self.kind == "dead" or (self.kind in {"idle", "ended"} and self.ending in RESUMABLE)


def run_status(state: RunState, liveness: Liveness, now: float) -> Status:
    """The state of a run. ``now`` is epoch seconds."""
    kind = _kind(state, liveness)
    ending = Ending.of(state.termination_reason) if state.termination_reason and not state.turn_open else None
    live = kind in {"running", "waiting"}
    moving = live or (kind == "not_answering" and state.turn_open)
    retry_in = max(0.0, state.retry.at - now) if live and state.retry is not None else None
    return Status(kind, state.round, session_elapsed(state, now if moving else state.last_ts), ending, retry_in)


def _kind(state: RunState, liveness: Liveness) -> Kind:
    if liveness.state == "free":
        return "dead" if state.turn_open else "ended"
    if liveness.state == "stale":
        return "not_answering"
    if not state.turn_open:
        return "idle"
    return "waiting" if state.approvals else "running"


def session_elapsed(state: RunState, now: float) -> float:
    """Awake seconds of the session's turns: what its time budget counts. Idle time, and time without a worker, is not
    in it.
    """
    return state.active_s + (turn_elapsed(state, now) if state.turn_open else 0.0)


def turn_elapsed(state: RunState, now: float) -> float:
    """Awake seconds of the turn that goes on, or of the last one."""
    if not state.turn_started_at:
        return 0.0
    end = now if state.turn_open else state.turn_ended_at
    return max(0.0, end - state.turn_started_at - state.turn_absorbed_s)


def needs_you(state: RunState) -> int:
    """How many questions wait for the person."""
    return len(state.approvals)


def upkeep(state: RunState, status: Status) -> Literal["", "running", "interrupted"]:
    """How the window's upkeep stands, once it has begun: without a worker that answers, nothing goes on with it."""
    if state.maintenance is None:
        return ""
    return "running" if status.kind in {"running", "waiting", "idle"} else "interrupted"


def doing(state: RunState) -> str:
    """The string key of what the run is doing: ``doing.model`` and so on."""
    if state.maintenance is not None:
        return "doing.upkeep"
    if not state.turn_open:
        return "doing.nothing"
    if state.approvals:
        return "doing.approval"
    if any(tool.state == "running" for tool in state.open_tools.values()):
        return "doing.tool"
    if state.retry is not None:
        return "doing.retry"
    if any(call.streaming for call in state.open_calls.values()):
        return "doing.answer"
    return "doing.model"


def ending_line(state: RunState, strings: Strings) -> str:
    """How the last turn ended, in words; empty while there was none."""
    ending = Ending.of(state.termination_reason)
    if not state.termination_reason or state.turn_open:
        return ""
    limits = state.limits
    limit = {
        Ending.MAX_ROUNDS: str(limits.max_rounds),
        Ending.TIME_BUDGET_EXPIRED: fmt.duration(limits.time_budget_s),
        Ending.SESSION_TIME_BUDGET_EXPIRED: fmt.duration(limits.session_budget_s),
        Ending.SESSION_TIME_BUDGET_HANDOFF: fmt.duration(limits.session_budget_s),
        Ending.COST_BUDGET_EXCEEDED: fmt.money(limits.cost_budget_micro),
    }.get(ending, "")
    if ending is Ending.UNKNOWN:
        return strings.t("ending.unknown", reason=clean_line(state.termination_reason, 60))
    return strings.t(f"ending.{ending}", limit=limit) if limit else strings.t(f"ending.{ending}")


def state_line(state: RunState, status: Status, strings: Strings) -> str:
    """One line for a list or a terminal: the state, why, the round and the time."""
    parts = [strings.t(f"state.{status.kind}")]
    if status.retry_in_s is not None:
        parts.append(strings.t("state.retry", time=fmt.short_clock(status.retry_in_s)))
    elif upkeep(state, status) == "interrupted":
        parts.append(strings.t("upkeep.interrupted"))
    elif status.ticks or upkeep(state, status):
        parts.append(strings.t(doing(state)))
    elif ended := ending_line(state, strings):
        parts.append(ended)
    if status.round:
        parts.append(strings.t("round.n", n=status.round))
    if status.elapsed_s:
        parts.append(fmt.duration(status.elapsed_s))
    return "  ".join(parts)


def ending_tone(ending: Ending | None) -> Literal["ok", "stopped", "failed", "none"]:
    """How an ending is marked: done, stopped by a limit or a person, or failed."""
    if ending is None:
        return "none"
    if ending in SUCCESS:
        return "ok"
    return "stopped" if ending in GUARDS or ending is Ending.USER_CANCELLED else "failed"


def context_level(figures: ContextFigures) -> Level:
    """The state word of a gauge. While nothing is confirmed, its thresholds are reached a margin earlier."""
    if figures.used > figures.budget:
        return "over"
    careful = figures.used * (100 + figures.margin_percent) // 100
    if careful >= figures.critical:
        return "critical"
    return "warning" if careful >= figures.warning else "ok"


class GuardLine(msgspec.Struct, frozen=True):
    """A limit and how much of it is used, both in ``unit`` (``micro`` is micro-dollars); ``limit`` 0 is none."""

    name: GuardName
    used: float
    limit: float
    unit: Unit


def guards(state: RunState, now: float, *, live: bool = True) -> tuple[GuardLine, ...]:
    """The limits of a run in their fixed order. Simulated money has a line only where this run gave it a limit."""
    limits = state.limits
    lines = [
        GuardLine(
            "session", session_elapsed(state, now if live else state.last_ts), limits.session_budget_s, "seconds"
        ),
        GuardLine("time", turn_elapsed(state, now if live else state.last_ts), limits.time_budget_s, "seconds"),
        GuardLine("rounds", state.round, limits.max_rounds, "rounds"),
    ]
    if not state.simulated or limits.cost_budget_micro:
        lines.append(GuardLine("cost", state.money.cost_micro, limits.cost_budget_micro, "micro"))
    return tuple(lines)


def first_to_stop(lines: Sequence[GuardLine], rounds: Sequence[RoundFigures]) -> GuardName | None:
    """The limit that will be reached first at the pace so far, or None where nothing is limited.

    Limits of different kinds are compared in seconds: rounds and money by what a round took and cost on average in
    this turn. Without a round to judge by, the limit with the largest used part is named.
    """
    by_name = {line.name: line for line in lines}
    limited = [line for line in lines if line.limit > 0]
    if not limited:
        return None
    turn_s, done = by_name["time"].used, by_name["rounds"].used
    if turn_s <= 0 or done <= 0:
        return max(limited, key=lambda line: line.used / line.limit).name
    round_s = turn_s / done
    priced = [r.cost_micro for r in rounds if r.cost_micro]
    round_micro = sum(priced) / len(priced) if priced else 0.0

    def seconds_left(line: GuardLine) -> float:
        left = max(0.0, line.limit - line.used)
        if line.unit == "rounds":
            return left * round_s
        if line.unit == "micro":
            return left / round_micro * round_s if round_micro else float("inf")
        return left

    return min(limited, key=seconds_left).name


def cache_read_text(state: RunState) -> str:
    """``12 %``: of what the provider's cache could hold, what was read from it."""
    return fmt.percent(state.cache_use.read, state.cache_use.cacheable)


def cache_hit(state: RunState) -> float | None:
    """The part of all prompt tokens that was read from a cache, 0 to 1; None where the provider did not say."""
    return cache_hit_of(state.money.usage)


def cache_hit_of(usage: Usage) -> float | None:
    """As `cache_hit`, of these tokens."""
    if usage.cache_read_tokens is None or not usage.prompt_tokens:
        return None
    return usage.cache_read_tokens / usage.prompt_tokens
