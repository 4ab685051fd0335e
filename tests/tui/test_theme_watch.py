"""A theme file that is changed while a screen shows it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from geode_tui.tui.themes import shipped_folder
from tests.tui.driving import Driven, opened

ROSE = (shipped_folder() / "rose.toml").read_text(encoding="utf-8")
BASE = "#1c1418"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A person's theme folder with one theme in it."""
    made = tmp_path / "themes"
    made.mkdir()
    (made / "mine.toml").write_text(ROSE)
    return made


def with_base(color: str) -> str:
    return ROSE.replace(BASE, color)


@asynccontextmanager
async def watching(folder: Path, theme: str = "mine") -> AsyncIterator[Driven]:
    async with opened(notifications=True, theme=theme, user_theme_dirs=[folder]) as driven:
        yield driven


async def brings_about(driven: Driven, change: Callable[[], object], what: Callable[[], object]) -> None:
    """Make a change until it shows: the first may come before the folder is watched."""
    for _ in range(40):
        change()
        for _ in range(50):
            if what():
                await driven.pilot.pause()
                return
            await driven.pilot.pause(0.02)
    raise AssertionError("the change was not seen")


async def test_a_change_is_on_screen_at_once(folder: Path) -> None:
    async with watching(folder) as driven:
        assert driven.app.look.palette.base == BASE
        await brings_about(
            driven,
            lambda: (folder / "mine.toml").write_text(with_base("#200020")),
            lambda: driven.app.look.palette.base == "#200020",
        )
        assert driven.app.theme == "mine"
        assert driven.screen.look.palette.base == "#200020"
        assert driven.screen.styles.background.hex.lower() == "#200020"
        assert driven.toasts == []


async def test_a_file_that_an_editor_puts_in_its_place_is_read_too(folder: Path) -> None:
    def replace() -> None:
        (folder / "mine.toml.tmp").write_text(with_base("#002020"))
        (folder / "mine.toml.tmp").replace(folder / "mine.toml")

    async with watching(folder) as driven:
        await brings_about(driven, replace, lambda: driven.app.look.palette.base == "#002020")


async def test_a_bad_file_is_named_and_the_colours_stay(folder: Path) -> None:
    async with watching(folder) as driven:
        await brings_about(
            driven, lambda: (folder / "mine.toml").write_text(with_base("purple")), lambda: driven.toasts
        )
        (toast,) = set(driven.toasts)
        assert toast.startswith("mine.toml: ")
        assert "must be a colour like #a1b2c3; the colours stay as they are" in toast
        assert driven.app.look.palette.base == BASE


async def test_another_theme_changes_nothing_on_screen_but_can_be_chosen_then(folder: Path) -> None:
    async with watching(folder, theme="geode-dark") as driven:
        before = driven.app.look
        await brings_about(
            driven,
            lambda: (folder / "new.toml").write_text(with_base("#300000")),
            lambda: "new" in driven.app.themes,
        )
        assert driven.app.look is before
        await driven.type("/theme new")
        await driven.until(lambda: driven.app.look.palette.base == "#300000")


async def test_a_theme_that_reads_badly_is_worn_with_a_word_about_it(folder: Path) -> None:
    async with watching(folder) as driven:
        await brings_about(
            driven,
            lambda: (folder / "mine.toml").write_text(with_base("#f7ebe9")),
            lambda: any("text on base has contrast 1.0" in toast for toast in driven.toasts),
        )
        assert driven.app.look.palette.base == "#f7ebe9"


async def test_without_a_folder_nothing_is_watched(tmp_path: Path) -> None:
    async with watching(tmp_path / "none", theme="geode-dark") as driven:
        assert driven.app._theme_watch._thread is None


async def test_the_thread_ends_with_the_screen(folder: Path) -> None:
    async with watching(folder) as driven:
        await driven.until(lambda: driven.app._theme_watch._thread)
        thread = driven.app._theme_watch._thread
        assert thread is not None
    assert not thread.is_alive()
