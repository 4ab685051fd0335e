"""What `doctor` looks at on disk: the log, its workers, the person's folders and themes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import apsw

from geode_tui.cli.checks import Check
from geode_tui.core import format as fmt
from geode_tui.log.lease import lock_path, probe, worker_pids
from geode_tui.log.store import (
    StoreDamaged,
    StoreError,
    StoreTooNew,
    connect,
    fetch,
    fetch_one,
    file_system,
    on_network,
    translated,
)
from geode_tui.paths import Project, UserFolders
from geode_tui.tui.themes import ThemeError, load_theme, shipped_folder

INTEGRITY_S = 2.0
"""How long the log is checked; a large one in part, since its WAL grows for as long as somebody reads."""
_STEPS = 1_000
"""SQLite's instructions between two looks at the clock."""


def usable(folder: Path) -> bool:
    """Whether ``folder`` is one, and this process may read and write in it."""
    return folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def project(where: Project) -> list[Check]:
    """The project's folder."""
    if where.at_home:
        return [Check("project", True, f"{where.root}, your home folder: only reading tools", "start in a project")]
    folder = where.geode if where.geode.exists() else where.root
    if not usable(folder):
        return [Check("project", False, f"{folder} cannot be used", "make it a folder that you may read and write")]
    return [Check("project", True, str(where.root))]


def store(where: Project, bound_s: float = INTEGRITY_S) -> list[Check]:
    """The log: schema and size, integrity, permissions, and the file system it lies on."""
    if not usable(where.geode) or not where.store.is_file():
        return [Check("log", True, "none yet: the first run makes it"), _place(where)]
    try:
        db = connect(where.store)
        try:
            checks = [_schema(db, where), _integrity(db, bound_s)]
        finally:
            db.close()
    except StoreError as error:
        checks = [Check("log", False, str(error), _remedy(error))]
    return [*checks, _permissions(where), _place(where)]


def _remedy(error: StoreError) -> str:
    match error:
        case StoreDamaged():
            return "move it aside and start anew; the copy may be saved with the sqlite3 program"
        case StoreTooNew():
            return "update geode-tui"
    return "try again; see who holds the file and what its permissions are"


def _schema(db: apsw.Connection, where: Project) -> Check:
    sessions = fetch_one(db, "SELECT count(*) FROM sessions")[0]
    version = fetch_one(db, "PRAGMA user_version")[0]
    size = fmt.size_bytes(where.store.stat().st_size)
    return Check("log", True, f"{where.store}, {size}, schema {version}, {sessions} sessions")


def _integrity(db: apsw.Connection, bound_s: float) -> Check:
    begun = time.monotonic()
    db.set_progress_handler(lambda: time.monotonic() - begun > bound_s, _STEPS)
    try:
        with translated(Path(db.filename)):
            faults = [str(row[0]) for row in fetch(db, "PRAGMA quick_check(1)")]
    except apsw.InterruptError:
        return Check("integrity", True, f"no fault found in {fmt.elapsed(bound_s)}; the rest was not looked at")
    finally:
        db.set_progress_handler(None)
    if faults != ["ok"]:
        return Check("integrity", False, faults[0], "stop its workers and keep a copy before anything else is done")
    return Check("integrity", True, f"no fault found ({fmt.elapsed(time.monotonic() - begun)})")


def _permissions(where: Project) -> Check:
    for path, mode in ((where.geode, "700"), (where.store, "600")):
        if path.stat().st_mode & 0o077:
            return Check("permissions", False, f"others on this machine may read {path}", f"chmod {mode} {path}")
    return Check("permissions", True, "readable by you alone")


def _place(where: Project) -> Check:
    kind = file_system(where.root) or "not known"
    if on_network(where.root):
        line = f"{kind}, over the network: one worker at a time, and slower"
        return Check("file system", True, line, "keep the project on a disk of this machine")
    return Check("file system", True, kind)


def workers(where: Project) -> list[Check]:
    """The workers of this project that live."""
    found = worker_pids(where.geode)
    if not found:
        return [Check("workers", True, "none is running here")]
    return [_worker(where, session_id) for session_id in found]


def _worker(where: Project, session_id: str) -> Check:
    seen = probe(lock_path(where.geode, session_id))
    line = f"{seen.pid} serves {session_id}"
    if seen.state == "stale":
        late = f"{line} and has not answered for {fmt.elapsed(seen.heartbeat_age_s)}"
        return Check("worker", False, late, f"geode-tui resume {session_id} --take-over ends it and goes on")
    if seen.trouble:
        return Check("worker", False, f"{line}: {seen.trouble}", "it goes on by itself once that is over")
    return Check("worker", True, line)


def folders(own: UserFolders) -> list[Check]:
    """Whether the person's own folders can be written, or be made."""
    named = (("settings folder", own.config), ("data folder", own.data), ("state folder", own.state))
    return [_folder(name, path) for name, path in named]


def _folder(name: str, path: Path) -> Check:
    there = next(p for p in (path, *path.parents) if p.exists())
    if not usable(there):
        return Check(name, False, f"{path} cannot be written", f"give yourself the right to write in {there}")
    return Check(name, True, str(path) if path.exists() else f"{path}, made when it is needed")


def themes(folder: Path, chosen: str) -> list[Check]:
    """The person's own theme files, and whether the theme that is set exists."""
    own = sorted(folder.glob("*.toml"))
    names = {path.stem for path in shipped_folder().glob("*.toml")}
    checks: list[Check] = []
    for path in own:
        try:
            theme = load_theme(path)
        except ThemeError as error:
            checks.append(Check("theme file", False, str(error), f"correct {path}"))
            continue
        names.add(theme.name)
        more = f"choose colours of more contrast in {path}"
        checks += (Check("theme file", True, line, more) for line in theme.warnings)
    if chosen in names:
        return [Check("themes", True, f"{len(names)} can be chosen; files of your own: {len(own)}"), *checks]
    known = f"choose one of {', '.join(sorted(names))}"
    return [Check("themes", False, f"there is no theme {chosen}; another is shown", known), *checks]
