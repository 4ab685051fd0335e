"""The SQLite file: opening, settings, migrations, and what can be wrong with it."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import apsw

BUSY_WAIT_S = 5.0
"""How long one attempt waits for another writer (ARCHITECTURE.md, "Engine")."""
INLINE_LIMIT = 256 * 1024
"""Bytes of a message body; larger ones are files."""
JOURNAL_LIMIT = 16 * 1024 * 1024
WRITE_LOCK_BYTE = 120
"""Byte of the ``-shm`` file that a WAL writer locks (SQLite's file format)."""
NETWORK_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs"})


class StoreError(Exception):
    """The store cannot be used: one line that says what is wrong and what to do."""


class StoreTooNew(StoreError):
    """Written by a newer program."""


class StoreDamaged(StoreError):
    """Not a database any more."""


class StoreNotReady(StoreError):
    """Made, but without tables yet: another process is setting it up. Trying again is right."""


class StoreBusy(StoreError):
    """Another process held the write lock for the whole wait. Trying again is right."""


class StoreFull(StoreError):
    """No space left. Trying again is right once there is."""


def _pragmas(db: apsw.Connection, wal: bool, wait_s: float) -> None:
    _use_journal(db, "wal" if wal else "delete", wait_s)
    db.pragma("synchronous", "normal")
    db.pragma("journal_size_limit", JOURNAL_LIMIT)
    db.pragma("cache_size", -8000)
    db.pragma("foreign_keys", "off")


def _use_journal(db: apsw.Connection, mode: str, wait_s: float) -> None:
    """Set the journal mode. SQLite asks no busy handler where two processes change it at once."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            db.pragma("journal_mode", mode)
            return
        except apsw.BusyError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.001)


def _patience(wait_s: float) -> Callable[[int], bool]:
    """SQLite's own busy handler sleeps up to 100 ms at a time; this one sleeps 1 ms."""
    deadline = 0.0

    def again(tries: int) -> bool:
        nonlocal deadline
        now = time.monotonic()
        if tries == 0:
            deadline = now + wait_s
        time.sleep(0.001)
        return now < deadline

    return again


def file_system(path: Path, mounts: str | None = None) -> str:
    """Type of the file system that holds ``path`` (``ext4``, ``nfs4`` ...), empty where the system does not say."""
    if mounts is None:
        try:
            mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
    best, kind = "", ""
    for line in mounts.splitlines():
        parts = line.split()
        if len(parts) >= 3:
            point = parts[1].replace("\\040", " ")
            inside = point == "/" or str(path) == point or str(path).startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):
                best, kind = point, parts[2]
    return kind


def on_network(path: Path) -> bool:
    """Whether ``path`` lies on a network file system: WAL is not safe there, and one live worker is the limit."""
    return file_system(path.resolve()) in NETWORK_SYSTEMS


_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def holder(path: Path, locks: str | None = None) -> int | None:
    """Pid of the process that holds the write lock of a WAL store, where the system tells (Linux)."""
    try:
        inode = path.with_name(path.name + "-shm").stat().st_ino
        text = Path("/proc/locks").read_text(encoding="ascii") if locks is None else locks
    except OSError:
        return None
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[3] == "WRITE" and fields[5].endswith(f":{inode}"):
            first, last = int(fields[6]), WRITE_LOCK_BYTE if fields[7] == "EOF" else int(fields[7])
            if first <= WRITE_LOCK_BYTE <= last:
                return int(fields[4])
    return None


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn apsw's errors into ours, and those of a file system without space for a file beside the store."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        raise StoreFull(_no_space(path, error)) from error
    except apsw.BusyError as error:
        pid = holder(path)
        who = f"pid {pid}" if pid else "another process"
        raise StoreBusy(f"the store {path} is locked by {who}; waiting for it") from error
    except (apsw.FullError, apsw.IOError) as error:
        raise StoreFull(_no_space(path, error)) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreDamaged(_damage(path, str(error))) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError) as error:
        raise StoreError(f"the store {path} cannot be opened ({error}): check its permissions") from error


def _no_space(path: Path, error: Exception) -> str:
    return f"the store {path} cannot be written ({error}): free some space; nothing is lost"


