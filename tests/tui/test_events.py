"""The Events tab: follows, holds, filters, opens, goes back to the first event; rarely repaints."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.events import Key, MouseScrollUp

from geode_tui.core.events import EventRow
from geode_tui.tui import event_window
from geode_tui.tui.screens.modal import ReadScreen
from geode_tui.tui.screens.names import NamesScreen
from geode_tui.tui.widgets.events import EventsPane
from geode_tui.view.follow import Index
from geode_tui.view.state import NEWEST
from tests.tui.driving import Driven, opened
from tests.tui.fakes import event, running_state, screen_text

BOUND = 600


@pytest.fixture(autouse=True)
def _small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_window, "MOST", BOUND)


def feed(first: int, last: int) -> list[EventRow]:
    return [event(n) for n in range(first, last + 1)]


@asynccontextmanager
async def on_events(
    rows: list[EventRow], log: list[EventRow] | None = None, **options: Any
) -> AsyncIterator[tuple[Driven, EventsPane]]:
    """The tab on a run whose newest events are ``rows``; ``log`` is all of them, where there are more."""
    total = len(log if log is not None else rows)
    async with opened(running_state(feed=rows, events=total), **options) as driven:
        driven.source.log = rows if log is None else log
        await driven.pilot.press("alt+2")
        driven.screen.events.focus()
        await driven.pilot.pause()
        yield driven, driven.screen.events


@asynccontextmanager
async def on_long_log(count: int, **options: Any) -> AsyncIterator[tuple[Driven, EventsPane]]:
    log = feed(1, count)
    async with on_events(log[-NEWEST:], log, **options) as (driven, pane):
        yield driven, pane


def cursor(pane: EventsPane) -> int:
    assert pane.current is not None
    return pane.current.id


async def test_it_says_how_many_events_there_are() -> None:
    async with on_long_log(1_234) as (driven, _):
        assert driven.sees("Events 1,234  following")


async def test_it_follows_the_newest_until_the_cursor_moves_and_again_at_the_end() -> None:
    async with on_events(feed(1, 100)) as (driven, pane):
        assert pane.following
        await driven.pilot.press("k", "k")
        assert not pane.following
        assert driven.sees("held")
        await driven.show(running_state(feed=feed(21, 120), events=120))
        await driven.until(lambda: pane.view.newest == 120)
        assert cursor(pane) == 98
        await driven.pilot.press("G")
        assert pane.following
        assert cursor(pane) == 120


async def walk(driven: Driven, pane: EventsPane, pages: int) -> None:
    """Go on by so many pages, each read before the next."""
    for _ in range(abs(pages)):
        pane.action_page(1 if pages > 0 else -1)
        await driven.until(lambda: not pane.reading)


async def test_the_rows_above_are_read_as_far_as_the_first_and_let_go_again() -> None:
    async with on_long_log(2_000) as (driven, pane):
        await walk(driven, pane, -70)
        assert cursor(pane) < 2_000 - BOUND
        assert len(pane.rows) <= BOUND
        await driven.pilot.press("home")
        await driven.until(lambda: not pane.reading and pane.current is not None)
        assert cursor(pane) == 1
        await walk(driven, pane, 70)
        assert cursor(pane) > BOUND
        ids = [row.id for row in pane.rows]
        assert ids == list(range(ids[0], ids[-1] + 1))
        assert len(ids) <= BOUND
        await driven.pilot.press("G")
        assert cursor(pane) == 2_000


async def test_a_held_cursor_stays_while_more_come_than_are_kept() -> None:
    async with on_events(feed(1, 50)) as (driven, pane):
        driven.source.log = feed(1, 500)
        await driven.pilot.press("k", "k", "k")
        await driven.show(running_state(feed=feed(301, 500), events=500))
        await driven.until(lambda: pane.view.newest == 500 and not pane.reading)
        assert cursor(pane) == 47
        await walk(driven, pane, 40)
        assert cursor(pane) == 500
        assert pane.following


async def test_a_pause_holds_the_list_and_going_on_catches_up() -> None:
    async with on_events(feed(1, 30)) as (driven, pane):
        await driven.pilot.press("space")
        assert driven.sees("paused")
        await driven.show(running_state(feed=feed(1, 60), events=60))
        assert cursor(pane) == 30
        await driven.pilot.press("space")
        assert cursor(pane) == 60


async def test_levels_filter_in_turn() -> None:
    rows = [event(1), event(2, "llm_call_retried", "{}"), event(3, "llm_call_failed", "{}"), event(4)]
    async with on_events(rows) as (driven, pane):
        await driven.pilot.press("l")
        assert [r.id for r in pane.rows] == [2, 3]
        await driven.pilot.press("ㅣ")
        assert [r.id for r in pane.rows] == [3]
        await driven.pilot.press("l")
        assert [r.id for r in pane.rows] == [1, 2, 3, 4]


async def test_a_filter_that_nothing_passes_says_so_and_reaches_the_whole_log() -> None:
    log = [event(1, "llm_call_failed", "{}"), *feed(2, 3_000)]
    async with on_events(log[-NEWEST:], log) as (driven, pane):
        await driven.pilot.press("l", "l")
        await driven.until(lambda: not pane.reading)
        assert [r.id for r in pane.rows] == [1]
        await driven.pilot.press("slash", *"absent")
        await driven.until(lambda: driven.sees("No event passes the filter"))


async def test_a_search_narrows_while_one_types_and_esc_ends_it() -> None:
    log = [event(n, "made_up", f'{{"path":"src/{n}.py"}}') for n in range(1, 1_001)]
    async with on_events(log[-NEWEST:], log) as (driven, pane):
        await driven.pilot.press("slash", *"SRC/77")
        await driven.until(lambda: not pane.reading and len(pane.rows) == 11)
        assert [r.id for r in pane.rows] == [77, *range(770, 780)]
        await driven.pilot.press("enter", "k")
        assert cursor(pane) == 778
        assert not pane.field.display
        assert driven.sees("/ SRC/77")
        await driven.pilot.press("slash")
        assert pane.field.entry.value == "SRC/77"
        await driven.pilot.press("enter", "escape")
        await driven.until(lambda: not pane.reading)
        assert driven.sees("/ name or text")
        assert cursor(pane) == 778


async def test_names_are_chosen_from_a_list_with_their_counts() -> None:
    log = [event(n, "often" if n % 5 else "seldom", "{}") for n in range(1, 501)]
    async with on_events(log[-NEWEST:], log, size=(120, 40)) as (driven, pane):
        await driven.pilot.press("n")
        await driven.until(lambda: isinstance(driven.app.screen, NamesScreen))
        await driven.pilot.pause()
        assert any("often" in line and "400" in line for line in screen_text(driven.app))
        await driven.pilot.press("space", "escape")
        await driven.until(lambda: not pane.reading)
        assert {r.event for r in pane.rows} == {"seldom"}
        assert driven.sees("hidden: often")
        await driven.pilot.press("n")
        await driven.until(lambda: isinstance(driven.app.screen, NamesScreen))
        await driven.pilot.press("a", "enter")
        await driven.until(lambda: {r.event for r in pane.rows} == {"often", "seldom"})


@pytest.mark.parametrize(("typed", "lands"), [("700", 700), ("#1,200", 1_200), ("r7", 601), ("t1r3", 201)])
async def test_a_jump_goes_to_an_event_or_a_round_anywhere_in_the_log(typed: str, lands: int) -> None:
    log = [EventRow(n, 0.0, 1, (n - 1) // 100 + 1, "made_up", "{}") for n in range(1, 2_001)]
    async with on_events(log[-NEWEST:], log) as (driven, pane):
        await driven.pilot.press("g", *typed, "enter")
        await driven.until(lambda: pane.current is not None and pane.current.id == lands and not pane.reading)
        assert pane.rows[0].id < lands < pane.rows[-1].id
        assert pane.has_focus


async def test_a_jump_to_nowhere_says_so() -> None:
    async with on_events(feed(1, 20), notifications=True) as (driven, pane):
        await driven.pilot.press("g", *"r99", "enter")
        await driven.until(lambda: "There is no round 99 in turn 3." in driven.toasts)
        assert cursor(pane) == 20
        await driven.pilot.press("g", *"what", "enter")
        await driven.until(lambda: any("Not understood" in toast for toast in driven.toasts))
        assert pane.field.typing


async def test_enter_opens_the_payload_and_it_moves_with_the_cursor() -> None:
    rows = [event(1, "made_up", '{"alpha":1}'), event(2, "made_up", '{"beta":[2]}'), event(3, "made_up", "damaged {")]
    async with on_events(rows) as (driven, _):
        await driven.pilot.press("enter")
        await driven.pilot.pause()
        assert driven.sees("▾ made_up  id 3  session s-1  turn 3  round 37")
        await driven.pilot.press("k")
        await driven.pilot.pause()
        assert driven.sees('"beta": [')
        await driven.pilot.press("enter")
        await driven.pilot.pause()
        assert not driven.sees("▾ made_up")


async def test_a_long_payload_is_cut_and_viewed_whole() -> None:
    rows = [event(1, "made_up", '{"a":"' + "x" * 30_000 + '"}')]
    async with on_events(rows) as (driven, _):
        await driven.pilot.press("enter")
        await driven.pilot.pause()
        assert driven.sees("more below: v views all")
        await driven.pilot.press("v")
        await driven.until(lambda: isinstance(driven.app.screen, ReadScreen))


async def test_m_shows_the_message_that_the_event_is_about() -> None:
    rows = [event(1, "message_completed", '{"message_id":40,"seq":40}'), event(2, "made_up", "{}")]
    async with on_events(rows) as (driven, _):
        added = [driven.source.add_message(n, f"answer number {n}\n" + "more\n" * 20) for n in range(1, 81)]
        await driven.show(running_state(feed=rows, events=2), ops=[Index(tuple(added))])
        await driven.pilot.press("k", "m")
        await driven.until(lambda: driven.sees("answer number 40"))
        assert driven.screen.conversation.has_focus


async def test_what_is_copied_or_exported_is_told_and_secrets_are_masked() -> None:
    rows = [event(1, "made_up", '{"key":"hunter2hunter2"}')]
    async with on_events(rows, notifications=True) as (driven, _):
        await driven.pilot.press("y")
        assert driven.app.clipboard == '{\n  "key": "[redacted]"\n}'
        await driven.pilot.press("e")
        await driven.until(lambda: "1 events exported to /tmp/x.jsonl" in driven.toasts)
        driven.source.fails = "the disk is full"
        await driven.pilot.press("e")
        await driven.until(lambda: "the disk is full" in driven.toasts)


async def test_a_log_that_cannot_be_read_is_told_and_tried_again_by_a_key() -> None:
    async with on_long_log(1_000) as (driven, pane):
        driven.source.fails = "the store is locked by 4711"
        await driven.pilot.press("home")
        await driven.until(lambda: driven.sees("the store is locked by 4711"))
        driven.source.fails = ""
        await driven.pilot.press("home")
        await driven.until(lambda: pane.current is not None and pane.current.id == 1)


async def test_clicks_select_open_and_filter_and_the_wheel_moves() -> None:
    rows = [event(1), event(2, "llm_call_failed", "{}"), event(3)]
    async with on_events(rows) as (driven, pane):
        await driven.pilot.click(pane, offset=(10, 5))
        assert cursor(pane) == 2
        await driven.pilot.click(pane, offset=(10, 5))
        assert pane.opened
        await driven.pilot._post_mouse_events([MouseScrollUp], widget=pane, offset=(10, 5), button=0)
        assert cursor(pane) == 1
        await driven.pilot.click(pane, offset=(60, 0))
        assert pane.filter.floor == "warning"
        await driven.pilot.click(pane, offset=(4, 1))
        assert pane.field.typing


async def test_the_palette_reaches_the_tab_from_anywhere() -> None:
    async with opened(running_state(feed=feed(1, 30))) as driven:
        await driven.pilot.press("ctrl+p", *"pause the events", "enter")
        await driven.until(lambda: driven.screen.events.paused)
        assert driven.screen.tab == "events"


async def test_the_palette_asks_what_to_search_for() -> None:
    async with on_events(feed(1, 9)) as (driven, pane):
        await driven.pilot.press("ctrl+p", *"search events", "enter")
        await driven.until(lambda: pane.field.typing)


async def test_states_that_come_fast_are_painted_rarely_and_the_last_one_always() -> None:
    async with on_events(feed(1, 30)) as (driven, pane):
        painted: list[int] = []
        original = pane._paint

        def counted() -> None:
            original()
            painted.append(pane.view.newest)

        pane._paint = counted  # type: ignore[method-assign]
        for last in range(31, 60):
            await driven.show(running_state(feed=feed(1, last), events=last))
        await driven.until(lambda: painted and painted[-1] == 59)
        assert len(painted) < 29


async def test_nothing_is_painted_while_another_tab_is_shown() -> None:
    async with opened(running_state(feed=feed(1, 30))) as driven:
        pane = driven.screen.events
        await driven.show(running_state(feed=feed(1, 60)))
        assert pane._due is None
        assert not pane.rows
        await driven.pilot.press("alt+2")
        await driven.until(lambda: pane.view.newest == 60)


async def test_an_empty_log_says_so() -> None:
    async with on_events([]) as (driven, _):
        assert driven.sees("Nothing has happened yet.")


async def test_what_is_typed_in_one_go_with_the_key_that_asks_goes_into_the_field() -> None:
    rows = [event(n, "made_up", f'{{"text":"grepe {n}"}}') for n in range(1, 31)]
    async with on_events(rows) as (driven, pane):
        for key in ("slash", *"grepe 1", "enter"):
            driven.app.post_message(Key(key, {"slash": "/", "enter": None}.get(key, key)))
        await driven.until(lambda: len(pane.rows) == 11)
        assert pane.filter.text == "grepe 1"
        await driven.until(lambda: not pane.field.purpose)
        assert not driven.toasts


async def test_a_click_on_the_list_leaves_the_field() -> None:
    async with on_events(feed(1, 30)) as (driven, pane):
        await driven.pilot.press("g", "7")
        await driven.pilot.click(pane, offset=(10, 6))
        await driven.until(lambda: pane.has_focus)
        assert not pane.field.display
        await driven.pilot.press("space")
        assert pane.paused
