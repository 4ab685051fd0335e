"""run_shell: a command in a process group of its own, which exists before the command may begin.

The process is started at once but waits for a line on its standard input, and only then becomes the command. So the
group is known, and can be committed, before anything happens; if this process dies in between, the input closes and
nothing has happened.
"""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from geode_tui.core.tools import Safety
from geode_tui.log.receipts import Spool
from geode_tui.runtime.tools.arguments import Arguments
from geode_tui.runtime.tools.background import outlast
from geode_tui.runtime.tools.base import Prepared, ProcessMark, Tool, ToolContext, ToolOutcome, ToolRefused
from geode_tui.runtime.tools.builtin import Builtin, Facts
from geode_tui.runtime.tools.capture import Capture
from geode_tui.runtime.tools.confine import Place, locate, require_folder
from geode_tui.runtime.tools.processes import kill_group, mark_of
from geode_tui.runtime.tools.texts import one_line

DEFAULT_TIMEOUT_S = 120.0
MAX_TIMEOUT_S = 600.0
NOT_RELEASED = 125
"""The exit code of a process that was never allowed to begin."""

_HELD_OUTPUT_S = 0.5
_FIRST_POLL_S, _LAST_POLL_S = 0.002, 0.05
_CHUNK = 65_536
_DRAINED_CHUNKS = 64
_SECRET_NAMES = ("*_API_KEY", "*_TOKEN", "*_SECRET", "*PASSWORD")
_GO = b"go\n"
_GATE = f'read -r _geode_go && [ "$_geode_go" = go ] || exit {NOT_RELEASED}; exec /bin/sh -c "$1" </dev/null'

_DESCRIPTION = f"""\
Run a command with /bin/sh in the project. Standard input is empty; standard output and error come back together, \
cut in the middle if long, with the exit code if it is not 0. The command and everything it started is ended after \
timeout_s ({DEFAULT_TIMEOUT_S:g} s unless given, at most {MAX_TIMEOUT_S:g}). To leave a process running, send its \
output to a file and put it in the background."""


class ShellArguments(Arguments, frozen=True):
    """Arguments of run_shell."""

    command: Annotated[str, Meta(min_length=1, description="The command line.")]
    timeout_s: Annotated[float, Meta(gt=0, le=MAX_TIMEOUT_S, description="Seconds it may take.")] = DEFAULT_TIMEOUT_S
    cwd: Annotated[str, Meta(min_length=1, description="Folder to run it in, relative to the project.")] = "."


def run_shell_tool() -> Tool:
    """The tool run_shell."""
    return Builtin("run_shell", _DESCRIPTION, Safety.EXECUTE, ShellArguments, _brief, _prepare)


def _brief(arguments: ShellArguments) -> str:
    first, _, rest = arguments.command.strip().partition("\n")
    return one_line(first, 116) + (" …" if rest.strip() else "")


async def _prepare(arguments: ShellArguments, context: ToolContext) -> Prepared:
    if "\0" in arguments.command:
        raise ToolRefused("the command has a NUL character: leave it out")
    place = await asyncio.to_thread(_folder, arguments.cwd, context)
    environment = command_environment(os.environ, context)
    call = _started(arguments.command, min(arguments.timeout_s, context.deadline_s), place.real, environment)
    call.spool = context.spool
    return call


def _folder(given: str, context: ToolContext) -> Place:
    place = locate(context, given)
    require_folder(place)
    return place


def command_environment(inherited: Mapping[str, str], context: ToolContext) -> dict[str, str]:
    """``inherited`` without secrets, by name, and with what tells programs where they run."""
    kept = {name: value for name, value in inherited.items() if not _is_secret(name, context.secret_names)}
    return kept | {"GEODE_INSIDE_RUN": context.session_id, "PAGER": "cat", "GIT_PAGER": "cat", "TERM": "dumb"}


def _is_secret(name: str, secret_names: tuple[str, ...]) -> bool:
    return name in secret_names or any(fnmatch.fnmatchcase(name.upper(), pattern) for pattern in _SECRET_NAMES)


