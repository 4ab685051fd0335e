"""What this program needs of a terminal beyond Textual's own driver: to be put back whatever ends the screen."""

from __future__ import annotations

import asyncio
import contextlib
import select
import signal
import termios
import threading
from collections.abc import MutableMapping
from typing import IO, Any, cast

import msgspec
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.drivers.linux_driver import LinuxDriver

MODES = (
    "\x1b[?1049h"  # alternate screen
    "\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h"  # mouse
    "\x1b[?1004h\x1b[?2004h"  # focus reports, bracketed paste
    "\x1b[?25l\x1b[2J"
)
"""The modes of the screen, to be written again after something else has reset them."""

LEAVING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""Signals that end the screen and nothing else. ctrl+c is a key here and sends none."""


class _Key(msgspec.Struct, frozen=True):
    """A key as Textual's table of sequences holds it."""

    value: str


def know_alt_keys() -> None:
    """Teach Textual 8.2.8 keys with alt (ESC, then the key) that it reads as something else: enter as a plain enter,
    which would send a message where a new line was meant, and digits as letters of a Macintosh keyboard.
    """
    table = cast("MutableMapping[str, Any]", ANSI_SEQUENCES_KEYS)
    table["\x1b\r"] = (_Key("alt+enter"),)
    table.update({f"\x1b{digit}": (_Key(f"alt+{digit}"),) for digit in "0123456789"})


class _Output:
    """The terminal as a file that may go away: what is written to one that is gone is dropped.

    Textual's writing thread would end with the first error, and the screen would then wait for it for ever.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._gone = False

    def write(self, text: str) -> None:
        """Write, as long as there is a terminal."""
        self._try(lambda: self._file.write(text))

    def flush(self) -> None:
        """As a file's."""
        self._try(self._file.flush)

    def fileno(self) -> int:
        """As a file's."""
        return self._file.fileno()

    def _try(self, work: Any) -> None:
        if self._gone:
            return
        try:
            work()
        except OSError:
            self._gone = True


class TerminalDriver(LinuxDriver):
    """Textual's driver, with every way out of the screen ending in a terminal as it was."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._file = cast("Any", _Output(cast("IO[str]", self._file)))
        self._taken = False

    def start_application_mode(self) -> None:
        """Take the terminal. From here on a signal to end is a way out like any other."""
        loop = asyncio.get_running_loop()
        for number in LEAVING:
            loop.add_signal_handler(number, self._told_to_leave, number)
        self._taken = True
        threading.Thread(target=self._await_hang_up, name="hang-up", daemon=True).start()
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def stop_application_mode(self) -> None:
        """Give the terminal back, also a mouse mode that is not ours: something may have asked for it meanwhile."""
        self._taken = False
        self.write("\x1b[?1002l")
        super().stop_application_mode()

    def _told_to_leave(self, number: int) -> None:
        self._app.exit(return_code=128 + number)

    def _sigcont_application(self, *arguments: Any) -> None:
        """Go on after a stop. Where nobody could give the terminal back before it (SIGSTOP), it is still ours: it is
        only set anew, since taking it twice would read keys twice and remember the wrong state to put back.
        """
        if not self._taken:
            super()._sigcont_application(*arguments)
            return
        with contextlib.suppress(termios.error):
            self._set_raw()
        self._app.call_later(self._app.run_action, "app.redraw")

    def _set_raw(self) -> None:
        attributes = termios.tcgetattr(self.fileno)
        attributes[0] = self._patch_iflag(attributes[0])
        attributes[3] = self._patch_lflag(attributes[3])
        termios.tcsetattr(self.fileno, termios.TCSANOW, attributes)

    def _run_input_thread(self) -> None:
        """Read keys; an error there ends the screen like one anywhere else, unless the terminal went away."""
        try:
            self.run_input_thread()
        except OSError:
            self._hung_up()
        except Exception as error:  # noqa: BLE001  handed on whole
            self._app.call_later(self._app._handle_exception, error)

    def _await_hang_up(self) -> None:
        """Wait for the end of the terminal, which does not always send a signal: read on, it reads as endless input."""
        poll = select.poll()
        poll.register(self.fileno, 0)
        if poll.poll():
            self._hung_up()

    def _hung_up(self) -> None:
        if self._taken:
            self._app.call_later(self._told_to_leave, signal.SIGHUP)
