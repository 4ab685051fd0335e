"""The worker's writes: one thread, one transaction at a time, tried again while the store is locked or full.

A write is never half known: when the task that asked for it is cancelled, the commit is waited for and its value
returned, and the cancellation is delivered at the task's next pause.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from geode_tui.core.events import EventRow, ObserverFailed
from geode_tui.core.text import clean_line
from geode_tui.log.store import StoreBusy, StoreFull
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Fenced, Tx, Writer
from geode_tui.runtime.clock import Clock
from geode_tui.runtime.observers import Feed, Observers

T = TypeVar("T")
RETRY_S = 0.25
Probe = Callable[[str], None]
"""Called with the name of each point where a crash matters; does nothing but in tests."""


def no_probe(_point: str) -> None:
    """Nothing happens: the probe of every real run."""


class Observer(Protocol):
    """Sees every committed event of the session, in order; cannot change anything but its own snapshot rows."""

    def seen(self, rows: list[EventRow]) -> None:
        """Take note of committed events."""
        ...

    def snapshot(self, *, turn_ended: bool) -> tuple[int, str, str, bytes] | None:
        """(event id, kind, reducer hash, state) when one is due."""
        ...


class Journal:
    """See the module. ``turn`` and ``round`` stamp what is written."""

    def __init__(
        self,
        writer: Writer,
        clock: Clock,
        observer: Observer | None = None,
        probe: Probe = no_probe,
        observers: Observers | None = None,
    ) -> None:
        self.writer = writer
        self.clock = clock
        self.probe = probe
        self.turn = 0
        self.round = 0
        self.on_trouble: Callable[[str], None] = no_probe
        self.observers = observers or Observers()
        """Extensions that are told of every event, behind what is written."""
        self._observer = observer
        self._feed = Feed(self.observers, writer.session_id, self._note)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._transcript = Transcript(writer.db, writer.geode)

    async def write(self, work: Callable[[Tx], T], *, durable: bool = False) -> T:
        """Commit ``work``; ``durable`` is synced to disk first. Raises `log.writer.Fenced`."""
        trouble = False
        while True:
            try:
                value, rows = await self._run(lambda: self._attempt(work, durable))
            except (StoreBusy, StoreFull) as error:
                trouble = True
                self.on_trouble(str(error))
                await self.clock.sleep(RETRY_S)
                continue
            if trouble:
                self.on_trouble("")
            await self._observe(rows)
            return value

    async def read(self, work: Callable[[Transcript], T]) -> T:
        """Read on the journal's thread, after everything written before."""
        return await self._run(lambda: work(self._transcript))

    async def aside(self, work: Callable[[], T]) -> T:
        """Run ``work`` on the journal's thread: files that must be there before a row names them. Like a write it is
        waited for when the task is cancelled.
        """
        return await self._run(work)

    async def tidy(self, *, idle: bool) -> None:
        """Keep the WAL within its bound."""
        await self._run(lambda: self.writer.tidy(idle=idle))

    async def keep_latest(self) -> None:
        """Replace the session's latest snapshot: at each turn's end."""
        await self._snapshot(turn_ended=True)

    async def close(self) -> None:
        """Let observers have the rest, close the connection and end the thread."""
        await self._feed.close()
        await self._run(self.writer.close)
        self._thread.shutdown(wait=True)

    def _attempt(self, work: Callable[[Tx], T], durable: bool) -> tuple[T, list[EventRow]]:
        return self.writer.write(work, now=self.clock.now(), turn=self.turn, round_=self.round, durable=durable)

    async def _run(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._thread, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            await asyncio.wait([future])
            loop.call_soon(task.cancel)
            return future.result()

    async def _observe(self, rows: list[EventRow]) -> None:
        if rows:
            self._feed.offer(rows)
            await self._guarded(lambda observer: observer.seen(rows))
            await self._snapshot(turn_ended=False)

    async def _snapshot(self, *, turn_ended: bool) -> None:
        due = await self._guarded(lambda observer: observer.snapshot(turn_ended=turn_ended))
        if due is not None:
            await self.write(lambda tx: tx.snapshot(*due))

    async def _guarded(self, look: Callable[[Observer], T]) -> T | None:
        """What the observer says; one that raises is told of and not asked again."""
        observer = self._observer
        if observer is None:
            return None
        try:
            return look(observer)
        except Exception as error:  # noqa: BLE001 - an observer cannot end what it observes
            self._observer = None
            await self._note("snapshots", clean_line(repr(error)))
            return None

    async def _note(self, observer: str, error: str) -> None:
        """Write down that something which only watches failed."""
        note = ObserverFailed(observer, error)
        with contextlib.suppress(Fenced):  # what is written next will find that out as well
            await self.write(lambda tx: tx.event(note))
