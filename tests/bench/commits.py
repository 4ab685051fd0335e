"""From a commit of the writing process to the terminal."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from geode_tui.core.events import PlanUpdated
from geode_tui.log.rows import ChunkRow
from geode_tui.log.store import connect
from geode_tui.log.tail import FAST_S
from tests.bench import stores
from tests.bench.bench import Bench
from tests.bench.figures import Row, Target, percentile, row
from tests.bench.load import DELTA_CHARS, Writing
from tests.bench.material import plan_mark, text_mark
from tests.bench.stores import LAST, TITLE, Hand

PAUSE_S = 0.07
"""Between two appends; a little more each time, so that they meet every phase of the poll and the frame."""
SILENCE_S = 2.3


def append_to_paint(bench: Bench) -> list[Row]:
    """One delta at a time, in conversations of growing length, beside Textual's own Markdown of 10 K characters."""
    textual = _markdown(bench) * 1000
    small, middle, large = (_appends(bench, kind) * 1000 for kind in ("chars-10k", "chars-100k", "chars-1m"))
    flat = Target(at_most=60, unit="ms", ratio_at_most=1.5)
    return [
        row("append_to_paint_10k_p95_ms", small, textual, Target(at_most=60, unit="ms")),
        row("append_to_paint_100k_p95_ms", middle, small, flat),
        row("append_to_paint_1m_p95_ms", large, small, flat),
    ]


def _markdown(bench: Bench) -> float:
    taken = []
    with bench.peer_ready("markdown") as peer:
        for number in range(1, bench.count(60, 20) + 1):
            at = peer.write("a")
            taken.append(peer.mark_came(text_mark(number)) - at)
            time.sleep(PAUSE_S)
    return _worst(taken)


def _appends(bench: Bench, kind: str) -> float:
    root = stores.copy(kind, bench.scratch)
    with bench.attached(root, last=LAST) as screen:
        hand = Hand(root)
        number, _ = hand.writer.write(lambda tx: tx.open_message(), now=time.time(), turn=2, round_=1)[0]
        time.sleep(0.5)
        taken = []
        for seq in range(1, bench.count(150, 30) + 1):
            ending = "\n\n" if seq % 10 == 0 else " "
            piece = f"{text_mark(seq)} and more words".ljust(DELTA_CHARS) + ending
            at = hand.write(lambda tx, s=seq, p=piece: tx.add_chunks([ChunkRow(number, s, 0, "text", p)]))  # type: ignore[misc]
            taken.append(screen.mark_came(text_mark(seq)) - at)
            time.sleep(PAUSE_S + 0.003 * (seq % 11))
        hand.close()
    return _worst(taken)


def _worst(taken: list[float]) -> float:
    """The 95th percentile; one that never came counts as endless."""
    return percentile([math.inf if math.isnan(t) else t for t in taken], 0.95)


class RawReader(threading.Thread):
    """Notes when a bare poll of the file at the follower's pace sees each mark."""

    def __init__(self, store: Path) -> None:
        super().__init__(daemon=True)
        self._store = store
        self.seen: dict[str, float] = {}
        self.done = threading.Event()

    def run(self) -> None:
        db = connect(self._store)
        last, version = int(db.execute("SELECT max(id) FROM events").get), 0
        query = "SELECT id, payload FROM events WHERE id>? AND event='plan_updated' ORDER BY id"
        while not self.done.wait(FAST_S):
            current = int(db.pragma("data_version"))
            if current == version:
                continue
            version = current
            for number, payload in db.execute(query, (last,)).fetchall():
                last = number
                self.seen[payload[payload.index("Mk") :][:8]] = time.monotonic()
        db.close()


def commit_to_screen(bench: Bench) -> list[Row]:
    """200 deltas and 1,000 events a second: each mark from its commit to the terminal, beside a bare reader's look."""
    root = stores.copy("chars-10k", bench.scratch)
    with bench.attached(root, last=LAST) as screen:
        reader = RawReader(stores.store_of(root))
        writing = Writing(root, events=1_000, deltas=200)
        reader.start()
        time.sleep(bench.count(45, 10))
        marks = writing.stop().marks
        screen.settle(0.3, 2.0)
        reader.done.set()
        reader.join()
    came = came_or_passed(list(marks), {mark.decode(): at for mark, at in screen.marks.items()})
    shown = {mark: came[mark] - at for mark, at in marks.items()}
    passed = sum(mark.encode() not in screen.marks for mark in marks)
    missed = [mark for mark, at in shown.items() if math.isinf(at)]
    bench.say(f"  {len(marks)} marks: {passed} were passed by later ones before a frame, {len(missed)} never came")
    raw = [at - marks[mark] for mark, at in reader.seen.items() if mark in marks]
    return [
        row(f"commit_to_screen_p{share}_ms", *_pair(list(shown.values()), raw, share), Target(at_most=most, unit="ms"))
        for share, most in ((50, 40), (99, 80))
    ]


def came_or_passed(marks: Sequence[str], seen: Mapping[str, float]) -> dict[str, float]:
    """When each mark came on screen; of one that never did, when a later one of its kind did.

    A plan shows its newest mark only, and a text moves by up to two thirds of a page at a time: what a frame finds
    gone is not late, the screen has been further since.
    """
    came: dict[str, float] = {}
    passed: dict[str, float] = {}
    for mark in sorted(marks, reverse=True):
        kind = mark[:2]
        passed[kind] = min(passed.get(kind, math.inf), seen.get(mark, math.inf))
        came[mark] = seen.get(mark, passed[kind])
    return came


def _pair(shown: list[float], raw: list[float], share: int) -> tuple[float, float]:
    return percentile(shown, share / 100) * 1000, percentile(raw, share / 100) * 1000


def after_silence(bench: Bench) -> list[Row]:
    """A fact after seconds in which nothing happened, while a worker lives: the slowest of them."""
    root = stores.copy("chars-10k", bench.scratch)
    with bench.attached(root, last=TITLE) as screen:
        hand = Hand(root)
        taken = []
        for number in range(1, bench.count(12, 4) + 1):
            for _ in range(4):
                time.sleep(SILENCE_S / 4 + 0.009 * number)
                hand.lease.beat()
            plan = PlanUpdated(((plan_mark(number), "active"),))
            at = hand.write(lambda tx, plan=plan: tx.event(plan))  # type: ignore[misc]
            taken.append(screen.mark_came(plan_mark(number)) - at)
        hand.close()
    return [row("commit_to_screen_after_silence_max_ms", max(taken) * 1000, None, Target(at_most=80, unit="ms"))]
