"""The public hooks: extensions that are asked, one after the other, before and after something happens.

An extension sees a frozen copy of the facts and answers with a `Reply`. It decides only what its hook's contract
names; whatever else it does (fails, hangs, answers nonsense, asks for more) is told in its `Invocation` and counts as
``continue``.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from geode_tui.core.text import Redactor, clean_line
from geode_tui.runtime.extending import (
    PRIORITY,
    ExtensionError,
    Failed,
    Invocation,
    Monotonic,
    Registration,
    Timed,
    call,
    check_registration,
    in_order,
)
from geode_tui.runtime.hook_contracts import (
    CONTINUE,
    CONTRACTS,
    DEFER,
    REWRITE,
    SCHEMA,
    STOPPING,
    Contract,
    Correlation,
    HookName,
    Reply,
)
from geode_tui.runtime.hook_payloads import frozen

TIMEOUT_S = 10.0
LEAST_KEPT, MOST_KEPT = 1, 1_000
"""Bounds of ``keep_recent`` (RUNTIME.md 2.5)."""

Hook: TypeAlias = Callable[[Mapping[str, Any]], Reply | Awaitable[Reply | None] | None]
"""An extension: a function or coroutine function of the payload."""


class PreCompact(msgspec.Struct, frozen=True):
    """What extensions are told before a summary. ``hard`` is whether the run cannot go on without one."""

    model: str
    provider: str
    message_count: int
    keep_recent: int
    trigger: str
    hard: bool
    correlation: Correlation = Correlation()


class PreCompactDecision(msgspec.Struct, frozen=True):
    """What they decided. ``reason`` is why the summary is deferred."""

    keep_recent: int
    deferred: bool = False
    reason: str = ""
    invocations: tuple[Invocation, ...] = ()


class PostCompact(msgspec.Struct, frozen=True):
    """What extensions are told once a summary has taken its place and the caller has kept that."""

    model: str
    provider: str
    original_message_count: int
    new_message_count: int
    keep_recent: int
    trigger: str
    persisted: bool
    correlation: Correlation = Correlation()


class Outcome(msgspec.Struct, frozen=True):
    """What a chain came to: the replies that count, in order, the payload after its rewrites, and every call."""

    replies: tuple[Reply, ...]
    payload: Mapping[str, Any]
    invocations: tuple[Invocation, ...]


class Hooks:
    """The registrations of one session's hooks, and the asking."""

    def __init__(self, redact: Redactor | None = None, monotonic: Monotonic = time.monotonic) -> None:
        self._redact = redact or Redactor()
        self._monotonic = monotonic
        self._registered: dict[tuple[str, str], Registration] = {}

    def register(
        self, name: str, target: Hook, *, extension: str, priority: int = PRIORITY, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Let ``target`` be asked at the hook ``name``; registered again under the same name it takes its own place.

        Raises:
            ExtensionError: there is no such hook, or the registration is not usable.
        """
        if name not in CONTRACTS:
            raise ExtensionError(f"there is no hook {name}; the hooks are: {', '.join(CONTRACTS)}")
        check_registration(extension, target, timeout_s)
        made = Registration("hook", str(name), extension, priority, timeout_s, target)
        self._registered[made.name, extension] = made

    def registered(self, name: str | None = None) -> tuple[Registration, ...]:
        """The registrations of one hook, or of all, in the order they are asked."""
        return in_order([r for r in self._registered.values() if name in {None, r.name}])

    async def pre_compact(self, facts: PreCompact) -> PreCompactDecision:
        """Ask before a summary. Only ``keep_recent`` can change, within 1 to 1,000; a soft one can be deferred."""
        ignored = frozenset({DEFER}) if facts.hard else frozenset[str]()
        outcome = await self._ask(_Chain(HookName.PRE_COMPACT, _payload(facts), self._redact, ignored))
        kept = outcome.payload["keep_recent"]
        if kept != facts.keep_recent:
            kept = min(max(kept, LEAST_KEPT), MOST_KEPT)
        deferring = [reply for reply in outcome.replies if reply.decision == DEFER]
        reason = clean_line(self._redact(deferring[0].reason)) if deferring else ""
        return PreCompactDecision(kept, bool(deferring), reason, outcome.invocations)

    async def post_compact(self, facts: PostCompact) -> tuple[Invocation, ...]:
        """Tell that a summary has taken its place; nothing can be decided any more."""
        return (await self.run(HookName.POST_COMPACT, _payload(facts))).invocations

    async def run(self, name: HookName, payload: Mapping[str, Any]) -> Outcome:
        """Ask the extensions of any hook. ``payload`` must have the fields that the hook's contract requires.

        Raises:
            ValueError: ``payload`` lacks one of them.
        """
        return await self._ask(_Chain(name, payload, self._redact))

    async def _ask(self, chain: _Chain) -> Outcome:
        invocations: list[Invocation] = []
        for registration in self.registered(chain.name):
            timed = Timed(registration, chain.name, self._monotonic)
            try:
                answer = await call(registration.target, chain.shown, timeout_s=registration.timeout_s)
                status, reason = chain.take(answer)
            except Failed as failure:
                status, reason = failure.status, str(failure)
            invocations.append(timed.ended(status, self._redact(reason)))
            if status in STOPPING:
                break
        return Outcome(tuple(chain.replies), chain.payload, tuple(invocations))


class _Chain:
    """One asking of one hook: what its extensions are told by now, and what they have decided.

    ``ignored`` are decisions that the contract allows and that mean nothing this time.
    """

    def __init__(
        self, name: HookName, payload: Mapping[str, Any], redact: Redactor, ignored: frozenset[str] = frozenset()
    ) -> None:
        self.name = name
        self.payload = payload
        self.replies: list[Reply] = []
        self._contract = CONTRACTS[name]
        self._redact = redact
        self._ignored = ignored
        missing = [key for key in self._contract.required if key not in payload]
        if missing:
            raise ValueError(f"the payload of {name} lacks {', '.join(missing)}")
        self.shown = self._frozen()

    def take(self, answer: object) -> tuple[str, str]:
        """Let an answer count as far as the contract goes; its status, and the reason for that."""
        if answer is None:
            return CONTINUE, ""
        if not isinstance(answer, Reply):
            return "error", f"answered with {type(answer).__name__}: answer with a Reply or None"
        changes = self._changes(answer)
        fault = _fault(answer, changes, self._contract)
        if fault:
            return "rejected", fault
        if answer.decision in self._ignored:
            return "ignored", f"{answer.decision} is not possible here"
        if changes:
            self.payload = {**self.payload, **changes}
            self.shown = self._frozen()
        self.replies.append(answer)
        return answer.decision, answer.reason

    def _changes(self, reply: Reply) -> dict[str, Any]:
        """What ``reply`` would change: naming a field with the value that was shown is no change."""
        return {key: new for key, new in reply.updates.items() if not _same(new, self.shown.get(key, ...))}

    def _frozen(self) -> Mapping[str, Any]:
        return frozen({"schema_version": SCHEMA, "hook_name": self.name.value, **self.payload}, self._redact)


def _fault(reply: Reply, changes: Mapping[str, Any], contract: Contract) -> str:
    """Why ``reply`` cannot count, or nothing."""
    if reply.decision not in contract.allowed:
        return f"{clean_line(str(reply.decision), 40)} is no decision of this hook: {', '.join(contract.allowed)}"
    if changes and reply.decision != REWRITE:
        return "only a rewrite may carry updates"
    foreign = sorted(str(key) for key in changes if key not in contract.rewrites)
    if foreign:
        return f"it may change {' and '.join(contract.rewrites)} only, not {', '.join(foreign)}"
    wrong = [key for key, new in changes.items() if type(new) is not contract.rewrites[key]]
    return f"{wrong[0]} is not of type {contract.rewrites[wrong[0]].__name__}" if wrong else ""


def _same(new: object, shown: object) -> bool:
    return type(new) is type(shown) and new == shown


def _payload(facts: PreCompact | PostCompact) -> dict[str, Any]:
    fields = msgspec.structs.asdict(facts)
    correlation: Correlation = fields.pop("correlation")
    return {**fields, **msgspec.structs.asdict(correlation)}
