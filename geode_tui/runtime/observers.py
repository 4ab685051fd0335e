"""Observers: extensions that are told of events once they are in the log, and change nothing (RUNTIME.md 10.1)."""

from __future__ import annotations

import asyncio
import copy
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

from geode_tui.core.events import CATALOGUE, EventRow
from geode_tui.core.text import Redactor
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

SCHEMA = "geode.observer.v1"
TIMEOUT_S = 10.0
WAITING = 10_000
"""Most events that wait for slow observers; what comes beyond that is not handed on, and told."""
CLOSE_S = 5.0
"""How long the end of a session waits for what is still being handed on."""

Target: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[object] | object]
"""An observer: a function or coroutine function of an event's name and a copy of its payload."""
Note: TypeAlias = Callable[[str, str], Awaitable[None]]
"""Writes down that an observer failed: its name, and one line."""


class Observers:
    """The registrations of one session's observers, and the telling."""

    def __init__(self, redact: Redactor | None = None, monotonic: Monotonic = time.monotonic) -> None:
        self._redact = redact or Redactor()
        self._monotonic = monotonic
        self._registered: dict[tuple[str, str], Registration] = {}

    def subscribe(
        self, pattern: str, target: Target, *, extension: str, priority: int = PRIORITY, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Let ``target`` be told of the events that ``pattern`` names: one name, ``tool_*`` or ``*``.

        Subscribed again under the same pattern and name it takes its own place.

        Raises:
            ExtensionError: no event has such a name, or the registration is not usable.
        """
        if not any(_matches(pattern, name) for name in CATALOGUE):
            raise ExtensionError(f"no event is named {pattern}: give an event's name, a beginning with *, or *")
        check_registration(extension, target, timeout_s)
        made = Registration("observer", pattern, extension, priority, timeout_s, target)
        self._registered[pattern, extension] = made

    def subscribed(self, event: str | None = None) -> tuple[Registration, ...]:
        """The subscriptions that hold for an event, or all, in the order they are told."""
        found = self._registered.values()
        return in_order([r for r in found if event is None or _matches(r.name, event)])

    async def tell(self, event: str, payload: Mapping[str, Any]) -> tuple[Invocation, ...]:
        """Tell of one event; each observer gets a copy of its own. One that hangs is not told of anything again."""
        invocations: list[Invocation] = []
        shown = {**_safe(payload, self._redact), "schema_version": SCHEMA}
        for registration in self.subscribed(event):
            timed = Timed(registration, event, self._monotonic)
            try:
                await call(registration.target, event, copy.deepcopy(shown), timeout_s=registration.timeout_s)
                invocations.append(timed.ended("ok"))
            except Failed as failure:
                invocations.append(timed.ended(failure.status, self._redact(str(failure))))
                if failure.status == "timeout":
                    self._registered.pop((registration.name, registration.extension), None)
        return tuple(invocations)


class Feed:
    """Hands what is committed to observers, in order and without holding up who commits it.

    A failure is written down once for each observer and event, so that what comes of it has an end.
    """

    def __init__(self, observers: Observers, session_id: str, note: Note) -> None:
        self._observers = observers
        self._session_id = session_id
        self._note = note
        self._waiting: deque[EventRow] = deque()
        self._dropped = 0
        self._noted: set[tuple[str, str]] = set()
        self._task: asyncio.Task[None] | None = None

    def offer(self, rows: Iterable[EventRow]) -> None:
        """Take committed events; they are handed on in a task of this feed's own."""
        for row in rows:
            if not self._observers.subscribed(row.event):
                continue
            if len(self._waiting) < WAITING:
                self._waiting.append(row)
            else:
                self._dropped += 1
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._hand_on())

    async def close(self) -> None:
        """Hand on what waits, within `CLOSE_S`."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=CLOSE_S)
            self._task.cancel()

    async def _hand_on(self) -> None:
        while self._waiting:
            row = self._waiting.popleft()
            for invocation in await self._observers.tell(row.event, self._payload(row)):
                if invocation.status != "ok":
                    await self._failed(invocation)
            if self._dropped and not self._waiting:
                count, self._dropped = self._dropped, 0
                await self._note(
                    "observers", f"{count} events were not handed on: they came faster than they were taken"
                )

    async def _failed(self, invocation: Invocation) -> None:
        key = (invocation.extension, invocation.name)
        if key not in self._noted:
            self._noted.add(key)
            await self._note(invocation.extension, f"{invocation.name}: {invocation.reason}")

    def _payload(self, row: EventRow) -> dict[str, Any]:
        """The event's own fields, and where in the run it stands."""
        place = {"event_id": row.id, "session_id": self._session_id, "ts": row.ts, "turn": row.turn, "round": row.round}
        return {**place, **msgspec.json.decode(row.payload, type=dict[str, Any])}


def _matches(pattern: str, event: str) -> bool:
    return event.startswith(pattern[:-1]) if pattern.endswith("*") else event == pattern


def _safe(value: Any, redact: Redactor) -> Any:
    """``value`` with known secrets masked in every string."""
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {redact(str(key)): _safe(item, redact) for key, item in value.items()}
        case list() | tuple():
            return [_safe(item, redact) for item in value]
    return value
