"""A one-way signal that can be opened and awaited from any thread or event loop."""

from __future__ import annotations

import asyncio
import threading


class Gate:
    """Closed until `open` is called; stays open for good."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = threading.Event()
        self._waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    @property
    def is_open(self) -> bool:
        """Whether `open` was called."""
        return self._open.is_set()

    def open(self) -> None:
        """Release everyone who waits, now and later."""
        with self._lock:
            self._open.set()
            for loop, event in self._waiters:
                loop.call_soon_threadsafe(event.set)

    async def wait(self) -> None:
        """Return once the gate is open."""
        waiter = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            if self._open.is_set():
                return
            self._waiters.add(waiter)
        try:
            await waiter[1].wait()
        finally:
            with self._lock:
                self._waiters.discard(waiter)

    def wait_blocking(self, timeout_s: float) -> bool:
        """Block the calling thread; False when ``timeout_s`` passed first."""
        return self._open.wait(timeout_s)
