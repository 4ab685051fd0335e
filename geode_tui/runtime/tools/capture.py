"""The output of a command, bounded in memory: its head and its tail are kept, everything is counted."""

from __future__ import annotations

import hashlib

from geode_tui.runtime.tools.texts import SAMPLE_BYTES, binary_text, is_binary

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 192 * 1024


class Capture:
    """Takes bytes as they come. ``total`` counts bytes, ``lines`` line ends, of everything that came."""

    def __init__(self) -> None:
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
        room = HEAD_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    def text(self) -> str:
        """The output as text, with a note where bytes were left out; a placeholder if it is binary."""
        if is_binary(bytes(self._head[:SAMPLE_BYTES])):
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
