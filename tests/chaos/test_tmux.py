"""Closing the terminal for good: the tmux server goes, the run does not, and another terminal shows it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.cli.place import Place, gone, until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux: make third-party"),
]
STAYS_S = 60.0


class Terminal:
    """A tmux server of its own with one 120x40 screen."""

    def __init__(self, place: Place, name: str, *arguments: str) -> None:
        self._socket = place.home / name
        environment = {**place.environment, "TERM": "xterm-256color", "COLORTERM": "truecolor", "GEODE_APPROVE": "all"}
        words = ["env", *(f"{k}={v}" for k, v in environment.items()), sys.executable, "-m", "geode_tui", *arguments]
        self._tmux("new-session", "-d", "-x", "120", "-y", "40", "-c", str(place.root), shlex.join(words))

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self._socket), "-u", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout

    def shown(self) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-p")

    def process(self) -> psutil.Process:
        """The program in the screen."""
        return psutil.Process(int(self._tmux("list-panes", "-F", "#{pane_pid}")))

    def close(self) -> None:
        """End the server, and every terminal with it."""
        self._tmux("kill-server")


def test_a_run_outlives_sighup_and_the_tmux_server_for_a_minute_and_a_second_terminal_shows_it(place: Place) -> None:
    ticks: Path = place.root / "ticks"
    first = Terminal(place, "first", f"run `for i in $(seq 1 {int(STAYS_S) + 20}); do echo $i >> ticks; sleep 1; done`")
    until(ticks.exists, "the command's first line")
    screen = first.process()
    session_id = place.newest
    worker = psutil.Process(place.liveness(session_id).pid)
    assert os.getsid(worker.pid) != os.getsid(screen.pid)

    os.kill(worker.pid, signal.SIGHUP)
    first.close()
    until(lambda: gone(screen), "the end of the screen")
    closed = time.monotonic()

    second = Terminal(place, "second", "attach", session_id)
    until(lambda: "round 1" in second.shown(), "the run on the second screen")
    while time.monotonic() - closed < STAYS_S:
        assert not gone(worker)
        time.sleep(1)
    assert len(ticks.read_text().splitlines()) >= STAYS_S
    until(lambda: not place.state(session_id).turn_open, "the end of the turn", patience_s=60)
    assert place.state(session_id).termination_reason == "natural"
    second.close()
