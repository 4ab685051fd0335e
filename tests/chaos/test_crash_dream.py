"""A worker is killed at each point of a dream: it is whole, or it never was, and the next one is about what is new."""

from __future__ import annotations

import json

import pytest

from geode_tui.log import commands as cmd
from tests.chaos.driving import crash, finish
from tests.chaos.invariants import check
from tests.cli.place import Place


def dreamt(place: Place, session: str) -> list[int]:
    """The last messages that the session's dreams are about."""
    query = "SELECT source_end_seq FROM context_artifacts WHERE session_id=? AND kind='dream' ORDER BY 1"
    return [int(seq) for (seq,) in place.query(query, session)]


@pytest.mark.parametrize(("point", "there"), [("dream: before row", 0), ("dream: after row", 1)])
@pytest.mark.parametrize("asked", [False, True], ids=["by itself", "by hand"])
def test_a_dream_is_whole_or_never_was(place: Place, point: str, there: int, asked: bool) -> None:
    place.environment["GEODE_DREAMS"] = "0" if asked else "1"
    session = place.submit("read notes.txt")
    if asked:
        finish(place, session)
        place.send(session, cmd.Dream())
    crash(place, session, point)
    assert len(dreamt(place, session)) == there
    assert not place.state(session).turn_open
    place.send(session, cmd.Dream())
    finish(place, session)
    check(place, session)
    assert len(dreamt(place, session)) == 1
    told = place.payloads(session, "dream_ended")
    assert [p["upto"] for p in told if p["status"] == "written"] == dreamt(place, session)
    outcomes = place.query("SELECT outcome FROM commands WHERE session_id=? AND kind='dream'", session)
    assert {outcome for (outcome,) in outcomes} == {"done"}
    metadata = place.query("SELECT metadata FROM context_artifacts WHERE session_id=?", session)
    assert json.loads(metadata[0][0])["local"] is True
