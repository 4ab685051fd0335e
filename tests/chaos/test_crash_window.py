"""A worker is killed at each point of the context's upkeep: what was committed holds whole, the rest never happened."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from geode_tui.cli.client import fresh_session_id
from geode_tui.core.limits import Limits, RunOptions
from geode_tui.core.views import Cause
from geode_tui.log import commands as cmd
from tests.chaos.driving import crash, finish
from tests.chaos.invariants import check, seen, versions
from tests.cli.place import Place
from tests.lab import Lab, lab_thread
from tests.lab.__main__ import variables
from tests.lab.planner import planner

PROMPT = " and then ".join(f"run `head -n {n} words.txt`" for n in (40, 41, 42, 43))
"""A plan and four commands, a round each."""
TIGHT = "12130"
"""A window in which the last of these rounds is prepared at a warning."""
TIGHTER = "11500"
"""One in which a round of these shrinks and summarises: the second and third versions are of one pass. Summaries follow
so close upon each other that the planner begins again what they leave out: the limit of rounds may end the run.
"""
LIMITS = Limits(max_rounds=20)
BY_HAND: Sequence[cmd.Command] = (cmd.Compact(keep=2), cmd.Undo(), cmd.Redo())


def long(*case: object) -> Any:
    """A case of the long form only."""
    return pytest.param(*case, marks=pytest.mark.long)


def furnish(place: Place) -> None:
    """What the commands read."""
    (place.root / "words.txt").write_text("".join(f"{n} code {n * 37 % 911}\n" for n in range(60)))


def asked(place: Place, lab: Lab, model: str, provider: str) -> str:
    """A session of a model that works like the offline planner; its id. Starts no worker."""
    furnish(place)
    place.environment |= dict(variables(lab))
    session = fresh_session_id()
    options = RunOptions(model=model, provider=provider, approve="all", limits=LIMITS)
    place.send(session, cmd.Submit(PROMPT, options=options))
    return session


Ended: TypeAlias = "tuple[Path, str]"
"""The ``.geode`` folder of a run that has ended, and its session."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    """A run of the offline planner."""
    place = Place(tmp_path_factory.mktemp("ended"))
    furnish(place)
    session = place.submit(PROMPT, limits=LIMITS)
    finish(place, session)
    yield place.geode, session
    place.close()


@pytest.fixture(scope="module")
def ended_on_a_wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    """A run of a model."""
    place = Place(tmp_path_factory.mktemp("ended-on-a-wire"))
    with lab_thread(otherwise=planner()) as lab:
        session = asked(place, lab, "gpt-6-sol", "openai")
        finish(place, session)
    yield place.geode, session
    place.close()


def taken_over(place: Place, ended: Ended) -> str:
    """Go on with a copy of such a run in ``place``; its session."""
    shutil.copytree(ended[0], place.geode)
    return ended[1]


def causes(place: Place, session_id: str) -> list[Cause]:
    return [version.cause for version in versions(place, session_id)]


def interrupted(place: Place, session_id: str) -> int:
    """How many maintenances were ended by the worker that took over."""
    ended = place.payloads(session_id, "maintenance_ended")
    return sum((p["status"], p["error_type"]) == ("failed", "interrupted") for p in ended)


def outcomes(place: Place, session_id: str) -> list[tuple[str, str]]:
    """(kind, outcome) of what was asked of the context, in order."""
    rows = place.query("SELECT kind, outcome FROM commands WHERE session_id=? ORDER BY id", session_id)
    return [(kind, outcome) for kind, outcome in rows if kind not in {"submit", "resume"}]


DONE = [("compact", "done"), ("undo", "done"), ("redo", "done")]


# -- by itself --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("window", "point", "count"),
    [
        (TIGHT, "view: before commit", 1),
        (TIGHT, "view: after commit", 1),
        long(TIGHTER, "view: after commit", 2),
        long(TIGHTER, "artifact: before row", 1),
        long(TIGHTER, "artifact: after row", 1),
        long(TIGHTER, "artifact: after row", 3),
        long(TIGHTER, "view: after commit", 3),
    ],
)
def test_upkeep_of_a_live_run_that_was_killed_is_whole_or_was_not(
    place: Place, window: str, point: str, count: int
) -> None:
    furnish(place)
    place.environment["GEODE_CONTEXT_WINDOW"] = window
    session = place.submit(PROMPT, limits=LIMITS)
    crash(place, session, point, count)
    assert place.state(session).maintenance is not None
    before, made = seen(place, session), versions(place, session)
    begun = place.events(session, "maintenance_started")[-1].id
    done = [r for r in place.events(session, "view_changed") if r.id > begun]

    finish(place, session)

    assert before.items() <= seen(place, session).items()
    check(place, session)
    assert place.state(session).termination_reason in {"natural", *(["max_rounds"] if window == TIGHTER else [])}
    assert versions(place, session)[: len(made)] == made
    assert causes(place, session)
    (cut,) = [p for p in place.payloads(session, "maintenance_ended") if p["error_type"] == "interrupted"]
    assert cut["status"] == "failed"
    assert (cut["action"] != "none") == (cut["tokens_after"] < cut["tokens_before"]) == bool(done)
    assert cut["persisted"] == (point == "artifact: after row" or (point, count) == ("view: after commit", 3))


# -- by hand ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("point", "count"),
    [
        ("artifact: before row", 1),
        ("artifact: after row", 1),
        ("view: before commit", 1),
        ("view: after commit", 1),
        ("view: before commit", 2),
        long("view: after commit", 2),
        long("view: before commit", 3),
        ("view: after commit", 3),
    ],
)
def test_compact_undo_and_redo_of_a_session_at_rest_are_done_once_each(
    place: Place, ended: Ended, point: str, count: int
) -> None:
    session = taken_over(place, ended)
    for command in BY_HAND:
        place.send(session, command)
    crash(place, session, point, count)
    before, made = seen(place, session), versions(place, session)
    assert len(made) == count - ("before" in point or point == "artifact: after row")

    finish(place, session)

    assert before.items() <= seen(place, session).items()
    check(place, session)
    assert causes(place, session) == ["manual", "undo", "redo"]
    assert versions(place, session)[: len(made)] == made
    assert outcomes(place, session) == DONE
    assert interrupted(place, session) == (count == 1)


@pytest.mark.parametrize("point", ["recovery: before row", long("recovery: after row")])
def test_a_crash_while_taking_over_from_a_crash_in_a_compaction_changes_nothing(
    place: Place, ended: Ended, point: str
) -> None:
    session = taken_over(place, ended)
    place.send(session, cmd.Compact(keep=2))
    crash(place, session, "artifact: after row")
    crash(place, session, point)
    finish(place, session)
    check(place, session)
    assert causes(place, session) == ["manual"]
    assert outcomes(place, session) == [("compact", "done")]
    assert interrupted(place, session) == 1


# -- with a model's summary -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("point", "requests"),
    [
        ("summary: before request", 1),
        long("request: after intent", 1),
        long("request: before row", 2),
        long("request: after row", 2),
        ("summary: after request", 2),
        long("artifact: after row", 2),
        long("view: after commit", 1),
    ],
)
def test_a_models_summary_that_was_killed_is_asked_for_again_and_used_once(
    place: Place, ended_on_a_wire: Ended, point: str, requests: int
) -> None:
    with lab_thread(otherwise=planner()) as lab:
        session = taken_over(place, ended_on_a_wire)
        place.environment |= dict(variables(lab))
        place.send(session, cmd.Compact(keep=2))
        crash(place, session, point)
        assert place.state(session).maintenance is not None
        place.send(session, cmd.Submit("and then say so"))
        finish(place, session)
        assert lab.sent.count("summary") == requests
        assert {received.status for received in lab.requests} == {200}
    check(place, session)
    assert causes(place, session) == ["manual"]
    assert outcomes(place, session) == [("compact", "done")]
    assert interrupted(place, session) == 1
    assert place.state(session).termination_reason == "natural"


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        long("openai", "gpt-6-sol"),
        long("anthropic", "claude-opus-4-8"),
        long("glm", "glm-5.3"),
        long("openrouter", "openrouter/anthropic/claude-sonnet-5"),
    ],
)
def test_a_compaction_within_a_turn_outlives_a_kill_on_a_wire(place: Place, provider: str, model: str) -> None:
    with lab_thread(otherwise=planner()) as lab:
        session = asked(place, lab, model, provider)
        crash(place, session, "tool: after row", 5)
        place.send(session, cmd.Compact(keep=2))
        place.send(session, cmd.Resume())
        crash(place, session, "summary: after request")
        place.send(session, cmd.Submit("and then say so"))
        finish(place, session)
        assert all(received.status == 200 for received in lab.requests)
    check(place, session)
    assert place.state(session).termination_reason == "natural"
    assert "manual" in causes(place, session)
    assert outcomes(place, session) == [("compact", "done")]
    told = [r.event for r in place.events(session) if r.event in {"view_changed", "user_input_received"}]
    assert told[:3] == ["user_input_received", "view_changed", "user_input_received"]
