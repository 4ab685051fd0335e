"""Finding in a real store, and in one whose texts would drive the terminal."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from rich.cells import cell_len
from textual.pilot import Pilot

from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.core.messages import user_text
from geode_tui.core.strings import Strings
from geode_tui.core.text import Redactor
from geode_tui.log.writer import Tx
from geode_tui.paths import Project
from geode_tui.tui.app import GeodeApp
from geode_tui.tui.conversation.finding import FindState
from geode_tui.tui.glyphs import UNICODE
from tests.log.stores import answer, commit, open_writer, result
from tests.tui import hostile
from tests.tui.fakes import screen_text

ROUNDS = 150


@asynccontextmanager
async def attached(root: Path, session: str, size: tuple[int, int]) -> AsyncIterator[tuple[GeodeApp, Pilot[str]]]:
    env = Env(root, os.environ, project=Project(root))
    redact = Redactor(["hunter2-hunter2"])
    app = GeodeApp(StoreSource(env, session), Strings("en"), UNICODE, motion=False, redact=redact)
    async with app.run_test(size=size) as pilot:
        for _ in range(400):
            await pilot.pause(0.01)
            stage = app.run_screen.conversation.stage
            if stage is not None and stage.transcript.entries and not app.run_screen.conversation.busy:
                break
        yield app, pilot


async def found(app: GeodeApp, pilot: Pilot[str]) -> FindState:
    for _ in range(800):
        await pilot.pause(0.01)
        state = app.run_screen.conversation.found
        if state is not None and state.percent is None and not app.run_screen.conversation.busy:
            return state
    raise AssertionError("the search did not end")


def long_store(root: Path) -> None:
    """About a million characters: answers with the same call again and again, and its results."""
    writer = open_writer(root / ".geode" / "sessions.db")

    def work(tx: Tx) -> None:
        tx.add_message(user_text("Find the Needle"))
        for number in range(ROUNDS):
            text = f"round {number}\n\n{'a paragraph of some words. ' * 200}\n\none **nee**dle among them"
            opened, seq = tx.open_message()
            tx.complete_message(opened, seq, answer(text, f"c{number}"), "tool_use", 1)
            tx.add_message(result(f"c{number}", "hay\n" * 300 + "hunter2-hunter2"))

    commit(writer, work)
    writer.close()


async def test_a_run_of_a_million_characters_is_searched_from_its_store(tmp_path: Path) -> None:
    long_store(tmp_path)
    async with attached(tmp_path, "s-1", (80, 24)) as (app, pilot):
        await pilot.press("ctrl+f")
        app.run_screen.find.entry.value = "needle"
        assert (await found(app, pilot)).of == ROUNDS + 1
        app.run_screen.find.entry.value = "THE needle"
        state = await found(app, pilot)
        assert (state.at, state.of) == (1, 1)
        assert any("Find the Needle" in line for line in screen_text(app)), "the first round is reached"
        app.run_screen.find.entry.value = "hunter2"
        assert (await found(app, pilot)).of == 0, "what is masked cannot be asked for"
        assert app.run_screen.conversation.loaded_messages < 100
        assert len(list(app.screen.query("*"))) <= 300


async def test_what_is_found_in_hostile_texts_keeps_the_rows_aligned(tmp_path: Path) -> None:
    hostile.write(tmp_path / ".geode" / "sessions.db")
    (tmp_path / ("evil\x1b]52;c;aa\x07.md")).write_text("")
    async with attached(tmp_path, hostile.SESSION, (60, 20)) as (app, pilot):
        for keys in (
            ("ctrl+f", "한", "글"),
            ("enter", "n", "n", "J", "J", "y"),
            ("escape", "escape", "tab", "@"),
            ("/",),
        ):
            await pilot.press(*keys)
            await pilot.pause(0.05)
            lines = screen_text(app)
            assert all(cell_len(line) == 60 for line in lines)
            assert not any(ord(c) < 32 or 0x7F <= ord(c) <= 0x9F for line in lines for c in line)
        assert "\x1b" not in app.clipboard
        assert app.clipboard
