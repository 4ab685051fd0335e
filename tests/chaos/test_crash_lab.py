"""Crashes in front of a provider that keeps count: what it was asked, and what the next worker asks it."""

from __future__ import annotations

from typing import Any

from geode_tui.cli.client import fresh_session_id
from geode_tui.core.limits import RunOptions
from geode_tui.log import commands as cmd
from tests.chaos.driving import crash, finish
from tests.chaos.invariants import check
from tests.cli.place import Place
from tests.lab import Call, Lab, Say, lab_thread


def ask(place: Place, lab: Lab, text: str) -> str:
    """A session that the lab answers; its id. Starts no worker."""
    place.environment |= {"ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": lab.base_url}
    session = fresh_session_id()
    options = RunOptions(model="claude-opus-4-8", provider="anthropic", approve="all")
    place.send(session, cmd.Submit(text, options=options))
    return session


def line(number: int) -> Call:
    """A command that leaves a trace."""
    return Call("run_shell", {"command": f"echo {number} >> out.txt"}, id=f"t{number}")


def results(body: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """The results in a request: call id -> (text, whether it is an error)."""
    blocks = [b for m in body["messages"] for b in m["content"] if b["type"] == "tool_result"]
    return {b["tool_use_id"]: (b["content"][0]["text"], bool(b.get("is_error"))) for b in blocks}


def test_b076_a_kill_in_the_second_of_three_calls_gives_every_call_one_result(place: Place) -> None:
    with lab_thread(script=[(line(1), line(2), line(3)), Say("done")]) as lab:
        session = ask(place, lab, "write three lines")
        crash(place, session, "tool: after effect", 2)
        assert place.status(session) == "dead"
        finish(place, session)
        told = results(lab.requests[1].body)
    check(place, session)
    assert place.lines("out.txt") == ["1", "2"]
    assert list(told) == ["t1", "t2", "t3"]
    assert [is_error for _, is_error in told.values()] == [False, True, True]
    assert told["t2"][0].startswith("interrupted: outcome unknown")
    assert told["t3"][0] == "cancelled: not started"


def test_a_turn_whose_last_answer_was_committed_ends_without_another_request(place: Place) -> None:
    with lab_thread(script=[Say("all done")]) as lab:
        session = ask(place, lab, "say so")
        crash(place, session, "request: after row", 1)
        assert place.status(session) == "dead"
        finish(place, session)
        assert len(lab.requests) == 1
    check(place, session)
    assert place.state(session).termination_reason == "natural"


def test_an_answer_that_was_cut_by_a_crash_is_asked_for_again_and_never_replayed(place: Place) -> None:
    with lab_thread(script=[Say("half of it " * 40, delay_s=0.02), Say("whole")]) as lab:
        session = ask(place, lab, "tell me")
        crash(place, session, "stream: pieces committed", 3)
        finish(place, session)
        first, second = (r.body for r in lab.requests)
    check(place, session)
    assert first["messages"] == second["messages"]
    answers = [r for r in place.read(lambda t: t.index(session)) if r.role == "assistant"]
    assert [r.status for r in answers] == ["interrupted", "complete"]
    assert place.payloads(session, "llm_call_failed")[0]["error_type"] == "interrupted"