def _started(command: str, limit_s: float, folder: Path, environment: dict[str, str]) -> ShellCall:
    """The waiting process. Nothing is awaited here, so that no cancellation can lose it."""
    gate_end, gate = os.pipe()
    output, output_end = os.pipe()
    try:
        child = subprocess.Popen(
            ["/bin/sh", "-c", _GATE, "sh", command],
            stdin=gate_end,
            stdout=output_end,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    except OSError:
        os.close(gate)
        os.close(output)
        raise
    finally:
        os.close(gate_end)
        os.close(output_end)
    try:
        mark = mark_of(child.pid)
    except ProcessLookupError:
        os.close(gate)
        os.close(output)
        child.wait()
        raise ToolRefused("the process of the command ended before it could begin: try again") from None
    return ShellCall(command, limit_s, child, mark, gate, output)


class ShellCall:
    """A command that waits to be released (a `Prepared`). One of `run` and `abandon` is called, once."""

    def __init__(
        self,
        command: str,
        limit_s: float,
        child: subprocess.Popen[bytes],
        mark: ProcessMark,
        gate: int,
        output: int,
    ) -> None:
        self.process: ProcessMark | None = mark
        self._mark = mark
        self._command = command
        self._limit_s = limit_s
        self._child = child
        self._gate: int | None = gate
        self._output = output
        self.spool: Callable[[], Spool] | None = None
        """Begins the receipt of an output that is too large for memory."""

    async def run(self) -> ToolOutcome:
        """Release the command and wait for it, at most its limit. Cancelling ends its group first."""
        began = time.monotonic()
        capture = Capture(self.spool)
        finished = False
        try:
            with _read_into(self._output, capture) as closed:
                try:
                    self._shut_gate(_GO)
                    finished = await self._wait(closed)
                finally:
                    timed_out = not finished and self._child.returncode is None
                    if not finished:
                        await self._end()
            seconds = time.monotonic() - began
            whole = await asyncio.to_thread(capture.keep)
        finally:
            capture.drop()
        outcome = self._outcome(capture, seconds, timed_out, held=not finished and not timed_out)
        return msgspec.structs.replace(outcome, whole=whole)

    async def abandon(self) -> None:
        """Let the waiting process end without having begun."""
        if self._gate is None:
            return
        self._shut_gate(b"")
        os.close(self._output)
        await self._end()

    def _shut_gate(self, message: bytes) -> None:
        gate, self._gate = self._gate, None
        assert gate is not None, "a call is run or abandoned once"
        with contextlib.suppress(BrokenPipeError):
            os.write(gate, message)
        os.close(gate)

    async def _wait(self, closed: asyncio.Event) -> bool:
        """Whether the command ended in time and its output was closed with it."""
        try:
            async with asyncio.timeout(self._limit_s):
                await self._exited()
        except TimeoutError:
            return False
        try:
            async with asyncio.timeout(_HELD_OUTPUT_S):
                await closed.wait()
        except TimeoutError:
            return False
        return True

    async def _exited(self) -> None:
        pause = _FIRST_POLL_S
        while self._child.poll() is None:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LAST_POLL_S)

    async def _end(self) -> None:
        """End the group and reap its leader, whatever cancellations arrive meanwhile."""
        await outlast(asyncio.ensure_future(asyncio.to_thread(self._end_now)))

    def _end_now(self) -> None:
        kill_group(self._mark)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=1.0)

    def _outcome(self, capture: Capture, seconds: float, timed_out: bool, held: bool) -> ToolOutcome:
        code = self._child.returncode if self._child.returncode is not None else -signal.SIGKILL
        facts: Facts = {
            "command": one_line(self._command),
            "exit_code": code,
            "seconds": round(seconds, 3),
            "bytes": capture.total,
            "lines": capture.lines,
        }
        text = capture.text()
        if timed_out:
            summary = f"timed out after {self._limit_s:g} s"
            facts["timeout"] = True
        else:
            summary = f"exit {code}" if code >= 0 else f"ended by {_signal_name(-code)}"
        is_error = timed_out or code != 0
        notes = ["[a process in the background kept the output open and was ended]"] if held else []
        if is_error:
            notes.append(f"[{summary}]")
        if notes and text and not text.endswith("\n"):
            text += "\n"
        return ToolOutcome((text + "\n".join(notes)) or "(no output)", is_error, summary, facts)


@contextlib.contextmanager
def _read_into(descriptor: int, capture: Capture) -> Iterator[asyncio.Event]:
    """Feeds ``capture`` with what arrives at ``descriptor``, and closes it in the end. The event: all has arrived."""
    loop = asyncio.get_running_loop()
    closed = asyncio.Event()

    def ready() -> None:
        data = _available(descriptor)
        if data:
            capture.feed(data)
        elif data is not None:
            loop.remove_reader(descriptor)
            closed.set()

    os.set_blocking(descriptor, False)
    loop.add_reader(descriptor, ready)
    try:
        yield closed
    finally:
        loop.remove_reader(descriptor)
        # What was written just before the end of a group that was killed; bounded, as a writer may have got away.
        for _ in range(_DRAINED_CHUNKS):
            data = _available(descriptor)
            if not data:
                break
            capture.feed(data)
        os.close(descriptor)


def _available(descriptor: int) -> bytes | None:
    """What can be read now: None if nothing yet, empty at the end."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
