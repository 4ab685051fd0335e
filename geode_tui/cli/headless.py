"""Following a run without a screen: events on stdout until its turn is complete."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import msgspec

from geode_tui.cli.client import Client
from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.cli.lines import HumanLines, event_object
from geode_tui.core.endings import EXIT_CANCELLED, EXIT_DIED, Ending, exit_status
from geode_tui.core.events import CommandFinished, EventRow, TurnCompleted
from geode_tui.log import commands as cmd
from geode_tui.log.store import connect
from geode_tui.log.tail import Tail, pause
from geode_tui.log.transcript import Transcript

DEAD_AFTER_S = 2.0
"""A free lock for this long while a turn is open means that the worker died."""
EXIT_HANGUP = 128 + signal.SIGHUP


class _Signals:
    """Signals as counts: what they mean is decided between two looks at the log."""

    def __init__(self) -> None:
        self.interrupts = 0
        self.hung_up = False

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """SIGINT or SIGTERM."""
        self.interrupts += 1

    def hang_up(self, _number: int, _frame: FrameType | None) -> None:
        """SIGHUP."""
        self.hung_up = True


@contextmanager
def _signals() -> Iterator[_Signals]:
    heard = _Signals()
    handlers = {signal.SIGINT: heard.interrupt, signal.SIGTERM: heard.interrupt, signal.SIGHUP: heard.hang_up}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Headless:
    """Prints a session's events from now on; ends with the turn that the command ``key`` belongs to."""

    def __init__(self, env: Env, client: Client, *, json: bool) -> None:
        self._env = env
        self._client = client
        self._json = json
        self._db = connect(env.project.store)
        transcript = Transcript(self._db, env.project.geode)
        self._human = HumanLines(transcript)
        session = transcript.session(client.session_id)
        newest = transcript.newest_events(session.number, 1) if session else []
        self._tail = Tail(self._db, client.session_id, newest[-1].id if newest else 0)
        self._turn: int | None = None
        self._refused = ""

    def follow(self, key: str) -> int:
        """Print until the turn is complete; returns the exit status. Raises `CliError` when the worker dies."""
        asked = 0
        last_change = free_since = time.monotonic()
        with _signals() as heard:
            while True:
                now = time.monotonic()
                status = self._look(key)
                if status is not None:
                    return status
                if heard.hung_up:
                    return EXIT_HANGUP
                if heard.interrupts > asked:
                    asked = heard.interrupts
                    if asked > 1:
                        self._env.note(f"left; the run goes on: geode-tui attach {self._client.session_id}")
                        return EXIT_CANCELLED
                    self._client.send(cmd.Interrupt(), start=False)
                    last_change = now
                if self._client.liveness().state != "free":
                    free_since = now
                elif now - free_since > DEAD_AFTER_S:
                    return self._died(key)
                time.sleep(pause(now, last_change, worker_lives=True))

    def _look(self, key: str) -> int | None:
        """Print what is new; the exit status once the turn is complete."""
        if not self._tail.changed():
            return None
        while True:
            fetched = self._tail.fetch()
            for row in fetched.events:
                self._print(row)
                status = self._status(row, key)
                if status is not None:
                    return status
            if not fetched.more:
                return None

    def _status(self, row: EventRow, key: str) -> int | None:
        if row.event == "command_finished":
            done = msgspec.json.decode(row.payload, type=CommandFinished)
            if done.key == key:
                if done.outcome != "done":
                    raise CliError(done.detail or f"the command was {done.outcome}")
                self._turn = row.turn
        if row.event == "turn_completed" and row.turn == self._turn:
            ended = msgspec.json.decode(row.payload, type=TurnCompleted)
            status = exit_status(Ending.of(ended.termination_reason))
            if status not in {0, EXIT_CANCELLED} and self._json:
                self._env.note(
                    f"{ended.termination_reason}: {ended.detail}" if ended.detail else ended.termination_reason
                )
            return status
        return None

    def _print(self, row: EventRow) -> None:
        try:
            if self._json:
                print(event_object(row, self._client.session_id, self._env.safe_value), flush=True)
            else:
                for line in self._human.lines(row):
                    self._env.print(line)
        except BrokenPipeError:
            # Whoever read has gone; the run goes on. The interpreter must not trip over it again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def _died(self, key: str) -> int:
        status = self._look(key)
        if status is not None:
            return status
        raise CliError(f"the worker stopped; nothing is lost: geode-tui resume {self._client.session_id}", EXIT_DIED)
