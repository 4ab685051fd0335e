"""The Events tab: follows, holds, filters, opens; rarely repaints."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from geode_tui.core.events import EventRow
from geode_tui.tui.widgets.events import EventsPane
from tests.tui.driving import Driven, opened
from tests.tui.fakes import event, running_state


def feed(first: int, last: int) -> list[EventRow]:
    return [event(n) for n in range(first, last + 1)]


@asynccontextmanager
async def on_events(rows: list[EventRow]) -> AsyncIterator[tuple[Driven, EventsPane]]:
    async with opened(running_state(feed=rows)) as driven:
        await driven.pilot.press("alt+2")
        driven.screen.events.focus()
        await driven.pilot.pause()
        yield driven, driven.screen.events


async def test_it_says_how_much_of_the_log_is_kept() -> None:
    async with on_events(feed(1, 200)) as (driven, _):
        assert driven.sees("newest 200 of 4,218")


async def test_it_follows_the_newest_until_the_cursor_moves_and_again_at_the_end() -> None:
    async with on_events(feed(1, 100)) as (driven, pane):
        assert pane.following
        await driven.pilot.press("k", "k")
        assert not pane.following
        assert driven.sees("held")
        await driven.show(running_state(feed=feed(21, 120)))
        await driven.until(lambda: pane._view.feed[-1].id == 120)
        assert pane.rows[pane._index(pane.rows)].id == 98
        await driven.pilot.press("G")
        assert pane.following
        assert pane.rows[pane._index(pane.rows)].id == 120


async def test_the_cursor_stays_in_range_when_its_event_leaves_the_list() -> None:
    async with on_events(feed(1, 50)) as (driven, pane):
        await driven.pilot.press("g")
        await driven.show(running_state(feed=feed(40, 90)))
        await driven.until(lambda: pane._view.feed[0].id == 40)
        assert pane.rows[pane._index(pane.rows)].id == 40


async def test_a_pause_holds_the_list_and_going_on_catches_up() -> None:
    async with on_events(feed(1, 30)) as (driven, pane):
        await driven.pilot.press("space")
        assert driven.sees("paused")
        await driven.show(running_state(feed=feed(1, 60)))
        assert pane._view.feed[-1].id == 30
        await driven.pilot.press("space")
        assert pane._view.feed[-1].id == 60


async def test_levels_filter_in_turn() -> None:
    rows = [event(1), event(2, "llm_call_retried", "{}"), event(3, "llm_call_failed", "{}"), event(4)]
    async with on_events(rows) as (driven, pane):
        await driven.pilot.press("l")
        assert [r.id for r in pane.rows] == [2, 3]
        await driven.pilot.press("ㅣ")
        assert [r.id for r in pane.rows] == [3]
        await driven.show(running_state(feed=[event(9)]))
        await driven.until(lambda: driven.sees("No event of this level"))
        await driven.pilot.press("l")
        assert [r.id for r in pane.rows] == [9]


async def test_enter_opens_the_payload_and_it_moves_with_the_cursor() -> None:
    rows = [event(1, "made_up", '{"alpha":1}'), event(2, "made_up", '{"beta":[2]}'), event(3, "made_up", "damaged {")]
    async with on_events(rows) as (driven, _):
        await driven.pilot.press("enter")
        await driven.pilot.pause()
        assert driven.sees("▾ made_up  id 3  turn 3  round 37")
        await driven.pilot.press("k")
        await driven.pilot.pause()
        assert driven.sees('"beta": [')
        await driven.pilot.press("enter")
        await driven.pilot.pause()
        assert not driven.sees("▾ made_up")


async def test_a_long_payload_is_cut_and_says_so() -> None:
    rows = [event(1, "made_up", '{"a":"' + "x" * 30_000 + '"}')]
    async with on_events(rows) as (driven, _):
        await driven.pilot.press("enter")
        await driven.pilot.pause()
        assert driven.sees("more lines")


async def test_states_that_come_fast_are_painted_rarely_and_the_last_one_always() -> None:
    async with on_events(feed(1, 30)) as (driven, pane):
        painted: list[int] = []
        original = pane._paint

        def counted() -> None:
            original()
            painted.append(pane._view.feed[-1].id)

        pane._paint = counted  # type: ignore[method-assign]
        for last in range(31, 60):
            await driven.show(running_state(feed=feed(1, last)))
        await driven.until(lambda: painted and painted[-1] == 59)
        assert len(painted) < 29


async def test_nothing_is_painted_while_another_tab_is_shown() -> None:
    async with opened(running_state(feed=feed(1, 30))) as driven:
        pane = driven.screen.events
        await driven.show(running_state(feed=feed(1, 60)))
        assert pane._due is None
        assert pane._view.feed == ()
        await driven.pilot.press("alt+2")
        await driven.until(lambda: pane._view.feed and pane._view.feed[-1].id == 60)


async def test_an_empty_log_says_so() -> None:
    async with on_events([]) as (driven, _):
        assert driven.sees("Nothing has happened yet.")
