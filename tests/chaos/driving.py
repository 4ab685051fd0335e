"""Plays the person while a worker runs: answers every question, and goes on after a crash."""

from __future__ import annotations

import signal
from multiprocessing.context import ForkServerProcess

import msgspec

from geode_tui.core.events import ToolApprovalRequested
from geode_tui.log import commands as cmd
from geode_tui.log.store import connect
from geode_tui.log.tail import Tail
from tests.chaos import crash_worker
from tests.cli.place import PATIENCE_S, Place, until


def worker(place: Place, session_id: str, point: str = "", count: int = 1) -> ForkServerProcess:
    """A worker that kills itself at ``point``."""
    process = crash_worker.start(place.root, session_id, place.environment, point, count)
    place.on_close(process.kill)
    return process


def status(process: ForkServerProcess) -> int:
    """The worker's exit status, waited for."""
    process.join(PATIENCE_S)
    assert process.exitcode is not None, "the worker did not end"
    return process.exitcode


def wait(place: Place, session_id: str, process: ForkServerProcess) -> int:
    """Wait for the worker's end and allow whatever it asks meanwhile; its exit status."""
    db = connect(place.store)
    tail = Tail(db, session_id)

    def over() -> bool:
        ended = process.exitcode is not None
        for row in tail.fetch().events if tail.changed() else ():
            if row.event == "tool_approval_requested" and not ended:
                asked = msgspec.json.decode(row.payload, type=ToolApprovalRequested)
                place.send(session_id, cmd.Decide("allow", asked.approval_id))
        return ended

    try:
        until(over, "the worker's end")
    finally:
        db.close()
    return status(process)


def crash(place: Place, session_id: str, point: str, count: int = 1) -> None:
    """Run a worker until it kills itself at ``point``."""
    assert wait(place, session_id, worker(place, session_id, point, count)) == -signal.SIGKILL, "never came there"


def finish(place: Place, session_id: str) -> None:
    """Another worker; it is asked to go on if a turn is open."""
    if place.state(session_id).turn_open:
        place.send(session_id, cmd.Resume())
    assert wait(place, session_id, worker(place, session_id)) == 0
