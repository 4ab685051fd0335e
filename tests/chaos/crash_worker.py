"""A worker of its own process that kills itself, without any farewell, where it is told to.

It is forked from a process that has the worker's modules loaded, so that a test with three workers costs no three
times loading them. It leaves as soon as it is idle.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

from geode_tui.cli.worker import serve
from geode_tui.runtime.journal import Probe


def context() -> ForkServerContext:
    """Where workers are forked from."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload([__name__, "anthropic", "genai_prices"])
    return made


def start(root: Path, session_id: str, environment: Mapping[str, str], point: str, count: int) -> ForkServerProcess:
    """A worker that is killed when ``point`` is reached the ``count``-th time; without a point it just serves."""
    process = context().Process(target=_run, args=(root, session_id, dict(environment), point, count))
    process.start()
    return process


def killing(point: str, count: int) -> Probe:
    """A probe that ends this process when ``point`` is reached the ``count``-th time."""
    reached = 0

    def probe(name: str) -> None:
        nonlocal reached
        reached += name == point
        if reached == count and name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    return probe


def _run(root: Path, session_id: str, environment: dict[str, str], point: str, count: int) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    sys.exit(serve(root, session_id, probe=killing(point, count), leave_s=0.0))
