"""The guards: pure decisions over a run's figures (RUNTIME.md 8.2 to 8.4)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import msgspec

from geode_tui.core.endings import Ending
from geode_tui.core.limits import Limits
from geode_tui.core.usage import usd

T = TypeVar("T", bound=Hashable)

HANDOFF_S = 600.0
WRAP_UP_ROUNDS, WRAP_UP_S = 2, 30.0
WRAP_UP_MIN_OUTPUT = 4_096
WRAP_UP_SHARE = 200
"""The closing answer may take 0.5 % of the window, at least 4,096 tokens."""
COST_WARNING_SHARE = 0.8
NEAR_SHARE = 0.8
"""Of a limit: from here on the model is told what is left of it."""
REPEAT_NOTE, REPEAT_STOP, REPEAT_WINDOW = 3, 5, 10
CONVERGENCE = 3


class Clocks(msgspec.Struct, frozen=True):
    """Where a run stands: rounds done in this turn, seconds of this turn and of the session, micro-dollars spent."""

    rounds: int
    turn_s: float
    session_s: float
    cost_micro: int


class Verdict(msgspec.Struct, frozen=True):
    """At a round's entry: stop with a reason, or go on; ``wrap_up`` names the limit that makes this answer the last."""

    stop: Ending | None = None
    wrap_up: str = ""
    detail: str = ""


def at_entry(limits: Limits, clocks: Clocks) -> Verdict:
    """May the next round begin, and must it be the last? In the order of RUNTIME.md 8.2."""
    if limits.max_rounds and clocks.rounds >= limits.max_rounds:
        return Verdict(Ending.MAX_ROUNDS, detail=f"{clocks.rounds} of {limits.max_rounds} rounds")
    if limits.time_budget_s and clocks.turn_s >= limits.time_budget_s:
        return Verdict(Ending.TIME_BUDGET_EXPIRED, detail=f"{clocks.turn_s:.0f} of {limits.time_budget_s:.0f} s")
    if limits.session_budget_s and clocks.session_s >= limits.session_budget_s:
        return Verdict(
            Ending.SESSION_TIME_BUDGET_EXPIRED, detail=f"{clocks.session_s:.0f} of {limits.session_budget_s:.0f} s"
        )
    if limits.cost_budget_micro and clocks.cost_micro >= limits.cost_budget_micro:
        return Verdict(Ending.COST_BUDGET_EXCEEDED)
    return Verdict(wrap_up=_near(limits, clocks))


def _near(limits: Limits, clocks: Clocks) -> str:
    """The limit inside whose headroom the next round begins: ``min(2, max // 4)`` rounds, ``min(30 s, budget / 4)``."""
    if limits.max_rounds and clocks.rounds >= limits.max_rounds - min(WRAP_UP_ROUNDS, limits.max_rounds // 4):
        return "rounds"
    if limits.time_budget_s and clocks.turn_s >= limits.time_budget_s - min(WRAP_UP_S, limits.time_budget_s / 4):
        return "time"
    if limits.session_budget_s and clocks.session_s >= limits.session_budget_s - min(
        WRAP_UP_S, limits.session_budget_s / 4
    ):
        return "session"
    return ""


def time_bound(limits: Limits, clocks: Clocks) -> tuple[float, Ending] | None:
    """The nearest time limit: seconds left (negative when over) and the reason it ends a turn with, or None."""
    bounds = [
        (budget - used, ending)
        for budget, used, ending in (
            (limits.time_budget_s, clocks.turn_s, Ending.TIME_BUDGET_EXPIRED),
            (limits.session_budget_s, clocks.session_s, Ending.SESSION_TIME_BUDGET_EXPIRED),
        )
        if budget
    ]
    return min(bounds, default=None)


WRAP_UP_ENDINGS = {
    "rounds": Ending.MAX_ROUNDS,
    "time": Ending.TIME_BUDGET_EXPIRED,
    "session": Ending.SESSION_TIME_BUDGET_EXPIRED,
}


def wrap_up_output(max_tokens: int, window: int) -> int:
    """Output tokens of a closing answer: never above the caller's own ceiling."""
    return min(max_tokens, max(WRAP_UP_MIN_OUTPUT, window // WRAP_UP_SHARE))


def handoff_due(limits: Limits, session_s: float) -> bool:
    """Whether the session's remaining time is within the handoff threshold, ``min(600 s, half the budget)``."""
    total = limits.session_budget_s
    return bool(total) and 0 < total - session_s <= min(HANDOFF_S, total / 2)


def cost_warning_due(limits: Limits, cost_micro: int) -> bool:
    """Whether 80 % of the cost budget is spent."""
    return bool(limits.cost_budget_micro) and cost_micro >= limits.cost_budget_micro * COST_WARNING_SHARE


def near_limits(limits: Limits, clocks: Clocks) -> str:
    """What is left of the limits that are mostly used up, in words for the model; empty while there is none."""
    turn_s, session_s, budget = limits.time_budget_s, limits.session_budget_s, limits.cost_budget_micro
    left = (
        (limits.max_rounds, clocks.rounds, f"{limits.max_rounds - clocks.rounds} of {limits.max_rounds} rounds"),
        (turn_s, clocks.turn_s, f"{turn_s - clocks.turn_s:.0f} of {turn_s:.0f} s for this task"),
        (session_s, clocks.session_s, f"{session_s - clocks.session_s:.0f} of {session_s:.0f} s in all"),
        (budget, clocks.cost_micro, f"${usd(max(0, budget - clocks.cost_micro))} of ${usd(budget)}"),
    )
    return ", ".join(words for total, used, words in left if total and used >= total * NEAR_SHARE)


class Done(msgspec.Struct, frozen=True):
    """One finished call, as the loop guards see it. ``error`` is the beginning of an error result, empty for others."""

    round: int
    tool: str
    arguments: str
    error: str = ""
    wrote: bool = False
    polls: bool = False


def converged(history: Sequence[Done]) -> bool:
    """Whether the last three errors are the same, call after call (RUNTIME.md 8.3).

    The same error several times in one answer is one: the model has not seen it yet.
    """
    last = _once_a_round([(d.round, f"{d.tool}:{d.error}" if d.error else "") for d in history])[-CONVERGENCE:]
    return len(last) == CONVERGENCE and bool(last[0][1]) and len({error for _, error in last}) == 1


def repetition(history: Sequence[Done]) -> int:
    """How often the newest call was made within the last ten with nothing written and no error's change between, or 5
    for ABABAB. The same call several times in one answer is one; waiting tools count as 0.
    """
    recent = _once_a_round(history)[-REPEAT_WINDOW:]
    for index in range(len(recent) - 1, -1, -1):
        if recent[index].wrote:
            recent = recent[index + 1 :]
            break
    if not recent or recent[-1].polls:
        return 0
    keys = [(d.tool, d.arguments, d.error) for d in recent]
    if len(keys) >= 6 and keys[-1] != keys[-2] and keys[-6:] == [keys[-2], keys[-1]] * 3:
        return REPEAT_STOP
    return keys.count(keys[-1])


def _once_a_round(items: Sequence[T]) -> list[T]:
    """``items`` without repetitions; what is equal but of another round is none, as items carry their round."""
    return list(dict.fromkeys(items))
