"""A worker is killed at each point where a crash matters; the next one goes on, and nothing is lost or done twice."""

from __future__ import annotations

import pytest

from tests.chaos.driving import crash, finish
from tests.chaos.invariants import check, seen
from tests.cli.place import Place

PROMPT = "run `echo one >> out.txt` and then run `echo two >> out.txt`"
"""Three rounds: a plan and a command in each of the first two; every command is asked about."""

POINTS = [
    ("input: before row", 1),
    ("input: after row", 1),
    ("request: before intent", 1),
    ("request: before intent", 3),
    ("request: after intent", 2),
    ("stream: pieces committed", 1),
    ("stream: pieces committed", 7),
    ("request: after effect", 2),
    ("request: before row", 1),
    ("request: after row", 2),
    ("request: after row", 4),
    ("approval: before row", 1),
    ("approval: after row", 2),
    ("decision: before row", 1),
    ("decision: after row", 2),
    ("tool: before intent", 2),
    ("tool: after intent", 2),
    ("tool: after effect", 1),
    ("tool: after effect", 2),
    ("tool: before row", 4),
    ("tool: after row", 2),
    ("turn: before end", 1),
    ("turn: after end", 1),
]


def check_effects(place: Place, session_id: str) -> None:
    """No command ran twice; what is told to have run did, and nothing ran that was not announced."""
    lines = place.lines("out.txt")
    assert len(set(lines)) == len(lines)
    announced = [p for p in place.payloads(session_id, "tool_exec_started") if p["tool_name"] == "run_shell"]
    ended = [p for p in place.payloads(session_id, "tool_exec_ended") if p["tool_name"] == "run_shell"]
    assert sum(not p["has_error"] for p in ended) <= len(lines) <= len(announced)


@pytest.mark.parametrize(("point", "count"), POINTS)
def test_a_run_that_was_killed_goes_on_and_does_nothing_twice(place: Place, point: str, count: int) -> None:
    session = place.submit(PROMPT, approve="ask")
    crash(place, session, point, count)
    assert place.liveness(session).state == "free"
    assert place.status(session) == ("dead" if place.state(session).turn_open else "ended")
    before = seen(place, session)

    finish(place, session)

    assert before.items() <= seen(place, session).items()
    check(place, session)
    assert place.status(session) == "ended"
    assert place.state(session).termination_reason == "natural"
    check_effects(place, session)


@pytest.mark.parametrize("first", ["tool: after effect", "stream: pieces committed", "approval: after row"])
@pytest.mark.parametrize("point", ["recovery: before row", "recovery: after row"])
def test_a_crash_while_taking_over_from_a_crash_changes_nothing(place: Place, first: str, point: str) -> None:
    session = place.submit(PROMPT, approve="ask")
    crash(place, session, first, 2)
    crash(place, session, point)
    assert place.status(session) == "dead"

    finish(place, session)

    check(place, session)
    check_effects(place, session)
    assert len(place.events(session, "session_started")) == 3
