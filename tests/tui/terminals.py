"""A program on a real pty: what the terminal sees, byte for byte."""

from __future__ import annotations

import fcntl
import os
import pty
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
RESTORED = (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1006l", b"\x1b[?2004l", b"\x1b[?25h")


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

    def finish(self) -> int:
        end = time.monotonic() + 20
        while self.process.poll() is None:
            assert time.monotonic() < end, "it did not end"
            self.read(0.1)
        self.read(0.1)
        return self.process.returncode


@contextmanager
def terminal(
    *words: str,
    module: str = "tests.tui.pty_app",
    size: tuple[int, int] = (80, 24),
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
) -> Iterator[Terminal]:
    """``python -m MODULE WORDS`` on a pty of ``size`` columns and rows."""
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
    )
    os.close(side)
    try:
        yield Terminal(process, main)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(main)
