"""A run of a million characters on screen: few widgets whatever is opened, and every part of it can be reached."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.core import events as ev
from geode_tui.core.limits import Limits
from geode_tui.core.messages import user_text
from geode_tui.core.strings import Strings
from geode_tui.log.rows import ResultMeta
from geode_tui.log.store import connect
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Tx
from geode_tui.paths import Project
from geode_tui.tui.app import GeodeApp
from geode_tui.tui.glyphs import UNICODE
from tests.log.stores import answer, open_writer, result
from tests.tui.fakes import screen_text

ROUNDS = 40
MOST_WIDGETS = 300
"""PERFORMANCE.md, D2."""
SESSION = "s-1"


def long_store(root: Path) -> None:
    """About a million characters in forty rounds, the last of which waits for an answer."""
    writer = open_writer(root / ".geode" / "sessions.db", SESSION)

    def write(round_: int) -> None:
        def work(tx: Tx) -> None:
            if round_ == 1:
                tx.event(ev.SessionStarted(SESSION, "m", "anthropic", "payg", False, os.getpid(), 1, "ask", Limits()))
                number, seq = tx.add_message(user_text("Go through all of it"))
                tx.event(ev.UserInputReceived(SESSION, "t", seq, number, 20, "user_input"))
            paragraphs = "\n\n".join(f"round {round_} part {part} {'of some words ' * 60}" for part in range(25))
            number, seq = tx.open_message()
            tx.complete_message(number, seq, answer(paragraphs, f"c{round_}"), "tool_use", 1)
            if round_ < ROUNDS:
                tx.add_message(result(f"c{round_}", f"output {round_}\n" * 400), ResultMeta("exit 0", 5, 5))
            else:
                tx.event(ev.ToolApprovalRequested("a1", f"c{round_}", "run_shell", "execute", "pytest", seq, "asks"))

        writer.write(work, now=1_790_000_000.0 + round_, turn=1, round_=round_)

    for round_ in range(1, ROUNDS + 1):
        write(round_)
    writer.close()


@asynccontextmanager
async def attached(root: Path, size: tuple[int, int]) -> AsyncIterator[tuple[GeodeApp, Pilot[str]]]:
    app = GeodeApp(
        StoreSource(Env(root, os.environ, project=Project(root)), SESSION), Strings("en"), UNICODE, motion=False
    )
    async with app.run_test(size=size) as pilot:
        await rest(app, pilot)
        yield app, pilot


async def rest(app: GeodeApp, pilot: Pilot[str]) -> None:
    """Wait until everything in view is loaded and drawn."""
    for _ in range(1_000):
        await pilot.pause(0.01)
        stage = app.run_screen.conversation.stage
        if stage is not None and stage.transcript.entries and not app.run_screen.conversation.busy:
            return
    raise AssertionError("the conversation did not come to rest")


def mounted(app: GeodeApp) -> int:
    """Widgets that are mounted, on every screen that is open."""
    return sum(1 + len(list(screen.query("*"))) for screen in app.screen_stack)


def in_tabs(app: GeodeApp) -> int:
    """Widgets of the tabs that were made: they stay."""
    return sum(1 + len(pane.query("*")) for pane in app.run_screen.columns.panes.values())


def words_on(app: GeodeApp) -> list[str]:
    """The words of the conversation that are in view, line by line, without its first row and short lines."""
    view = app.run_screen.conversation
    rows = screen_text(app)[view.region.y + 1 : view.region.bottom]
    lines = ["".join(row[view.region.x : view.region.right - 2].split()) for row in rows]
    return [line for line in lines if len(line) > 40]


async def test_few_widgets_are_mounted_whatever_is_opened(tmp_path: Path) -> None:
    long_store(tmp_path)
    async with attached(tmp_path, (200, 60)) as (app, pilot):
        at_rest = most = mounted(app)
        without_tabs = at_rest - in_tabs(app)
        for keys in (
            ("alt+1",), ("tab", "g"), ("enter",), ("{", "enter"), ("G",), ("alt+2",), ("enter",), ("g",), ("G",),
            ("ctrl+f", "p", "a", "r", "t"), ("enter", "enter"), ("escape",), ("ctrl+g",), ("v",), ("ctrl+p",),
            ("escape",), ("f1",), ("escape",), ("ctrl+l",), ("alt+4",), ("alt+5",), ("s",), ("G",), ("alt+6",), ("r",),
            ("m",), ("f3",), ("escape",),
        ):  # fmt: skip
            await pilot.press(*("left_curly_bracket" if key == "{" else key for key in keys))
            await pilot.pause(0.05)
            most = max(most, mounted(app))
        for size in ((120, 40), (80, 24), (40, 12), (200, 60)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            most = max(most, mounted(app))
        while len(app.screen_stack) > 1:
            app.pop_screen()
        await pilot.pause()
        assert at_rest <= most <= MOST_WIDGETS
        assert mounted(app) - in_tabs(app) <= without_tabs, "what was opened is gone again"


async def test_the_first_round_is_reached_by_its_key_and_what_is_shown_is_what_is_stored(tmp_path: Path) -> None:
    long_store(tmp_path)
    db = connect(tmp_path / ".geode" / "sessions.db")
    stored = Transcript(db, tmp_path / ".geode").messages(SESSION)
    said = ["".join(m.message.text.split()) for m in stored if m.row.role != "tool"]
    db.close()
    assert sum(map(len, said)) > 600_000, "without its spaces and results"
    async with attached(tmp_path, (100, 60)) as (app, pilot):
        view = app.run_screen.conversation
        view.focus()
        places = {"end": said[-1]}
        shown = {"end": words_on(app)}
        for presses in range(1, 2 * ROUNDS):
            await pilot.press("left_curly_bracket")
            await rest(app, pilot)
            if presses == ROUNDS // 2:
                places["middle"], shown["middle"] = "".join(said), words_on(app)
            if any("round1part0" in line for line in words_on(app)):
                break
        places["start"], shown["start"] = said[1], words_on(app)
        assert set(shown) == {"end", "middle", "start"}
        for place, lines in shown.items():
            assert len(lines) > 10, place
            assert [line for line in lines if line not in places[place]] == [], place
