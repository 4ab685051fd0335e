"""A worker's life between its client, its terminal, its machine and the worker that follows it."""

from __future__ import annotations

import os
import signal
import sys
import time

import pexpect
import psutil

from geode_tui.log import commands as cmd
from geode_tui.log import presence
from geode_tui.log.lease import STALE_AFTER_S, lock_path
from tests.chaos.driving import finish, status, worker
from tests.chaos.invariants import check, seen
from tests.cli.place import PATIENCE_S, Place, gone, until

SLOW = "run `echo begun >> out.txt; until [ -e go ]; do sleep 0.05; done; echo over >> out.txt`"
"""A command that lasts until the test makes the file ``go``."""
RUN = ("run", SLOW, "--provider", "offline", "--approve", "all")


def begun(place: Place) -> str:
    """Wait until the slow command runs; the session's id."""
    until(lambda: place.lines("out.txt"), "the command")
    session = place.newest
    until(lambda: place.running(session, "run_shell"), "the intent")
    return session


def release(place: Place, session_id: str) -> None:
    """Let the slow command end, and wait for the turn's end."""
    (place.root / "go").touch()
    until(lambda: place.state(session_id).termination_reason, "the turn's end")


def group_of(place: Place, session_id: str) -> int:
    """The process group of the command that runs."""
    (group,) = (t.group for t in place.state(session_id).open_tools.values() if t.name == "run_shell")
    assert group is not None
    return group


def test_a_worker_has_a_session_of_its_own_and_is_no_child_of_its_client(place: Place) -> None:
    client = place.start(*RUN)
    session = begun(place)
    at_work = place.worker(session)
    assert os.getsid(at_work.pid) not in {os.getsid(client.pid), os.getsid(0)}
    assert client.pid not in {p.pid for p in at_work.parents()}
    assert at_work.terminal() is None
    release(place, session)
    assert place.end(client).status == 0


def test_a_hang_up_of_the_client_leaves_the_run_going(place: Place) -> None:
    client = place.start(*RUN)
    session = begun(place)
    client.send_signal(signal.SIGHUP)
    assert place.end(client).status == 128 + signal.SIGHUP
    assert place.status(session) == "running"
    release(place, session)
    check(place, session)
    assert place.lines("out.txt") == ["begun", "over"]


def test_a_terminal_that_is_closed_leaves_the_run_going(place: Place) -> None:
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "geode_tui", *RUN],
        cwd=str(place.root),
        env=place.environment,
    )
    session = begun(place)
    at_work = place.worker(session)
    terminal.close(force=True)
    assert not gone(at_work)
    assert place.status(session) == "running"
    release(place, session)
    assert place.lines("out.txt") == ["begun", "over"]


def test_a_stopped_worker_reads_not_answering_and_goes_on_as_if_nothing_had_been(place: Place) -> None:
    place.start(*RUN)
    session = begun(place)
    at_work = place.worker(session)
    at_work.send_signal(signal.SIGSTOP)
    before = seen(place, session)
    until(lambda: place.status(session) == "not_answering", "the heartbeat to grow old", STALE_AFTER_S + PATIENCE_S)
    key = place.send(session, cmd.Submit("and then run `echo more >> out.txt`"))
    assert status(worker(place, session)) == 3
    assert place.client(session).outcome(key) is None
    assert place.status(session) == "not_answering"
    assert seen(place, session) == before

    at_work.send_signal(signal.SIGCONT)
    release(place, session)
    until(lambda: "more" in place.lines("out.txt"), "the words that waited")
    until(lambda: not place.state(session).turn_open, "the turn's end")
    check(place, session)
    assert place.lines("out.txt") == ["begun", "over", "more"]
    assert len(place.events(session, "session_started")) == 1


