"""Extensions before and after a summary in a run: what they decide, and that nothing else they do changes anything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from geode_tui.log import commands as cmd
from geode_tui.log import views
from geode_tui.runtime.hook_contracts import Reply
from geode_tui.runtime.session import Session
from tests.runtime.harness import Bench, bench
from tests.runtime.test_window import TASK, looks
from tests.runtime.test_window_once import summarising, turn
from tests.runtime.window_model import small_route

SHORT_S = 0.05
"""A time-out that is meant to pass."""
Target = Callable[[Mapping[str, Any]], Any]


def at_pre(target: Target, **facts: Any) -> Callable[[Session], None]:
    return lambda session: session.hooks.register("PreCompact", target, extension="x", **facts)


async def compacting(run: Bench, prepare: Callable[[Session], None]) -> str:
    """A turn, then a compaction by hand of a worker whose session ``prepare`` has extended; the command's key."""
    run.route = small_route(200_000)
    await run.turn(TASK)
    key = run.send(cmd.Compact(keep=4))
    async with run.worker() as made:
        prepare(made.session)
        await made.run()
    return key


def upto(run: Bench) -> list[int]:
    return [p["upto"] for p in run.payloads("view_changed")]


async def untouched() -> list[int]:
    """What the compaction of `compacting` reaches without any extension."""
    with bench(summarising(10), tools=looks(300)) as run:
        await compacting(run, lambda session: None)
        return upto(run)


# -- before -----------------------------------------------------------------------------------------------------------
async def test_a_soft_summary_can_be_put_off() -> None:
    model = summarising(10)
    with bench(model, tools=looks(300)) as run:
        key = await compacting(run, at_pre(lambda _facts: Reply("defer", reason="a backup is being made")))
        assert (run.outcome(key), run.detail(key)) == ("refused", "a backup is being made")
        assert (model.summaries, upto(run)) == ([], [])
        assert run.payloads("maintenance_ended")[-1]["status"] == "deferred"


async def test_a_hard_summary_cannot() -> None:
    told: list[Mapping[str, Any]] = []

    def never(facts: Mapping[str, Any]) -> Reply:
        told.append(facts)
        return Reply("defer", reason="not now")

    model = summarising(16, fits=6_000)
    with bench(model, tools=looks(500)) as run:
        run.route = small_route(200_000)
        await turn(run, at_pre(never))
        assert model.refused
        assert run.ending == "natural"
        statuses = [p["status"] for p in run.payloads("extension_invoked")]
        assert statuses == ["ignored" if facts["hard"] else "defer" for facts in told]
        assert len(model.summaries) == statuses.count("ignored") > 0


async def test_it_can_say_how_many_messages_stay_and_nothing_else() -> None:
    (usual,) = await untouched()
    with bench(summarising(10), tools=looks(300)) as run:
        await compacting(run, at_pre(lambda _facts: Reply("rewrite", updates={"keep_recent": 12})))
        (fewer,) = upto(run)
        assert 0 < fewer < usual
    other = {"keep_recent": 12, "model": "another", "hard": True}
    with bench(summarising(10), tools=looks(300)) as run:
        await compacting(run, at_pre(lambda _facts: Reply("rewrite", updates=other)))
        assert upto(run) == [usual]
        assert run.named("extension_invoked")["status"] == "rejected"


async def _sleeps(_facts: Mapping[str, Any]) -> None:
    await asyncio.Event().wait()


def _raises(_facts: Mapping[str, Any]) -> None:
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (_sleeps, "timeout"),
        (_raises, "error"),
        (lambda _facts: "not json", "error"),
        (lambda _facts: Reply("block"), "rejected"),
        (lambda facts: facts.clear(), "error"),
    ],
)
async def test_b040_one_that_fails_changes_nothing(target: Target, status: str) -> None:
    with bench(summarising(10), tools=looks(300)) as run:
        key = await compacting(run, at_pre(target, timeout_s=SHORT_S))
        assert run.outcome(key) == "done"
        assert upto(run) == await untouched()
        assert run.named("extension_invoked")["status"] == status


# -- after ------------------------------------------------------------------------------------------------------------
class After:
    """A PostCompact extension that looks at what the log holds when it is told."""

    def __init__(self, run: Bench) -> None:
        self.told: list[Mapping[str, Any]] = []
        self.versions: list[int] = []
        self._run = run

    def __call__(self, facts: Mapping[str, Any]) -> None:
        self.told.append(facts)
        self.versions.append(len(views.versions(self._run.transcript, 1)))

    def registered(self, session: Session) -> None:
        session.hooks.register("PostCompact", self, extension="x")


async def test_what_comes_after_is_told_once_the_replacement_is_committed() -> None:
    with bench(summarising(10), tools=looks(300)) as run:
        after = After(run)
        await compacting(run, after.registered)
        assert after.versions == [1]
        (facts,) = after.told
        (ended,) = run.payloads("maintenance_ended")
        assert (facts["original_message_count"], facts["new_message_count"]) == (
            ended["original_count"],
            ended["new_count"],
        )
        assert (facts["keep_recent"], facts["trigger"], facts["persisted"]) == (4, "manual", True)
        assert len(views.artifacts(run.db, "s-1")) == 1


async def test_a_replacement_that_failed_is_not_told() -> None:
    def fails(_version: object) -> None:
        raise RuntimeError("the caller cannot keep it")

    with bench(summarising(10), tools=looks(300)) as run:
        after = After(run)

        def prepare(session: Session) -> None:
            after.registered(session)
            session.checkpoint = fails

        key = await compacting(run, prepare)
        assert run.outcome(key) == "refused"
        assert after.told == []
        assert upto(run) == []


async def test_one_that_fails_afterwards_takes_nothing_back() -> None:
    with bench(summarising(10), tools=looks(300)) as run:
        key = await compacting(run, lambda session: session.hooks.register("PostCompact", _raises, extension="x"))
        assert run.outcome(key) == "done"
        assert len(views.versions(run.transcript, 1)) == 1


# -- what is stored ---------------------------------------------------------------------------------------------------
def without_artifacts(run: Bench) -> None:
    """From now on no artifact can be stored."""
    run.db.execute(
        "CREATE TRIGGER no_artifacts BEFORE INSERT ON context_artifacts BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )


async def test_a_summary_that_cannot_be_stored_replaces_nothing() -> None:
    model = summarising(10)
    with bench(model, tools=looks(300)) as run:
        after = After(run)

        def prepare(session: Session) -> None:
            after.registered(session)
            without_artifacts(run)

        key = await compacting(run, prepare)
        assert run.outcome(key) == "refused"
        assert "could not be stored" in run.detail(key)
        (ended,) = run.payloads("maintenance_ended")
        assert (ended["status"], ended["error_type"], ended["persisted"]) == ("failed", "artifact", False)
        assert (upto(run), after.told) == ([], [])
        assert ended["original_count"] == ended["new_count"]


async def test_where_the_run_depends_on_it_the_trim_goes_on_and_says_what_is_stored() -> None:
    model = summarising(16, fits=6_000)
    with bench(model, tools=looks(500)) as run:
        run.route = small_route(200_000)
        without_artifacts(run)
        await turn(run, lambda session: None, "word " * 300 + TASK)
        ended = [p for p in run.payloads("maintenance_ended") if p["trigger"] == "provider_overflow"]
        assert run.ending == "natural"
        assert [(p["action"], p["status"], p["error_type"], p["persisted"]) for p in ended] == [
            ("prune", "changed", "artifact", False)
        ]
        assert any("trim" in p["operations"] for p in run.payloads("view_changed"))
        assert views.artifacts(run.db, "s-1") == []
