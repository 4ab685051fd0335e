"""A program on a pty of 120 by 40 cells, read by a thread that notes when each thing it was asked for came."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

ROOT = Path(__file__).parents[2]
COLUMNS, ROWS = 120, 40
_MARK = re.compile(rb"(?:Zq|Mk)\d{5}[zm]")
_KEPT = 4_096
"""Bytes of the end that are kept, so that what is looked for may come in two reads."""
_LETTERS = "qwertyuiopasdfghjklzxcvbnm0123456789"


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a measured program sees: a terminal, folders of its own, and no key."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "GEODE_TUI_HOME": str(home / "geode-tui"),
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        **(extra or {}),
    }


class Watched:
    """``python -m MODULE WORDS`` in ``cwd``. Times are `time.monotonic`, which processes of one machine share."""

    def __init__(self, module: str, words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self._fd, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.started = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdin=side, stdout=side, stderr=side, cwd=cwd, env=dict(env), start_new_session=True,
        )  # fmt: skip
        os.close(side)
        self.pid = self._process.pid
        self.received = 0
        """Bytes so far."""
        self.marks: dict[bytes, float] = {}
        """When each mark came first."""
        self.last_output = self.started
        self._end = b""
        self._wanted: dict[bytes, float] = {}
        """What is waited for; 0 until it came."""
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.join(timeout=2)
        os.close(self._fd)

    def _read(self) -> None:
        while select.select([self._fd], [], [], 5.0)[0] or self._process.poll() is None:
            try:
                data = os.read(self._fd, 65_536)
            except OSError:  # the other side has closed
                return
            if not data:
                return
            self._note(data, time.monotonic())

    def _note(self, data: bytes, now: float) -> None:
        with self._changed:
            self.received += len(data)
            self.last_output = now
            text = self._end + data
            for mark in _MARK.findall(text):
                self.marks.setdefault(mark, now)
            for wanted, at in self._wanted.items():
                if not at and wanted in text:
                    self._wanted[wanted] = now
            self._end = text[-_KEPT:]
            self._changed.notify_all()

    # -- waiting ------------------------------------------------------------------------------------------------------
    def watch(self, *texts: str) -> None:
        """From now on wait for these, and for nothing else."""
        with self._changed:
            self._end = b""
            self._wanted = {text.encode(): 0.0 for text in texts}

    def came(self, seconds: float = 30.0) -> float:
        """When the last of what is watched for came; raises ``TimeoutError`` where it did not."""
        with self._changed:
            if not self._changed.wait_for(lambda: all(self._wanted.values()), seconds):
                missing = [text.decode() for text, at in self._wanted.items() if not at]
                raise TimeoutError(f"{missing} never came: {self._end[-300:]!r}")
            return max(self._wanted.values())

    def mark_came(self, mark: str, seconds: float = 4.0) -> float:
        """When a mark came, or nan."""
        with self._changed:
            self._changed.wait_for(lambda: mark.encode() in self.marks, seconds)
            return self.marks.get(mark.encode(), math.nan)

    def settle(self, quiet: float = 0.5, most: float = 10.0) -> None:
        """Wait until nothing came for ``quiet`` seconds."""
        begun = time.monotonic()
        while (now := time.monotonic()) - max(self.last_output, begun) < quiet and now < begun + most:
            time.sleep(0.02)

    # -- keys ---------------------------------------------------------------------------------------------------------
    def write(self, text: str) -> float:
        """Press keys; returns when."""
        now = time.monotonic()
        os.write(self._fd, text.encode())
        return now

    def type_letters(self, count: int, *, gap: float = 0.09) -> list[float]:
        """Seconds from each key to its paint, in the composer; 4 for one that was not seen by then."""
        taken: list[float] = []
        value = ""
        pressed = 0
        while len(taken) < count:
            if len(value) >= 30:
                self.write("\x15")
                value = ""
                time.sleep(0.25)
            letter = _LETTERS[(pressed * 7 + pressed // 36) % 36]
            pressed += 1
            value += letter
            self.watch(value[-5:])
            at = self.write(letter)
            if len(value) >= 5:
                with contextlib.suppress(TimeoutError):
                    self.came(4.0)
                taken.append((max(self._wanted.values()) or at + 4.0) - at)
            time.sleep(gap + 0.013 * (pressed % 5))
        self.write("\x15")
        return taken

    # -- the process --------------------------------------------------------------------------------------------------
    def memory(self) -> float:
        """Resident megabytes."""
        return psutil.Process(self.pid).memory_info().rss / 1e6


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)
