"""The dashboard as lines, for screen readers (``GEODE_TUI_A11Y=1``) and terminals that cannot be drawn on.

Lines are only ever added, and nothing but text and line ends is written. The terminal keeps its own line editing, so
what is typed is sent with enter.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType

import msgspec

from geode_tui.cli.client import fresh_session_id
from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.cli.options import new_options
from geode_tui.cli.plain_run import PlainRun
from geode_tui.log.lease import lock_path, probe
from geode_tui.log.rows import SessionRow
from geode_tui.log.transcript import Transcript
from geode_tui.tui.slash import Local, Order, parse
from geode_tui.view.follow import state_at
from geode_tui.view.selectors import run_status, state_line

MOST_RUNS = 20


class Heard(msgspec.Struct, frozen=True):
    """What happened: whole lines that were typed, a ctrl+c, the end of the input."""

    lines: tuple[str, ...] = ()
    interrupted: bool = False
    ended: bool = False


class Ears:
    """Waits for the keyboard, for ctrl+c and for news of the run, all at once."""

    def __init__(self, keyboard: int) -> None:
        self._keyboard = keyboard
        self._news, self._bell = os.pipe()
        os.set_blocking(self._bell, False)
        self._interrupted = False
        self._typed = b""

    def wake(self) -> None:
        """There is news. Called from any thread."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._bell, b".")

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """SIGINT."""
        self._interrupted = True
        self.wake()

    def wait(self) -> Heard:
        """What came next."""
        ready, _, _ = select.select([self._keyboard, self._news], [], [])
        if self._news in ready:
            os.read(self._news, 65_536)
        interrupted, self._interrupted = self._interrupted, False
        lines, ended = self._read() if self._keyboard in ready else ((), False)
        return Heard(lines, interrupted, ended)

    def _read(self) -> tuple[tuple[str, ...], bool]:
        try:
            piece = os.read(self._keyboard, 65_536)
        except OSError:  # the terminal is gone
            piece = b""
        *whole, self._typed = (self._typed + piece).split(b"\n")
        if not piece and self._typed:
            whole, self._typed = [*whole, self._typed], b""
        return tuple(line.decode(errors="replace") for line in whole), not piece


@contextlib.contextmanager
def listening(keyboard: int) -> Iterator[Ears]:
    """Ears that hear ctrl+c."""
    ears = Ears(keyboard)
    before = signal.signal(signal.SIGINT, ears.interrupt)
    try:
        yield ears
    finally:
        signal.signal(signal.SIGINT, before)


def open_plain(env: Env, source: StoreSource | None) -> int:
    """Tell a run in lines, and do what is typed; without a run, the list of them first. Returns the exit status."""
    for line in env.resolved.ignored:
        env.note(line)
    first = ""
    with listening(sys.stdin.fileno()) as ears:
        if source is None:
            chosen = _Choosing(env).choose(ears.wait)
            if chosen is None:
                return os.EX_OK
            source, first = chosen
        return PlainRun(env, source, env.print).serve(ears.wake, ears.wait, first)


class _Choosing:
    """The list of runs, and what is typed below it."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._rows: list[SessionRow] = []

    def choose(self, wait: Callable[[], Heard]) -> tuple[StoreSource, str] | None:
        """A run and what is said to it first; None to leave."""
        self._list()
        while True:
            heard = wait()
            for line in heard.lines:
                parsed = parse(line.strip())
                if isinstance(parsed, Local) and parsed.name == "quit":
                    return None
                if found := self._open(line.strip()):
                    return found
            if heard.ended:
                return None
            if heard.interrupted:
                self._say("plain.leave")

    def _open(self, typed: str) -> tuple[StoreSource, str] | None:
        if not typed or typed == "/help":
            self._list()
        elif typed.isascii() and typed.isdigit():
            if 1 <= int(typed) <= len(self._rows):
                return StoreSource(self._env, self._rows[int(typed) - 1].session_id), ""
            self._say("plain.no_such", n=len(self._rows))
        elif isinstance(parsed := parse(typed), Order) and parsed.kind == "submit":
            return StoreSource(self._env, fresh_session_id(), new_options(self._env)), str(parsed.payload["text"])
        else:
            self._say("home.needs_run")
        return None

    def _list(self) -> None:
        env = self._env
        transcript = env.transcript() if env.has_store() else None
        self._rows = transcript.sessions()[:MOST_RUNS] if transcript else []
        if transcript is None or not self._rows:
            self._say("plain.no_runs")
        else:
            for number, row in enumerate(self._rows, start=1):
                env.print(self._row(transcript, number, row))
            self._say("plain.choose")
        if transcript is not None:
            transcript.db.close()

    def _row(self, transcript: Transcript, number: int, row: SessionRow) -> str:
        env = self._env
        state = state_at(transcript, row.number)
        status = run_status(state, probe(lock_path(env.project.geode, row.session_id)), time.time())
        title = row.title or env.strings.t("header.untitled")
        return f"{number}. {' '.join(title.split())}: {state_line(state, status, env.strings)}"

    def _say(self, key: str, **values: object) -> None:
        self._env.print(self._env.strings.t(key, **values))
