"""The person's side of commands: write the row, see that a worker serves it, wait for its outcome."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from datetime import datetime

import apsw

from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.core.endings import EXIT_DIED
from geode_tui.core.ids import new_session_id
from geode_tui.log import commands as cmd
from geode_tui.log.lease import lock_path, probe, worker_pids
from geode_tui.log.rows import Liveness
from geode_tui.log.store import StoreBusy, StoreError, connect, fetch_one, on_network, translated

START_S = 20.0
"""How long a worker may take to take its lock: a loaded machine, a cold disk."""
LEAVING_S = 0.15
"""A worker that is about to leave gives its lock up within this."""
LOOK_S = 0.05
BUSY_TRIES = 24


def fresh_session_id() -> str:
    """An id for a new session."""
    return new_session_id(datetime.now().astimezone(), secrets.token_bytes(8))


def fresh_key() -> str:
    """A key that makes a command one command, however often it is sent."""
    return f"{os.getpid()}-{secrets.token_hex(8)}"


class Client:
    """Sends commands to one session."""

    def __init__(self, env: Env, session_id: str) -> None:
        self.env = env
        self.session_id = session_id
        self._lock = lock_path(env.project.geode, session_id)

    def liveness(self) -> Liveness:
        """What the session's lock says."""
        return probe(self._lock)

    def send(self, command: cmd.Command, key: str | None = None, *, start: bool = True) -> str:
        """Write a command and return its key; ``start`` sees that a worker serves it. Raises `CliError`."""
        kind, payload = cmd.encode(command)
        return self.send_raw(kind, payload, key, start=start)

    def send_raw(self, kind: str, payload: str, key: str | None = None, *, start: bool = True) -> str:
        """`send` for a command that is encoded already."""
        key = key or fresh_key()
        self.env.make_store()
        self._write(kind, payload, key)
        if start:
            self.ensure_worker(key)
        return key

    def _write(self, kind: str, payload: str, key: str) -> None:
        for attempt in range(BUSY_TRIES):
            try:
                db = connect(self.env.project.store)
                try:
                    with translated(self.env.project.store):
                        self._own(db)
                        cmd.send(
                            db, self.session_id, kind, payload, client_id=str(os.getpid()), key=key, now=time.time()
                        )
                    return
                finally:
                    db.close()
            except StoreBusy as error:
                if attempt == BUSY_TRIES - 1:
                    raise CliError(str(error), EXIT_DIED) from error
            except StoreError as error:
                raise CliError(str(error), EXIT_DIED) from error

    def _own(self, db: apsw.Connection) -> None:
        """Refuse what goes to a run that another program recorded. Raises `CliError`."""
        row = fetch_one(db, "SELECT origin FROM sessions WHERE session_id=?", (self.session_id,))
        if row is not None and row[0] != "own":
            raise CliError(f"this run was recorded by {row[0]} and cannot go on here: start a new one")

    # -- the worker -------------------------------------------------------------------------------------------------
    def ensure_worker(self, key: str) -> None:
        """See that a worker lives that will take the command ``key``. Raises `CliError` when none can be started."""
        if self.liveness().state != "free":
            time.sleep(LEAVING_S)
            if self.liveness().state != "free" or self.outcome(key) is not None:
                return
        self.start_worker()

    def start_worker(self) -> None:
        """Start a worker in a process session of its own, and wait until it owns the session. Raises `CliError`."""
        from geode_tui.cli.worker import error_path

        self._alone_on_network()
        failure = error_path(self.env.project, self.session_id)
        failure.unlink(missing_ok=True)
        started = subprocess.Popen(
            # -P: a project's own types.py or logging.py must never be imported in place of the library's
            [sys.executable, "-P", "-m", "geode_tui.cli.worker", str(self.env.project.root), self.session_id],
            cwd=self.env.project.root,
            env={k: v for k, v in self.env.environment.items() if k != "GEODE_INSIDE_RUN"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if started.wait() != 0:
            raise CliError(f"the worker did not start (exit status {started.returncode})", EXIT_DIED)
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self.liveness().state != "free":
                return
            if failure.exists():
                raise CliError(failure.read_text(encoding="utf-8", errors="replace"), EXIT_DIED)
            time.sleep(LOOK_S)
        raise CliError(f"the worker did not start; its log is in {self.env.folders.logs}", EXIT_DIED)

    def _alone_on_network(self) -> None:
        """On a network file system locks cannot be relied on: one worker at a time, and the person is told."""
        if not on_network(self.env.project.geode):
            return
        others = worker_pids(self.env.project.geode)
        if others:
            raise CliError(
                f"{self.env.project.geode} is on a network file system, where one run at a time is possible", 1
            )
        self.env.note(f"{self.env.project.geode} is on a network file system: slower, and one run at a time")

    # -- outcomes ---------------------------------------------------------------------------------------------------
    def outcome(self, key: str) -> tuple[str, str] | None:
        """(outcome, detail) of the command, or None while it has none."""
        try:
            db = connect(self.env.project.store)
        except StoreError:
            return None
        try:
            return _outcome(db, key)
        finally:
            db.close()

    def wait(self, key: str, timeout_s: float) -> tuple[str, str] | None:
        """The command's outcome, waited for."""
        deadline = time.monotonic() + timeout_s
        while True:
            found = self.outcome(key)
            if found is not None or time.monotonic() >= deadline:
                return found
            time.sleep(LOOK_S)


def _outcome(db: apsw.Connection, key: str) -> tuple[str, str] | None:
    row = fetch_one(db, "SELECT id, session_id, outcome FROM commands WHERE key=? AND done_at IS NOT NULL", (key,))
    if row is None:
        return None
    query = (
        "SELECT payload ->> '$.detail' FROM events WHERE event='command_finished' AND payload ->> '$.command_id' = ?"
        " AND session = (SELECT id FROM sessions WHERE session_id=?) ORDER BY id DESC LIMIT 1"
    )
    detail = fetch_one(db, query, (row[0], row[1]))
    return str(row[2]), str(detail[0]) if detail and detail[0] else ""
