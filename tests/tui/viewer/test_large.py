"""A result of 100 MB in the real screen: it opens at once, and every part of it is reached. Figures are printed."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from textual import events

from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.core.strings import Strings
from geode_tui.log import offloads
from geode_tui.paths import Project
from geode_tui.tui.app import GeodeApp, load_others
from geode_tui.tui.glyphs import UNICODE
from geode_tui.tui.viewer.viewer import Page
from tests.log.stores import NOW, SESSION, facts, open_writer
from tests.tui.fakes import screen_text

MB = 1_000_000
NAMES = {"/": "slash", ":": "colon", " ": "space"}
"""Keys whose names are others than what they type."""


def text_of(lines: str, size: int) -> str:
    return lines * (size // len(lines.encode()))


def store(root: Path) -> Project:
    project = Project(root)
    project.geode.mkdir(mode=0o700)
    facts(open_writer(project.store), 3)
    lines = text_of('a line of output, with 한국어 and "quotes" in it\n', 99 * MB)
    offloads.keep(project.geode, SESSION, "call_lines", f"{lines}the needle\n{lines[: MB // 2]}", now=NOW + 2)
    offloads.keep(project.geode, SESSION, "call_long", "x" * 10 * MB + " tail\n", now=NOW + 1)
    return project


@pytest.mark.long
async def test_a_result_of_100_mb_is_looked_at_by_pieces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = store(tmp_path)
    source = StoreSource(Env(tmp_path, os.environ, project=project), SESSION)
    app = GeodeApp(source, Strings("en"), UNICODE, motion=False)
    memory = psutil.Process()
    told: list[str] = []

    async with app.run_test(size=(120, 40)) as pilot:

        async def reach(label: str, what: Callable[[], object], *keys: str) -> None:
            began = time.perf_counter()
            for key in keys:
                app.post_message(events.Key(NAMES.get(key, key), key if len(key) == 1 else None))
            while not what():
                assert time.perf_counter() - began < 60, label
                await asyncio.sleep(0.002)
            took = (time.perf_counter() - began) * 1_000
            told.append(f"{label:<34} {took:8.1f} ms   RSS + {(memory.memory_info().rss - idle) / MB:6.1f} MB")

        def sees(text: str) -> bool:
            return any(text in line for line in screen_text(app))

        await pilot.pause()
        screen = app.run_screen
        screen.conversation.focus()
        load_others()
        idle = memory.memory_info().rss
        await reach("first page of 100 MB", lambda: sees("a line of output"), "3")
        pane = screen.offloads

        def at(what: Callable[[Page], object]) -> Callable[[], object]:
            return lambda: pane.page is not None and what(pane.page)

        await reach("into it", lambda: pane.part == "view", "enter")
        await reach("a page, while lines are counted", at(lambda page: page.at != 1), "pagedown")
        await reach("all lines counted", at(lambda page: page.of is not None))
        await reach("to the end", at(lambda page: page.at == page.of), "G")
        await reach("a page back", at(lambda page: page.at != page.of), "pageup")
        await reach("to the beginning", at(lambda page: page.at == 1), "g")
        await reach("found at 99 MB", lambda: sees("/the needle  1 of 1"), "/", *"the needle", "enter")
        await reach("as hexadecimal", at(lambda page: page.shape == "hex"), "t")
        await reach("byte 90,000,000", lambda: sees("byte 90,000,000 of"), ":", *"90000000", "enter")
        await reach("first page of a line of 10 MB", lambda: sees("xxxxxxxxxx"), "escape", "escape", "j")
        await reach("its end, found", lambda: sees("x tail"), "enter", "/", *"tail", "enter")
        await reach("wrapped", at(lambda page: page.wrapped), "w")
        await reach("a page back", at(lambda page: page.at is not None), "pageup")
    with capsys.disabled():
        print("\n" + "\n".join(told))