def _damage(path: Path, error: str) -> str:
    """Keep a copy of the damaged file, once, and say where."""
    copy = path.with_name(path.name + ".damaged")
    if not copy.exists():
        try:
            os.close(os.open(copy, os.O_CREAT | os.O_EXCL, 0o600))
            shutil.copyfile(path, copy)
        except OSError:
            return f"the store {path} is damaged ({error}): move it aside to start a new one"
    return f"the store {path} is damaged ({error}); a copy is kept as {copy.name}: move {path.name} aside to start anew"


def connect(path: Path, *, wait_s: float = BUSY_WAIT_S) -> apsw.Connection:
    """A connection to an existing store. Raises `StoreError`; of a newer program's store nothing is changed."""
    with translated(path):
        db = _opened(path, wait_s)
        if not int(db.pragma("user_version")):
            db.close()
            raise StoreNotReady(f"the store {path} is still being set up; waiting for it")
        _pragmas(db, not on_network(path), wait_s)
    return db


def _opened(path: Path, wait_s: float) -> apsw.Connection:
    """The bare connection, once it is clear that this program may use the file."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX)
    db.set_busy_handler(_patience(wait_s))
    version, newest = int(db.pragma("user_version")), migrations()[-1][0]
    if version > newest:
        db.close()
        raise StoreTooNew(
            f"the store {path} was written by a newer geode-tui (schema {version}, this one knows {newest}):"
            " update geode-tui"
        )
    return db


@contextlib.contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """A write transaction: all of it, or nothing. SQLite takes one back by itself when the disk is full."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def truncate_wal(db: apsw.Connection) -> None:
    """Give the WAL's space back; skipped, without waiting, where somebody reads or writes."""
    db.set_busy_handler(None)
    try:
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except (apsw.BusyError, apsw.LockedError):
        return
    finally:
        db.set_busy_handler(_patience(BUSY_WAIT_S))


def fetch(db: apsw.Connection, query: str, bindings: tuple[Any, ...] = ()) -> list[Any]:
    """All rows of a query; no statement stays open. Raises `StoreError`."""
    with translated(Path(db.filename)):
        return db.execute(query, bindings).fetchall()


def fetch_one(db: apsw.Connection, query: str, bindings: tuple[Any, ...] = ()) -> Any:
    """The first row of a query, or None. Raises `StoreError`."""
    with translated(Path(db.filename)):
        cursor = db.execute(query, bindings)
        row = cursor.fetchone()
        cursor.close()
    return row


@functools.cache
def migrations() -> tuple[tuple[int, str], ...]:
    """The numbered migrations: ``((1, sql), ...)`` in order."""
    files = (Path(__file__).parent / "schema").glob("*.sql")
    return tuple(sorted((int(f.name.split("_", 1)[0]), f.read_text(encoding="utf-8")) for f in files))


def migrate(db: apsw.Connection) -> None:
    """Bring the schema up to this program's version; done already, it writes nothing."""
    steps = migrations()
    if int(db.pragma("user_version")) == steps[-1][0]:
        return
    with transaction(db):
        version = int(db.pragma("user_version"))
        for number, sql in steps:
            if number > version:
                db.execute(sql)
                db.execute(f"PRAGMA user_version = {number}")


def create(path: Path) -> apsw.Connection:
    """Open the store at ``path``, making it and its folder if there is none: 0700 and 0600, with an ignore-all
    ``.gitignore`` beside it. Raises `StoreError`.
    """
    private_folder(path.parent)
    ignore = path.parent / ".gitignore"
    with translated(path):
        if not ignore.exists():
            write_private(ignore, b"*\n")
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        elif path.stat().st_mode & 0o077:
            path.chmod(0o600)
        db = _opened(path, BUSY_WAIT_S)
        _pragmas(db, not on_network(path), BUSY_WAIT_S)
        migrate(db)
    return db


def private_folder(path: Path) -> None:
    """Make ``path`` if needed, and closed to others. Raises `StoreError`."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise StoreError(f"the folder {path} cannot be made ({error.strerror}): check its permissions") from error


def write_private(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write ``data``, or its pieces as they come, atomically with mode 0600: temporary file, fsync, rename, fsync of
    the folder.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    fd = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.writelines((data,) if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
