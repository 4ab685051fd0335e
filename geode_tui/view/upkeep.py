"""What each step of the window's upkeep cost and saved, as a fold over the log.

A step takes tokens off every prompt that is sent while it holds. Had it not been taken, its provider would have read
them from its cache: so they are worth the price of reading them there, at the size and the time of the request that did
without them. Against that stand what the step itself cost and what the cache that it broke cost more than reading it.

Each step is credited with what it took off the prompt when it was taken, for as long as it holds, whatever steps come
after it: together they are credited with just what is not sent. A cache break is laid to the step that changed the
earliest message since the request before. Money is in whole micro-dollars, rounded down.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from geode_tui.core import events as ev
from geode_tui.core.layers import CacheCause
from geode_tui.core.text import clean_line
from geode_tui.view.upkeep_step import MILLION, Count, Saved, Step, Total

STEPS = 100
"""Steps that are kept one by one, the newest; those before them are summed."""
FARTHEST = 10_000
"""Rounds ahead up to which it is told when a step will have paid."""
MOST = 10**9
"""Tokens, and micro-dollars a million tokens, beyond which a figure is none that could be."""
UNCOUNTED = frozenset({"arrival", "pin", "undo", "redo"})
"""Causes of versions that are no upkeep of the window: a result that was never sent whole, and the person's word on
what holds."""
BLAMED: frozenset[CacheCause] = frozenset({"message", "removed", "compacted"})
"""Causes of cache breaks that a step can be to blame for."""


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """The newest answer of a turn: its price of reading a million tokens, what its provider's own work beside it cost,
    and the steps (by id) that a cache break in it can be laid to: one since the answer before, one of the provider.
    """

    call_id: str = ""
    price: int | None = None
    beside_micro: int | None = None
    step: int = 0
    provider: int = 0


class Upkeep(msgspec.Struct):
    """The account of a run's upkeep. Part of the state: one thread folds into it (`view.state`)."""

    steps: list[Step] = []
    """The newest, oldest first."""
    older: Total = Total()
    """Those before them, up to ``older_since``; what they take off each prompt goes on."""
    older_since: Count = Count()
    now: Count = Count()
    answer: Answer = Answer()
    due: int | None = None
    """The least `Step.due`: below it no step can have been paid back."""

    running: bool = False
    spent_micro: int | None = 0
    """What the pass that runs has paid for summaries that no step bears yet; None where one has no price."""
    newest: int = 0
    """Its newest step, by id; 0 while it has made none."""
    wasted: int = 0
    """Passes that paid for summaries and changed nothing."""
    wasted_micro: int = 0

    suspect: tuple[int, int] = (0, 0)
    """The step, 0 for another change, and the first message of the earliest change since the newest answer."""
    replayed: int = 0
    """The provider's compaction in the newest answer, by id, while its version is not known."""
    unmeasured: tuple[int, int] = (0, 0)
    """A step, and the prompt before it: what it took off is known with the next answer."""
    clearing: tuple[int, int] = (0, 0)
    """The step that the provider's clearing is, and the number of the newest request in which it cleared."""

    def copy(self) -> Upkeep:
        """A copy that is not changed with it."""
        return msgspec.structs.replace(self, steps=list(self.steps))

    # -- requests -----------------------------------------------------------------------------------------------------
    def answered(self, p: ev.LlmCallEnded, row: ev.EventRow) -> None:
        """A turn's request was answered: whatever holds saved once more."""
        if self.unmeasured[0]:
            self._measure(_sane(self.unmeasured[1] - p.context.used))
        price = None if p.read_micro is None else _sane(p.read_micro)
        before = self.now
        self.now = Count(before.requests + 1, before.priced + (price is not None), before.micro + (price or 0))
        clearing = self.clearing[0] if before.requests and self.clearing[1] == before.requests else 0
        self.answer = Answer(p.call_id, price, p.beside_micro, self.suspect[0], clearing)
        self.suspect, self.replayed = (0, 0), 0
        if price is not None and self.due is not None and self.now.micro >= self.due:
            self._pay(row)

    def _measure(self, per_round: int) -> None:
        step = self._step(self.unmeasured[0])
        self.unmeasured = (0, 0)
        if step is not None:
            self._put(msgspec.structs.replace(step, per_round=per_round))

    def _pay(self, row: ev.EventRow) -> None:
        """Take note of the steps that have saved what they cost."""
        for at, step in enumerate(self.steps):
            due, since = step.due, step.since
            if due is not None and since is not None and self.now.micro >= due and self.now.priced > since.priced:
                self.steps[at] = msgspec.structs.replace(step, paid=(row.turn, row.round))
        self._await()

    def cache_broken(self, p: ev.CacheBroken) -> None:
        """The newest answer's prompt was paid for again: the earliest change before it is to blame, if any is."""
        answer = self.answer
        if not self._is_newest(p.call_id) or p.cause not in BLAMED:
            return
        blamed = answer.provider if p.cause == "compacted" and answer.provider else answer.step or answer.provider
        if (step := self._step(blamed)) is not None:
            more = msgspec.structs.replace(
                step, break_tokens=step.break_tokens + p.tokens, break_micro=_sum(step.break_micro, p.cost_micro)
            )
            self._put(more)

    # -- passes and versions ------------------------------------------------------------------------------------------
    def started(self) -> None:
        """A pass began."""
        self.ended()
        self.running = True

    def paid(self, cost_micro: int | None) -> None:
        """A summary was asked for, or a request for one failed: the next version of the pass bears it."""
        if self.running:
            self.spent_micro = _sum(self.spent_micro, cost_micro)

    def ended(self) -> None:
        """The pass is over: its newest version bears what was paid since; where there is none it is wasted."""
        if self.spent_micro != 0:
            step = self._step(self.newest)
            if step is not None:
                self._put(msgspec.structs.replace(step, own_micro=_sum(step.own_micro, self.spent_micro)))
            else:
                self.wasted += 1
                self.wasted_micro += self.spent_micro or 0
        self.running, self.spent_micro, self.newest = False, 0, 0

    def changed(self, p: ev.ViewChanged, kind: str, row: ev.EventRow) -> None:
        """Another version of the view is active. ``kind`` is what the conversation calls it, empty for nothing."""
        step = 0
        if p.cause in UNCOUNTED or p.takes_back or p.gives_back:
            self._turn_back(p)
        elif self.replayed and "replay" in p.operations:
            self._name(p.version)
            return
        else:
            step = row.id
            made = Step(
                row.id, p.version, clean_line(p.cause, 40), kind, row.turn, row.round,
                _sane(p.tokens_before - p.tokens_after), self.spent_micro, since=self.now,
            )  # fmt: skip
            self.spent_micro, self.newest = 0, step
            self._add(made)
        if p.first_changed and p.cause != "arrival" and not 0 < self.suspect[1] <= p.first_changed:
            self.suspect = (step, p.first_changed)

    def _turn_back(self, p: ev.ViewChanged) -> None:
        """Versions that stop or start to hold again."""
        for step in list(self.steps):
            if step.version in p.takes_back and not step.undone:
                saved = step.saved_by(self.now)
                self._put(msgspec.structs.replace(step, saved=saved, since=None, undone=True))
            elif step.version in p.gives_back and step.undone:
                self._put(msgspec.structs.replace(step, since=self.now, undone=False))

    # -- the provider -------------------------------------------------------------------------------------------------
    def compacted(self, p: ev.ProviderCompacted, row: ev.EventRow) -> None:
        """The provider compacted in an answer, whose own prompt is the smaller one already."""
        same = self._is_newest(p.call_id)
        own = self.answer.beside_micro if same else None
        per_round, since = _sane(p.tokens_before - p.tokens_after), self._before() if same else self.now
        if not p.tokens_after:
            per_round, since, self.unmeasured = 0, self.now, (row.id, p.tokens_before)
        self._add(Step(row.id, 0, "provider", "native", row.turn, row.round, per_round, own, since=since))
        self.replayed, self.suspect = row.id, (row.id, 1)
        if same:
            self.answer = msgspec.structs.replace(self.answer, provider=row.id)
            self._pay(row)

    def _is_newest(self, call_id: str) -> bool:
        return self.now.requests > 0 and call_id == self.answer.call_id

    def _before(self) -> Count:
        """The count without the newest answer."""
        price = self.answer.price
        return Count(self.now.requests - 1, self.now.priced - (price is not None), self.now.micro - (price or 0))

    def _name(self, version: int) -> None:
        step = self._step(self.replayed)
        self.replayed = 0
        if step is not None:
            self._put(msgspec.structs.replace(step, version=version))

    def cleared(self, p: ev.ProviderCleared, row: ev.EventRow) -> None:
        """The provider took results off one request's prompt. While it does so in each request, that is one step."""
        if not self._is_newest(p.call_id):
            return
        tokens, price = _sane(p.tokens), self.answer.price
        step = self._step(self.clearing[0]) if self.now.requests - self.clearing[1] == 1 else None
        if step is None:
            step = Step(row.id, 0, "provider", "cleared", row.turn, row.round, tokens)
            self._add(step)
        once = Saved(1, int(price is not None), tokens, tokens * (price or 0) // MILLION)
        step = msgspec.structs.replace(step, per_round=tokens, saved=step.saved.plus(once))
        net = step.net_micro(self.now)
        if step.paid is None and price is not None and net is not None and net >= 0:
            step = msgspec.structs.replace(step, paid=(row.turn, row.round))
        self._put(step)
        self.clearing = (step.id, self.now.requests)
        if not self.replayed:
            self.answer = msgspec.structs.replace(self.answer, provider=step.id)

    # -- the list -----------------------------------------------------------------------------------------------------
    def _step(self, number: int) -> Step | None:
        return next((step for step in reversed(self.steps) if step.id == number), None) if number else None

    def _add(self, step: Step) -> None:
        self.steps.append(step)
        if len(self.steps) > STEPS:
            self._retire(self.steps.pop(0))
        self._await()

    def _put(self, step: Step) -> None:
        """Take the place of the step with the same id."""
        net = step.net_micro(self.now)
        if step.paid is not None and not step.undone and (net is None or net < 0):
            step = msgspec.structs.replace(step, paid=None)
        at = next(at for at in reversed(range(len(self.steps))) if self.steps[at].id == step.id)
        self.steps[at] = step
        self._await()

    def _await(self) -> None:
        self.due = min((step.due for step in self.steps if step.due is not None), default=None)

    def _retire(self, step: Step) -> None:
        self.older, self.older_since = self.older.up_to(self.older_since, self.now).plus(step, self.now), self.now


def _sane(number: int) -> int:
    """``number`` within what can be: a foreign log may state anything."""
    return max(-MOST, min(MOST, number))


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


# -- figures ----------------------------------------------------------------------------------------------------------
def total_of(upkeep: Upkeep) -> Total:
    """All steps together, with the summaries that led to none."""
    total = upkeep.older.up_to(upkeep.older_since, upkeep.now)
    for step in upkeep.steps:
        total = total.plus(step, upkeep.now)
    return msgspec.structs.replace(total, own_micro=total.own_micro + upkeep.wasted_micro)


Standing: TypeAlias = Literal["paid_back", "expected", "not_yet", "never", "undone", "unpriced"]
"""``not_yet``: the next request tells what its cache break costs, or the present pace leads nowhere. ``never``: it
saves nothing, or no more. ``unpriced``: a price is not known."""


class Verdict(msgspec.Struct, frozen=True):
    """Whether a step pays. ``place`` is the turn and the round in which it did, or will at the present pace where the
    turn goes on, in ``rounds`` more; None and 0 where that is not known.
    """

    standing: Standing
    place: tuple[int, int] | None = None
    rounds: int = 0


def verdict_of(step: Step, upkeep: Upkeep, place: tuple[int, int]) -> Verdict:
    """The verdict on ``step`` as of ``place``, the present turn and round.

    The present pace is the tokens that the step takes off a prompt at the newest answer's price of reading them.
    """
    if step.undone:
        return Verdict("undone", step.paid)
    if step.paid is not None:
        return Verdict("paid_back", step.paid)
    net, price = step.net_micro(upkeep.now), upkeep.answer.price
    if net is None:
        return Verdict("unpriced")
    if not step.saved_by(upkeep.now).requests:
        return Verdict("not_yet")
    cleared_now = upkeep.clearing == (step.id, upkeep.now.requests)
    if step.per_round <= 0 or (step.since is None and not cleared_now):
        return Verdict("never")
    if not price:
        return Verdict("not_yet")
    if step.due is not None:
        rounds = -((upkeep.now.micro - step.due) // price)
    else:
        rounds = -(net * MILLION // (step.per_round * price))
    rounds = max(1, rounds)
    return Verdict("expected", (place[0], place[1] + rounds), rounds) if rounds <= FARTHEST else Verdict("not_yet")
