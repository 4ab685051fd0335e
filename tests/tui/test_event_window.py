"""The rows the Events tab holds: without gaps, bounded, and the filter as the store applies it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.events import EventRow
from geode_tui.log.browse import EventPage
from geode_tui.tui import event_window
from geode_tui.tui.event_window import MOST, EventFilter, Goal, Window, goal_of
from geode_tui.view.event_line import event_level

ALL = EventFilter()
EVENTS = [
    ("message_opened", "{}"),
    ("llm_call_failed", "{}"),
    ("llm_call_retry", "{}"),
    ("cost_warning", "{}"),
    ("tool_exec_ended", '{"has_error":true}'),
    ("tool_exec_end", '{"has_error":true}'),
    ("tool_exec_ended", '{"has_error":false}'),
    ("turn_complete", '{"termination_reason":"max_rounds"}'),
    ("command_finished", '{"outcome":"refused"}'),
    ("made_up", "damaged"),
]


def rows(first: int, last: int) -> tuple[EventRow, ...]:
    return tuple(EventRow(n, 0.0, 1, 1, *EVENTS[n % len(EVENTS)]) for n in range(first, last + 1))


@pytest.mark.parametrize(("event", "payload"), EVENTS)
@pytest.mark.parametrize("floor", ["warning", "error"])
def test_the_names_that_the_store_is_asked_for_hold_every_event_of_the_level(
    event: str, payload: str, floor: event_window.Floor
) -> None:
    level = event_level(event, payload)
    admitted = level == "error" or (floor == "warning" and level == "warning")
    assert EventFilter(floor).admits(EventRow(1, 0.0, 1, 1, event, payload)) == admitted


FLOORS = st.sampled_from(event_window.FLOORS)
STEPS = st.lists(st.tuples(st.sampled_from(["feed", "follow", "older", "newer"]), st.integers(1, 60)), max_size=30)


@given(floor=FLOORS, steps=STEPS)
def test_a_window_never_has_a_gap_and_never_more_than_its_bound(
    floor: event_window.Floor, steps: list[tuple[str, int]]
) -> None:
    wanted, last = EventFilter(floor), 300
    window = Window.of_feed(rows(281, 300), 300, wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_window, "MOST", 50)
        for kind, count in steps:
            if kind in {"feed", "follow"}:
                last += count
                feed = rows(max(1, last - 39), last)
                window = window.with_feed(feed, last, wanted, follow=kind == "follow")
            elif kind == "older" and not window.whole:
                first = max(1, window.low - count)
                window = window.with_older(EventPage(rows(first, window.low - 1), first, first - 1), wanted)
            elif kind == "newer" and window.high < last:
                end = min(last, window.high + count)
                window = window.with_newer(EventPage(rows(window.high + 1, end), end, last - end), wanted)
            assert window.rows == tuple(r for r in rows(window.low, window.high) if wanted.admits(r))
            assert len(window.rows) <= 50
            assert window.whole <= (window.low == 1)


def test_a_window_far_behind_follows_only_when_told_to() -> None:
    window = Window.of_feed(rows(1, 20), 20, ALL)
    assert window.with_feed(rows(301, 500), 500, ALL, follow=False) is window
    assert window.with_feed(rows(301, 500), 500, ALL, follow=True).rows == rows(301, 500)


def test_the_bound_is_far_above_what_a_screen_shows() -> None:
    assert MOST >= 1_000


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("4209", Goal(4209)),
        (" #4,209 ", Goal(4209)),
        ("r36", Goal(round=36)),
        ("T3", Goal(turn=3)),
        ("t3 r36", Goal(turn=3, round=36)),
        ("t3r36", Goal(turn=3, round=36)),
        ("", None),
        ("36r", None),
        ("t", None),
        ("9" * 40, None),
    ],
)
def test_where_a_jump_goes(text: str, goal: Goal | None) -> None:
    assert goal_of(text) == goal
