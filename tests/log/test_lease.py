"""Who owns a session: a lock that ends with its process, and a heartbeat."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from geode_tui.core.ids import BadId
from geode_tui.log import presence
from geode_tui.log.lease import STALE_AFTER_S, Held, Lease, LeaseNote, lock_path, probe, read_note, worker_pids
from tests.log.stores import SESSION, python, said

HOLD = """
import os, sys
from pathlib import Path
from geode_tui.log.lease import Lease, LeaseNote
lease = Lease(Path(sys.argv[1]), LeaseNote(os.getpid(), 5.0, 3, "a trouble"))
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return lock_path(tmp_path / ".geode", SESSION)


def test_a_session_has_one_owner_at_a_time(path: Path) -> None:
    lease = Lease(path, LeaseNote(1, 2.0, 3))
    with pytest.raises(Held, match=r"already has a worker \(pid 1\)") as held:
        Lease(path, LeaseNote(9))
    assert held.value.liveness.epoch == 3
    lease.release()
    Lease(path, LeaseNote(9)).release()


def test_nobody_owns_what_was_never_taken_or_was_given_up(path: Path) -> None:
    assert probe(path).state == "free"
    Lease(path, LeaseNote(1)).release()
    assert probe(path).state == "free"
    assert worker_pids(path.parents[1]) == {}


def test_a_lock_ends_with_the_process_that_holds_it_however_it_ends(path: Path) -> None:
    process = python(HOLD, str(path))
    assert said(process) == "held"
    seen = probe(path)
    assert (seen.state, seen.pid, seen.started, seen.epoch, seen.trouble) == ("held", process.pid, 5.0, 3, "a trouble")
    assert worker_pids(path.parents[1]) == {SESSION: process.pid}
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert probe(path).state == "free"
    assert worker_pids(path.parents[1]) == {}


def test_an_old_heartbeat_under_a_held_lock_reads_stale_never_free(path: Path) -> None:
    lease = Lease(path, LeaseNote(1))
    now = path.stat().st_mtime
    assert probe(path, now + STALE_AFTER_S).state == "held"
    assert probe(path, now + STALE_AFTER_S + 1).state == "stale"
    assert probe(path, now - 3_600).heartbeat_age_s == 0
    os.utime(path, (0, 0))
    assert probe(path).state == "stale"
    lease.beat()
    assert probe(path).state == "held"
    lease.release()
    assert probe(path, now + 9_999).state == "free"


def test_what_the_file_says_can_be_replaced_in_place(path: Path) -> None:
    lease = Lease(path, LeaseNote(1, 2.0, 3, "x" * 200))
    inode = path.stat().st_ino
    lease.write(LeaseNote(1, 2.0, 4))
    assert read_note(path) == LeaseNote(1, 2.0, 4)
    assert path.stat().st_ino == inode
    lease.release()


def test_a_lock_file_that_was_taken_away_is_noticed(path: Path) -> None:
    lease = Lease(path, LeaseNote(1))
    assert lease.still_ours()
    path.unlink()
    assert not lease.still_ours()
    other = Lease(path, LeaseNote(2))
    assert not lease.still_ours()
    lease.release()
    other.release()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff"])
def test_a_damaged_note_says_nothing(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    assert read_note(path) == LeaseNote()
    assert probe(path).state == "free"


def test_looking_never_keeps_a_worker_from_starting(path: Path) -> None:
    Lease(path, LeaseNote(1)).release()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            probe(path)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(300):
            Lease(path, LeaseNote(1)).release()
    finally:
        stop.set()
        thread.join()


def test_a_lock_is_never_taken_through_a_link(path: Path, tmp_path: Path) -> None:
    """B123."""
    target = tmp_path / "target"
    target.write_text("mine")
    path.parent.mkdir(parents=True)
    path.symlink_to(target)
    with pytest.raises(OSError):
        Lease(path, LeaseNote(1))
    assert target.read_text() == "mine"


@pytest.mark.parametrize("session_id", ["../x", "a/b", "", ".hidden"])
def test_a_lock_is_named_by_an_id(tmp_path: Path, session_id: str) -> None:
    """B122."""
    with pytest.raises(BadId):
        lock_path(tmp_path, session_id)
    with pytest.raises(BadId):
        presence.touch(tmp_path, session_id)
    assert list(tmp_path.iterdir()) == []


def test_somebody_watches_while_their_touch_is_fresh(tmp_path: Path) -> None:
    assert not presence.watched(tmp_path, SESSION)
    presence.touch(tmp_path, SESSION)
    assert presence.watched(tmp_path, SESSION)
    assert not presence.watched(tmp_path, SESSION, time.time() + presence.WATCHED_S + 1)
