"""A worker's life: taking a session over, resuming it, being fenced, being observed, sleeping, leaving."""

from __future__ import annotations

import asyncio
import os

import msgspec
import psutil
import pytest

from geode_tui.core.events import EventRow
from geode_tui.core.limits import RunOptions
from geode_tui.core.messages import answered
from geode_tui.core.tools import Safety
from geode_tui.log.lease import Held as LeaseHeld
from geode_tui.log.store import connect
from geode_tui.log.writer import Fenced, Writer
from geode_tui.runtime import worker as worker_module
from geode_tui.runtime.tools.base import ToolOutcome
from tests.runtime.harness import (
    PATIENCE_S,
    SESSION,
    Bench,
    Held,
    ScriptedProvider,
    StubTool,
    asks,
    bench,
    call,
    calls,
    stub,
    toolbox,
)


async def killed_during(run: Bench, event: str, count: int = 1) -> None:
    """A worker that dies once ``event`` was seen ``count`` times."""
    async with run.worker() as made:
        task = asyncio.create_task(made.run())
        await run.seen(event, count)
        await run.die(task)


# -- taking over ------------------------------------------------------------------------------------------------------
async def test_b076_a_batch_that_died_half_way_is_closed_and_not_run_again() -> None:
    ran: list[str] = []
    hanging = asyncio.Event()

    async def write(arguments: str) -> ToolOutcome:
        ran.append(arguments)
        if len(ran) == 2:
            await hanging.wait()
        return ToolOutcome("written")

    batch = calls(*(asks("write", f"t{n}", n=n) for n in (1, 2, 3)))
    with bench(ScriptedProvider(batch), tools=toolbox(StubTool("write", write, Safety.WRITE))) as run:
        run.submit("the task")
        await killed_during(run, "tool_exec_started", 2)
        hanging.set()
        key = run.send_raw("resume", "{}")
        await run.serve()
        assert (run.outcome(key), run.ending) == ("done", "natural")
        assert len(ran) == 2
        texts = {call_id: text for call_id, text, _ in run.results()}
        assert (texts["t1"], texts["t3"]) == ("written", "cancelled: not started")
        assert texts["t2"].startswith("interrupted: outcome unknown")
        assert answered(run.provider.requests[-1].messages)
        assert len(run.payloads("turn_completed")) == 1
        assert run.end["rounds"] == 2


async def test_a_request_without_an_end_is_a_failed_attempt_and_its_text_stays() -> None:
    held = Held("half an answer")
    with bench(ScriptedProvider(held), tools={}) as run:
        run.submit("the task")
        await killed_during(run, "message_opened")
        run.send_raw("resume", "{}")
        await run.serve()
        failed = run.named("llm_call_failed")
        assert (failed["error_type"], failed["call_id"]) == (
            "interrupted",
            run.payloads("llm_call_started")[0]["call_id"],
        )
        kept = run.rows()[1]
        assert (kept.status, run.stored(kept).message.text) == ("interrupted", "half an answer")
        assert [m.text for m in run.provider.requests[-1].messages] == ["the task"]
        assert run.ending == "natural"


async def test_the_processes_a_dead_worker_left_are_ended_first() -> None:
    with bench(ScriptedProvider(call("run_shell", command="sleep 300"))) as run:
        orphan = await asyncio.create_subprocess_exec("sleep", "300", start_new_session=True)
        run.submit()
        await killed_during(run, "tool_exec_started")
        started = psutil.Process(orphan.pid).create_time()
        run.db.execute(
            "UPDATE events SET payload=json_set(payload, '$.group', ?, '$.started', ?) WHERE event='tool_exec_started'",
            (orphan.pid, started),
        )
        run.send_raw("resume", "{}")
        await run.serve()
        async with asyncio.timeout(PATIENCE_S):
            assert await orphan.wait() < 0
        assert run.ending == "natural"


async def test_an_approval_of_a_dead_worker_is_dropped() -> None:
    edit = toolbox(stub("edit", safety=Safety.WRITE))
    with bench(ScriptedProvider(call("edit")), tools=edit, approve="ask") as run:
        run.submit()
        await killed_during(run, "tool_approval_requested")
        asked = run.named("tool_approval_requested")["approval_id"]
        late = run.decide("allow", asked)
        run.send_raw("resume", "{}")
        await run.serve()
        assert run.outcome(late) == "too_late"
        assert [p["state"] for p in run.payloads("approval_transition")] == ["requested", "dropped"]
        assert run.results()[0][1] == "cancelled: not started"


