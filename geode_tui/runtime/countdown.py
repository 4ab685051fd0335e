"""The wait before a request is sent again, which the person can cut short."""

from __future__ import annotations

import asyncio

from geode_tui.runtime.clock import Clock


class Countdown:
    """At most one wait at a time. Owned by the worker's loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._hurry: asyncio.Event | None = None

    async def wait(self, seconds: float) -> bool:
        """Wait ``seconds``; returns whether the person cut the wait short. Cancelling ends it at once."""
        hurry = self._hurry = asyncio.Event()
        waits = [asyncio.ensure_future(self._clock.sleep(seconds)), asyncio.ensure_future(hurry.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return hurry.is_set()
        finally:
            self._hurry = None
            for task in waits:
                task.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    def cut(self) -> bool:
        """Ask again now. Returns False where nothing is being waited for."""
        if self._hurry is None:
            return False
        self._hurry.set()
        return True
