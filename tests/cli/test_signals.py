"""Signals and closed pipes: what ends with the client, and what goes on without it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from tests.cli.place import PATIENCE_S, Place, gone, until

OFFLINE = ("--provider", "offline", "--approve", "all")
SLOW = ("run", "run `echo begun >> out.txt; exec sleep 600`", *OFFLINE)


def begun(place: Place) -> tuple[str, psutil.Process]:
    """Wait until the slow command runs; the session and the command's process."""
    until(lambda: place.lines("out.txt"), "the command")
    session = place.newest
    until(lambda: place.running(session, "run_shell"), "the intent")
    (tool,) = place.state(session).open_tools.values()
    assert tool.group is not None
    return session, psutil.Process(tool.group)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_run_interrupts_its_turn(place: Place, number: signal.Signals) -> None:
    client = place.start(*SLOW, "--json")
    session, sleeping = begun(place)
    client.send_signal(number)
    done = place.end(client)
    assert done.status == 130
    assert done.events[-1]["payload"]["termination_reason"] == "user_cancelled"
    assert gone(sleeping)
    assert place.status(session) == "idle"
    (ended,) = [e for e in done.events if e["event"] == "tool_exec_ended" and e["payload"]["tool_name"] == "run_shell"]
    assert ended["payload"]["has_error"]


def test_a_second_interrupt_only_leaves(place: Place) -> None:
    client = place.start(*SLOW)
    session, sleeping = begun(place)
    worker = place.worker(session)
    worker.suspend()
    client.send_signal(signal.SIGINT)
    until(lambda: len(place.query("SELECT id FROM commands WHERE kind='interrupt'")) == 1, "the interrupt")
    client.send_signal(signal.SIGINT)
    done = place.end(client)
    assert done.status == 130
    assert f"geode-tui attach {session}" in done.err
    assert len(place.query("SELECT id FROM commands WHERE kind='interrupt'")) == 1
    assert not gone(sleeping)
    worker.resume()
    until(lambda: not place.state(session).turn_open, "the turn's end")
    assert place.state(session).termination_reason == "user_cancelled"


def test_a_hang_up_leaves_the_run_going(place: Place) -> None:
    client = place.start(*SLOW)
    session, sleeping = begun(place)
    client.send_signal(signal.SIGHUP)
    assert place.end(client).status == 129
    assert place.status(session) == "running"
    assert not gone(sleeping)


def test_a_reader_that_goes_away_leaves_the_run_going(place: Place) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as pipe:
        client = place.start("run", "run `echo x >> out.txt`", *OFFLINE, "--json", stdout=pipe)
    os.close(reading)
    done = place.end(client)
    assert done.status == 0
    assert done.err == ""
    assert place.state(place.newest).termination_reason == "natural"
    assert place.lines("out.txt") == ["x"]


def test_a_report_into_a_closed_pipe_ends_quietly(place: Place) -> None:
    place.cli("run", "run `true`", *OFFLINE)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "geode_tui", "sessions", "--json"],
        cwd=place.root,
        env=place.environment,
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=PATIENCE_S,
        check=False,
    )
    os.close(writing)
    assert done.stderr == b""
