"""One thread that reads and draws for the conversation, so that the screen's thread never waits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

IN_FLIGHT = 4
"""Jobs that are asked for at a time: what is wanted next is decided when one of them is done."""


class Loader:
    """Runs jobs in order on one thread and hands each outcome to the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="conversation")
        self.waiting = 0
        """Jobs without an outcome."""

    @property
    def free(self) -> bool:
        """Whether another job may be asked for."""
        return self.waiting < IN_FLIGHT

    def ask(self, job: Callable[[], T], done: Callable[[T], None], failed: Callable[[BaseException], None]) -> None:
        """Run ``job`` in the thread, then one of the other two in the loop."""
        self.waiting += 1
        future = self._pool.submit(job)

        def land() -> None:
            self.waiting -= 1
            error = future.exception()
            if error is None:
                done(future.result())
            else:
                failed(error)

        future.add_done_callback(lambda finished: self._land(finished, land))

    def _land(self, future: Future[T], land: Callable[[], None]) -> None:
        if not future.cancelled():
            with contextlib.suppress(RuntimeError):  # the loop was closed while the job ran
                self._loop.call_soon_threadsafe(land)

    def close(self) -> None:
        """Start no more jobs; one that runs is left to end by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)
