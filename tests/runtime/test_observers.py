"""Observers: who is told of what, and how little of it the run notices."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from geode_tui.core.events import EventRow
from geode_tui.core.text import Redactor
from geode_tui.runtime import observers as module
from geode_tui.runtime.extending import ExtensionError
from geode_tui.runtime.observers import Feed, Observers

SHORT_S = 0.05
"""A time-out that is meant to pass."""


class Seen:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.payloads: list[dict[str, Any]] = []

    def __call__(self, event: str, payload: dict[str, Any]) -> None:
        self.events.append(event)
        self.payloads.append(payload)


def row(number: int, event: str = "turn_completed", payload: str = '{"session_id":"s-1"}') -> EventRow:
    return EventRow(number, 10.0, 1, 2, event, payload)


def notes(name: str, order: list[str]) -> Any:
    return lambda _event, _payload: order.append(name)


class Noted:
    """What a feed wrote down."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def __call__(self, observer: str, error: str) -> None:
        self.lines.append(f"{observer}: {error}")


# -- who is told ------------------------------------------------------------------------------------------------------
async def test_one_name_a_beginning_or_everything_can_be_subscribed_to() -> None:
    observers, seen = Observers(), {name: Seen() for name in ("tool_exec_started", "tool_exec_*", "tool_*", "*")}
    for pattern, target in seen.items():
        observers.subscribe(pattern, target, extension="e")
    for event in ("tool_exec_started", "tool_exec_ended", "tool_approval_requested", "turn_completed"):
        await observers.tell(event, {})
    assert {pattern: len(target.events) for pattern, target in seen.items()} == {
        "tool_exec_started": 1, "tool_exec_*": 2, "tool_*": 3, "*": 4
    }  # fmt: skip


async def test_lower_priorities_are_told_first_and_a_second_subscription_takes_the_same_place() -> None:
    order: list[str] = []
    observers = Observers()
    for name, priority in (("late", 200), ("a", 100), ("b", 100), ("first", 1), ("a", 100)):
        observers.subscribe("*", notes(name, order), extension=name, priority=priority)
    invocations = await observers.tell("turn_completed", {})
    assert order == ["first", "a", "b", "late"] == [i.extension for i in invocations]
    assert {(i.surface, i.name, i.status) for i in invocations} == {("observer", "turn_completed", "ok")}


@pytest.mark.parametrize("pattern", ["turn_complete", "nothing_*", "", "turn", "**"])
def test_what_names_no_event_is_refused(pattern: str) -> None:
    with pytest.raises(ExtensionError, match="no event is named"):
        Observers().subscribe(pattern, Seen(), extension="e")


async def test_each_gets_a_copy_of_its_own_with_a_schema_and_without_secrets() -> None:
    def spoils(_event: str, payload: dict[str, Any]) -> None:
        payload["list"].clear()

    observers, seen = Observers(Redactor(["hunter2hunter2"])), Seen()
    observers.subscribe("*", spoils, extension="spoils")
    observers.subscribe("*", seen, extension="seen")
    payload = {"list": [{"a": "is hunter2hunter2"}]}
    await observers.tell("turn_completed", payload)
    assert seen.payloads == [{"list": [{"a": "is [redacted]"}], "schema_version": "geode.observer.v1"}]
    assert payload["list"]


async def test_one_that_raises_keeps_nobody_else_from_being_told() -> None:
    def fails(_event: str, _payload: Any) -> None:
        raise SystemExit(3)

    observers, seen = Observers(), Seen()
    observers.subscribe("*", fails, extension="fails")
    observers.subscribe("*", seen, extension="seen")
    assert [i.status for i in await observers.tell("turn_completed", {})] == ["error", "ok"]
    assert seen.events == ["turn_completed"]


async def test_one_that_hangs_is_given_up_and_not_told_again() -> None:
    release = threading.Event()

    def hangs(_event: str, _payload: Any) -> None:
        release.wait(60)

    observers = Observers()
    observers.subscribe("*", hangs, extension="hangs", timeout_s=SHORT_S)
    assert [i.status for i in await observers.tell("turn_completed", {})] == ["timeout"]
    release.set()
    assert observers.subscribed() == ()


# -- the feed ---------------------------------------------------------------------------------------------------------
async def test_events_are_handed_on_in_order_with_their_place_in_the_run() -> None:
    observers, seen = Observers(), Seen()
    observers.subscribe("turn_*", seen, extension="seen")
    feed = Feed(observers, "s-1", Noted())
    feed.offer([row(1), row(2, "session_ended"), row(3)])
    feed.offer([row(4, payload='{"round":9}')])
    await feed.close()
    assert [p["event_id"] for p in seen.payloads] == [1, 3, 4]
    assert seen.payloads[0] == {
        "event_id": 1, "session_id": "s-1", "ts": 10.0, "turn": 1, "round": 2, "schema_version": "geode.observer.v1"
    }  # fmt: skip
    assert seen.payloads[2]["round"] == 9, "the event's own fields come first"


async def test_a_failure_is_written_down_once_for_each_observer_and_event() -> None:
    def fails(_event: str, _payload: Any) -> None:
        raise ValueError("no")

    observers, noted = Observers(), Noted()
    observers.subscribe("*", fails, extension="fails")
    feed = Feed(observers, "s-1", noted)
    feed.offer([row(1), row(2), row(3, "session_ended"), row(4)])
    await feed.close()
    assert noted.lines == ["fails: turn_completed: ValueError: no", "fails: session_ended: ValueError: no"]


async def test_what_comes_faster_than_it_is_taken_is_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING", 3)
    observers, seen, noted = Observers(), Seen(), Noted()
    observers.subscribe("*", seen, extension="seen")
    feed = Feed(observers, "s-1", noted)
    feed.offer(row(number) for number in range(5))
    await feed.close()
    assert [p["event_id"] for p in seen.payloads] == [0, 1, 2]
    assert noted.lines == ["observers: 2 events were not handed on: they came faster than they were taken"]


async def test_the_end_does_not_wait_for_one_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSE_S", SHORT_S)

    async def hangs(_event: str, _payload: Any) -> None:
        await asyncio.Event().wait()

    observers = Observers()
    observers.subscribe("*", hangs, extension="hangs")
    feed = Feed(observers, "s-1", Noted())
    feed.offer([row(1)])
    async with asyncio.timeout(60):
        await feed.close()
