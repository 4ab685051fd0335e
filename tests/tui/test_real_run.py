"""The screen on a real run: what it showed live is what it shows to whoever comes back."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

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
