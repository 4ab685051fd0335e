"""A project, a person's folders and an environment of their own, and the real processes that run in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
import psutil

import geode_tui
from geode_tui.cli.client import Client, fresh_session_id
from geode_tui.cli.env import Env
from geode_tui.core.events import EventRow
from geode_tui.core.limits import Limits, RunOptions
from geode_tui.log import commands as cmd
from geode_tui.log.lease import lock_path, probe
from geode_tui.log.rows import Liveness, SessionRow
from geode_tui.log.store import StoreError, connect, fetch
from geode_tui.log.transcript import Transcript
from geode_tui.runtime.tools.base import ProcessMark
from geode_tui.runtime.tools.processes import kill_group
from geode_tui.view.follow import state_at
from geode_tui.view.selectors import run_status
from geode_tui.view.state import RunState

T = TypeVar("T")
SOURCES = Path(geode_tui.__file__).parents[1]
PATIENCE_S = 30.0
LOOK_S = 0.01


def until(condition: Callable[[], Any], what: str = "", patience_s: float = PATIENCE_S) -> Any:
    """The first true value of ``condition``; fails the test when there is none within ``patience_s``."""
    deadline = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited in vain for {what or condition}"
        time.sleep(LOOK_S)


def gone(process: psutil.Process) -> bool:
    """Whether a process has ended; one that only waits to be reaped has."""
    try:
        return not process.is_running() or bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """The objects of a ``--json`` run: every line of stdout is one."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def json(self) -> Any:
        """The one value of a ``--json`` report."""
        return json.loads(self.out)

    @property
    def line(self) -> str:
        """The one line a failing command prints."""
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        return self.err.strip()


