"""The application: themes, terminal safety, and the screens: all runs, and one of them."""

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
from textual.types import CSSPathType

from geode_tui.core.strings import Strings
from geode_tui.tui.glyphs import Glyphs, still
from geode_tui.tui.home_source import HomeSource
from geode_tui.tui.look import Look, Redact
from geode_tui.tui.palette import Palette
from geode_tui.tui.screens.base import BaseScreen
from geode_tui.tui.screens.home import HomeScreen
from geode_tui.tui.screens.run import RunScreen
from geode_tui.tui.source import RunSource
from geode_tui.tui.terminal import MODES, know_alt_enter
from geode_tui.tui.theme_watch import ThemeRead, ThemeWatch
from geode_tui.tui.themes import DEFAULT, LoadedTheme, load_themes


def _keep_what_is_there() -> None:
    """What a start made stays to the end: no collection looks at it again (PERFORMANCE.md D9)."""
    gc.freeze()
    gc.enable()


class Colourless(LineFilter):
    """Leaves weight, underline and reverse, and no colour at all: ``NO_COLOR`` as it is meant."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002  Textual's signature
        """``segments`` without colours."""
        return [Segment(text, style.without_color if style else None, control) for text, style, control in segments]


class GeodeApp(App[str]):
    """One run on screen, or all of them. `run` gives back a line to print after leaving, or None.

    Args:
        source: The run to open with; None opens the home screen.
        strings: The language.
        glyphs: Unicode or ASCII.
        theme_name: A theme's name; an unknown one falls back with a line that says so.
        user_theme_dirs: Folders with the person's own themes.
        redact: Masks secrets in every text from data.
        motion: Whether the spinner moves.
        no_color: Whether no colours are written; the variable ``NO_COLOR`` has the same effect.
        home: All runs; None where there is only the one.
    """

    TITLE = "geode-tui"
    # Textual loads a default screen's own file too late.
    CSS_PATH: ClassVar[CSSPathType | None] = ["screens/run.tcss", "screens/home.tcss"]
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
        source: RunSource | None,
        strings: Strings,
        glyphs: Glyphs,
        theme_name: str = DEFAULT,
        user_theme_dirs: Iterable[Path] = (),
        redact: Redact = str,
        *,
        motion: bool = True,
        no_color: bool = False,
        home: HomeSource | None = None,
    ) -> None:
        super().__init__()
        theme_dirs = tuple(user_theme_dirs)
        self.themes, self._theme_lines = load_themes(theme_dirs)
        self._theme_watch = ThemeWatch(theme_dirs, self.post_message)
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
        self._motion = motion
        self._home_source = home
        self._run = None if source is None else self._new_run(source)
        self._home = self._new_home() if source is None else None

    def _palette(self, theme: LoadedTheme) -> Palette:
        return msgspec.structs.replace(theme.palette, no_color=self.no_color)

    # -- screens ------------------------------------------------------------------------------------------------------
    @property
    def run_screen(self) -> RunScreen:
        """The run that is on screen, or the last one that was. Raises `LookupError` while there was none."""
        if self._run is None:
            raise LookupError("no run was opened")
        return self._run

    @property
    def shown(self) -> BaseScreen:
        """The screen that is shown, whatever lies over it."""
        return next(screen for screen in reversed(self.screen_stack) if isinstance(screen, BaseScreen))

    def get_default_screen(self) -> BaseScreen:
        """The first screen is there from the first paint."""
        return self._home or self.run_screen

    def _new_run(self, source: RunSource, first: str = "") -> RunScreen:
        has_home = self._home_source is not None
        return RunScreen(source, self.look, tuple(self.themes), motion=self._motion, first=first, home=has_home)

    def _new_home(self, selected: str = "") -> HomeScreen:
        if self._home_source is None:
            raise ValueError("an application without a run needs a home screen")
        return HomeScreen(self._home_source, self.look, tuple(self.themes), selected)

    def on_home_screen_run_wanted(self, event: HomeScreen.RunWanted) -> None:
        """Open a run over the home screen, which rests meanwhile."""
        if self._home is not None and self.shown is self._home:
            self._home.rest()
            self._run = self._new_run(event.source, event.first)
            self.push_screen(self._run)

    def on_run_screen_home_wanted(self) -> None:
        """Leave the run, which ends its follower."""
        if self.shown is not self._run:
            return
        left = self.run_screen.source.session_id
        if self._home is None:
            self._home = self._new_home(left)
            # Textual 8.2.8 gives a default screen no callback, which leaving it by a switch then misses.
            self.run_screen._push_result_callback(self, None)
            self.switch_screen(self._home)
        else:
            self.pop_screen()
            self._home.resume(left)

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
        self.call_after_refresh(_keep_what_is_there)
        self.call_after_refresh(self._theme_watch.start)

    def on_unmount(self) -> None:
        """End what was started."""
        self._theme_watch.stop()

    def _told_to_leave(self, number: int) -> None:
        """The terminal is put back by Textual's own way out."""
        self.exit(return_code=128 + number)

    # -- actions ------------------------------------------------------------------------------------------------------
    def action_leave(self) -> None:
        """Leave. Workers are other processes, so runs go on."""
        shown, line = self.shown, None
        if isinstance(shown, RunScreen):
            if shown.newest is not None and shown.newest.liveness.state != "free":
                line = self.look.t("leave.goes_on", session=self.look.line(shown.source.session_id))
        elif isinstance(shown, HomeScreen) and shown.header.view.live:
            line = self.look.t("leave.all_go_on", n=shown.header.view.live)
        self.exit(line)

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

    def on_base_screen_theme_chosen(self, event: BaseScreen.ThemeChosen) -> None:
        """Switch the theme."""
        theme = self.themes.get(event.name)
        if theme is None:
            names = ", ".join(sorted(self.themes))
            self.shown.say(self.look.t("theme.none", name=self.look.line(event.name, 40), names=names), error=True)
            return
        self._wear(theme)

    def on_theme_read(self, event: ThemeRead) -> None:
        """A theme file was changed: take its colours at once where it is in use. A bad one changes nothing."""
        theme = event.theme
        if theme is None:
            self.shown.say(self.look.t("theme.bad", why=event.trouble), error=True)
            return
        self.themes[theme.name] = theme
        self.register_theme(theme.textual)
        if theme.name == self.theme:
            self._wear(theme)
            self.refresh_css(animate=False)  # the name is the same, so Textual sees no other theme
        for line in theme.warnings:
            self.shown.say(line)

    def _wear(self, theme: LoadedTheme) -> None:
        self.theme = theme.name
        self.look = msgspec.structs.replace(self.look, palette=self._palette(theme))
        for screen in self.screen_stack:
            if isinstance(screen, BaseScreen):
                screen.set_look(self.look)
