"""Work off the event loop that can be told to stop, and waiting that a cancellation does not cut short."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """The work was told to stop, or its time is over."""


class Stop:
    """Tells work in a thread when to end: asked to, or ``limit_s`` seconds after it was made."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._asked = threading.Event()
        self._end = time.monotonic() + limit_s

    def request(self) -> None:
        """Ask the work to end."""
        self._asked.set()

    def check(self) -> None:
        """Raises `Stopped` once the work is to end; long work calls it often."""
        if self._asked.is_set() or time.monotonic() >= self._end:
            raise Stopped


async def in_thread(work: Callable[[Stop], T], limit_s: float) -> T:
    """What ``work`` returns, run in a thread.

    When cancelled, the work is told to stop and has ended before the cancellation goes on: nothing happens behind
    the caller's back. Raises `Stopped` after ``limit_s`` seconds, and whatever ``work`` raises.
    """
    stop = Stop(limit_s)
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.request()
        await outlast(task)
        raise


async def outlast(task: asyncio.Future[Any]) -> None:
    """Wait until ``task`` is over, whatever cancellations arrive meanwhile. For callers that are ending anyway:
    they re-raise their own cancellation afterwards."""
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([task])
    if not task.cancelled():
        task.exception()
