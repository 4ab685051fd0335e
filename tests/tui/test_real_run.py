"""The screen on a real run: what it showed live is what it shows to whoever comes back."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.core.limits import RunOptions
from geode_tui.core.strings import Strings
from geode_tui.tui.app import GeodeApp
from geode_tui.tui.glyphs import UNICODE
from tests.tui.fakes import screen_text

SESSION = "s-real"
PATIENCE = 1_500
_FIGURES = re.compile(r"[$~+]?\d[\d.,:]*(?:[kM%]| %)?")


def make(env: Env, *, new: bool) -> GeodeApp:
    options = RunOptions(provider="offline", model="offline-planner", approve="reads") if new else None
    return GeodeApp(StoreSource(env, SESSION, options), Strings("en"), UNICODE, motion=False)


async def ended(app: GeodeApp) -> bool:
    newest = app.run_screen.newest
    return newest is not None and newest.state.termination_reason == "natural" and newest.liveness.state == "held"


def figures(app: GeodeApp) -> list[list[str]]:
    """Every figure on screen, row by row."""
    return [_FIGURES.findall(line) for line in screen_text(app)]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_every_figure_of_a_live_run_is_read_back_by_attaching_to_it_again(
    project: Path, size: tuple[int, int]
) -> None:
    for number in range(12):
        (project / f"module_{number}.py").write_text(f"def part_{number}():\n    return {number}\n" * 40)
    (project / "README.md").write_text("# A project\n\nIt has parts.\n")
    env = Env(project, os.environ)

    live = make(env, new=True)
    async with live.run_test(size=size) as pilot:
        live.run_screen.composer.entry.insert("survey this project for 8 rounds")
        await pilot.press("enter")
        for _ in range(PATIENCE):
            await pilot.pause(0.02)
            if await ended(live):
                break
        assert await ended(live)
        await asyncio.sleep(0.3)
        await pilot.pause()
        shown, text = figures(live), screen_text(live)

    again = make(env, new=False)
    async with again.run_test(size=size) as pilot:
        for _ in range(PATIENCE):
            await pilot.pause(0.02)
            if await ended(again) and not again.run_screen.conversation.busy and figures(again) == shown:
                break
        assert screen_text(again) == text
        assert figures(again) == shown
    assert sum(map(len, shown)) > 20


async def test_what_is_done_to_the_context_by_hand_shows_where_it_happened_now_and_later(project: Path) -> None:
    for number in range(6):
        (project / f"module_{number}.py").write_text(f"def part_{number}():\n    return {number}\n" * 200)
    env = Env(project, os.environ)

    live = make(env, new=True)
    async with live.run_test(size=(120, 40)) as pilot:
        await ask(live, pilot, "survey this project for 6 rounds", lambda: ended(live))
        await ask(live, pilot, "/compact keep 2", lambda: says(live, "✎ Summarised"))
        await pilot.press("enter")
        await until(pilot, lambda: says(live, "✎ context compacted  by you "))
        compacted = live.run_screen.newest
        await ask(live, pilot, "/undo", lambda: says(live, "↺ undo: version 1 taken back, "))
        await ask(live, pilot, "/redo", lambda: says(live, "⇢ redo: "))
        redone = live.run_screen.newest
        assert compacted is not None
        assert redone is not None
        assert compacted.state.context == redone.state.context
        live.clear_notifications()
        text = await at_rest(live, pilot)

    again = make(env, new=False)
    async with again.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: says(again, "⇢ redo: "))
        assert await at_rest(again, pilot) == text
        conversation = again.run_screen.conversation
        conversation.focus()
        await pilot.press("G", *["left_square_bracket"] * 2, "enter")
        opening = again.run_screen.source.summary(1).split("\n")[0].strip("# ")
        await until(pilot, lambda: says(again, "▾ ✎ context compacted"))
        await until(pilot, lambda: says(again, opening))
        again.run_screen.composer.entry.focus()
        await ask(again, pilot, "/fork 2", lambda: says(again, f"⇢ forked from {SESSION}"))
        forked = again.run_screen
        assert forked.source.session_id != SESSION
        await ask(again, pilot, "survey this project for 2 rounds", lambda: ended(again))
        assert forked.newest is not None
        assert forked.newest.state.turn == 2


async def ask(app: GeodeApp, pilot: Pilot[str], text: str, done: Callable[[], Awaitable[bool]]) -> None:
    app.run_screen.composer.entry.insert(text)
    await pilot.press("enter")
    await until(pilot, done)


async def until(pilot: Pilot[str], done: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(PATIENCE):
        if await done():
            return
        await pilot.pause(0.02)
    raise AssertionError("it did not come to pass:\n" + "\n".join(screen_text(pilot.app)))  # type: ignore[arg-type]


async def says(app: GeodeApp, text: str) -> bool:
    return any(text in line for line in screen_text(app))


async def at_rest(app: GeodeApp, pilot: Pilot[str]) -> list[str]:
    """The screen once it does not change any more."""
    seen: list[list[str]] = []
    while len(seen) < 3 or any(each != seen[-1] for each in seen[-3:]):
        await pilot.pause(0.2)
        seen.append(screen_text(app))
    return seen[-1]
