"""The frame pump: the screen pulls (PERFORMANCE.md, D1).

The reader's thread says that something changed; at most 33 times a second a frame takes the newest state and spends
at most 8 ms on it. What is left of the operations is done in the next frame. Nothing runs while nothing changes.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from geode_tui.view.follow import Batch, Op

FRAME_S = 1 / 33
"""A little less than between two commits of a busy worker, so that frames that fell behind it catch up."""
AHEAD_S = FRAME_S
"""How much earlier a frame may come after a rest: else one change that came late would make each one after it late."""
BUDGET_S = 0.008
TAKE = 10_000
"""Operations fetched at a time."""
PIECE = 16
"""Operations done between two looks at the clock."""


class FramePump:
    """Calls ``show(batch)`` with the newest state and ``apply(ops)`` with the operations in order, on the loop.

    A frame runs outside of Textual's own handling of errors: what it raises goes to ``failed``, and it was the last.
    """

    def __init__(
        self,
        take: Callable[[int], Batch],
        show: Callable[[Batch], None],
        apply: Callable[[Sequence[Op]], None],
        failed: Callable[[Exception], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._take = take
        self._show = show
        self._apply = apply
        self._failed = failed
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        # A frame that the reader's thread asked for would run in that thread's context, where Textual's timers fail.
        self._context = contextvars.copy_context()
        self._woken = threading.Event()
        self._ops: deque[Op] = deque()
        self._due = 0.0
        """When the next frame would come if all kept their distance."""
        self._handle: asyncio.TimerHandle | None = None
        self._stopped = False

    def wake(self) -> None:
        """Something changed. Called from any thread; never more than one call to the loop is pending."""
        if self._stopped or self._woken.is_set():
            return
        self._woken.set()
        try:
            self._loop.call_soon_threadsafe(self._schedule, context=self._context)
        except RuntimeError:  # the loop is closed: the program is leaving
            self._stopped = True

    def stop(self) -> None:
        """No frame after this one."""
        self._stopped = True
        if self._handle is not None:
            self._handle.cancel()

    def _schedule(self) -> None:
        if self._handle is None and not self._stopped:
            wait = max(0.0, self._due - AHEAD_S - self._clock())
            self._handle = self._loop.call_later(wait, self._guarded)

    def _guarded(self) -> None:
        self._handle = None
        try:
            self._frame()
        except Exception as error:  # noqa: BLE001  handed on whole
            self.stop()
            self._failed(error)

    def _frame(self) -> None:
        self._woken.clear()
        begun = self._clock()
        self._due = max(begun, self._due) + FRAME_S
        batch = self._take(TAKE)
        self._ops.extend(batch.ops)
        more = len(batch.ops) >= TAKE
        self._show(batch)
        while self._ops and self._clock() - begun < BUDGET_S:
            self._apply([self._ops.popleft() for _ in range(min(PIECE, len(self._ops)))])
        if self._ops or more:
            self._schedule()