class Place:
    """See the module. `close` ends whatever still runs in it."""

    def __init__(self, base: Path) -> None:
        self.root = (base / "project").resolve()
        self.home = (base / "home").resolve()
        self.root.mkdir(parents=True)
        self.home.mkdir()
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "GEODE_TUI_HOME": str(self.home / "own"),
            "PYTHONPATH": str(SOURCES),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "SSL_CERT_DIR": str(self.home),
            "GEODE_DREAMS": "0",  # a dream is one more request: tests that want it take this away
        }
        self._started: list[subprocess.Popen[Any]] = []
        self._closing: list[Callable[[], None]] = []

    # -- processes ----------------------------------------------------------------------------------------------------
    def cli(self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Finished:
        """Run a command of the program to its end. Whatever it does, it prints no traceback."""
        done = subprocess.run(
            [sys.executable, "-m", "geode_tui", *arguments],
            cwd=cwd or self.root,
            env={**self.environment, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            check=False,
        )
        assert "Traceback" not in done.stderr + done.stdout, done.stderr
        return Finished(done.returncode, done.stdout, done.stderr)

    def start(
        self,
        *arguments: str,
        stdout: int | IO[str] = subprocess.PIPE,
        stderr: int | IO[str] = subprocess.PIPE,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[str]:
        """Start a command of the program and leave it running, in a process session of its own."""
        return self.spawn("-m", "geode_tui", *arguments, stdout=stdout, stderr=stderr, env=env)

    def spawn(
        self,
        *arguments: str,
        stdout: int | IO[str] = subprocess.DEVNULL,
        stderr: int | IO[str] = subprocess.DEVNULL,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[str]:
        """Start Python with ``arguments``."""
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**self.environment, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            encoding="utf-8",
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def end(self, process: subprocess.Popen[str]) -> Finished:
        """What a started command came to."""
        out, err = process.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in (err or ""), err
        return Finished(process.returncode, out or "", err or "")

    def on_close(self, work: Callable[[], None]) -> None:
        """Have ``work`` done when the place is closed."""
        self._closing.append(work)

    def close(self) -> None:
        """End every process that was started here, and the process groups of calls that they left open."""
        for work in self._closing:
            work()
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for worker in psutil.process_iter(["cmdline"]):
            if {str(self.root), str(self.home)} & set(worker.info["cmdline"] or ()):
                worker.kill()
                until(lambda worker=worker: gone(worker), "the worker's end")  # type: ignore[misc]
        if self.store.exists():
            for session_id in self.sessions():
                for tool in self.state(session_id).open_tools.values():
                    if tool.group is not None and tool.group_started is not None:
                        kill_group(ProcessMark(tool.group, tool.group_started))

    # -- commands -----------------------------------------------------------------------------------------------------
    def client(self, session_id: str) -> Client:
        """A client of this process, in the place's environment."""
        return Client(Env(self.root, self.environment), session_id)

    def submit(self, text: str, *, approve: str = "all", limits: Limits = Limits()) -> str:  # noqa: B008 - frozen
        """Write the command that starts a session of the offline provider; the session's id. Starts no worker."""
        session_id = fresh_session_id()
        options = RunOptions(provider="offline", approve=approve, limits=limits)  # type: ignore[arg-type]
        self.client(session_id).send(cmd.Submit(text, options=options), start=False)
        return session_id

    def send(self, session_id: str, command: cmd.Command) -> str:
        """Write a command and start no worker; its key."""
        return self.client(session_id).send(command, start=False)

    # -- the log ------------------------------------------------------------------------------------------------------
    @property
    def geode(self) -> Path:
        """The project's ``.geode`` folder."""
        return self.root / ".geode"

    @property
    def store(self) -> Path:
        """The log."""
        return self.geode / "sessions.db"

    def query(self, sql: str, *bindings: Any) -> list[Any]:
        """Rows of the log."""
        db = connect(self.store)
        try:
            return fetch(db, sql, bindings)
        finally:
            db.close()

    def read(self, work: Callable[[Transcript], T]) -> T:
        """Read the log."""
        db = connect(self.store)
        try:
            return work(Transcript(db, self.geode))
        finally:
            db.close()

    def sessions(self) -> list[str]:
        """Ids of the sessions, newest first."""
        return [row.session_id for row in self.read(lambda t: t.sessions())]

    @property
    def newest(self) -> str:
        """The newest session, once there is one."""

        def first() -> str:
            try:
                return self.sessions()[0] if self.store.exists() else ""
            except (StoreError, IndexError):
                return ""

        return str(until(first, "a session"))

    def row(self, session_id: str) -> SessionRow | None:
        """A session's row."""
        return self.read(lambda t: t.session(session_id)) if self.store.exists() else None

    def events(self, session_id: str, name: str = "") -> list[EventRow]:
        """The session's events, or those of one name."""
        row = self.row(session_id)
        if row is None:
            return []
        rows = self.read(lambda t: t.events(row.number, 0, 1_000_000))
        return [r for r in rows if not name or r.event == name]

    def payloads(self, session_id: str, name: str) -> list[dict[str, Any]]:
        """The payloads of the session's events of one name."""
        return [msgspec.json.decode(r.payload) for r in self.events(session_id, name)]

    def state(self, session_id: str) -> RunState:
        """The session's fold; an empty one while the session does not exist."""
        row = self.row(session_id)
        return RunState() if row is None else self.read(lambda t: state_at(t, row.number))

    def liveness(self, session_id: str) -> Liveness:
        """What the session's lock says."""
        return probe(lock_path(self.geode, session_id))

    def status(self, session_id: str) -> str:
        """The session's state, as a person is told."""
        return run_status(self.state(session_id), self.liveness(session_id), time.time()).kind

    def worker(self, session_id: str) -> psutil.Process:
        """The session's worker, once it serves."""
        until(lambda: self.liveness(session_id).state != "free" and self.liveness(session_id).epoch, "a worker")
        return psutil.Process(self.liveness(session_id).pid)

    def kill_worker(self, session_id: str) -> None:
        """SIGKILL the session's worker and wait until its lock is free: its threads end one after the other."""
        self.worker(session_id).kill()
        until(lambda: self.liveness(session_id).state == "free", "the worker's end")

    def running(self, session_id: str, tool: str) -> bool:
        """Whether a call of ``tool`` runs."""
        return any(t.name == tool and t.state == "running" for t in self.state(session_id).open_tools.values())

    def lines(self, name: str) -> list[str]:
        """The lines of a file of the project; none while there is no file."""
        path = self.root / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
