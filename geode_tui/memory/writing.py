"""Writing into a folder of memory: whole lines at its end, or whole files, each at once or not at all."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from geode_tui.memory.files import Folder, said

MOST_LINE: Final = 4_096
"""Bytes of one line of a file that only grows."""
MOST_LOG: Final = 4 * 1024 * 1024
"""Bytes of such a file; then it becomes the older one, and the one that was older before is gone."""
_LOCK: Final = ".lock"
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def locked(folder: Folder, relative: str) -> Iterator[int]:
    """A descriptor of the folder at ``relative``, made if need be, that no other writer holds. Raises `Unusable`."""
    try:
        with folder.opened(folder.parts(relative), make=True) as inside:
            lock = os.open(_LOCK, _WRITE, 0o600, dir_fd=inside)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield inside
            finally:
                os.close(lock)
    except OSError as error:
        raise folder.unusable(relative, said(error)) from None


def append(inside: int, name: str, line: bytes) -> None:
    """Add ``line`` to the file ``name`` of a locked folder, durably; what a writer that died left of a line ends there.

    Raises `ValueError` for one that is no line or longer than `MOST_LINE`, and `OSError`.
    """
    if not line or b"\n" in line or len(line) > MOST_LINE:
        raise ValueError(f"a line has 1 to {MOST_LINE} bytes")
    _make_room(inside, name, len(line) + 1)
    descriptor = os.open(name, _WRITE & ~os.O_WRONLY | os.O_RDWR | os.O_APPEND, 0o600, dir_fd=inside)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        _write(descriptor, (b"\n" if torn else b"") + line + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace(inside: int, name: str, data: bytes) -> None:
    """Make ``data`` the whole of the file ``name`` of a locked folder. Raises `OSError`."""
    temporary = _temporary(inside, name, data)
    os.replace(temporary, name, src_dir_fd=inside, dst_dir_fd=inside)
    os.fsync(inside)


def create(inside: int, name: str, data: bytes) -> bool:
    """Make the file ``name`` of a locked folder; false where there is one already. Raises `OSError`."""
    temporary = _temporary(inside, name, data)
    try:
        os.link(temporary, name, src_dir_fd=inside, dst_dir_fd=inside, follow_symlinks=False)
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary, dir_fd=inside)
    os.fsync(inside)
    return True


def _make_room(inside: int, name: str, more: int) -> None:
    with suppress(FileNotFoundError):
        if os.stat(name, dir_fd=inside, follow_symlinks=False).st_size + more > MOST_LOG:
            os.replace(name, f"{name}.old", src_dir_fd=inside, dst_dir_fd=inside)


def _temporary(inside: int, name: str, data: bytes) -> str:
    """A hidden file with ``data``, whole and durable; its name. One that a writer left that died is taken again."""
    temporary = f".{name}.tmp"
    with suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=inside)
    descriptor = os.open(temporary, _WRITE | os.O_EXCL, 0o600, dir_fd=inside)
    try:
        _write(descriptor, data)
        os.fsync(descriptor)
    except BaseException:
        os.unlink(temporary, dir_fd=inside)
        raise
    finally:
        os.close(descriptor)
    return temporary


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
