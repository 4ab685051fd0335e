"""The file: who may read it, which versions are opened, what a damaged one says."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from geode_tui.log import store as store_module
from geode_tui.log.store import (
    StoreDamaged,
    StoreError,
    StoreNotReady,
    StoreTooNew,
    connect,
    create,
    fetch,
    file_system,
    migrations,
    on_network,
    write_private,
)
from geode_tui.log.tail import Tail
from geode_tui.log.transcript import Transcript
from tests.log.stores import SESSION, facts, finished, open_writer, python, said, tell


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("open_umask")
def test_only_the_owner_can_read_anything_whatever_the_umask(store: Path) -> None:
    """B124."""
    writer = open_writer(store)
    facts(writer, 3)
    files = {path.name for path in store.parent.iterdir()}
    assert files == {".gitignore", "sessions.db", "sessions.db-wal", "sessions.db-shm"}
    assert mode(store.parent) == 0o700
    assert {mode(path) for path in store.parent.iterdir()} == {0o600}
    writer.close()


def test_modes_that_were_looser_are_tightened(store: Path) -> None:
    open_writer(store).close()
    store.parent.chmod(0o755)
    store.chmod(0o644)
    create(store).close()
    assert (mode(store.parent), mode(store)) == (0o700, 0o600)


def test_the_folder_ignores_itself(store: Path) -> None:
    create(store).close()
    assert (store.parent / ".gitignore").read_text() == "*\n"


def test_a_file_is_replaced_whole_and_never_through_a_link(tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "file", tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    target.symlink_to(elsewhere)
    write_private(target, b"new")
    assert (elsewhere.read_text(), target.read_text(), mode(target)) == ("mine", "new", 0o600)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["elsewhere", "file"]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".geode").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot be made"):
        create(tmp_path / ".geode" / "sessions.db")


# -- versions ---------------------------------------------------------------------------------------------------------
def test_bringing_the_schema_up_to_date_twice_changes_nothing(store: Path) -> None:
    first = create(store)
    schema = fetch(first, "SELECT sql FROM sqlite_schema ORDER BY name")
    first.close()
    second = create(store)
    assert fetch(second, "SELECT sql FROM sqlite_schema ORDER BY name") == schema
    assert second.pragma("user_version") == migrations()[-1][0]
    second.close()


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize("opening", [create, connect])
def test_a_newer_store_is_refused_and_stays_as_it_is(store: Path, journal: str, opening: object) -> None:
    create(store).close()
    db = apsw.Connection(str(store))
    db.pragma("journal_mode", journal)
    db.pragma("user_version", migrations()[-1][0] + 1)
    db.execute("CREATE TABLE from_the_future(x)")
    db.close()
    before = store.read_bytes()
    with pytest.raises(StoreTooNew, match=r"newer geode-tui .*: update geode-tui"):
        opening(store)  # type: ignore[operator]
    assert store.read_bytes() == before


def test_a_store_that_is_being_set_up_says_so_to_a_reader(store: Path) -> None:
    store.parent.mkdir()
    store.touch()
    with pytest.raises(StoreNotReady, match=r"still being set up"):
        connect(store)


def test_several_processes_that_start_at_once_make_one_store(store: Path) -> None:
    code = """
import sys
from pathlib import Path
from geode_tui.log.store import create, fetch
print("ready", flush=True)
sys.stdin.readline()
for n in range(10):
    db = create(Path(sys.argv[1]) / str(n) / ".geode" / "sessions.db")
    db.execute("INSERT INTO sessions(session_id, created_at, updated_at) VALUES(?, 0, 0)", (sys.argv[2],))
    db.close()
"""
    names = ["one", "two", "three"]
    processes = [python(code, str(store.parent), name) for name in names]
    for process in processes:
        assert said(process) == "ready"
    for process in processes:
        tell(process)
    for process in processes:
        finished(process)
    for n in range(10):
        db = connect(store.parent / str(n) / ".geode" / "sessions.db")
        assert sorted(row[0] for row in fetch(db, "SELECT session_id FROM sessions")) == sorted(names)
        db.close()


def test_geodes_columns_keep_their_names(store: Path) -> None:
    """RUNTIME.md 5.5: its readers can open the file."""
    db = create(store)
    sessions = {row[1] for row in fetch(db, "PRAGMA table_info(sessions)")}
    messages = {row[1] for row in fetch(db, "PRAGMA table_info(messages)")}
    db.close()
    assert {"session_id", "created_at", "updated_at", "status", "model", "provider", "user_input"} <= sessions
    assert {"session_id", "seq", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp"} <= messages


# -- what can be wrong ------------------------------------------------------------------------------------------------
def damage(store: Path, offset: int) -> None:
    data = bytearray(store.read_bytes())
    data[offset : offset + 4096] = b"\xa5" * 4096
    store.write_bytes(data)


def test_a_file_that_is_no_database_is_one_line_and_a_copy(store: Path) -> None:
    """B070."""
    open_writer(store).close()
    damage(store, 0)
    for _ in range(2):
        with pytest.raises(
            StoreDamaged, match=r"sessions\.db is damaged .*copy is kept as sessions\.db\.damaged"
        ) as bad:
            connect(store)
        assert "\n" not in str(bad.value)
    copy = store.with_name("sessions.db.damaged")
    assert copy.read_bytes() == store.read_bytes()
    assert mode(copy) == 0o600


def test_a_damaged_page_is_found_by_the_read_that_meets_it(store: Path) -> None:
    """B070: the header is well, a table is not."""
    writer = open_writer(store)
    facts(writer, 2_000)
    root = fetch(writer.db, "SELECT rootpage FROM sqlite_schema WHERE name='events'")[0][0]
    writer.db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    writer.close()
    damage(store, (root - 1) * 4096)
    db = connect(store)
    with pytest.raises(StoreDamaged):
        Transcript(db, store.parent).events(1)
    with pytest.raises(StoreDamaged):
        Tail(db, SESSION).fetch()
    db.close()


def test_a_wal_cut_short_costs_only_what_was_not_whole(store: Path) -> None:
    """B070."""
    writer = open_writer(store)
    facts(writer, 50)
    facts(writer, 50)
    saved = {p.name: p.read_bytes() for p in store.parent.glob("sessions.db*") if not p.name.endswith("-shm")}
    writer.close()
    for path in store.parent.glob("sessions.db*"):
        path.unlink()
    for name, data in saved.items():
        (store.parent / name).write_bytes(data[:-100] if name.endswith("-wal") else data)
    db = connect(store)
    assert len(Transcript(db, store.parent).events(1)) == 50
    assert db.pragma("integrity_check") == "ok"
    db.close()


def test_a_store_that_is_not_there_is_an_error(store: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot be opened"):
        connect(store)


MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/export /home/me/shared nfs4 rw 0 0
//nas/files /mnt/my\\040files cifs rw 0 0
tmpfs /home/me/shared/fast tmpfs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/code", "ext4"),
        ("/home/me/shared/code/.geode", "nfs4"),
        ("/home/me/shared", "nfs4"),
        ("/home/me/sharedness", "ext4"),
        ("/home/me/shared/fast/x", "tmpfs"),
        ("/mnt/my files/x", "cifs"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_its_nearest_mount(path: str, kind: str) -> None:
    assert file_system(Path(path), MOUNTS) == kind


def test_on_a_network_file_system_a_rollback_journal_is_used(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B070."""
    monkeypatch.setattr(store_module, "file_system", lambda _path: "nfs4")
    assert on_network(store)
    db = create(store)
    assert db.pragma("journal_mode") == "delete"
    db.close()
