"""What this program needs of a terminal beyond Textual's own driver."""

from __future__ import annotations

from collections.abc import MutableMapping
from enum import Enum
from typing import Any, cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

MODES = (
    "\x1b[?1049h"  # alternate screen
    "\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h"  # mouse
    "\x1b[?1004h\x1b[?2004h"  # focus reports, bracketed paste
    "\x1b[?25l\x1b[2J"
)
"""The modes of the screen, to be written again after something else has reset them."""


class _Key(Enum):
    ALT_ENTER = "alt+enter"


def know_alt_enter() -> None:
    """Let Textual 8.2.8 tell alt+enter (ESC CR) from enter: unknown to its table it reads as a plain enter, which would
    send a message where a new line was meant.
    """
    table = cast("MutableMapping[str, Any]", ANSI_SEQUENCES_KEYS)
    table["\x1b\r"] = (_Key.ALT_ENTER,)
