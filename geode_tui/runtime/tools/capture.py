"""The output of a command, bounded in memory: its head and its tail are kept, everything is counted. What is larger
goes into a receipt as it comes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from geode_tui.core.binary import SAMPLE_BYTES, is_binary
from geode_tui.core.events import BlobRef
from geode_tui.log.receipts import Spool
from geode_tui.log.store import StoreError
from geode_tui.runtime.tools.texts import binary_text

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 192 * 1024
SPOOLED_BYTES = 1_000_000_000
"""Of a larger output only the head and the tail are kept."""


class Capture:
    """Takes bytes as they come. ``total`` counts bytes, ``lines`` line ends, of everything that came."""

    def __init__(self, spool: Callable[[], Spool] | None = None) -> None:
        """``spool`` begins a receipt, where there may be one."""
        self._begin = spool
        self._spool: Spool | None = None
        self.total = 0
        self.lines = 0
        self._head = bytearray()
        self._tail = bytearray()
        self._digest = hashlib.sha256()

    def feed(self, data: bytes) -> None:
        """Take ``data``; memory stays within head and twice the tail, plus ``data``."""
        self.total += len(data)
        self.lines += data.count(b"\n")
        self._digest.update(data)
        if self.total > HEAD_BYTES + TAIL_BYTES and self._begin is not None:
            self._put(data)
        room = HEAD_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    def _put(self, data: bytes) -> None:
        """Let ``data`` go into the receipt, after all that came before. Where that fails there is none."""
        try:
            if self.total > SPOOLED_BYTES:
                raise OSError
            if self._spool is None and self._begin is not None:
                self._spool = self._begin()
                self._spool.write(bytes(self._head + self._tail))
            if self._spool is not None:
                self._spool.write(data)
        except (OSError, StoreError):
            self.drop()

    def keep(self) -> BlobRef | None:
        """The receipt of everything that came, where the text does not hold it; None where there is none. Blocks."""
        if self._spool is None and self._is_binary():
            self._put(b"")
        spool, self._spool, self._begin = self._spool, None, None
        if spool is None:
            return None
        try:
            return spool.keep()
        except (OSError, StoreError):
            return None

    def drop(self) -> None:
        """No receipt is wanted."""
        self._begin = None
        if self._spool is not None:
            self._spool.drop()
            self._spool = None

    def _is_binary(self) -> bool:
        return is_binary(bytes(self._head[:SAMPLE_BYTES]))

    def text(self) -> str:
        """The output as text, with a note where bytes were left out; a placeholder if it is binary."""
        if self._is_binary():
            return binary_text(self.total, self._digest.hexdigest())
        tail = self._tail[-TAIL_BYTES:]
        if self.total == len(self._head) + len(tail):
            return (self._head + tail).decode("utf-8", "replace")
        head = _without_partial_end(self._head)
        tail = _without_partial_start(tail)
        left_out = self.total - len(head) - len(tail)
        parts = head.decode("utf-8", "replace"), tail.decode("utf-8", "replace")
        return f"{parts[0]}\n... {left_out:,} bytes left out ...\n{parts[1]}"


def _without_partial_end(data: bytearray) -> bytearray:
    """``data`` without a last character whose bytes are not all there."""
    for length in range(1, min(4, len(data) + 1)):
        lead = data[-length]
        if lead >= 0xC0:
            needed = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return data[:-length] if needed > length else data
        if lead < 0x80:
            break
    return data


def _without_partial_start(data: bytearray) -> bytearray:
    """``data`` without up to three continuation bytes at its start."""
    begin = 0
    while begin < min(3, len(data)) and 0x80 <= data[begin] < 0xC0:
        begin += 1
    return data[begin:]
