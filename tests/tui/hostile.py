"""A log whose every text tries to drive the terminal, break markup or shift the columns."""

from __future__ import annotations

import itertools
from pathlib import Path

from geode_tui.core import events as ev
from geode_tui.core.limits import Limits
from geode_tui.core.messages import Message, TextBlock, ThinkingBlock, ToolCallBlock, tool_text, user_text
from geode_tui.log.rows import ResultMeta
from geode_tui.log.writer import Tx
from tests.log.stores import open_writer

SESSION = "s-hostile"
SEQUENCES = (
    "\x1b]52;c;cm0gLXJm\x07",
    "\x1b]0;pwn\x07",
    "\x1b]8;;http://evil\x1b\\ok\x1b]8;;\x1b\\",
    "\x1bP+q\x1b\\",
    "\x1b_Gf=100\x1b\\",
    "\x1b[10A\x1b[2J",
    "\x1b[6n",
    "\x1bc",
    "\u009b31m",
    "\u009d52;c;AA\u009c",
    "a\rOVER",
    "\x08\x08",
    "\x00nul",
    "\u202egnp.exe",
    "\x1b[?1049l",
    "\x1b]unterminated",
)
MARKUP = (
    "[/",
    "[/red]",
    "[/INST]",
    "[b + x",
    "[=14629,state=CLOSED]",
    "[@click=app.quit]x[/]",
    "[link=file:///etc]x[/link]",
    "\\[",
)
KOREAN = "한글 표 정렬 Ý"
HOSTILE = " ".join((*SEQUENCES, *MARKUP, KOREAN))
NEVER = (
    b"\x1b]52", b"\x1b]0;pwn", b"\x1b]8;;http", b"\x1bP+q", b"\x1b_G", b"\x1b[10A", b"\x1b[6n", b"\x1bc",
    b"\xc2\x9b", b"\xc2\x9d", b"\xc2\x9c", b"\rOVER", b"\x08\x08", b"\x00", "\u202e".encode(), b"\x1b]unterminated",
)  # fmt: skip
"""Bytes that no terminal may get from this log."""


def write(store: Path) -> None:
    """A run in the middle of its first turn: words, thinking, a failed and an open call, a question, a plan."""
    writer = open_writer(store, SESSION, title=HOSTILE)
    clock = itertools.count(1_790_000_000)

    def commit(work: object) -> None:
        writer.write(work, now=float(next(clock)), turn=1, round_=1)  # type: ignore[arg-type]

    started = ev.SessionStarted(SESSION, HOSTILE, "offline", "adapter", False, 1, 1, "ask", Limits(), title=HOSTILE)
    calls = tuple(ToolCallBlock(f"c{n}", f"run_shell{HOSTILE}", f'{{"command": "{n}"}}') for n in range(3))

    def begin(tx: Tx) -> None:
        tx.event(started)
        number, seq = tx.add_message(user_text(HOSTILE))
        tx.event(ev.UserInputReceived(SESSION, "t", seq, number, len(HOSTILE), "user_input"))

    def answer(tx: Tx) -> None:
        number, seq = tx.open_message()
        blocks = (
            ThinkingBlock(HOSTILE),
            TextBlock(f"{HOSTILE}\n\n```\n{HOSTILE}\n```\n\n| a | b |\n|---|---|\n| {KOREAN} | {HOSTILE} |\n"),
            *calls,
        )
        tx.complete_message(number, seq, Message("assistant", blocks), "tool_use", 1)

    def results(tx: Tx) -> None:
        meta = ResultMeta(summary=HOSTILE, duration_ms=1, tokens=5, is_error=True)
        number, seq = tx.add_message(tool_text(calls[0], f"{HOSTILE}\n{KOREAN}", is_error=True), meta)
        tx.event(ev.ToolExecEnded("c0", HOSTILE, 1, True, True, HOSTILE, 5, 10, number, seq))
        tx.event(ev.ToolExecStarted("c1", HOSTILE, "execute", HOSTILE, HOSTILE))
        tx.event(ev.ToolApprovalRequested("a1", "c2", HOSTILE, "execute", HOSTILE, seq, HOSTILE))
        tx.event(ev.PlanUpdated(((HOSTILE, "active"), (KOREAN, "pending"))))
        tx.event(ev.CommandFinished(1, "k", "submit", "refused", HOSTILE))

    for work in (begin, answer, results):
        commit(work)
    writer.close()
