"""A program on a real pty: what the terminal sees, byte for byte."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
TAKEN = (1000, 1002, 1003, 1006, 1015, 1004, 2004, 2048, 1049)
"""Modes that a screen turns on; of the others it turns off, the cursor (25) and wrapping (7)."""


def left_behind(seen: bytes) -> list[str]:
    """What of a screen's modes a terminal that got these bytes is still in; nothing where it was put back."""
    state = {int(number): on == b"h" for number, on in re.findall(rb"\x1b\[\?(\d+)([hl])", seen)}
    left = [str(mode) for mode in TAKEN if state.get(mode, False)]
    left += [name for name, mode in (("no cursor", 25), ("no wrapping", 7)) if not state.get(mode, True)]
    if len(re.findall(rb"\x1b\[>\d*u", seen)) != len(re.findall(rb"\x1b\[<\d*u", seen)):
        left.append("keys")
    return left


class Terminal:
    """A program on a pty."""

    def __init__(self, process: subprocess.Popen[bytes], fd: int) -> None:
        self.process, self.fd = process, fd
        self.seen = b""

    def read(self, seconds: float) -> bytes:
        """What comes within ``seconds``."""
        got = b""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                break
            try:
                piece = os.read(self.fd, 65_536)
            except OSError:  # the other side has closed
                break
            if not piece:
                break
            got += piece
        self.seen += got
        return got

    def until(self, text: bytes) -> None:
        end = time.monotonic() + 20
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} never came: {self.seen[-400:]!r}"
            self.read(0.1)

    def quiet(self) -> None:
        """Wait until nothing comes for a while."""
        while self.read(0.4):
            pass

    def write(self, data: bytes) -> None:
        os.write(self.fd, data)

    @property
    def attributes(self) -> list[object]:
        """The terminal's line settings: echo, line editing and the like."""
        return termios.tcgetattr(self.fd)

    def hang_up(self) -> None:
        """Close the terminal for good."""
        os.close(self.fd)
        self.fd = -1

    def finish(self) -> int:
        end = time.monotonic() + 20
        while self.process.poll() is None:
            assert time.monotonic() < end, "it did not end"
            self.read(0.1)
        self.read(0.1)
        return self.process.returncode


def _control() -> None:
    """Make the standard input the controlling terminal of a process that leads its session."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def terminal(
    *words: str,
    module: str = "tests.tui.pty_app",
    size: tuple[int, int] = (80, 24),
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    signals: bool = False,
) -> Iterator[Terminal]:
    """``python -m MODULE WORDS`` on a pty of ``size`` columns and rows. With ``signals`` it is the controlling terminal
    of the program: its keys and its end send signals.
    """
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environ = {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", **(env or {})}
    process = subprocess.Popen(
        [sys.executable, "-m", module, *words],
        stdin=side,
        stdout=side,
        stderr=side,
        cwd=cwd,
        env=environ,
        start_new_session=True,
        preexec_fn=_control if signals else None,
    )
    os.close(side)
    screen = Terminal(process, main)
    try:
        yield screen
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if screen.fd >= 0:
            os.close(screen.fd)
