"""The application: themes, terminal safety, and the screens: all runs, and one of them."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.types import CSSPathType
from textual.worker import WorkerFailed

from geode_tui.core.endings import EXIT_DIED
from geode_tui.core.strings import Language, Strings
from geode_tui.tui.alerts import notification
from geode_tui.tui.depth import Depth, filter_for
from geode_tui.tui.glyphs import Glyphs, still
from geode_tui.tui.look import Look, Redact
from geode_tui.tui.palette import Palette
from geode_tui.tui.screens.base import BaseScreen
from geode_tui.tui.terminal import MODES, TerminalDriver, know_alt_keys
from geode_tui.tui.theme_watch import ThemeRead, ThemeWatch
from geode_tui.tui.themes import DEFAULT, LoadedTheme, load_themes, without_planes

if TYPE_CHECKING:  # a screen is a third of the time to the first paint: each is loaded when it is opened
    from geode_tui.tui.home_source import HomeSource
    from geode_tui.tui.screens.home import HomeScreen
    from geode_tui.tui.screens.run import RunScreen
    from geode_tui.tui.screens.run_view import RunView
    from geode_tui.tui.screens.run_window import RunWindow
    from geode_tui.tui.source import RunSource

OLD_AFTER = 100
"""Collections of what is a little older between two of everything: those take 85 ms while a long answer streams, and
with Python's own 10 there was one every 20 s.
"""


WARM_AFTER_S = 1.0
"""Seconds from the start of the screen until what other screens need is loaded."""
_OTHERS = (
    "screens.run",
    "screens.home",
    "screens.modal",
    "widgets.events",
    "widgets.offload_tab",
    "widgets.dream_tab",
    "widgets.context_tab",
    "widgets.cost_tab",
)


def load_others() -> None:
    """Load what the first paint did without, in a thread: opening it takes no longer than opening it again."""
    for name in _OTHERS:
        import_module(f"geode_tui.tui.{name}")


def _keep_what_is_there() -> None:
    """What a start made stays to the end: no collection looks at it again (PERFORMANCE.md D9)."""
    gc.freeze()
    young, older, _ = gc.get_threshold()
    gc.set_threshold(young, older, OLD_AFTER)
    gc.enable()


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
        depth: How many colours the terminal has; the variable ``NO_COLOR`` makes it none.
        home: Gives all runs, when they are first wanted; None where there is only the one.
        bell: Whether the terminal's bell calls the person (see `tui.alerts`).
        notify: Whether the terminal is asked to show a notification then.
        warnings: Lines to say at the start.
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
    GeodeApp.-flat ModalScreen {
        background: $geode-base;
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
        depth: Depth = "full",
        home: Callable[[], HomeSource] | None = None,
        warnings: Iterable[str] = (),
        bell: bool = False,
        notify: bool = False,
    ) -> None:
        super().__init__()
        self.failure: BaseException | None = None
        """What ended the screen by itself, to be told once the terminal is back."""
        theme_dirs = tuple(user_theme_dirs)
        loaded, theme_lines = load_themes(theme_dirs)
        self._has_planes = not glyphs.ascii
        self.themes = {name: self._fitted(theme) for name, theme in loaded.items()}
        self._warnings = (*warnings, *theme_lines)
        self._theme_watch = ThemeWatch(theme_dirs, self.post_message)
        for theme in self.themes.values():
            self.register_theme(theme.textual)
        name = theme_name if theme_name in self.themes else DEFAULT
        if name != theme_name:
            self._warnings += (strings.t("theme.unknown", name=theme_name, used=name),)
        self.theme = name
        self._depth: Depth = "none" if self.no_color else depth
        self.no_color = self._depth == "none"
        self._first_filters = () if self.no_color else tuple(self._filters)
        self.look = Look(self._palette(self.themes[name]), glyphs if motion else still(glyphs), strings, redact)
        self._motion = motion
        self._calls_by_bell, self._calls_by_notification = bell, notify
        self._make_home = home
        self._run = None if source is None else self._new_run(source)
        self._home = self._new_home() if source is None else None

    def _fitted(self, theme: LoadedTheme) -> LoadedTheme:
        """``theme`` as it is worn here: in ASCII form planes vanish (SCREENS.md 3)."""
        return theme if self._has_planes else without_planes(theme)

    def _palette(self, theme: LoadedTheme) -> Palette:
        """The colours to draw ``theme`` with, which are fitted to the terminal's on their way out."""
        last = filter_for(self._depth, theme.palette)
        self._filters = [*self._first_filters, *([last] if last else [])]
        no_planes = self._depth in {"16", "none"}
        self.set_class(no_planes or not self._has_planes, "-flat")
        return msgspec.structs.replace(theme.palette, no_color=self.no_color, no_planes=no_planes)

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
        from geode_tui.tui.screens.run import RunScreen

        has_home = self._make_home is not None
        return RunScreen(source, self.look, tuple(self.themes), motion=self._motion, first=first, home=has_home)

    def _new_home(self, selected: str = "") -> HomeScreen:
        from geode_tui.tui.screens.home import HomeScreen

        if self._make_home is None:
            raise ValueError("an application without a run needs a home screen")
        return HomeScreen(self._make_home(), self.look, tuple(self.themes), selected)

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
            self._exchange(self.run_screen, self._home)
        else:
            self.pop_screen()
            self._home.resume(left)

    def on_run_window_run_wanted(self, event: RunWindow.RunWanted) -> None:
        """Open another run in the place of the one that is shown, whatever lies over it; that one's follower ends."""
        left = self._run
        if left is None or self.shown is not left:
            return
        while self.screen is not left:
            self.pop_screen()
        self._run = self._new_run(event.source)
        self._exchange(left, self._run)

    def _exchange(self, left: RunScreen, screen: BaseScreen) -> None:
        if not left._result_callbacks:  # Textual 8.2.8 gives a default screen none, which a switch then misses
            left._push_result_callback(self, None)
        self.switch_screen(screen)

    def get_driver_class(self) -> type[Driver]:
        """Our own way of taking and giving back a terminal; any other kind of driver is left as it is."""
        found = super().get_driver_class()
        return TerminalDriver if found is LinuxDriver else found

    def on_load(self) -> None:
        """Before the terminal is read."""
        know_alt_keys()
        asyncio.get_running_loop().set_exception_handler(self._callback_failed)
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw())

    def on_mount(self) -> None:
        """Say what must be known."""
        for line in self._warnings:
            self.notify(self.look.line(line), severity="warning", markup=False)
        self.call_after_refresh(_keep_what_is_there)
        self.call_after_refresh(self._theme_watch.start)
        self.set_timer(WARM_AFTER_S, lambda: self.run_worker(load_others, group="load", thread=True))

    def on_unmount(self) -> None:
        """End what was started."""
        self._theme_watch.stop()

    # -- failing ------------------------------------------------------------------------------------------------------
    def _handle_exception(self, error: BaseException) -> None:
        """Close the screen on what anything in it raised, and keep the first for whoever opened it: what Textual would
        print is a page that holds the values of variables.
        """
        self._return_code = EXIT_DIED
        if self.failure is None:
            self.failure = error.error if isinstance(error, WorkerFailed) else error
        if self._exception is None and isinstance(error, Exception):
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    def _callback_failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A callback or a task outside of Textual's own handling raised something."""
        error = context.get("exception")
        if error is None:
            loop.default_exception_handler(context)
        else:
            self._handle_exception(error)

    @contextmanager
    def watching_threads(self) -> Iterator[None]:
        """Meanwhile an error in any thread ends the screen, which would else go on and show what is no longer so."""
        before = threading.excepthook
        threading.excepthook = self._thread_failed
        try:
            yield
        finally:
            threading.excepthook = before

    def _thread_failed(self, failed: threading.ExceptHookArgs) -> None:
        error = failed.exc_value
        if error is None or self._loop is None:
            return
        try:
            self._loop.call_soon_threadsafe(self._handle_exception, error)
        except RuntimeError:  # the loop is closed: the screen has ended by itself
            return

    # -- actions ------------------------------------------------------------------------------------------------------
    def action_leave(self) -> None:
        """Leave. Workers are other processes, so runs go on."""
        self.exit(self.shown.parting)

    def on_run_view_alerted(self, event: RunView.Alerted) -> None:
        """Call the person, in the ways that are wanted."""
        if self._calls_by_bell:
            self.bell()
        if self._calls_by_notification and self._driver is not None and not self.is_headless:
            for line in event.lines:
                self._driver.write(notification(line, os.environ))

    async def action_quit(self) -> None:
        """As `action_leave`."""
        self.action_leave()

    def refresh_css(self, animate: bool = True) -> None:
        """Textual's own reads all styles again. Before the first widget is there none were read yet: the variables of
        the theme are enough then.
        """
        if self._is_mounted:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

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

    def on_base_screen_language_chosen(self, event: BaseScreen.LanguageChosen) -> None:
        """Speak another language from now on."""
        language: Language = "ko" if event.name == "ko" else "en"
        self._take(msgspec.structs.replace(self.look, strings=Strings(language)))

    def on_theme_read(self, event: ThemeRead) -> None:
        """A theme file was changed: take its colours at once where it is in use. A bad one changes nothing."""
        theme = event.theme
        if theme is None:
            self.shown.say(self.look.t("theme.bad", why=event.trouble), error=True)
            return
        theme = self._fitted(theme)
        self.themes[theme.name] = theme
        self.register_theme(theme.textual)
        if theme.name == self.theme:
            self._wear(theme)
            self.refresh_css(animate=False)  # the name is the same, so Textual sees no other theme
        for line in theme.warnings:
            self.shown.say(line)

    def _wear(self, theme: LoadedTheme) -> None:
        self.theme = theme.name
        self._take(msgspec.structs.replace(self.look, palette=self._palette(theme)))

    def _take(self, look: Look) -> None:
        self.look = look
        for screen in self.screen_stack:
            if isinstance(screen, BaseScreen):
                screen.set_look(self.look)
