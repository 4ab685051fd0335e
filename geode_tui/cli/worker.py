"""The worker process: `python -m geode_tui.cli.worker PROJECT SESSION`. Wires the rooms together and serves."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from geode_tui.cli.counting import counter_of
from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.cli.observer import FoldObserver, resume_point
from geode_tui.cli.routing import open_route, switched
from geode_tui.cli.servers import attach, declared_servers, is_offered
from geode_tui.cli.trust import usable_skills
from geode_tui.context.offload import RECALL
from geode_tui.core.ids import check_id
from geode_tui.core.limits import RunOptions
from geode_tui.core.text import SECRET_ENV, clean_line
from geode_tui.log import commands as cmd
from geode_tui.log import ledger
from geode_tui.log.lease import Held, Lease, LeaseNote, lock_path
from geode_tui.log.store import StoreError, connect, create, private_folder, write_private
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Fenced, Writer
from geode_tui.paths import Project, home_of, project_at, user_folders
from geode_tui.providers.access import NoProvider
from geode_tui.runtime.clock import SystemClock
from geode_tui.runtime.hooks import Hooks
from geode_tui.runtime.inbox import Inbox
from geode_tui.runtime.journal import Journal, Probe, no_probe
from geode_tui.runtime.middleware import Middleware
from geode_tui.runtime.observers import Observers
from geode_tui.runtime.opened import OpenedRoute, RouteOpener
from geode_tui.runtime.session import Session
from geode_tui.runtime.skills import Skills
from geode_tui.runtime.tools import skill
from geode_tui.runtime.tools.base import Tool, ToolContext
from geode_tui.runtime.tools.processes import kill_group
from geode_tui.runtime.tools.recall import recall_tool
from geode_tui.runtime.tools.registry import builtin_tools
from geode_tui.runtime.worker import LEAVE_S, Worker
from geode_tui.view.follow import state_at

_log = logging.getLogger("geode_tui.worker")
EXIT_HELD, EXIT_FENCED = 3, 4
TITLE_CHARS = 60
MAX_CALL_S = 600.0


def main() -> int:
    """Entry point of the detached process: leaves its parent at once, then serves."""
    if os.fork():
        os._exit(0)
    return serve(Path(sys.argv[1]), sys.argv[2])


def serve(root: Path, session_id: str, *, probe: Probe = no_probe, leave_s: float = LEAVE_S) -> int:
    """Own ``session_id`` of the project at ``root`` until there is nothing more to do. Returns an exit status."""
    check_id(session_id)
    project = project_at(root, home_of(os.environ), user_folders(os.environ).home_runs)
    env = Env(root, os.environ, project=project)
    log_file = _logging(env, session_id)
    error_file = error_path(project, session_id)
    try:
        env.make_store()
        asyncio.run(_serve(env, session_id, log_file, probe, leave_s))
    except Held:
        return EXIT_HELD
    except Fenced:
        _log.warning("session %s was taken over", session_id)
        return EXIT_FENCED
    except (CliError, StoreError, NoProvider) as error:
        _log.error("%s", error)
        write_private(error_file, str(error).encode())
        return 1
    except Exception as error:  # noqa: BLE001 - the last place that can tell anybody
        _log.exception("the worker failed")
        line = f"the worker failed: {type(error).__name__}: {clean_line(str(error))}; the traceback is in {log_file}"
        write_private(error_file, env.safe(line).encode())
        return 1
    return 0


def error_path(project: Project, session_id: str) -> Path:
    """Where a worker that could not start leaves its one line."""
    return project.geode / "workers" / f"{session_id}.error"


def _logging(env: Env, session_id: str) -> str:
    """Log to a file in the person's state folder: a worker has no terminal."""
    private_folder(env.folders.logs)
    path = env.folders.logs / f"worker-{session_id}.log"
    handler = logging.StreamHandler(path.open("a", encoding="utf-8"))
    path.chmod(0o600)
    handler.setFormatter(_JsonLines(env.safe))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    faulthandler.enable(handler.stream)
    return str(path)


class _JsonLines(logging.Formatter):
    """One JSON object a line, made safe like everything that leaves the store."""

    def __init__(self, safe: Callable[[str], str]) -> None:
        super().__init__()
        self._safe = safe

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": record.created,
            "level": record.levelname,
            "name": record.name,
            "text": self._safe(record.getMessage()),
        }
        if record.exc_info:
            line["trace"] = self._safe(self.formatException(record.exc_info))
        return msgspec.json.encode(line).decode()