async def test_an_interrupt_of_a_dead_turn_ends_it_without_a_request() -> None:
    held = Held("half")
    with bench(ScriptedProvider(held), tools={}) as run:
        run.submit()
        await killed_during(run, "message_opened")
        key = run.interrupt()
        await run.serve()
        assert (run.outcome(key), run.ending) == ("done", "user_cancelled")
        assert len(run.provider.requests) == 1


async def test_claimed_commands_of_a_dead_worker_are_retried_only_where_that_is_harmless() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        await run.turn()
        keys = {kind: run.send_raw(kind, payload) for kind, payload in COMMANDS.items()}
        run.db.execute("UPDATE commands SET claimed_epoch=1 WHERE done_at IS NULL")
        await run.serve()
        assert {kind: run.outcome(key) for kind, key in keys.items()} == {
            "decide": "unknown",
            "interrupt": "done",
            "budget": "done",
            "resume": "done",
        }
        assert run.detail(keys["interrupt"]) == "the turn had ended"
        assert run.named("limits_changed")["limits"]["max_rounds"] == 5


COMMANDS = {
    "decide": '{"verdict": "allow"}',
    "interrupt": "{}",
    "budget": '{"limit": "rounds", "value": "5"}',
    "resume": "{}",
}


# -- resuming ---------------------------------------------------------------------------------------------------------
async def test_resuming_a_session_that_ended_opens_a_turn_with_words_of_its_own() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        await run.turn("the task")
        key = run.send_raw("resume", "{}")
        await run.serve()
        assert run.outcome(key) == "done"
        sent = run.provider.requests[-1].messages
        assert [(m.role, m.origin) for m in sent] == [
            ("user", "user_input"),
            ("assistant", "agent"),
            ("user", "resume"),
        ]
        assert [p["turn_id"] for p in run.payloads("turn_completed")] == [f"{SESSION}:1", f"{SESSION}:2"]


async def test_an_empty_session_has_nothing_to_resume() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        key = run.send_raw("resume", "{}")
        await run.serve()
        assert (run.outcome(key), run.detail(key)) == ("refused", "there is nothing to resume")
        assert run.provider.requests == []


async def test_rounds_of_the_worker_before_count_for_the_limit() -> None:
    held = Held("half")
    with bench(
        ScriptedProvider(call("look", n=1), call("look", n=2), held), tools=toolbox(stub("look")), on_limit="stop"
    ) as run:
        run.options = limited(run, 4)
        run.submit()
        await killed_during(run, "message_opened", 3)
        run.provider.steps = [call("look", n=n) for n in range(3, 9)]
        run.send_raw("resume", "{}")
        await run.serve()
        assert (run.ending, run.end["rounds"]) == ("max_rounds", 4)


def limited(run: Bench, max_rounds: int) -> RunOptions:
    limits = msgspec.structs.replace(run.options.limits, max_rounds=max_rounds)
    return msgspec.structs.replace(run.options, limits=limits)


# -- being fenced -----------------------------------------------------------------------------------------------------
def take_over(run: Bench) -> Writer:
    """Somebody else takes the session, as after a resume that gave this worker up for dead."""
    writer = Writer(connect(run.store), run.store, SESSION)
    writer.raise_epoch(run.clock.now(), title="", prompt="", options="{}")
    return writer


async def test_a_worker_that_was_taken_over_writes_nothing_more_and_leaves() -> None:
    held = Held("half")
    with bench(ScriptedProvider(held), tools={}) as run:
        run.submit()
        async with run.worker() as made:
            task = asyncio.create_task(made.run())
            await run.seen("message_opened")
            writer = take_over(run)
            last = run.last_event
            held.release.set()
            with pytest.raises(Fenced):
                await asyncio.wait_for(task, PATIENCE_S)
            assert run.last_event == last
            writer.close()


async def test_a_worker_that_was_taken_over_while_it_waits_for_the_person_leaves_at_the_answer() -> None:
    edit = toolbox(stub("edit", safety=Safety.WRITE))
    with bench(ScriptedProvider(call("edit")), tools=edit, approve="ask") as run:
        run.submit()
        async with run.worker() as made:
            task = asyncio.create_task(made.run())
            await run.seen("tool_approval_requested")
            writer = take_over(run)
            last = run.last_event
            key = run.decide("allow")
            with pytest.raises(Fenced):
                await asyncio.wait_for(task, PATIENCE_S)
            assert (run.last_event, run.outcome(key)) == (last, None)
            assert run.results() == []
            writer.close()


