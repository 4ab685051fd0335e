"""What a start leaves for later: panes that are not shown, and modules that only they need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tui.driving import opened
from tests.tui.fakes import event, running_state, screen_text

LATER = {
    "psutil",
    "geode_tui.cli.home",
    "geode_tui.cli.models",
    "geode_tui.core.strings.ko",
    "geode_tui.tui.screens.home",
    "geode_tui.tui.screens.modal",
    "geode_tui.tui.widgets.context_tab",
    "geode_tui.tui.widgets.cost_tab",
    "geode_tui.tui.widgets.events",
    "geode_tui.tui.widgets.offload_tab",
}
START = """
import sys
import geode_tui.cli.dashboard
from geode_tui.core.strings import Strings
from geode_tui.tui.app import GeodeApp
import geode_tui.tui.screens.run
Strings("en")
print(*sys.modules)
"""


def test_what_only_other_screens_and_tabs_need_is_not_loaded_for_a_run() -> None:
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "geode_tui.tui.screens.run" in loaded
    assert loaded & LATER == set()


async def test_a_pane_is_made_when_its_tab_is_first_chosen_and_only_once() -> None:
    async with opened(running_state(feed=[event(n) for n in range(1, 9)]), size=(120, 40)) as driven:
        screen = driven.screen
        assert list(screen.columns.panes) == []
        screen.conversation.focus()
        await driven.pilot.press("6")
        assert list(screen.columns.panes) == ["cost"]
        cost = screen.cost
        await driven.pilot.press("2", "6")
        assert list(screen.columns.panes) == ["cost", "events"]
        assert screen.cost is cost


async def test_a_pane_that_is_made_late_shows_the_newest_state() -> None:
    async with opened(running_state(), size=(120, 40)) as driven:
        await driven.show(running_state(feed=[event(n) for n in range(1, 9)], events=8))
        driven.screen.conversation.focus()
        await driven.pilot.press("2")
        assert driven.screen.events.has_focus
        assert len(driven.screen.events.rows) == 8


@pytest.mark.parametrize(
    ("key", "area", "named"),
    [
        ("2", "events", "enter"),
        ("3", "offloads", "enter"),
        ("4", "dreams", "enter"),
        ("5", "context", "enter"),
        ("6", "cost", "b"),
    ],
)
async def test_the_footer_names_the_keys_of_a_pane_that_was_only_just_made(key: str, area: str, named: str) -> None:
    async with opened(size=(120, 40)) as driven:
        driven.screen.conversation.focus()
        await driven.pilot.press(key)
        assert driven.screen.area == area
        assert screen_text(driven.app)[-1].split()[0] == named


async def test_three_columns_make_only_the_pane_that_stands_beside() -> None:
    async with opened(size=(200, 60)) as driven:
        assert list(driven.screen.columns.panes) == ["events"]


def test_the_rest_of_the_screens_can_be_loaded_before_it_is_asked_for() -> None:
    code = "from geode_tui.tui.app import load_others; load_others(); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name for name in LATER if name.startswith("geode_tui.tui.")} <= set(done.stdout.split())
