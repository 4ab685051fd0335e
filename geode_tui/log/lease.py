"""Who owns a session: an OS file lock held for a worker's life, with its pid, start time and epoch in the file.

The lock tells living from dead, whatever the clock says; the file's modification time is the heartbeat and tells
answering from not answering.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import msgspec

from geode_tui.core.ids import check_id
from geode_tui.log.rows import Liveness
from geode_tui.log.store import private_folder

STALE_AFTER_S = 3.0
"""A heartbeat older than this reads "not answering". It beats once a second."""
_TAKE_TRIES = 50
_TAKE_PAUSE_S = 0.005


class Held(Exception):
    """Another worker owns the session."""

    def __init__(self, liveness: Liveness) -> None:
        super().__init__(f"the session already has a worker (pid {liveness.pid})")
        self.liveness = liveness


class LeaseNote(msgspec.Struct, frozen=True):
    """What the lock file says. ``trouble`` is one line while the worker cannot write the store."""

    pid: int = 0
    started: float = 0.0
    epoch: int = 0
    trouble: str = ""


def lock_path(geode: Path, session_id: str) -> Path:
    """The lock file of a session. Raises `core.ids.BadId`."""
    return geode / "workers" / f"{check_id(session_id)}.lock"


class Lease:
    """A held lock. Released when the process ends, however it ends."""

    def __init__(self, path: Path, note: LeaseNote) -> None:
        """Take the lock. Raises `Held`. A reader probes it with a shared lock for microseconds, hence the tries."""
        private_folder(path.parent)
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        for attempt in range(_TAKE_TRIES):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if attempt == _TAKE_TRIES - 1:
                    os.close(self._fd)
                    raise Held(probe(path)) from None
                time.sleep(_TAKE_PAUSE_S)
        self.note = note
        self.write(note)

    def write(self, note: LeaseNote) -> None:
        """Replace what the file says, in place: works on a full disk."""
        data = msgspec.json.encode(note).ljust(512)
        os.pwrite(self._fd, data, 0)
        self.note = note

    def beat(self) -> None:
        """Show that this process answers."""
        os.utime(self._fd)

    def still_ours(self) -> bool:
        """Whether the file at the path is still the one that is locked (somebody may have removed it)."""
        try:
            here = self.path.stat()
        except OSError:
            return False
        mine = os.fstat(self._fd)
        return (here.st_dev, here.st_ino) == (mine.st_dev, mine.st_ino)

    def release(self) -> None:
        """Give the session up."""
        os.close(self._fd)


def read_note(path: Path) -> LeaseNote:
    """What the lock file says; an empty note where it is missing or damaged."""
    try:
        return msgspec.json.decode(path.read_bytes().rstrip(), type=LeaseNote)
    except (OSError, msgspec.DecodeError):
        return LeaseNote()


def probe(path: Path, now: float | None = None) -> Liveness:
    """Whether anybody owns the session, without disturbing who does. ``now`` in epoch seconds."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return Liveness("free")
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            age = max(0.0, (time.time() if now is None else now) - os.fstat(fd).st_mtime)
            note = read_note(path)
            state = "stale" if age > STALE_AFTER_S else "held"
            return Liveness(state, note.pid, note.started, note.epoch, age, note.trouble)  # type: ignore[arg-type]
        return Liveness("free")
    finally:
        os.close(fd)


def worker_pids(geode: Path) -> dict[str, int]:
    """Session id -> pid of every worker of this project that lives."""
    found = {}
    for path in sorted((geode / "workers").glob("*.lock")):
        liveness = probe(path)
        if liveness.state != "free":
            found[path.stem] = liveness.pid
    return found
