"""Bytes in memory, as the viewer takes them: all there, or coming piece by piece."""

from __future__ import annotations

from geode_tui.log.raw_results import Kind, kind_of
from geode_tui.log.store import StoreError


class Held:
    """``data``; with ``piece`` only so many bytes come with each `more`, and ``fails`` is raised where they end."""

    def __init__(self, data: bytes, piece: int = 0, fails: str = "") -> None:
        self._data = data
        self._piece = piece
        self._fails = fails
        self.size = piece or len(data)
        self.expected = len(data)
        self.kind: Kind = kind_of(data[:8_192])
        self.most_read = 0
        """Bytes of the longest read."""

    @property
    def whole(self) -> bool:
        return self.size >= len(self._data) and not self._fails

    def read(self, offset: int, length: int) -> bytes:
        self.most_read = max(self.most_read, length)
        return self._data[offset : min(self.size, offset + max(0, length))]

    def more(self) -> bool:
        if self.size >= len(self._data) and self._fails:
            raise StoreError(self._fails)
        self.size = min(len(self._data), self.size + self._piece)
        return not self.whole
