"""Looking for a text in bytes of any size, piece by piece, from a place on and then from the beginning."""

from __future__ import annotations

from array import array
from bisect import bisect_left

import msgspec

from geode_tui.tui.viewer.document import Bytes

PIECE = 1 << 20
"""Bytes of one step."""
MOST = 100_000
"""Matches that are kept."""


class Found(msgspec.Struct, frozen=True):
    """How a search stands: the match that is shown is number ``at`` (from 1; 0 for none) of ``of``; ``more`` when not
    all of them are kept. ``percent`` is how far it is, None when it is over.
    """

    text: str
    at: int = 0
    of: int = 0
    more: bool = False
    percent: int | None = None


class Search:
    """Where ``text`` stands in ``raw``. Written in small letters it is found in large ones too (of ASCII). `step`
    goes on; nothing of it is kept but where the matches begin.
    """

    def __init__(self, raw: Bytes, text: str, origin: int) -> None:
        self.text = text
        self.length = len(text.encode())
        self.origin = origin
        self._raw = raw
        self._folds = text == text.lower()
        self._needle = text.encode()
        self._at = origin
        self._looked = 0
        self._turned = False
        self.matches = array("Q")
        self.over = not text

    @property
    def full(self) -> bool:
        """Whether there are more matches than are kept."""
        return len(self.matches) >= MOST

    @property
    def percent(self) -> int | None:
        """How far it is; None when it is over."""
        return None if self.over else min(99, self._looked * 100 // max(1, self._raw.expected))

    def step(self) -> None:
        """Look at one more piece. What has not arrived is waited for."""
        if self.over:
            return
        limit = self.origin if self._turned else self._raw.size
        size = min(PIECE, limit - self._at)
        if size > 0:
            self._look(self._raw.read(self._at, size + self.length - 1), size)
            self._at += size
            self._looked += size
        elif self._turned or self.full:
            self.over = True
        elif self._raw.whole:
            self._turned, self._at = True, 0
        if self.full:
            self.over = True

    def _look(self, data: bytes, size: int) -> None:
        if self._folds:
            data = data.lower()
        found = data.find(self._needle)
        here: list[int] = []
        while 0 <= found < size and len(here) + len(self.matches) < MOST:
            here.append(self._at + found)
            found = data.find(self._needle, found + self.length)
        if here:
            at = bisect_left(self.matches, here[0])
            self.matches[at:at] = array("Q", here)

    def next(self, offset: int) -> int | None:
        """The first match from ``offset`` on, else the first of all; None while none is known."""
        if not self.matches:
            return None
        at = bisect_left(self.matches, offset)
        if at == len(self.matches):
            if not self.over and not self._turned:
                return None  # it may still come
            at = 0
        return self.matches[at]

    def previous(self, offset: int) -> int | None:
        """The last match before ``offset``, else the last of all."""
        at = bisect_left(self.matches, offset)
        return self.matches[at - 1] if self.matches else None

    def found(self, current: int | None) -> Found:
        """How it stands with the match at ``current`` shown."""
        at = bisect_left(self.matches, current) + 1 if current is not None else 0
        return Found(self.text, at, len(self.matches), self.full, self.percent)
