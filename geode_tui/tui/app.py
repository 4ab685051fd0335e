"""The application: themes, terminal safety, and the one run screen."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import msgspec
from rich.segment import Segment
from textual.app import App
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.filter import LineFilter

from geode_tui.core.strings import Strings
from geode_tui.tui.glyphs import Glyphs, still
from geode_tui.tui.look import Look, Redact
from geode_tui.tui.palette import Palette
from geode_tui.tui.screens.run import RunScreen
from geode_tui.tui.source import RunSource
from geode_tui.tui.terminal import MODES, know_alt_enter
from geode_tui.tui.themes import DEFAULT, LoadedTheme, load_themes


class Colourless(LineFilter):
    """Leaves weight, underline and reverse, and no colour at all: ``NO_COLOR`` as it is meant."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002  Textual's signature
        """``segments`` without colours."""
        return [Segment(text, style.without_color if style else None, control) for text, style, control in segments]


class GeodeApp(App[str]):
    """One run on screen. `run` gives back a line to print after leaving, or None.

    Args:
        source: The run.
        strings: The language.
        glyphs: Unicode or ASCII.
        theme_name: A theme's name; an unknown one falls back with a line that says so.
        user_theme_dirs: Folders with the person's own themes.
        redact: Masks secrets in every text from data.
        motion: Whether the spinner moves.
        no_color: Whether no colours are written; the variable ``NO_COLOR`` has the same effect.
    """

    TITLE = "geode-tui"
    CSS_PATH = "screens/run.tcss"  # Textual loads a default screen's own file too late
    ENABLE_COMMAND_PALETTE = False
    PAUSE_GC_ON_SCROLL = True
    CSS = """
    Toast {
        width: 60;
        max-width: 60%;
        padding: 0 2;
        margin-top: 1;
        color: $geode-text;
        background: $geode-raised;
    }
    Toast.-information, Toast.-warning, Toast.-error {
        border-left: none;
    }
    Toast.-error {
        color: $geode-crit;
    }
    Tooltip {
        display: none;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", "Leave; the run goes on", id="app.leave", priority=True),
    ]

    def __init__(
        self,
        source: RunSource,
        strings: Strings,
        glyphs: Glyphs,
        theme_name: str = DEFAULT,
        user_theme_dirs: Iterable[Path] = (),
        redact: Redact = str,
        *,
        motion: bool = True,
        no_color: bool = False,
    ) -> None:
        super().__init__()
        self.themes, self._theme_lines = load_themes(user_theme_dirs)
        for theme in self.themes.values():
            self.register_theme(theme.textual)
        name = theme_name if theme_name in self.themes else DEFAULT
        if name != theme_name:
            self._theme_lines += (strings.t("theme.unknown", name=theme_name, used=name),)
        self.theme = name
        self.no_color = no_color or self.no_color
        if self.no_color:
            self._filters = [Colourless()]
        self.look = Look(self._palette(self.themes[name]), glyphs if motion else still(glyphs), strings, redact)
        self.run_screen = RunScreen(source, self.look, tuple(self.themes), motion=motion)

    def _palette(self, theme: LoadedTheme) -> Palette:
        return msgspec.structs.replace(theme.palette, no_color=self.no_color)

    def get_default_screen(self) -> RunScreen:
        """The run screen is there from the first paint."""
        return self.run_screen

    def on_load(self) -> None:
        """Before the terminal is read."""
        know_alt_enter()

    def on_mount(self) -> None:
        """Say what was wrong with themes, and leave cleanly when told to."""
        for line in self._theme_lines:
            self.notify(self.look.line(line), severity="warning", markup=False)
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._told_to_leave, number)
        self.call_after_refresh(gc.freeze)

    def _told_to_leave(self, number: int) -> None:
        """The terminal is put back by Textual's own way out."""
        self.exit(return_code=128 + number)

    # -- actions ------------------------------------------------------------------------------------------------------
    def action_leave(self) -> None:
        """Leave. The worker is another process, so the run goes on."""
        newest = self.run_screen.newest
        going = newest is not None and newest.liveness.state != "free"
        session = self.look.line(self.run_screen.source.session_id)
        self.exit(self.look.t("leave.goes_on", session=session) if going else None)

    async def action_quit(self) -> None:
        """As `action_leave`."""
        self.action_leave()

    def action_redraw(self) -> None:
        """Take the terminal's modes again and paint everything."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(MODES)
            self._driver.flush()
        self.refresh(layout=True, repaint=True)
        self.screen.refresh(layout=True)

    def on_run_screen_theme_chosen(self, event: RunScreen.ThemeChosen) -> None:
        """Switch the theme."""
        theme = self.themes.get(event.name)
        if theme is None:
            names = ", ".join(sorted(self.themes))
            self.run_screen.say(self.look.t("theme.none", name=self.look.line(event.name, 40), names=names), error=True)
            return
        self.theme = theme.name
        self.look = msgspec.structs.replace(self.look, palette=self._palette(theme))
        self.run_screen.set_look(self.look)
