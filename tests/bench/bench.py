"""What the measurements of one run share: its length, its folders, and how a program is started."""

from __future__ import annotations

import functools
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from tests.bench import runner
from tests.bench.figures import Row, Target, row
from tests.bench.peers import READY
from tests.bench.stores import SESSION
from tests.bench.terminal import Watched, environment

T = TypeVar("T")
MUTATIONS = {"paint": {runner.VARIABLE: "300"}}
"""What can be made slower on purpose: name to what our program's environment then holds."""
PLACEHOLDER = "essage, or / for commands"
"""Of the composer, less the letter under its cursor."""


class Bench:
    """See the module. ``quick`` takes shorter samples; ``mutate`` names one of `MUTATIONS`."""

    def __init__(self, *, quick: bool = False, mutate: str | None = None) -> None:
        self.quick = quick
        self._extra = MUTATIONS[mutate] if mutate else {}
        self.scratch = Path(tempfile.mkdtemp(prefix="geode-tui-bench-"))
        self._home = self.scratch / "home"
        settings = self._home / "geode-tui" / "config" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text('approve = "reads"\n', encoding="utf-8")
        self._limits: dict[str, object] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    def count(self, long: int, short: int) -> int:
        """How many samples are taken."""
        return short if self.quick else long

    def once(self, name: str, take: Callable[[], T]) -> T:
        """A limit that several measurements stand beside, taken once."""
        if name not in self._limits:
            self._limits[name] = take()
        return self._limits[name]  # type: ignore[return-value]

    def screen(self, root: Path, *words: str) -> Watched:
        """Our program in that project; attached to its session unless told otherwise."""
        words = words or ("attach", SESSION)
        return Watched(runner.__name__, words, root, environment(self._home, self._extra))

    def peer(self, name: str) -> Watched:
        """One of `peers.APPS`."""
        return Watched("tests.bench.peers", (name,), self.scratch, environment(self._home))

    def attached(self, root: Path, *, last: str = PLACEHOLDER) -> Watched:
        """Our program once it shows ``last`` and has come to rest."""
        screen = self.screen(root)
        screen.watch(last)
        screen.came(60.0)
        screen.settle()
        return screen

    def peer_ready(self, name: str) -> Watched:
        """A peer that has come to rest."""
        peer = self.peer(name)
        peer.watch(READY)
        peer.came()
        peer.settle()
        return peer

    def say(self, line: str) -> None:
        """Progress, on stderr."""
        print(line, file=sys.stderr, flush=True)


Measurement = Callable[[Bench], list[Row]]


def timed(work: Callable[[], object]) -> float:
    """Seconds that ``work`` took."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def logged(name: str, measurement: Measurement) -> Measurement:
    """The measurement, with a line that says how long it took; one that cannot be taken is a row that is not met."""

    @functools.wraps(measurement)
    def run(bench: Bench) -> list[Row]:
        begun = time.monotonic()
        try:
            rows = measurement(bench)
        except (OSError, RuntimeError) as error:
            bench.say(f"{name}: {error}")
            return [row(name, math.nan, None, Target())]
        bench.say(f"{name}: {time.monotonic() - begun:.0f} s")
        return rows

    return run
