"""How many rounds and minutes are left until the context or the money is full, from the run's own pace lately.

Everything is a range: what a slow and what a fast round of late would lead to. Too little to judge by is no forecast.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from statistics import median, quantiles

import msgspec

from geode_tui.core.events import ContextFigures
from geode_tui.view.state import RoundFigures, RunState

LOOK_BACK = 8
"""The newest differences that are looked at."""
FEWEST = 3
"""With fewer differences there is no forecast."""


class Span(msgspec.Struct, frozen=True):
    """A range whose ends are the quartiles of what was seen; ``likely`` is the median, between them."""

    low: int
    likely: int
    high: int


class Forecast(msgspec.Struct, frozen=True):
    """Growth in tokens a round, and the rounds left to each limit; 0 where it is reached.

    ``round_s`` is how long a round takes, seconds; None where too few are known. ``cost`` are the rounds left to the
    cost limit; None without one, and where a round's price is not known.
    """

    per_round: int
    warning: Span
    critical: Span
    full: Span
    cost: Span | None = None
    round_s: Span | None = None

    def seconds(self, rounds: Span) -> Span | None:
        """How long ``rounds`` take, from few fast ones to many slow ones; None where that is not known."""
        pace = self.round_s
        if pace is None:
            return None
        return Span(rounds.low * pace.low, rounds.likely * pace.likely, rounds.high * pace.high)


def forecast_of(state: RunState) -> Forecast | None:
    """The forecast of a run."""
    return forecast(state.rounds, state.context, state.limits.cost_budget_micro, state.money.cost_micro)


def forecast(
    rounds: Sequence[RoundFigures],
    figures: ContextFigures | None,
    limit_micro: int = 0,
    spent_micro: int = 0,
) -> Forecast | None:
    """The forecast for ``figures`` from the rounds so far, oldest first, or None where too little is known.

    Only growth with one model counts: a round after which the context was smaller says nothing about the next, and
    another model counts otherwise. ``limit_micro`` is the cost limit, 0 for none, ``spent_micro`` what is spent of it.
    """
    if figures is None or figures.budget <= 0:
        return None
    growth = _span(_growth(rounds))
    if growth is None:
        return None

    def left(limit: int) -> Span:
        return _rounds_to(limit - figures.used, growth)

    return Forecast(
        per_round=growth.likely,
        warning=left(figures.warning),
        critical=left(figures.critical),
        full=left(figures.budget),
        cost=_to_cost_limit(rounds, limit_micro - spent_micro) if limit_micro else None,
        round_s=_span([round(s) for s in _durations(rounds)]),
    )


def _growth(rounds: Sequence[RoundFigures]) -> list[int]:
    known = [r for r in rounds if r.used > 0]
    pairs = ((one, other) for one, other in itertools.pairwise(known) if one.model == other.model)
    return [other.used - one.used for one, other in pairs if other.used > one.used]


def _durations(rounds: Sequence[RoundFigures]) -> list[float]:
    """Seconds from answer to answer within a turn: between turns nothing is done."""
    pairs = itertools.pairwise(r for r in rounds if r.at)
    return [other.at - one.at for one, other in pairs if other.turn == one.turn and other.at > one.at]


def _to_cost_limit(rounds: Sequence[RoundFigures], left_micro: int) -> Span | None:
    newest = [r.cost_micro for r in rounds[-LOOK_BACK:]]
    prices = [price for price in newest if price is not None]
    if len(prices) < len(newest) or not any(prices):
        return None
    price = _span(prices)
    return None if price is None else _rounds_to(left_micro, price)


def _rounds_to(distance: int, step: Span) -> Span:
    """Rounds until ``distance`` is gone: the fastest pace first."""
    low, likely, high = (max(0, -(-distance // pace)) for pace in (step.high, step.likely, step.low))
    return Span(low, likely, high)


def _span(seen: Sequence[int]) -> Span | None:
    """The quartiles of the newest of ``seen``, at least 1 each; None where they are too few."""
    newest = seen[-LOOK_BACK:]
    if len(newest) < FEWEST:
        return None
    low, _, high = quantiles(newest, n=4, method="inclusive")
    return Span(max(1, round(low)), max(1, round(median(newest))), max(1, round(high)))
