"""The exact bytes of a stored result, read by ranges while they are still being taken out of its file.

A result is a JSON string in its file (RUNTIME.md 4.2). Where its receipt is there, that is the bytes; else they are
decoded piece by piece into an unnamed file, so that the first page is there at once and nothing is whole in memory.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from geode_tui.core.binary import SAMPLE_BYTES, is_binary
from geode_tui.log import offloads, receipts
from geode_tui.log.store import StoreError

Kind: TypeAlias = Literal["text", "json", "binary"]
_JSON_START = re.compile(rb"\s*[\[{]")


class RawResult:
    """Bytes of a result. ``size`` is how many there are so far and ``expected`` how many there will be, as far as the
    file says; `more` takes out further ones. All may block.
    """

    def __init__(self, fd: int, size: int, coming: Iterator[bytes] | None = None, expected: int = 0) -> None:
        """Take ``fd`` over, of which ``size`` bytes are there. ``coming`` gives the rest."""
        self._fd = fd
        weakref.finalize(self, os.close, fd)
        self._coming = coming
        self.size = size
        self.expected = max(expected, size)
        self.more()
        self.kind: Kind = kind_of(self.read(0, SAMPLE_BYTES))

    @property
    def whole(self) -> bool:
        """Whether all bytes are there."""
        return self._coming is None

    def read(self, offset: int, length: int) -> bytes:
        """At most ``length`` bytes from byte ``offset`` on; fewer only where they are not there."""
        return os.pread(self._fd, max(0, min(length, self.size - offset)), offset)

    def more(self) -> bool:
        """Take out another piece; False where all is there. Raises `OffloadDamaged`, ``OSError``."""
        if self._coming is None:
            return False
        piece = next(self._coming, b"")
        if piece:
            os.pwrite(self._fd, piece, self.size)
            self.size += len(piece)
            self.expected = max(self.expected, self.size)
        else:
            self._coming, self.expected = None, self.size
        return self._coming is not None


def kind_of(sample: bytes) -> Kind:
    """What a result is, by its first bytes."""
    if is_binary(sample):
        return "binary"
    return "json" if _JSON_START.match(sample) else "text"


def open_raw(geode: Path, session_id: str, ref_id: str, *, whole: bool = False) -> RawResult:
    """The bytes of a stored result, with ``whole`` all of them. Raises `OffloadUnknown`, `OffloadDamaged`."""
    stored = offloads.reading(geode, session_id, ref_id)
    try:
        raw = _receipt(geode, stored.about)
        if raw is None:
            raw = RawResult(_unnamed(geode), 0, _encoded(stored), stored.about.bytes)
            while whole and raw.more():
                pass
        else:
            stored.close()
    except OSError as error:
        stored.close()
        raise offloads.OffloadDamaged(f"the stored result {ref_id} cannot be read ({error.strerror})") from error
    return raw


def _receipt(geode: Path, about: offloads.Offloaded) -> RawResult | None:
    """The untouched bytes, where there is a receipt of them."""
    for sha256 in filter(None, (about.receipt, about.sha256)):
        with contextlib.suppress(StoreError), receipts.opened(geode, sha256) as file:
            return RawResult(os.dup(file.fileno()), os.fstat(file.fileno()).st_size)
    return None


def _unnamed(geode: Path) -> int:
    fd, path = tempfile.mkstemp(prefix=".raw-", dir=geode)
    Path(path).unlink()
    return fd


def _encoded(stored: offloads.Reading) -> Iterator[bytes]:
    with stored:
        for piece in stored.pieces():
            yield piece.encode()
