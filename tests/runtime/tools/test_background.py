"""Work in threads ends when it is told to, and before anyone is told that it ended."""

from __future__ import annotations

import asyncio
import threading

import pytest

from geode_tui.runtime.tools.background import Stop, Stopped, in_thread


async def test_the_result_and_the_errors_of_the_work_come_through() -> None:
    assert await in_thread(lambda stop: 7, 10) == 7
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda stop: 1 // 0, 10)


async def test_work_is_stopped_at_its_limit() -> None:
    def work(stop: Stop) -> None:
        while True:
            stop.check()

    with pytest.raises(Stopped):
        await in_thread(work, 0.05)


async def test_a_cancellation_goes_on_only_after_the_work_has_ended() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(stop: Stop) -> None:
        begun.set()
        try:
            while True:
                stop.check()
        finally:
            ended.set()

    running = asyncio.ensure_future(in_thread(work, 60))
    await asyncio.to_thread(begun.wait)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()
