"""The effective prompt budget and its thresholds: every percentage is of this (RUNTIME.md 1.1 to 1.3)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from geode_tui.routes.catalog import Route

DEFAULT_RESERVE = 20_000
MIN_PROMPT = 8_000
"""Kept for the prompt when the output asked for would take it all."""
CRITICAL_PERCENT = 90
SOFT_LIMIT = 200_000
"""A local preference on larger windows (RUNTIME.md 2.4); no provider's limit."""
SMALL_WINDOW, STANDARD_WINDOW = 256_000, 512_000
NATIVE_FLOOR = 50_000
"""No native compaction is triggered below this; the vendor takes no less (RUNTIME.md 1.1)."""
LEAST_SUMMARY, LARGEST_SUMMARY = 2_000, 12_000

GaugeState: TypeAlias = Literal["ok", "warning", "critical", "over"]


class Budget(msgspec.Struct, frozen=True):
    """Tokens. ``prompt`` is what a prompt may take; ``reserve`` is the output this request asks for."""

    window: int
    reserve: int
    prompt: int
    warning: int
    critical: int
    warning_percent: int
    input_cap: int | None = None


def planning_reserve(window: int) -> int:
    """The local reserve of a route that is sent no output parameter."""
    return min(DEFAULT_RESERVE, max(window - MIN_PROMPT, 0))


def warning_percent(window: int) -> int:
    """50, 70 or 80 by the route's window; the bounds 256,000 and 512,000 belong to the smaller tier."""
    if window <= SMALL_WINDOW:
        return 50
    return 70 if window <= STANDARD_WINDOW else 80


def output_for(route: Route, wanted: int) -> int:
    """The output to ask for: at most the route's limit, and never so much that less than 8,000 stay for the prompt, or
    less than half of a window below 16,000: an answer of a few tokens would be of no use to anybody.
    """
    kept = min(MIN_PROMPT, route.window // 2)
    return max(1, min(wanted, route.max_output, route.window - kept))


def budget_of(route: Route, reserve: int) -> Budget:
    """``B = max(1, min(window - reserve, input cap))`` and the thresholds over it."""
    prompt = max(1, min(route.window - reserve, route.input_cap or route.window))
    percent = warning_percent(route.window)
    warning = max(1, prompt * percent // 100)
    critical = max(warning + 1, prompt * CRITICAL_PERCENT // 100)
    return Budget(route.window, reserve, prompt, warning, critical, percent, route.input_cap)


def keep_recent(window: int, wanted: int) -> int:
    """The newest messages that a summary leaves as they are: ``wanted``, at most 5 on small and 8 on standard windows
    (RUNTIME.md 1.2).
    """
    cap = {50: 5, 70: 8}.get(warning_percent(window), wanted)
    return min(wanted, cap)


def native_trigger(budget: Budget) -> int:
    """Prompt tokens at which a provider is asked to compact: at the warning, not below the vendor's floor, and never
    past the critical threshold, which a small window reaches before that floor (RUNTIME.md 1.2).
    """
    return min(max(NATIVE_FLOOR, budget.warning), budget.critical)


def shrink_threshold(budget: Budget) -> int:
    """Tokens above which a tool result is shrunk: 2 % of the prompt budget."""
    return budget.prompt * 2 // 100


def result_share(window: int) -> int:
    """5 % of the window: what one tool result may take of a small one."""
    return window * 5 // 100


def max_summary(window: int) -> int:
    """The longest summary, tokens: 5 % of the window within its bounds."""
    return max(LEAST_SUMMARY, min(window * 5 // 100, LARGEST_SUMMARY))


def state_of(used: int, budget: int, warning: int, critical: int) -> GaugeState:
    """The gauge's word for ``used`` tokens."""
    if used > budget:
        return "over"
    if used >= critical:
        return "critical"
    return "warning" if used >= warning else "ok"


def percent_of(used: int, budget: int) -> float:
    """``used`` in percent of the budget; never capped."""
    return 100 * used / max(1, budget)
