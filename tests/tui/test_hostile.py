"""Nothing in a log drives the terminal: seen as bytes on a real pty, and as aligned cells in the app."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.cells import cell_len

from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.core.strings import Strings
from geode_tui.paths import Project
from geode_tui.tui.app import GeodeApp
from geode_tui.tui.glyphs import UNICODE
from tests.tui import hostile
from tests.tui.fakes import screen_text
from tests.tui.terminals import terminal

KEYS = (b"\t", b"g", b"{", b"]", b"\r", b"\x1b2", b"\r", b"\x1b4", b"\x1b5", b"s", b"\x1b6", b"r", b"m", b"\x1b1", b"G")
NAMES = [
    "tab", "g", "right_curly_bracket", "enter",
    "alt+2", "alt+4", "alt+5", "s", "alt+6", "r", "m", "alt+1", "ctrl+g", "v",
]  # fmt: skip
"""Through every tab, as bytes and by name."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "p"
    (root / ".git").mkdir(parents=True)
    hostile.write(root / ".geode" / "sessions.db")
    return root


@pytest.mark.parametrize("size", [(120, 40), pytest.param((80, 24), marks=pytest.mark.long), (40, 12)])
def test_no_byte_of_a_hostile_log_reaches_the_terminal(project: Path, size: tuple[int, int]) -> None:
    env = {"GEODE_TUI_HOME": os.environ["GEODE_TUI_HOME"], "GEODE_LANG": "ko"}
    with terminal("attach", module="geode_tui", size=size, cwd=project, env=env) as screen:
        screen.until("한글".encode())
        screen.quiet()
        for keys in KEYS:
            screen.write(keys)
            screen.quiet()
        screen.write(b"\x11")
        assert screen.finish() == 0
    for bytes_ in hostile.NEVER:
        assert bytes_ not in screen.seen
    assert b"Traceback" not in screen.seen


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12), (200, 60)])
async def test_every_row_of_a_hostile_log_is_as_wide_as_the_screen(project: Path, size: tuple[int, int]) -> None:
    env = Env(project, os.environ, project=Project(project))
    app = GeodeApp(StoreSource(env, hostile.SESSION), Strings("ko"), UNICODE)
    async with app.run_test(size=size) as pilot:
        for _ in range(100):
            await pilot.pause(0.02)
            if any("한글" in line for line in screen_text(app)):
                break
        for key in NAMES:
            await pilot.press(key)
            await pilot.pause()
            lines = screen_text(app)
            assert len(lines) == size[1]
            assert all(cell_len(line) == size[0] for line in lines), [
                line for line in lines if cell_len(line) != size[0]
            ]
        assert not any(ord(c) < 32 or 0x7F <= ord(c) <= 0x9F for line in lines for c in line)
