"""The frame pump: coalesced, bounded, silent when nothing changes."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import pytest

from geode_tui.log.rows import Liveness
from geode_tui.tui import frames
from geode_tui.tui.frames import FramePump
from geode_tui.view.follow import Batch, Index, Op
from geode_tui.view.state import RunState


class Reader:
    """Batches that a test prepares; a clock that moves only when told."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.taken = 0
        self.shown = 0
        self.applied: list[Op] = []
        self.cost_s = 0.0
        self.now = 100.0
        self.state = RunState()
        self.failures: list[Exception] = []

    def clock(self) -> float:
        return self.now

    def take(self, limit: int) -> Batch:
        self.taken += 1
        ops, self.ops = self.ops[:limit], self.ops[limit:]
        return Batch(self.state, tuple(ops), Liveness("free"), ())

    def show(self, batch: Batch) -> None:
        self.shown += 1
        assert batch.state is self.state

    def apply(self, ops: object) -> None:
        assert isinstance(ops, list)
        self.applied += ops
        self.now += self.cost_s * len(ops)

    def pump(self) -> FramePump:
        return FramePump(self.take, self.show, self.apply, self.failures.append, self.clock)


async def settle() -> None:
    for _ in range(6):
        await asyncio.sleep(0)
    await asyncio.sleep(2 * frames.FRAME_S)


async def test_a_frame_runs_where_the_pump_was_made_whoever_asks_for_it() -> None:
    place = ContextVar("place", default="nowhere")
    place.set("the screen")
    seen: list[str] = []
    reader = Reader()
    pump = FramePump(
        reader.take, lambda _: seen.append(place.get()), reader.apply, reader.failures.append, reader.clock
    )
    thread = threading.Thread(target=pump.wake)
    thread.start()
    await settle()
    thread.join()
    assert seen == ["the screen"]


async def test_a_thousand_wakes_are_one_frame() -> None:
    reader = Reader()
    pump = reader.pump()
    threads = [threading.Thread(target=lambda: [pump.wake() for _ in range(250)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    await settle()
    assert reader.shown == 1


async def test_nothing_runs_while_nothing_changes() -> None:
    reader = Reader()
    pump = reader.pump()
    pump.wake()
    await settle()
    await settle()
    assert reader.taken == 1


async def test_work_beyond_the_budget_goes_on_in_the_next_frames_in_order() -> None:
    reader = Reader()
    reader.cost_s = 2 * frames.BUDGET_S / frames.PIECE
    reader.ops = [Index(()) for _ in range(frames.PIECE * 3)]
    wanted = list(reader.ops)
    pump = reader.pump()
    pump.wake()
    while len(reader.applied) < len(wanted):
        seen = len(reader.applied)
        await settle()
        assert len(reader.applied) <= seen + frames.PIECE * 3
        assert len(reader.applied) > seen
    assert reader.applied == wanted
    assert reader.shown == 3


async def test_every_frame_shows_the_newest_state_even_while_work_is_left() -> None:
    reader = Reader()
    reader.cost_s = 1.0
    reader.ops = [Index(()) for _ in range(frames.PIECE * 2)]
    pump = reader.pump()
    pump.wake()
    await settle()
    reader.state = RunState(round=7)
    await settle()
    assert len(reader.applied) == frames.PIECE * 2
    assert reader.shown == 2


async def test_after_a_rest_one_frame_may_come_early_and_the_next_keep_their_distance() -> None:
    reader = Reader()
    pump = reader.pump()
    loop = asyncio.get_running_loop()
    for shown in (1, 2):
        pump.wake()
        while reader.shown < shown:
            await asyncio.sleep(0)
    for shown in (3, 4):
        begun = loop.time()
        pump.wake()
        while reader.shown < shown:
            await asyncio.sleep(0)
        assert loop.time() - begun >= frames.FRAME_S * 0.9
        reader.now += frames.FRAME_S


async def test_a_change_that_came_late_does_not_make_the_next_one_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader()
    waits: list[float] = []
    loop = asyncio.get_running_loop()
    call_later = loop.call_later

    def noted(wait: float, *rest: Any, **more: Any) -> asyncio.TimerHandle:
        waits.append(wait)
        return call_later(0, *rest, **more)

    monkeypatch.setattr(loop, "call_later", noted)
    pump = reader.pump()
    for number in range(8):
        reader.now = 100.0 + (number + 0.4 * (number == 3)) * frames.FRAME_S
        pump.wake()
        while reader.shown <= number:
            await asyncio.sleep(0)
    assert waits == [0.0] * 8


async def test_more_operations_than_one_fetch_are_fetched_without_another_wake() -> None:
    reader = Reader()
    reader.ops = [Index(())] * (frames.TAKE + 5)
    pump = reader.pump()
    pump.wake()
    while reader.taken < 2:
        await settle()
    assert reader.ops == []


async def test_a_frame_that_fails_is_told_once_and_was_the_last() -> None:
    reader = Reader()
    reader.ops = [Index(())]
    reader.apply = lambda ops: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    pump = reader.pump()
    pump.wake()
    await settle()
    pump.wake()
    await settle()
    assert [type(error) for error in reader.failures] == [ZeroDivisionError]
    assert reader.taken == 1


async def test_after_stop_nothing_is_shown() -> None:
    reader = Reader()
    pump = reader.pump()
    pump.wake()
    pump.stop()
    await settle()
    pump.wake()
    await settle()
    assert reader.shown == 0
