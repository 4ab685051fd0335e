"""Interrupting a turn, whatever it does at that moment."""

from __future__ import annotations

import asyncio

import psutil

from geode_tui.core.messages import answered
from geode_tui.core.tools import Safety
from geode_tui.runtime.tools.base import ToolOutcome
from tests.runtime.harness import (
    Bench,
    Held,
    ScriptedProvider,
    StubTool,
    asks,
    bench,
    call,
    calls,
    names,
    stub,
    toolbox,
)


def assert_cancelled(run: Bench, key: str) -> None:
    """The turn ended by the person: one outcome, every call one result, ``turn_completed`` last."""
    assert (run.ending, run.outcome(key)) == ("user_cancelled", "done")
    order = names(run.events())
    assert order.index("execution_cancelled") < order.index("turn_completed")
    assert order[order.index("turn_completed") + 1 :] in ([], ["session_ended"])
    asked = [c.call_id for m in run.messages() for c in m.calls]
    assert sorted(call_id for call_id, _, _ in run.results()) == sorted(asked)
    assert answered(tuple(run.messages()))


async def test_during_a_stream_the_text_so_far_is_kept_as_interrupted() -> None:
    held = Held("half an answer")
    with bench(ScriptedProvider(held), tools={}) as run:
        run.submit("the task")
        async with run.serving():
            await held.reached.wait()
            await run.seen("message_opened")
            key = run.interrupt()
        assert_cancelled(run, key)
        kept = run.rows()[-1]
        assert (kept.status, run.stored(kept).message.text) == ("interrupted", "half an answer")
        failed = run.named("llm_call_failed")
        assert (failed["error_type"], failed["call_id"]) == ("cancelled", run.named("llm_call_started")["call_id"])
        await run.turn("again")
        assert [m.text for m in run.provider.requests[-1].messages] == ["the task", "again"]


async def test_before_the_first_word_nothing_is_left_behind() -> None:
    held = Held("")
    with bench(ScriptedProvider(held), tools={}) as run:
        run.submit()
        async with run.serving():
            await held.reached.wait()
            key = run.interrupt()
        assert_cancelled(run, key)
        assert [row.role for row in run.rows() if row.chars] == ["user"]


async def test_during_a_command_its_processes_are_gone_before_the_turn_ends() -> None:
    command = "sleep 300 & echo $! > child; wait"
    with bench(ScriptedProvider(call("run_shell", command=command))) as run:
        run.submit()
        async with run.serving():
            group = (await run.seen("tool_exec_started"))[0]["group"]
            child = await _written(run)
            key = run.interrupt()
        assert_cancelled(run, key)
        assert not _runs(group)
        assert not _runs(child)
        assert run.results()[0][1].startswith("interrupted by the person")
        assert run.named("tool_exec_failed")["error_type"] == "user_cancelled"


def _runs(pid: int) -> bool:
    """Whether the process still does anything; one that only waits to be reaped does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


async def _written(run: Bench) -> int:
    file = run.root / "child"
    await run.until(lambda: file.exists() and file.read_text().strip())
    return int(file.read_text())


async def test_b076_in_a_batch_every_call_gets_its_one_result() -> None:
    release, begun = asyncio.Event(), asyncio.Event()

    async def hang(_arguments: str) -> ToolOutcome:
        begun.set()
        await release.wait()
        return ToolOutcome("never")

    tools = toolbox(stub("first", "1"), StubTool("second", hang, Safety.WRITE), stub("third", "3", Safety.WRITE))
    batch = calls(asks("first", "t1"), asks("second", "t2"), asks("third", "t3"))
    with bench(ScriptedProvider(batch), tools=tools) as run:
        run.submit()
        async with run.serving():
            await begun.wait()
            key = run.interrupt()
            run.submit("next")
        assert run.outcome(key) == "done"
        results = {call_id: text for call_id, text, _ in run.results()}
        assert (results["t1"], results["t3"]) == ("1", "cancelled: not started")
        assert results["t2"].startswith("interrupted by the person")
        assert [is_error for _, _, is_error in run.results()] == [False, True, True]
        assert [e["executed"] for e in run.payloads("tool_exec_ended")] == [True, True, False]
        sent = run.provider.requests[-1].messages
        assert answered(sent)
        assert sent[-1].text == "next"
        assert run.ending == "natural"


async def test_during_an_approval_the_question_is_dropped() -> None:
    batch = calls(asks("edit", "t1"), asks("edit", "t2"))
    with bench(ScriptedProvider(batch), tools=toolbox(stub("edit", safety=Safety.WRITE)), approve="ask") as run:
        run.submit()
        async with run.serving():
            asked = (await run.seen("tool_approval_requested"))[0]
            key = run.interrupt()
        assert_cancelled(run, key)
        moves = [(p["approval_id"], p["state"]) for p in run.payloads("approval_transition")]
        assert moves == [(asked["approval_id"], "requested"), (asked["approval_id"], "dropped")]
        assert [text for _, text, _ in run.results()] == ["cancelled: not started"] * 2
        late = run.decide("allow", asked["approval_id"])
        await run.serve()
        assert run.outcome(late) == "too_late"


async def test_questions_side_by_side_are_all_dropped() -> None:
    batch = calls(asks("look", "t1"), asks("look", "t2"))
    with bench(ScriptedProvider(batch), tools=toolbox(stub("look")), approve="ask") as run:
        run.submit()
        async with run.serving():
            await run.seen("tool_approval_requested", 2)
            key = run.interrupt()
        assert_cancelled(run, key)
        dropped = [p["call_id"] for p in run.payloads("approval_transition") if p["state"] == "dropped"]
        assert sorted(dropped) == ["t1", "t2"]


async def test_a_second_interrupt_gets_its_own_outcome() -> None:
    stopping, release = asyncio.Event(), asyncio.Event()

    async def stubborn(_arguments: str) -> ToolOutcome:
        try:
            await asyncio.sleep(300)
        finally:
            stopping.set()
            await release.wait()
        return ToolOutcome("never")

    with bench(ScriptedProvider(call("work")), tools=toolbox(StubTool("work", stubborn))) as run:
        run.submit()
        async with run.serving():
            await run.seen("tool_exec_started")
            first = run.interrupt()
            await stopping.wait()
            second = run.interrupt()
            await run.until(lambda: run.claimed(second))
            release.set()
        assert_cancelled(run, first)
        assert run.outcome(second) == "done"
        assert len(run.payloads("execution_cancelled")) == 1


async def test_with_nothing_running_it_comes_too_late() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        await run.turn()
        key = run.interrupt()
        await run.serve()
        assert (run.outcome(key), run.detail(key)) == ("too_late", "nothing is running")
        assert (run.ending, len(run.payloads("turn_completed"))) == ("natural", 1)


async def test_an_interrupted_turn_can_be_resumed() -> None:
    held = Held("half")
    with bench(ScriptedProvider(call("look"), held), tools=toolbox(stub("look"))) as run:
        run.submit("the task")
        async with run.serving():
            await held.reached.wait()
            key = run.interrupt()
        assert_cancelled(run, key)
        resumed = run.send_raw("resume", "{}")
        await run.serve()
        assert (run.outcome(resumed), run.ending) == ("done", "natural")
        sent = run.provider.requests[-1].messages
        assert [m.role for m in sent] == ["user", "assistant", "tool", "user"]
        assert sent[-1].origin == "resume"
