"""What every event's payload is made of."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec


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