async def test_a_session_has_one_worker_at_a_time() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        async with run.worker():
            with pytest.raises(LeaseHeld, match=f"already has a worker .pid {os.getpid()}."):
                async with run.worker():
                    pass


# -- being observed ---------------------------------------------------------------------------------------------------
class Broken:
    """An observer that fails at the event of its choice."""

    def __init__(self, at: str) -> None:
        self.calls: list[str] = []
        self._at = at

    def seen(self, rows: list[EventRow]) -> None:
        self.calls += [row.event for row in rows]
        if self._at in self.calls:
            raise ValueError("cannot fold\nthis")

    def snapshot(self, *, turn_ended: bool) -> tuple[int, str, str, bytes] | None:
        return None


async def test_an_observer_that_raises_is_logged_once_and_the_run_goes_on() -> None:
    with bench(ScriptedProvider(call("look")), tools=toolbox(stub("look"))) as run:
        run.observer = Broken("llm_call_started")
        await run.turn()
        assert run.named("observer_failed") == {
            "observer": "snapshots",
            "error": "ValueError('cannot fold\\nthis')",
        }
        assert run.observer.calls[-1] == "llm_call_started", "it is not asked again"
        assert run.ending == "natural"


# -- sleeping ---------------------------------------------------------------------------------------------------------
async def test_b119_a_machine_that_slept_costs_no_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "BEAT_S", 0.01)
    held = Held("awake")
    with bench(ScriptedProvider(held, call("look")), tools=toolbox(stub("look"))) as run:
        run.submit()
        async with run.serving():
            await held.reached.wait()
            run.clock.wall += 17 * 3_600
            absorbed = (await run.seen("suspension_absorbed"))[0]
            held.release.set()
        assert absorbed["gap_s"] == 17 * 3_600
        assert run.ending == "natural"
        await run.turn("more")
        assert (run.ending, run.events("handoff_triggered")) == ("natural", []), "nor in the next worker"


async def test_b119_a_wall_clock_that_is_set_back_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "BEAT_S", 0.01)
    held = Held("still here")
    with bench(ScriptedProvider(held), tools={}) as run:
        run.submit()
        async with run.serving():
            await held.reached.wait()
            run.clock.wall -= 2 * 3_600
            seen = run.clock.reads
            await run.until(lambda: run.clock.reads >= seen + 3)
            held.release.set()
        assert (run.ending, run.events("suspension_absorbed")) == ("natural", [])


# -- leaving ----------------------------------------------------------------------------------------------------------
async def test_a_worker_stays_a_while_and_takes_what_comes() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        async with run.worker(leave_s=60.0) as made:
            task = asyncio.create_task(made.run())
            run.submit("one")
            await run.seen("turn_completed")
            run.submit("two")
            await run.seen("turn_completed", 2)
            for _ in range(2):
                assert await run.settled(run.interrupt()) == "too_late", "it is at rest, and serves"
                run.clock.advance(30.0)
            await asyncio.wait_for(task, PATIENCE_S)
        assert run.named("session_ended")["termination_reason"] == "natural"
        assert run.db.execute("SELECT status FROM sessions").get == "completed"


async def test_a_command_that_comes_while_a_worker_is_leaving_is_taken() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        async with run.worker() as made:
            tidy, came = made.session.journal.tidy, []

            async def at_the_last_moment(*, idle: bool) -> None:
                await tidy(idle=idle)
                if run.events("turn_completed") and not came:
                    came.append(run.submit("one more"))

            made.session.journal.tidy = at_the_last_moment  # type: ignore[method-assign]
            run.submit("one")
            await asyncio.wait_for(made.run(), PATIENCE_S)
        assert len(run.payloads("turn_completed")) == 2
        assert len(run.payloads("session_ended")) == 1


async def test_a_worker_that_is_asked_to_stop_leaves_its_turn_open() -> None:
    held = Held("half")
    with bench(ScriptedProvider(held), tools={}) as run:
        run.submit()
        async with run.worker() as made:
            task = asyncio.create_task(made.run())
            await run.seen("message_opened")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert run.named("shutdown_started") == {"active_sessions": 1}
        assert run.events("turn_completed") == []
        run.send_raw("resume", "{}")
        await run.serve()
        assert run.ending == "natural"


async def test_an_ignored_setting_is_told() -> None:
    with bench(ScriptedProvider(), tools={}) as run:
        async with run.worker() as made:
            made._ignored = ("approve counts only in a trusted folder",)
            await made.run()
        assert run.named("setting_ignored") == {
            "setting": "approve",
            "reason": "approve counts only in a trusted folder",
        }
