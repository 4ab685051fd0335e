"""From the start of the process to a full screen."""

from __future__ import annotations

from pathlib import Path

from tests.bench import stores
from tests.bench.bench import PLACEHOLDER, Bench
from tests.bench.figures import Row, Target, median, row
from tests.bench.peers import READY
from tests.bench.stores import LAST, TITLE
from tests.bench.terminal import Watched


def _until(screen: Watched, *texts: str) -> float:
    screen.watch(*texts)
    with screen:
        return (screen.came(60.0) - screen.started) * 1000


def first_paint(bench: Bench) -> list[Row]:
    """Attach to an ended run until its frame, and until its title and last words are there, beside a minimal app."""
    root = stores.stored("short")
    minimal, frame, full = [], [], []
    for _ in range(bench.count(21, 3)):
        minimal.append(_until(bench.peer("minimal"), READY))
        frame.append(_until(bench.screen(root), PLACEHOLDER))
        full.append(_until(bench.screen(root), PLACEHOLDER, TITLE, LAST))
    limit = median(minimal)
    return [
        row("first_paint_ms", median(frame), limit, Target(ratio_at_most=1.6)),
        row("first_paint_with_data_ms", median(full), limit, Target(ratio_at_most=2.0)),
    ]


def attach(bench: Bench) -> list[Row]:
    """Attach to a run of a million events until its state is there, beside a run of none."""
    empty, long = stores.stored("chars-0"), stores.stored("events-1m")
    taken: dict[Path, list[float]] = {empty: [], long: []}
    for _ in range(bench.count(7, 3)):
        for root, times in taken.items():
            times.append(_until(bench.screen(root), PLACEHOLDER, TITLE))
    target = Target(ratio_at_most=2.0)
    return [row("attach_1m_events_ms", median(taken[long]), median(taken[empty]), target)]