def test_a_worker_whose_lock_file_was_removed_is_fenced_by_the_next(place: Place) -> None:
    place.start(*RUN)
    session = begun(place)
    old = place.worker(session)
    lock_path(place.geode, session).unlink()
    assert place.liveness(session).state == "free"

    assert status(worker(place, session)) == 0
    until(lambda: gone(old), "the end of the worker that lost its session")
    finish(place, session)

    check(place, session)
    assert place.lines("out.txt") == ["begun"]
    epochs = [p["epoch"] for p in place.payloads(session, "session_started")]
    assert epochs == [1, 2, 3]
    since = next(r.id for r in place.events(session, "session_started")[1:])
    assert not [r for r in place.events(session, "shutdown_started") if r.id > since]


def test_resume_asks_before_it_ends_a_worker_that_does_not_answer_and_goes_on_when_told(place: Place) -> None:
    place.start(*RUN)
    session = begun(place)
    stopped = place.worker(session)
    stopped.send_signal(signal.SIGSTOP)
    until(lambda: place.status(session) == "not_answering", "the heartbeat to grow old")
    refused = place.cli("resume", session)
    assert refused.status == 1
    assert "--take-over" in refused.line
    assert not gone(stopped)

    done = place.cli("resume", session, "--take-over", "--json")
    assert done.status == 0
    assert done.events[-1]["event"] == "turn_completed"
    assert gone(stopped)
    check(place, session)
    assert place.lines("out.txt") == ["begun"]


def test_a_worker_that_the_machine_ends_leaves_its_turn_open_and_resumable(place: Place) -> None:
    client = place.start(*RUN)
    session = begun(place)
    at_work, command = place.worker(session), psutil.Process(group_of(place, session))
    at_work.terminate()
    until(lambda: gone(at_work) and place.liveness(session).state == "free", "the worker's end")
    ended = place.end(client)
    assert ended.status == 1
    assert f"geode-tui resume {session}" in ended.err
    assert place.status(session) == "dead"
    assert place.payloads(session, "shutdown_started") == [{"active_sessions": 1}]
    assert gone(command)
    finish(place, session)
    check(place, session)
    assert place.lines("out.txt") == ["begun"]


def test_a_command_that_outlived_its_worker_is_ended_before_the_run_goes_on(place: Place) -> None:
    session = place.submit("run `echo begun >> out.txt; exec sleep 600`")
    first = worker(place, session)
    begun(place)
    sleeping = psutil.Process(group_of(place, session))
    first.kill()
    status(first)
    assert sleeping.name() == "sleep"

    finish(place, session)

    assert gone(sleeping)
    check(place, session)
    assert place.lines("out.txt") == ["begun"]


def test_words_typed_while_a_command_runs_are_taken_once_though_worker_and_client_die(place: Place) -> None:
    place.start(*RUN)
    session = begun(place)
    typing = place.start("run", "and then run `echo more >> out.txt`", "--session", session)
    until(lambda: len(place.query("SELECT id FROM commands")) == 2, "the command row")
    typing.kill()
    place.kill_worker(session)
    assert place.status(session) == "dead"

    finish(place, session)
    finish(place, session)

    check(place, session)
    messages = place.read(lambda t: t.messages(session))
    said = [m.message.text for m in messages if m.row.origin == "user_input"]
    assert said == [SLOW, "and then run `echo more >> out.txt`"]
    assert place.lines("out.txt").count("more") <= 1


def test_an_idle_worker_leaves_and_one_that_is_watched_stays(place: Place) -> None:
    session = place.submit("run `echo one >> out.txt`")
    assert status(worker(place, session)) == 0
    assert place.status(session) == "ended"
    assert place.events(session)[-1].event == "session_ended"

    presence.touch(place.geode, session)
    place.send(session, cmd.Submit("run `echo two >> out.txt`"))
    watched = worker(place, session)
    until(lambda: place.status(session) == "idle", "the turn's end")
    watched.join(0.5)
    assert watched.exitcode is None
    os.utime(presence.presence_path(place.geode, session), (0, time.time() - 3_600))
    assert status(watched) == 0
    check(place, session)
    assert place.lines("out.txt") == ["one", "two"]
