"""Untouched results of tools: content-addressed files under ``.geode/receipts/raw`` (RUNTIME.md 4.9, decision 5).

They are apart from the bodies of messages, which stay as long as their rows do.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from geode_tui.core.events import BlobRef
from geode_tui.log.store import StoreError, private_folder, sync_folder

FOLDER = "receipts/raw"
_NAME = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = ".tmp"
_NO_LINKS = os.O_RDONLY | os.O_NOFOLLOW


class Spool:
    """Bytes on their way into a receipt: a private file that gets its name once all have come.

    Exactly one of `keep` and `drop` ends it.
    """

    def __init__(self, geode: Path) -> None:
        """Begin the file. Raises ``OSError``, `StoreError`."""
        self._folder = _own_folder(geode)
        self._path = self._folder / f".{uuid4().hex}{_UNFINISHED}"
        fd = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        self._file = os.fdopen(fd, "wb")
        self._digest = hashlib.sha256()
        self.bytes = 0

    def write(self, data: bytes) -> None:
        """Take ``data``. Raises ``OSError``."""
        self._file.write(data)
        self._digest.update(data)
        self.bytes += len(data)

    def keep(self) -> BlobRef:
        """Make it a receipt: durable once this returns, and there once however often it is kept. Raises ``OSError``."""
        digest = self._digest.hexdigest()
        path = self._folder / digest
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._path.replace(path)
        except BaseException:
            self.drop()
            raise
        self._file.close()
        sync_folder(self._folder)
        return BlobRef(digest, self.bytes, f"{FOLDER}/{digest}")

    def drop(self) -> None:
        """Give it up."""
        with contextlib.suppress(OSError):
            self._file.close()
        self._path.unlink(missing_ok=True)


def _own_folder(geode: Path) -> Path:
    for path in (geode / "receipts", geode / FOLDER):
        if path.is_symlink():
            raise OSError(errno.ELOOP, f"{path.name} is a link")
        private_folder(path)
    return geode / FOLDER


def keep(geode: Path, pieces: Iterable[bytes]) -> BlobRef:
    """Store what ``pieces`` are together, once. Raises ``OSError``, `StoreError`, and what they raise."""
    spool = Spool(geode)
    try:
        for piece in pieces:
            spool.write(piece)
    except BaseException:
        spool.drop()
        raise
    return spool.keep()


def opened(geode: Path, sha256: str) -> BinaryIO:
    """The receipt of that hash, open for reading. Raises `StoreError` where there is none."""
    if _NAME.fullmatch(sha256) is None:
        raise StoreError("a receipt is named by its hash")
    try:
        return os.fdopen(os.open(geode / FOLDER / sha256, _NO_LINKS), "rb")
    except OSError as error:
        raise StoreError(f"the receipt {sha256[:12]} cannot be read ({error.strerror})") from error


def name_in(path: str) -> str:
    """The hash in a receipt's path (`BlobRef.path`); empty where it is none."""
    folder, _, name = path.rpartition("/")
    return name if folder == FOLDER and _NAME.fullmatch(name) else ""


def sweep(geode: Path, *, before: float, held: Iterable[str] = ()) -> tuple[int, int]:
    """Delete receipts, and what never became one, that were last stored before ``before`` (epoch seconds) and whose
    hash is not in ``held``. Returns their number and bytes.
    """
    count = freed = 0
    kept = set(held)
    for entry in _entries(geode):
        if not (entry.name.endswith(_UNFINISHED) or _NAME.fullmatch(entry.name)) or entry.name in kept:
            continue
        with contextlib.suppress(OSError):
            found = entry.stat(follow_symlinks=False)
            if found.st_mtime < before:
                Path(entry.path).unlink()
                count, freed = count + 1, freed + found.st_size
    return count, freed


def _entries(geode: Path) -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(geode / FOLDER) as entries:
        yield from entries
