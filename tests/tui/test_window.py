"""The window's upkeep as the screen shows it, and what the person asks of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from geode_tui.log.rows import PendingCommand
from geode_tui.tui.screens.run import RunScreen
from geode_tui.tui.slash import Local, Order, parse
from geode_tui.view.blocks import BlockEntry, Hidden
from geode_tui.view.state import Maintenance, Outcome, RunState, WindowNote
from tests.tui.driving import Driven, opened
from tests.tui.fakes import FIGURES, FREE, HELD, NOW, FakeSource, running_state, screen_text
from tests.tui.homes import FakeHome, at_home, fleet, make_home

PLAIN = ("compact", {"keep": 0, "focus": "", "prune": False})


def idle_state(**changes: Any) -> RunState:
    return running_state(turn_open=False, termination_reason="natural", **changes)


def orders(driven: Driven) -> list[tuple[str, dict[str, Any]]]:
    return [(kind, payload) for kind, payload, _ in driven.source.sent]


# -- what goes on -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("language", "said"), [("en", "compacting since 0:12"), ("ko", "압축 중, 0:12 지남")])
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_while_it_is_compacted_the_gauge_says_since_when(language: str, said: str, size: tuple[int, int]) -> None:
    state = running_state(maintenance=Maintenance("warning", NOW - 12))
    async with opened(state, size=size, language=language) as driven:
        assert driven.sees(said)
        await driven.show(running_state())
        assert not driven.sees(said)


async def test_the_smallest_screen_says_it_in_its_header() -> None:
    async with opened(running_state(maintenance=Maintenance("warning", NOW - 12)), size=(40, 12)) as driven:
        assert "compacting" in screen_text(driven.app)[0]


async def test_between_turns_a_clock_runs_while_it_is_compacted() -> None:
    async with opened(idle_state(maintenance=Maintenance("manual", NOW - 12)), size=(120, 40)) as driven:
        assert driven.screen._clock is not None
        assert "compacting" in screen_text(driven.app)[0]
        await driven.show(idle_state())
        assert driven.screen._clock is None


async def test_a_compaction_whose_worker_died_is_not_shown_as_going_on() -> None:
    state = running_state(maintenance=Maintenance("warning", NOW - 900))
    async with opened(state, FREE, size=(120, 40)) as driven:
        assert driven.sees("compaction interrupted")
        assert not driven.sees("compacting")
        assert driven.screen._clock is None


async def test_upkeep_that_rests_is_said_with_what_to_do() -> None:
    async with opened(running_state(maintenance_paused=1.0), size=(120, 40)) as driven:
        assert driven.sees("Compaction rests: it did not help. /compact does it by hand")


async def test_what_is_typed_while_it_is_compacted_is_queued_and_stays() -> None:
    state = running_state(maintenance=Maintenance("warning", NOW - 12))
    queued = [PendingCommand(1, "k", "submit", "and the tests", NOW, False)]
    async with opened(state) as driven:
        await driven.show(state, pending=queued)
        assert driven.sees("and the tests")
        await driven.show(
            running_state(view_version=3, context=msgspec.structs.replace(FIGURES, used=41_000)), pending=queued
        )
        assert driven.sees("and the tests")


# -- the Context tab --------------------------------------------------------------------------------------------------
ENTRIES = (
    BlockEntry(0, 1, 0, 0, "summaries", 90, "", "## Goal", state="summarised", hidden=Hidden(1, 84, 82)),
    BlockEntry(3, 85, 1, 9, "results", 9, "read_file", "src/core.py", True, "c1", "masked"),
    BlockEntry(4, 86, 1, 9, "results", 20, "grep", "x", False, "c2", "offloaded"),
    BlockEntry(5, 87, 2, 0, "user", 4, "", "go on", protected="latest_input"),
)


@pytest.mark.parametrize(
    ("language", "parts"),
    [
        ("en", ("view: version 3, warning", "82 messages, 1-84", "summarised", "masked", "offloaded", "last words")),
        ("ko", ("보기: 버전 3, 주의", "메시지 82개, 1-84", "요약", "가림", "오프로드", "마지막 말")),
    ],
)
async def test_each_block_says_how_it_is_sent(language: str, parts: tuple[str, ...]) -> None:
    state = running_state(newest_seq=87, prompt_upto=87, view_version=3, view_cause="warning")
    async with opened(state, size=(140, 40), language=language, notifications=True) as driven:
        driven.source.entries = ENTRIES
        driven.screen.choose_tab("context")
        await driven.until(lambda: driven.screen.context.rows)
        for part in parts:
            assert driven.sees(part), part
        assert driven.source.version_read == 3
        driven.screen.context.look_for("1-84")
        driven.screen.context.focus()
        await driven.pilot.press("y")
        await driven.until(lambda: driven.toasts)


async def test_another_version_of_the_view_is_read_again() -> None:
    async with opened(running_state(newest_seq=87, prompt_upto=87), size=(120, 40)) as driven:
        driven.source.entries = ENTRIES[1:]
        driven.screen.choose_tab("context")
        await driven.until(lambda: driven.screen.context.rows)
        driven.source.entries = ENTRIES
        await driven.show(running_state(newest_seq=87, prompt_upto=87, view_version=4, view_cause="undo"))
        await driven.until(lambda: driven.sees("view: version 4, undo"))
        await driven.until(lambda: driven.source.version_read == 4)


# -- commands ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/compact", Order(*PLAIN)),
        ("/compact keep 8", Order("compact", {"keep": 8, "focus": "", "prune": False})),
        ("/compact focus the parser", Order("compact", {"keep": 0, "focus": "the parser", "prune": False})),
        ("/compact keep 1000 focus a\nb", Order("compact", {"keep": 1_000, "focus": "a\nb", "prune": False})),
        ("/compact --prune", Order("compact", {"keep": 0, "focus": "", "prune": True})),
        ("/undo", Order("undo", {})),
        ("/redo", Order("redo", {})),
        ("/fork", Local("fork")),
        ("/fork 12", Local("fork", "12")),
        ("/fork 2.12", Local("fork", "2.12")),
    ],
)
def test_what_is_typed(text: str, parsed: object) -> None:
    assert parse(text) == parsed


@pytest.mark.parametrize(
    "text",
    ["/compact keep", "/compact keep 0", "/compact keep 1001", "/compact the parser", "/compact keep 5focus x",
     "/compact --prune keep 4", "/compact focus", "/fork x", "/fork 1.2.3", "/fork -1", "/compact keep ٣"],
)  # fmt: skip
async def test_what_is_not_understood_is_answered(text: str) -> None:
    async with opened(notifications=True) as driven:
        await driven.type(text)
        await driven.until(lambda: driven.toasts)
        assert driven.toasts[0].startswith(f"/{text[1:].split()[0]} takes")
        assert orders(driven) == []
        assert driven.screen.composer.entry.text == text


async def test_a_run_that_goes_on_takes_it_up_at_the_next_round() -> None:
    async with opened(notifications=True) as driven:
        await driven.type("/compact --prune")
        await driven.until(lambda: driven.toasts)
        assert orders(driven) == [("compact", {"keep": 0, "focus": "", "prune": True})]
        assert driven.toasts == ["compaction: takes effect at the next round boundary."]


async def test_what_waits_for_the_next_round_is_shown_until_it_comes() -> None:
    waits = [PendingCommand(1, "k", "compact", "", NOW, False)]
    async with opened() as driven:
        await driven.show(running_state(), pending=waits)
        assert any("compaction" in line and "at the next round boundary" in line for line in screen_text(driven.app))
        await driven.show(running_state())
        assert not driven.sees("at the next round boundary")


@pytest.mark.parametrize("text", ["/undo", "/redo", "/compact --prune"])
async def test_between_turns_nothing_has_to_be_waited_for(text: str) -> None:
    async with opened(idle_state(), notifications=True) as driven:
        await driven.type(text)
        await driven.until(lambda: driven.source.sent)
        await driven.pilot.pause()
        assert driven.toasts == []


async def test_what_came_of_it_is_said() -> None:
    async with opened(idle_state(), notifications=True) as driven:
        await driven.type("/undo")
        await driven.until(lambda: driven.source.sent)
        done = Outcome(1, driven.source.sent[0][2], "undo", "done", "version 4")
        note = WindowNote(9, "undone", 41_000, 143_000, versions=(3,))
        await driven.show(idle_state(outcomes=[done], window_notes=[note]))
        assert driven.toasts == ["undo: version 3 taken back, 41.0k ⇢ 143.0k"]
        await driven.type("/redo")
        await driven.until(lambda: len(driven.source.sent) == 2)
        refused = Outcome(2, driven.source.sent[1][2], "redo", "refused", "there is nothing to redo")
        await driven.show(idle_state(outcomes=[done, refused], window_notes=[note]))
        assert driven.toasts[1:] == ["redo refused. there is nothing to redo"]


# -- keys and the palette ----------------------------------------------------------------------------------------------
async def test_where_something_is_written_it_is_a_letter() -> None:
    async with opened(idle_state()) as driven:
        await driven.pilot.press("c", "c")
        assert driven.screen.composer.entry.text == "cc"
        assert orders(driven) == []


async def test_the_palette_names_undo() -> None:
    async with opened(idle_state()) as driven:
        await driven.pilot.press("ctrl+p", *"take back", "enter")
        await driven.until(lambda: driven.source.sent)
        assert orders(driven) == [("undo", {})]


# -- forking ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("text", "place"), [("/fork", (0, 0)), ("/fork 12", (0, 12)), ("/fork 2.12", (2, 12))])
async def test_a_fork_is_opened_in_the_place_of_its_parent(text: str, place: tuple[int, int]) -> None:
    async with opened(idle_state()) as driven:
        parent = driven.screen
        await driven.type(text)
        await driven.until(lambda: driven.app.run_screen is not parent and driven.sees("Fork of it"))
        assert driven.source.forked == [place]
        assert driven.screen.source.session_id == "s-2"
        assert not parent.is_running


async def test_a_fork_that_could_not_be_made_says_why() -> None:
    async with opened(idle_state(), notifications=True) as driven:
        parent = driven.screen
        driven.source.fails = "no round of s-1 has ended: there is nothing to begin with"
        await driven.type("/fork")
        await driven.until(lambda: len(driven.toasts) == 2)
        assert driven.toasts[1] == driven.source.fails
        assert driven.app.run_screen is parent


@pytest.mark.parametrize("first", ["run", "home"])
async def test_from_a_fork_one_goes_home_as_from_any_run(first: str) -> None:
    if first == "run":
        run, home = FakeSource(idle_state(), HELD), FakeHome(fleet())
        app = make_home(home, run=run)
        async with app.run_test(size=(120, 40)) as pilot:
            driven = Driven(app, pilot, run)
            await driven.until(lambda: app.run_screen.newest is not None)
            await _fork_and_leave(driven)
        return
    async with at_home() as opened_home:
        await opened_home.press("down", "enter")
        await opened_home.run()
        await _fork_and_leave(Driven(opened_home.app, opened_home.pilot, opened_home.source.sources[-1]))


async def _fork_and_leave(driven: Driven) -> None:
    for _ in range(2):
        await _fork_once(driven, driven.screen)
    driven.screen.action_home()
    await driven.until(lambda: driven.app.shown is driven.app._home)
    assert len(driven.app.screen_stack) == 1


async def _fork_once(driven: Driven, left: RunScreen) -> None:
    await driven.type("/fork")
    await driven.until(lambda: driven.screen is not left and driven.screen.newest is not None)
    await driven.pilot.pause()


async def test_what_lies_over_the_run_goes_with_it() -> None:
    async with opened(idle_state()) as driven:
        parent = driven.screen
        driven.screen.action_help()
        await driven.until(lambda: driven.app.screen is not parent)
        driven.screen.fork("")
        await driven.until(lambda: driven.app.run_screen is not parent and driven.app.screen is driven.screen)
