"""Stores as the tests of the log use them: a writer that commits by hand, and other processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from geode_tui.core.events import EventRow, HandoffTriggered
from geode_tui.core.messages import Message, TextBlock, ToolCallBlock, tool_text
from geode_tui.log.rows import ChunkRow
from geode_tui.log.store import BUSY_WAIT_S, connect, create
from geode_tui.log.writer import Tx, Writer

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
NOW = 1_790_000_000.0
SESSION = "s-1"
A_FACT = HandoffTriggered(SESSION, 600.0, 7_200.0, 600.0)


def open_writer(
    store: Path, session_id: str = SESSION, *, title: str = "a title", wait_s: float = BUSY_WAIT_S
) -> Writer:
    """A writer that owns the session."""
    create(store).close()
    writer = Writer(connect(store, wait_s=wait_s), store, session_id)
    writer.raise_epoch(NOW, title=title, prompt="do it", options="{}")
    return writer


def commit(writer: Writer, work: Callable[[Tx], T], *, now: float = NOW, durable: bool = False) -> T:
    """One transaction."""
    return writer.write(work, now=now, turn=1, round_=1, durable=durable)[0]


def facts(writer: Writer, count: int) -> list[EventRow]:
    """So many events, in one transaction."""

    def work(tx: Tx) -> None:
        for _ in range(count):
            tx.event(A_FACT)

    return writer.write(work, now=NOW, turn=1, round_=1)[1]


def answer(text: str, *calls: str) -> Message:
    """What an agent says, with calls of these ids."""
    return Message("assistant", (TextBlock(text), *(ToolCallBlock(c, "grep", "{}") for c in calls)))


def result(call_id: str, text: str = "found") -> Message:
    """The result of a call."""
    return tool_text(ToolCallBlock(call_id, "grep", "{}"), text)


def pieces(message_id: int, *texts: str, start: int = 0, kind: str = "text", block: int = 0) -> list[ChunkRow]:
    """Chunks of an open message."""
    return [ChunkRow(message_id, start + i, block, kind, text) for i, text in enumerate(texts)]


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Another process that runs ``code``; it can be talked to by its streams."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    """The next line another process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str], line: str = "") -> None:
    """Send another process a line."""
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def finished(process: subprocess.Popen[str]) -> str:
    """What another process printed until it ended well."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out
