"""From a key to its paint, whatever the run does."""

from __future__ import annotations

import time

from tests.bench import stores
from tests.bench.bench import Bench
from tests.bench.figures import Row, Target, percentile, row
from tests.bench.load import Writing
from tests.bench.stores import LAST, TITLE

SETTLE_S = 1.0


def _idle(bench: Bench) -> float:
    with bench.peer_ready("input") as peer:
        return percentile(peer.type_letters(bench.count(60, 25)), 0.95) * 1000


def _typing(bench: Bench, kind: str, *, events: int = 0, deltas: int = 0) -> float:
    """The 95th percentile in milliseconds while that is written."""
    root = stores.copy(kind, bench.scratch)
    with bench.attached(root, last=LAST if stores.KINDS[kind][1] else TITLE) as screen:
        writing = Writing(root, events=events, deltas=deltas)
        time.sleep(SETTLE_S)
        taken = screen.type_letters(bench.count(100, 30))
        times = writing.stop()
    due = (events * times.seconds, deltas * times.seconds * 25)
    if times.events < 0.9 * due[0] or times.chars < 0.9 * due[1]:
        bench.say(f"  {kind}: the load fell short ({times.events} events, {times.chars} characters)")
    return percentile(taken, 0.95) * 1000


def keys_events(bench: Bench) -> list[Row]:
    """While 5,000 and 20,000 events a second are written, beside 1,000; those beside an idle app."""
    base = _typing(bench, "short", events=1_000)
    idle = bench.once("idle keys", lambda: _idle(bench))
    target = Target(at_most=60, unit="ms", ratio_at_most=2.0)
    return [
        row("key_to_paint_1k_events_p95_ms", base, idle, Target(at_most=60, unit="ms")),
        row("key_to_paint_5k_events_p95_ms", _typing(bench, "short", events=5_000), base, target),
        row("key_to_paint_20k_events_p95_ms", _typing(bench, "short", events=20_000), base, target),
    ]


def keys_stream(bench: Bench) -> list[Row]:
    """While 200 deltas a second stream into a conversation of no and of a million characters."""
    base = _typing(bench, "chars-0", deltas=200)
    idle = bench.once("idle keys", lambda: _idle(bench))
    target = Target(at_most=100, unit="ms")
    return [
        row("key_to_paint_stream_0_p95_ms", base, idle, target),
        row("key_to_paint_stream_1m_p95_ms", _typing(bench, "chars-1m", deltas=200), base, target),
    ]
