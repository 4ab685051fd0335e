"""One step of the window's upkeep: what it cost, and what it saved. Values only; see `view.upkeep`."""

from __future__ import annotations

import msgspec

MILLION = 1_000_000
_FAR = 1 << 62


class Count(msgspec.Struct, frozen=True, array_like=True):
    """Answered requests of turns so far, those of them with a price, and the sum of their prices of reading a million
    tokens from the cache. What a step saved is a difference of two of these, times its tokens.
    """

    requests: int = 0
    priced: int = 0
    micro: int = 0

    def since(self, start: Count, tokens: int) -> Saved:
        """What a step that takes ``tokens`` off each prompt saved from ``start`` on."""
        requests, micro = self.requests - start.requests, self.micro - start.micro
        return Saved(requests, self.priced - start.priced, tokens * requests, tokens * micro // MILLION)


class Saved(msgspec.Struct, frozen=True, array_like=True):
    """What a step saved in so many requests, of which ``priced`` had a price."""

    requests: int = 0
    priced: int = 0
    tokens: int = 0
    micro: int = 0

    def plus(self, other: Saved) -> Saved:
        """The sum of both."""
        return Saved(
            self.requests + other.requests,
            self.priced + other.priced,
            self.tokens + other.tokens,
            self.micro + other.micro,
        )


class Step(msgspec.Struct, frozen=True, array_like=True):
    """One step. ``id`` is its event's, ``version`` the version of the view that it made, 0 for none; ``kind`` is what
    the conversation calls it. ``own_micro`` and ``break_micro`` are None where a price is not known.

    ``saved`` is what it saved before ``since``, which is None while it does not hold. ``paid`` is the turn and the
    round in which it had saved what it cost; it stays where the step is undone later.
    """

    id: int
    version: int
    cause: str
    kind: str
    turn: int
    round: int
    per_round: int
    own_micro: int | None = 0
    break_tokens: int = 0
    break_micro: int | None = 0
    saved: Saved = Saved()
    since: Count | None = None
    undone: bool = False
    paid: tuple[int, int] | None = None

    @property
    def cost_micro(self) -> int | None:
        """Its own cost and that of the cache that it broke."""
        if self.own_micro is None or self.break_micro is None:
            return None
        return self.own_micro + self.break_micro

    def saved_by(self, now: Count) -> Saved:
        """What it saved until ``now``."""
        return self.saved if self.since is None else self.saved.plus(now.since(self.since, self.per_round))

    def saved_micro(self, now: Count) -> int | None:
        """The same in micro-dollars; None where no request that it made smaller has a price."""
        saved = self.saved_by(now)
        return saved.micro if saved.priced or (now.priced and not saved.requests) else None

    def net_micro(self, now: Count) -> int | None:
        """What is left of that, less than 0 while it has not paid; None where a price is not known."""
        saved, cost = self.saved_micro(now), self.cost_micro
        return None if saved is None or cost is None else saved - cost

    @property
    def due(self) -> int | None:
        """The sum of prices (`Count.micro`) from which on it has saved what it cost; None where none is awaited."""
        if self.paid is not None or self.since is None or self.per_round <= 0 or self.cost_micro is None:
            return None
        missing = self.cost_micro - self.saved.micro
        return min(_FAR, self.since.micro + max(0, -(-missing * MILLION // self.per_round)))


class Total(msgspec.Struct, frozen=True, array_like=True):
    """Steps added up; money of those parts that have a price. ``unpriced`` steps lack a part. ``per_round`` is what
    those that still hold take off each prompt.
    """

    steps: int = 0
    per_round: int = 0
    own_micro: int = 0
    break_tokens: int = 0
    break_micro: int = 0
    saved_tokens: int = 0
    saved_micro: int = 0
    unpriced: int = 0

    @property
    def priced(self) -> bool:
        """Whether any of them has all its prices."""
        return not self.steps or self.unpriced < self.steps

    @property
    def net_micro(self) -> int:
        """What is left of the savings."""
        return self.saved_micro - self.own_micro - self.break_micro

    def up_to(self, since: Count, now: Count) -> Total:
        """With what the steps that still hold saved from ``since`` to ``now``."""
        more = now.since(since, self.per_round)
        return msgspec.structs.replace(
            self, saved_tokens=self.saved_tokens + more.tokens, saved_micro=self.saved_micro + more.micro
        )

    def plus(self, step: Step, now: Count) -> Total:
        """With what ``step`` took off each prompt, cost, and saved until ``now``."""
        saved = step.saved_by(now)
        return Total(
            self.steps + 1,
            self.per_round + (step.per_round if step.since is not None else 0),
            self.own_micro + (step.own_micro or 0),
            self.break_tokens + step.break_tokens,
            self.break_micro + (step.break_micro or 0),
            self.saved_tokens + saved.tokens,
            self.saved_micro + saved.micro,
            self.unpriced + (step.net_micro(now) is None),
        )
