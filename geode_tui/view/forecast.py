"""How many rounds are left until the context is full, from how it grew lately."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from statistics import median

import msgspec

from geode_tui.core.events import ContextFigures
from geode_tui.view.state import RoundFigures

LOOK_BACK = 8
"""Differences the median is taken of."""
FEWEST = 3
"""With fewer differences there is no forecast."""


class Forecast(msgspec.Struct, frozen=True):
    """Growth in tokens a round, and the rounds left to each limit; 0 where it is reached."""

    per_round: int
    to_warning: int
    to_critical: int
    to_full: int


def forecast(rounds: Sequence[RoundFigures], figures: ContextFigures | None) -> Forecast | None:
    """The forecast for ``figures`` from the rounds so far, oldest first, or None where too little is known.

    Only growth counts: a round after which the context was smaller says nothing about the next.
    """
    if figures is None or figures.budget <= 0:
        return None
    used = [r.used for r in rounds if r.used > 0]
    growth = [after - before for before, after in itertools.pairwise(used) if after > before]
    if len(growth) < FEWEST:
        return None
    per_round = max(1, round(median(growth[-LOOK_BACK:])))

    def left(limit: int) -> int:
        return max(0, -(-(limit - figures.used) // per_round))

    return Forecast(per_round, left(figures.warning), left(figures.critical), left(figures.budget))
