"""A process that writes a session's log at a given pace, as a busy worker would, until its stdin ends.

Then it prints when each mark was committed. Arguments: project, events a second, deltas of 25 characters a second.
"""

from __future__ import annotations

import itertools
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from geode_tui.core.events import PlanUpdated
from geode_tui.core.messages import Message, TextBlock
from geode_tui.log.rows import ChunkRow
from geode_tui.log.writer import Tx
from tests.bench.material import facts, plan_mark, stream
from tests.bench.stores import Hand
from tests.bench.terminal import ROOT

TICK_S = 1 / 30
MARKS_A_SECOND = 10
DELTA_CHARS = 25
ANSWER_CHARS = 20_000
_MARK = re.compile(r"Zq\d{5}z")


class Times(msgspec.Struct):
    """When each mark was committed (`time.monotonic`), and what was written in all."""

    marks: dict[str, float] = {}
    events: int = 0
    chars: int = 0
    seconds: float = 0.0


class Load:
    """What is written, tick by tick."""

    def __init__(self, root: Path, events: int, deltas: int) -> None:
        self._hand = Hand(root)
        self._events, self._deltas = events, deltas
        self._facts = facts(11)
        self._texts = stream(13)
        self._ready = ""
        """Text that was made and not sent."""
        self._answer = ""
        self._open = (0, 0)
        self._seq = itertools.count()
        self._plans = 0
        self.times = Times()

    def tick(self, elapsed: float) -> None:
        """Write what is due after so many seconds."""
        sent_before, mark = len(self._answer), ""
        if self._events and int(elapsed * MARKS_A_SECOND) > self._plans:
            self._plans += 1
            mark = plan_mark(self._plans)
        at = self._hand.write(lambda tx: self._work(tx, elapsed, mark))
        if mark:
            self.times.marks[mark] = at
        since = max(0, sent_before - 8)  # a mark may have come in two parts
        for found in _MARK.findall(self._answer[since:]):
            self.times.marks.setdefault(found, at)
        if len(self._answer) >= ANSWER_CHARS:
            self._hand.write(self._complete)
        self.times.seconds = elapsed

    def _work(self, tx: Tx, elapsed: float, mark: str) -> None:
        due = int(elapsed * self._events) - self.times.events
        for tx.round, payload in itertools.islice(self._facts, due):
            tx.event(payload)
        self.times.events += max(0, due)
        if mark:
            tx.event(PlanUpdated(((mark, "active"),)))
        tx.round = 1
        deltas = int(elapsed * self._deltas) - self.times.chars // DELTA_CHARS
        if deltas > 0:
            self._send(tx, deltas * DELTA_CHARS)

    def _send(self, tx: Tx, chars: int) -> None:
        """One piece: a worker merges what came since its last commit."""
        if not self._answer:
            self._open = tx.open_message()
        while len(self._ready) < chars:
            self._ready += next(self._texts)
        piece, self._ready = self._ready[:chars], self._ready[chars:]
        tx.add_chunks([ChunkRow(self._open[0], next(self._seq), 0, "text", piece)])
        self._answer += piece
        self.times.chars += chars

    def _complete(self, tx: Tx) -> None:
        tx.complete_message(*self._open, Message("assistant", (TextBlock(self._answer),)), "end_turn", None)
        self._answer = ""


class Writing:
    """The process, seen from where it was started."""

    def __init__(self, root: Path, *, events: int = 0, deltas: int = 0) -> None:
        command = [sys.executable, "-m", "tests.bench.load", str(root), str(events), str(deltas)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            raise RuntimeError("the writing process did not start")

    def stop(self) -> Times:
        """End it; what it committed, and when."""
        said, _ = self._process.communicate(timeout=30)
        return msgspec.json.decode(said, type=Times)


def main(arguments: list[str]) -> None:
    """Write until stdin ends."""
    load = Load(Path(arguments[0]), int(arguments[1]), int(arguments[2]))
    print("ready", flush=True)
    begun = time.monotonic()
    due = begun
    while True:
        due += TICK_S
        if select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]:
            break
        load.tick(time.monotonic() - begun)
    print(msgspec.json.encode(load.times).decode(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