async def _serve(env: Env, session_id: str, log_file: str, probe: Probe, leave_s: float) -> None:
    pid, started = os.getpid(), time.time()
    lease = Lease(lock_path(env.project.geode, session_id), LeaseNote(pid, started))
    error_path(env.project, session_id).unlink(missing_ok=True)
    reading = connect(env.project.store)
    transcript = Transcript(reading, env.project.geode)
    inbox = Inbox(reading, session_id)
    options, prompt = _options(transcript, inbox, session_id)
    opened = open_route(env, options.provider, options.model, options.effort, options.seed)
    options = msgspec.structs.replace(options, provider=opened.service, model=opened.route.model)

    writer = Writer(create(env.project.store), env.project.store, session_id)
    clock = SystemClock()
    title = _title(env, transcript, session_id, prompt)
    writer.raise_epoch(clock.now(), title=title, prompt=prompt, options=msgspec.json.encode(options).decode())
    lease.write(LeaseNote(pid, started, writer.epoch))
    state = state_at(transcript, writer.number)
    point = resume_point(state)
    journal = Journal(writer, clock, FoldObserver(state), probe, Observers(env.redact))
    counter = await asyncio.to_thread(counter_of, opened.route)
    skills, untrusted = usable_skills(env.folders, env.project)
    session = Session(
        session_id=session_id,
        journal=journal,
        clock=clock,
        root=env.project.root,
        options=options,
        route=opened.route,
        provider=opened.provider,
        tools=offered_tools(env, skills, session_id),
        context=_context(env, session_id),
        point=point,
        counter=counter,
    )
    session.hooks, session.middleware = Hooks(env.redact), Middleware(env.redact)
    session.cache.diagnosed = opened.diagnosed
    session.bounds = env.settings.result_bounds()
    session.stored.retention = env.settings.retention()
    session.dreams = env.settings.dream_rules()
    session.on_paid = _ledger(env)
    session.open_route = _opener(env, session)
    worker = Worker(
        session,
        lease,
        inbox,
        point,
        pid=pid,
        title=title,
        ignored_settings=(*env.resolved.ignored, *untrusted, *(line for _, line in declared_servers(env).problems)),
        end_group=kill_group,
        redact=env.redact,
        log_file=log_file,
        leave_s=leave_s,
    )
    hub = attach(env, session)
    try:
        await _until_stopped(worker)
    finally:
        if hub is not None:
            await hub.close()
        lease.release()
        await session.provider.aclose()
        reading.close()
        await journal.close()


async def _until_stopped(worker: Worker) -> None:
    """Serve; SIGTERM ends the worker and leaves its turn open. The terminal's signals are not for a worker."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(worker.run())
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    for ignored in (signal.SIGHUP, signal.SIGINT):
        signal.signal(ignored, signal.SIG_IGN)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _options(transcript: Transcript, inbox: Inbox, session_id: str) -> tuple[RunOptions, str]:
    """The run's options and first prompt: the session's own, else those of the command that starts it."""
    row = transcript.session(session_id)
    if row is not None:
        return msgspec.json.decode(row.options, type=RunOptions), ""
    for waiting in inbox.waiting():
        match waiting.body:
            case cmd.Submit(text=text, options=RunOptions() as options):
                return options, text
            case cmd.Fork(parent=parent) if (copied := transcript.session(parent)) is not None:
                return msgspec.json.decode(copied.options, type=RunOptions), f"fork of {copied.title}"
    raise CliError(f"there is no session {session_id} and no command that starts it")


def _title(env: Env, transcript: Transcript, session_id: str, prompt: str) -> str:
    row = transcript.session(session_id)
    return row.title if row is not None else clean_line(env.redact(prompt), TITLE_CHARS)


def offered_tools(env: Env, skills: Skills, session_id: str) -> dict[str, Tool]:
    """The tools that the settings leave: all that are allowed, less those that are denied; trusted skills have one."""
    wanted = env.settings.tools
    tools = {**builtin_tools(), RECALL: recall_tool(env.project.geode, session_id)}
    if skills.found:
        tools[skill.NAME] = skill.use_skill_tool(skills.found)
    return {name: tool for name, tool in tools.items() if is_offered(wanted, name)}


def _context(env: Env, session_id: str) -> ToolContext:
    root = env.project.root
    folders = (env.folders.config, env.folders.data, env.folders.state)
    denied = (env.project.geode, root / ".git" / "hooks", *folders, Path.home() / ".geode")
    return ToolContext(
        root=root,
        denied=tuple(p.resolve() for p in denied),
        session_id=session_id,
        deadline_s=MAX_CALL_S,
        secret_names=tuple(name for name in env.environment if SECRET_ENV.search(name)),
    )


def _opener(env: Env, session: Session) -> RouteOpener:
    """Opens the route that a person asks for while the session runs, in a thread: an endpoint may have to be found."""

    async def opened(service: str, model: str, effort: str) -> OpenedRoute:
        return await asyncio.to_thread(switched, env, session.options, service, model, effort)

    return opened


def _ledger(env: Env) -> Callable[[ledger.Entry], None]:
    """Writes real, priced calls to the person's ledger."""

    def append(entry: ledger.Entry) -> None:
        try:
            ledger.append(env.folders.usage, entry)
        except (OSError, StoreError) as error:
            _log.error("the usage ledger cannot be written: %s", error)

    return append


if __name__ == "__main__":
    sys.exit(main())
