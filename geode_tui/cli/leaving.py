"""How a screen leaves: marked while it has a terminal, reported when it fails, and told of when it was killed."""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import os
import platform
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import msgspec

from geode_tui import __version__
from geode_tui.cli.env import Env
from geode_tui.core.text import clean_line
from geode_tui.log.store import StoreError, private_folder, write_private

REPORT_CHARS = 200_000
"""Most characters of a report: a recursion without an end has a trace of megabytes."""


class ScreenMark(msgspec.Struct, frozen=True):
    """Who has a terminal: the first line of its file. The lock on the file is held for as long as it lives."""

    pid: int
    terminal: str


@contextlib.contextmanager
def marked(env: Env) -> Iterator[None]:
    """Leave a mark while a screen has the terminal: whatever ends it without a way out leaves the mark behind.

    A crash of the interpreter writes its trace into the same file. Without a folder to write to there is no mark.
    """
    path = _folder(env) / f"{os.getpid()}.mark"
    file = _make_mark(path)
    if file is None:
        yield
        return
    faulthandler.enable(file)
    try:
        yield
    finally:
        faulthandler.disable()
        path.unlink(missing_ok=True)
        os.close(file)


def _make_mark(path: Path) -> int | None:
    """A locked descriptor of the mark, or None where there can be none."""
    try:
        private_folder(path.parent)
        file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    except (OSError, StoreError):
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.write(file, msgspec.json.encode(ScreenMark(os.getpid(), _terminal())) + b"\n")
    except OSError:
        os.close(file)
        return None
    return file


def killed(env: Env) -> str:
    """One line about a screen that was killed and could not put its terminal back; empty where there is none. It is
    said once.
    """
    line = ""
    for path in sorted(_folder(env).glob("*.mark")):
        with contextlib.suppress(OSError, StoreError, msgspec.DecodeError):
            line = _take(env, path) or line
    return line


def _take(env: Env, path: Path) -> str:
    """The line of one mark, which is removed; empty while its screen lives or is only just opening."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return ""
        first, _, trace = file.read(REPORT_CHARS).partition(b"\n")
        if not first:
            return ""
        path.unlink(missing_ok=True)
    mark = msgspec.json.decode(first, type=ScreenMark)
    if trace:
        private_folder(env.folders.logs)
        kept = env.folders.logs / f"screen-{mark.pid}-fault.txt"
        write_private(kept, trace)
        return env.strings.t("leave.crashed", terminal=mark.terminal, path=kept)
    return env.strings.t("leave.killed", terminal=mark.terminal)


def report(env: Env, error: BaseException, command: str) -> str:
    """Write what is known of ``error`` to a file; the one line to say. ``command`` brings the screen back."""
    what = clean_line(f"{type(error).__name__}: {error}", 160)
    path = env.folders.logs / f"screen-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    try:
        private_folder(path.parent)
        write_private(path, env.safe(_text(env, error)).encode())
        kept = env.strings.t("leave.report", path=path)
    except (OSError, StoreError) as trouble:
        kept = env.strings.t("leave.no_report", why=trouble)
    return f"{env.strings.t('leave.failed', what=what, command=command)} {kept}"


def _text(env: Env, error: BaseException) -> str:
    """Versions, the terminal and the trace; no values of variables."""
    terminal = " ".join(f"{name}={env.environment.get(name, '')}" for name in ("TERM", "COLORTERM", "LANG"))
    trace = "".join(traceback.format_exception(error))
    return f"geode-tui {__version__}  Python {platform.python_version()}  {sys.platform}\n{terminal}\n\n" + (
        trace if len(trace) <= REPORT_CHARS else f"{trace[: REPORT_CHARS // 2]}\n\n{trace[-REPORT_CHARS // 2 :]}"
    )


def _folder(env: Env) -> Path:
    return env.folders.state / "screens"


def _terminal() -> str:
    try:
        return os.ttyname(sys.stdin.fileno())
    except (OSError, ValueError):
        return "?"
