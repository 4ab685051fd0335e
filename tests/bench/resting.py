"""What a screen costs while little or nothing happens: processor, bytes, memory, a change of theme."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from textual.color import Color

from geode_tui.log.lease import worker_pids
from geode_tui.log.store import connect
from geode_tui.tui.themes import load_theme, shipped_folder
from tests.bench import stores
from tests.bench.bench import PLACEHOLDER, Bench
from tests.bench.figures import Row, Target, median, row
from tests.bench.load import Writing
from tests.bench.stores import LAST
from tests.bench.terminal import Watched, cpu_seconds

THEMES = ("geode-light", "geode-dark")
REST_S = 8.0
"""After it, nothing that a start or an end of a turn set off is still going on: what a start says of a screen that was
killed, as the measured ones before are, stays for five seconds.
"""


def idle(bench: Bench) -> list[Row]:
    """A run that waits for the person: its screen, its worker, and what reaches the terminal."""
    root = bench.scratch / "idle"
    (root / ".git").mkdir(parents=True)
    with bench.screen(root, "hello there, who are you?") as screen:
        screen.watch(PLACEHOLDER)
        screen.came()
        try:
            pids = (screen.pid, _worker(root))
            time.sleep(REST_S)
            before, bytes_before = [cpu_seconds(pid) for pid in pids], screen.received
            seconds = bench.count(30, 8)
            time.sleep(seconds)
            screen_cpu, worker_cpu = (100 * (cpu_seconds(p) - b) / seconds for p, b in zip(pids, before, strict=True))
            sent = (screen.received - bytes_before) / seconds
        finally:
            for pid in worker_pids(root / ".geode").values():
                os.kill(pid, signal.SIGKILL)
    return [
        row("idle_screen_cpu_percent", screen_cpu, None, Target(at_most=1.0, unit="%")),
        row("idle_worker_cpu_percent", worker_cpu, None, Target(at_most=0.5, unit="%")),
        row("idle_bytes_a_second", sent, None, Target(at_most=0, unit="B/s")),
    ]


def _worker(root: Path) -> int:
    """The pid of the project's worker, once its turn is complete."""
    end = time.monotonic() + 30.0
    while time.monotonic() < end:
        pids = worker_pids(root / ".geode")
        if pids and _turn_completed(stores.store_of(root)):
            return next(iter(pids.values()))
        time.sleep(0.1)
    raise TimeoutError("no worker completed its turn")


def _turn_completed(store: Path) -> bool:
    db = connect(store)
    try:
        return bool(db.execute("SELECT count(*) FROM events WHERE event='turn_completed'").get)
    finally:
        db.close()


def terminal_bytes(bench: Bench) -> list[Row]:
    """Kilobytes a second at 100 tokens a second and at 200 chunks of 25 characters, beside the bare text."""
    rows = []
    for name, deltas, most in (("100_tokens", 16, 40), ("200_chunks", 200, 130)):
        root = stores.copy("chars-10k", bench.scratch)
        with bench.attached(root, last=LAST) as screen:
            writing = Writing(root, deltas=deltas)
            time.sleep(2.0)
            begun, before = time.monotonic(), screen.received
            time.sleep(bench.count(15, 5))
            figure = (screen.received - before) / (time.monotonic() - begun) / 1000
            times = writing.stop()
        text = times.chars / times.seconds / 1000
        rows.append(row(f"terminal_{name}_kb_a_second", figure, text, Target(at_most=most, unit="KB/s")))
    return rows


def memory(bench: Bench) -> list[Row]:
    """A screen on a conversation of a million characters, after reading through some of it, beside a minimal app."""
    with bench.peer_ready("minimal") as peer:
        limit = peer.memory()
    with bench.attached(stores.stored("chars-1m"), last=LAST) as screen:
        screen.write("\x1b[Z")
        for key in ["\x1b[H", *["\x1b[6~"] * bench.count(60, 20), "\x1b[F", *["\x1b[5~"] * bench.count(60, 20)]:
            screen.write(key)
            time.sleep(0.04)
        screen.settle()
        figure = screen.memory()
    return [row("screen_memory_1m_mb", figure, limit, Target(at_most=150, unit="MB"))]


def theme_switch(bench: Bench) -> list[Row]:
    """From the key to the last byte, beside painting the same screen again."""
    switching, painting = [], []
    themes = {name: Color.parse(load_theme(shipped_folder() / f"{name}.toml").palette.base) for name in THEMES}
    with bench.attached(stores.stored("short"), last=LAST) as screen:
        for _ in range(bench.count(8, 2)):
            for name, base in themes.items():
                screen.write(f"/theme {name}")
                screen.settle()
                screen.watch(f"48;2;{base.r};{base.g};{base.b}m")
                switching.append(_burst(screen, "\r"))
                screen.came(1.0)
                painting.append(_burst(screen, "\x0c"))
    return [row("theme_switch_ms", median(switching), median(painting), Target(at_most=300, unit="ms"))]


def _burst(screen: Watched, key: str) -> float:
    """Milliseconds from a key to the last byte of what it set off."""
    begun = screen.write(key)
    screen.settle(0.5)
    return (screen.last_output - begun) * 1000
