"""Steering a live run from another process."""

from __future__ import annotations

import subprocess
from typing import Any

from tests.cli.conftest import Here
from tests.cli.place import Place, until

ASKING = ("run", "run `echo x >> out.txt`", "--provider", "offline", "--json")


def asked(place: Place) -> tuple[subprocess.Popen[str], str]:
    """A run that waits for an approval: its client and its session."""
    client = place.start(*ASKING)
    session = place.newest
    until(lambda: place.state(session).approvals, "a question")
    return client, session


def results(place: Place, session_id: str) -> list[Any]:
    """The results of the run's commands."""
    rows = place.read(lambda t: t.messages(session_id))
    return [m.message.blocks[0] for m in rows if m.row.tool == "run_shell"]


def test_approve_lets_the_waiting_call_run_and_a_second_one_is_too_late(place: Place, here: Here) -> None:
    client, session = asked(place)
    report = here("status", session, "--json").json
    assert report["state"] == "waiting"
    assert (report["waiting_on"]["kind"], report["waiting_on"]["name"]) == ("approval", "run_shell")
    done = place.cli("approve", session)
    assert (done.status, done.out) == (0, "approve: done\n")
    assert place.end(client).status == 0
    assert place.lines("out.txt") == ["x"]
    late = here("approve", session)
    assert late.status == 2
    assert "too late" in late.line


def test_deny_gives_the_model_the_reason_and_nothing_runs(place: Place, here: Here) -> None:
    client, session = asked(place)
    (approval_id,) = place.state(session).approvals
    done = here("deny", session, approval_id, "--why", "not on a Monday", "--json")
    assert done.json == {"session_id": session, "command": "deny", "outcome": "done", "detail": ""}
    assert place.end(client).status == 0
    assert place.lines("out.txt") == []
    (result,) = results(place, session)
    assert result.is_error
    assert result.text == "refused by the person: not on a Monday"


def test_budget_and_interrupt_reach_a_run_that_waits(place: Place, here: Here) -> None:
    client, session = asked(place)
    assert here("budget", session, "rounds", "7").status == 0
    assert place.state(session).limits.max_rounds == 7
    wrong = here("budget", session, "cost", "lots")
    assert wrong.status == 2
    assert "'lots' is no number" in wrong.line
    assert here("interrupt", session).status == 0
    done = place.end(client)
    assert done.status == 130
    assert done.events[-1]["payload"]["termination_reason"] == "user_cancelled"
    assert place.lines("out.txt") == []
    assert "nothing is running" in here("interrupt", session).line


def test_an_answer_for_a_session_without_a_worker_is_refused_at_once(place: Place, here: Here) -> None:
    client, session = asked(place)
    place.kill_worker(session)
    assert place.end(client).status == 1
    assert "has no worker" in here("approve", session).line
    assert place.query("SELECT kind FROM commands WHERE kind='decide'") == []
