"""What a lab's window saw: how many requests of which kind, how large, and which of them did not fit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.lab.http import Received
from tests.lab.kinds import Kind, kind_of


@dataclass(frozen=True)
class WindowReport:
    """``kinds`` are in order of arrival, of all requests that were JSON; ``largest`` is the largest prompt that was
    measured, ``largest_taken`` the largest that was not refused, tokens by the lab's count."""

    requests: int
    rejections: int
    largest: int
    largest_taken: int
    kinds: tuple[Kind, ...]

    def count(self, kind: Kind) -> int:
        """How many requests were of that kind."""
        return Counter(self.kinds)[kind]


def window_report(requests: Sequence[Received]) -> WindowReport:
    """The report on ``requests``."""
    return WindowReport(
        requests=len(requests),
        rejections=sum(received.overflow for received in requests),
        largest=max((received.tokens or 0 for received in requests), default=0),
        largest_taken=max((r.tokens or 0 for r in requests if not r.overflow), default=0),
        kinds=tuple(kind for received in requests if (kind := _kind(received)) is not None),
    )


def _kind(received: Received) -> Kind | None:
    try:
        body = json.loads(received.raw)
    except ValueError:
        return None
    return kind_of(body) if isinstance(body, dict) else None
