"""The processes above this one, as far as they may be looked at."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

_PROC = Path("/proc")


class Ancestor(msgspec.Struct, frozen=True):
    """The names in a process's environment, and the words of its command line."""

    variables: Collection[str]
    words: Collection[str]


def ancestors() -> Iterator[Ancestor]:
    """From the parent of this process upwards. One that belongs to somebody else is left out."""
    return _from_proc() if (_PROC / "self" / "stat").exists() else _from_psutil()


def _from_proc() -> Iterator[Ancestor]:
    """Read here, since a start waits for it: loading psutil takes 20 ms."""
    pid = os.getppid()
    while pid > 0:
        folder = _PROC / str(pid)
        try:
            pid = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            return
        try:
            variables, words = _strings(folder / "environ"), _strings(folder / "cmdline")
        except OSError:
            continue
        yield Ancestor([one.partition("=")[0] for one in variables], words)


def _strings(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8", "replace").split("\0")


def _from_psutil() -> Iterator[Ancestor]:
    import psutil

    try:
        parents = psutil.Process(os.getpid()).parents()
    except psutil.Error:
        return
    for parent in parents:
        try:
            yield Ancestor(parent.environ(), parent.cmdline())
        except (psutil.Error, OSError):
            continue
