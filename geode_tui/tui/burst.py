"""Telling a paste that arrives as keys from typing, for terminals that do not mark pastes. Pure."""

from __future__ import annotations

QUICK_S = 0.05
"""Seconds within which the next key of a burst comes."""
LATE_S = 0.5
"""The same once it is certainly one: on a machine that is busy a terminal may be read late."""
PASTE_FROM = 800
"""Characters from which a burst is a paste."""
HOLD_FROM = 64
"""Characters from which a burst is held back until it is over."""
FAST = 200
"""Characters a second from which it is a burst: a key that is held down repeats at 30 or so."""


class Burst:
    """Holds back keys of a burst: all that follow a newline in it, or its first `HOLD_FROM` characters. Whether they
    are a paste is known once it is over.
    """

    def __init__(self) -> None:
        self._held: list[str] = []
        self._passed: list[str] = []
        self._begun = self._last = 0.0
        self._count = 0

    @property
    def last(self) -> float:
        """When the last key came, in the seconds given to `take`."""
        return self._last

    @property
    def passed(self) -> str:
        """What the burst began with, before anything was held back."""
        return "".join(self._passed)

    @property
    def wait_s(self) -> float:
        """Seconds within which the next key comes, if it is not over."""
        return LATE_S if self._count > HOLD_FROM and self._fast else QUICK_S

    def take(self, text: str, at: float) -> bool:
        """A key brings ``text`` (a newline for enter) at ``at`` seconds; whether it is held back."""
        if at - self._last > self.wait_s and not self._held:  # what is held back goes on until it is released
            self._begun, self._count = at, 0
            self._passed.clear()
        self._last = at
        self._count += 1
        if self._held or (text == "\n" and self._count > 1) or (self._count > HOLD_FROM and self._fast):
            self._held.append(text)
            return True
        if text != "\n":
            self._passed.append(text)
        return False

    @property
    def _fast(self) -> bool:
        return self._count > FAST * (self._last - self._begun)

    def release(self) -> tuple[str, bool]:
        """It is over: what was held back, and whether it is part of a paste."""
        text, pasted = "".join(self._held), self._count > PASTE_FROM and self._fast
        self._held.clear()
        self._passed.clear()
        self._count = 0
        return text, pasted
