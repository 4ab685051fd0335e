"""Time, as an argument."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for records, monotonic time for budgets, and a sleep that a test can make instant."""

    def now(self) -> float:
        """UTC epoch seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump and stand still while the machine sleeps."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; cancelling ends it at once."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        """UTC epoch seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some point."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
