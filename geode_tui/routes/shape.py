"""How a request of a route is shaped: its output, thinking and effort, and the reserve that its prompt budget keeps."""

from __future__ import annotations

from typing import Literal

import msgspec

from geode_tui.routes.budget import output_for, planning_reserve
from geode_tui.routes.catalog import Route

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Every effort word that a wire knows, lowest first."""
MAX_TOKENS = 32_768
"""Output asked for in a normal round (RUNTIME.md 8.1)."""
LEAST_ANSWER = 1_024
"""Output that must be left beside budgeted thinking: with less there is no thinking."""


class BadEffort(ValueError):
    """An effort that the route does not take: one line that says which ones it takes."""


class Shape(msgspec.Struct, frozen=True):
    """Tokens. ``max_tokens`` includes ``thinking_budget``; ``reserve`` is what `routes.budget.budget_of` takes."""

    max_tokens: int
    reserve: int
    thinking: Literal["default", "adaptive", "budgeted"] = "default"
    thinking_budget: int = 0
    effort: str | None = None


def check_effort(route: Route, effort: str) -> None:
    """Refuse an effort that the route does not take; it is never lowered in silence. Raises `BadEffort`."""
    if not effort or effort in route.efforts:
        return
    if route.thinking == "unknown" and effort in EFFORTS:
        return
    if not route.efforts and route.thinking != "unknown":
        raise BadEffort(f"{route.model} ({route.provider}/{route.source}) takes no effort")
    takes = route.efforts or EFFORTS
    raise BadEffort(f"{route.model} ({route.provider}/{route.source}) takes the efforts {', '.join(takes)}")


def shape(route: Route, wanted: int, effort: str = "", *, closing: bool = False, most: int | None = None) -> Shape:
    """The shape of a request that asks for ``wanted`` tokens of answer.

    ``most`` is an output limit that the provider itself has named, thinking included.
    ``effort`` is the person's, empty for the route's own. ``closing`` is for an answer under a limit: no thinking
    budget and the lowest effort (RUNTIME.md 8.4); thinking that is adaptive cannot be switched off.
    """
    if most is not None:
        route = msgspec.structs.replace(route, max_output=min(most, route.max_output))
    chosen = (route.efforts[0] if closing and route.efforts else effort or route.default_effort) or None
    if route.thinking == "budgeted":
        return _budgeted(route, wanted, chosen, closing=closing)
    max_tokens = output_for(route, wanted)
    thinking: Literal["default", "adaptive"] = "adaptive" if route.thinking == "adaptive" else "default"
    return Shape(max_tokens, _reserve(route, max_tokens), thinking, 0, chosen)


def _budgeted(route: Route, wanted: int, effort: str | None, *, closing: bool) -> Shape:
    budget = 0 if closing else route.thinking_budget
    max_tokens = output_for(route, wanted + budget)
    if not budget or max_tokens - budget < LEAST_ANSWER:
        max_tokens = output_for(route, wanted)
        return Shape(max_tokens, _reserve(route, max_tokens), "default", 0, effort)
    return Shape(max_tokens, _reserve(route, max_tokens), "budgeted", budget, effort)


def _reserve(route: Route, max_tokens: int) -> int:
    return max_tokens if route.sends_output else planning_reserve(route.window)
