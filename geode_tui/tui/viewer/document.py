"""Lines in bytes of any size. Where a line begins is looked up: the index holds no more than a number for a block."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Literal, Protocol

BLOCK = 65_536
"""Bytes of a block: 100 MB are 1,600 of them."""
STEP = 64
"""Blocks that one step of indexing reads at most."""


class Bytes(Protocol):
    """Bytes that may still be on their way: ``size`` are there, about ``expected`` there will be. All may block."""

    size: int
    expected: int
    kind: Literal["text", "json", "binary"]

    @property
    def whole(self) -> bool:
        """Whether all are there."""
        ...

    def read(self, offset: int, length: int) -> bytes:
        """At most ``length`` bytes from ``offset`` on."""
        ...

    def more(self) -> bool:
        """Bring some more; False where all are there. Raises `StoreError`, ``OSError``."""
        ...


class Document:
    """Lines of ``raw``. Not for use by two threads at once."""

    def __init__(self, raw: Bytes) -> None:
        self.raw = raw
        self.indexed = 0
        """Bytes that the index covers."""
        self._ends = array("Q")
        """Newlines up to the end of each block."""

    # -- the index ----------------------------------------------------------------------------------------------------
    @property
    def done(self) -> bool:
        """Whether everything is there and indexed."""
        return self.raw.whole and self.indexed == self.raw.size

    @property
    def percent(self) -> int:
        """How much of it is indexed."""
        return 100 if self.done else min(99, self.indexed * 100 // max(1, self.raw.expected))

    @property
    def lines(self) -> int:
        """Lines that were counted so far; what follows the last newline is one."""
        newlines = self._ends[-1] if self._ends else 0
        ends_open = self.done and self.raw.size and self.raw.read(self.raw.size - 1, 1) != b"\n"
        return newlines + bool(ends_open)

    def step(self) -> None:
        """Go on a little: bring more bytes, and count lines in those that are there. Raises what `Bytes.more` does."""
        self.raw.more()
        for _ in range(STEP):
            block = self.raw.read(self.indexed, BLOCK)
            if len(block) < BLOCK and not self.raw.whole:
                return
            if not block:
                return
            self._ends.append((self._ends[-1] if self._ends else 0) + block.count(b"\n"))
            self.indexed += len(block)

    def number(self, offset: int) -> int | None:
        """The number of the line that ``offset`` is in, from 1; None where the index does not reach."""
        if offset > self.indexed:
            return None
        block = offset // BLOCK
        before = self._ends[block - 1] if block else 0
        return before + self.raw.read(block * BLOCK, offset - block * BLOCK).count(b"\n") + 1

    def offset_of(self, number: int) -> int:
        """Where line ``number`` begins, or the last one as far as is known."""
        wanted = max(0, min(number, self.lines) - 1)
        if not wanted:
            return 0
        block = bisect_left(self._ends, wanted)
        data = self.raw.read(block * BLOCK, BLOCK)
        at = -1
        for _ in range(wanted - (self._ends[block - 1] if block else 0)):
            at = data.index(b"\n", at + 1)
        return block * BLOCK + at + 1

    # -- lines --------------------------------------------------------------------------------------------------------
    def line_start(self, offset: int) -> int:
        """Where the line that holds ``offset`` begins."""
        end = offset
        while end > 0:
            block = (end - 1) // BLOCK
            start = block * BLOCK
            if block < len(self._ends):
                known = self._ends[block]
                if known == (self._ends[block - 1] if block else 0):  # no line ends in it
                    end = (bisect_left(self._ends, known) + 1) * BLOCK if known else 0
                    continue
            found = self.raw.read(start, end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    def line_end(self, offset: int) -> int:
        """Where the line that holds ``offset`` ends: at its newline, or at the end of what is there."""
        at = offset
        while at < self.raw.size:
            block = at // BLOCK
            if block < len(self._ends) and self._ends[block] == (self._ends[block - 1] if block else 0):
                further = bisect_left(self._ends, self._ends[block] + 1)
                at = min(further * BLOCK, self.indexed)
                continue
            length = (block + 1) * BLOCK - at
            found = self.raw.read(at, length).find(b"\n")
            if found >= 0:
                return at + found
            at += length
        return self.raw.size

    def snapped(self, offset: int) -> int:
        """``offset``, or where the character begins that it is in the middle of."""
        if not 0 < offset < self.raw.size:
            return max(0, min(offset, self.raw.size))
        low = max(0, offset - 3)
        data = self.raw.read(low, offset - low + 1)
        at = len(data) - 1
        while at and 0x80 <= data[at] < 0xC0:
            at -= 1
        return low + at if data[at] >= 0xC0 else offset
