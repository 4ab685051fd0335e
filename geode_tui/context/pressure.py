"""How full the window is, what that asks for, and whether asking again makes sense (RUNTIME.md 2.2 to 2.4). Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from geode_tui.context.prefix import Prefix
from geode_tui.core.events import ContextFigures
from geode_tui.core.views import Version
from geode_tui.routes.budget import SOFT_LIMIT, Budget
from geode_tui.routes.catalog import Route

Pressure: TypeAlias = Literal["ok", "ceiling", "warning", "critical"]
POOR_PERCENT = 5
"""A pass that won less than this did not help."""
POOR_PASSES = 3
"""So many of them in a row, and maintenance rests."""
GROWTH_PERCENT = 5
"""Growth after which a resting maintenance is worth another try."""


class Need(msgspec.Struct, frozen=True):
    """What the next request may take: its route's budget, and what stands before the conversation."""

    route: Route
    budget: Budget
    prefix: Prefix
    simulated: bool

    @property
    def known(self) -> bool:
        """Whether the window is more than an assumption: only then may anything be left out for its sake."""
        return self.route.provenance != "unknown_fallback"


def weight(figures: ContextFigures) -> int:
    """The tokens that are compared with thresholds: with a margin, as long as nothing is confirmed."""
    return figures.used * (100 + figures.margin_percent) // 100


def pressure_of(figures: ContextFigures, *, known: bool) -> Pressure:
    """What the gauge asks for. A window that is only assumed never becomes critical."""
    used = weight(figures)
    if used >= figures.critical and known:
        return "critical"
    if used >= figures.warning:
        return "warning"
    return "ceiling" if figures.window > SOFT_LIMIT < used else "ok"


def goal_of(pressure: Pressure, budget: Budget) -> int:
    """The tokens below which that pressure is gone."""
    return {"ok": budget.prompt, "ceiling": SOFT_LIMIT + 1, "warning": budget.warning, "critical": budget.critical}[
        pressure
    ]


def waits(held: Version | None, figures: ContextFigures, pressure: Pressure) -> bool:
    """Whether maintenance is held: the person took a step back, and nothing forces another one since.

    An undo that came out below critical holds until that is reached; one above it until the prompt does not fit.
    """
    if held is None:
        return False
    if held.tokens_after >= figures.critical:
        return figures.used <= figures.budget
    return pressure != "critical"


class Breaker(msgspec.Struct, frozen=True):
    """Counts passes that did not help. ``rests_at`` are the tokens at which maintenance began to rest, 0 while it does
    not.
    """

    poor: int = 0
    rests_at: int = 0

    def after(self, before: int, now: int) -> Breaker:
        """After a pass that left ``now`` of ``before`` tokens."""
        if (before - now) * 100 >= before * POOR_PERCENT:
            return Breaker()
        poor = self.poor + 1
        return Breaker(poor, now if poor >= POOR_PASSES else 0)

    def rests(self, used: int) -> bool:
        """Whether another pass at ``used`` tokens is not worth it."""
        return self.rests_at > 0 and used * 100 < self.rests_at * (100 + GROWTH_PERCENT)
