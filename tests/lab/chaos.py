"""Trouble by chance, the same for the same seed: answers that fail come before the scripted ones."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.lab.scripts import Cut, Fail, HangUp, Malformed, Reply, Say, StreamError

BABBLE = "I was about to say"


@dataclass(frozen=True)
class Chaos:
    """``rate`` is the share of requests that fail. ``stall_s`` is how long a stalled answer stays silent before its
    connection is closed, seconds. ``visible`` lets some fail after text was streamed."""

    seed: int
    rate: float = 0.2
    stall_s: float = 0.5
    visible: bool = True


class Storm:
    """The trouble of one lab, in the order of its requests."""

    def __init__(self, chaos: Chaos) -> None:
        self._chaos = chaos
        self._random = random.Random(chaos.seed)

    def next(self) -> Reply | None:
        """What the next request fails with; None lets the script answer."""
        # Both figures are drawn for each request, so that the rate does not change what the others fail with.
        strikes, kind = self._random.random() < self._chaos.rate, self._random.random()
        if not strikes:
            return None
        replies = self._replies()
        return replies[int(kind * len(replies))]

    def _replies(self) -> tuple[Reply, ...]:
        text = (Say(BABBLE, chunk=4),)
        hidden: tuple[Reply, ...] = (
            Fail(429, "rate_limit_error", "Rate limit reached", {"retry-after": "1"}),
            Fail(529, "overloaded_error", "Overloaded"),
            Fail(500),
            HangUp(),
            Cut(),
            Cut(silence_s=self._chaos.stall_s),
            Malformed(),
            StreamError(),
        )
        seen = (Cut(text, 9), Cut(text, 9, "reset"), Cut(text, 9, silence_s=self._chaos.stall_s), StreamError(text))
        return (*hidden, *seen) if self._chaos.visible else hidden
