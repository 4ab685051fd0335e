"""What the run screen and the home screen share: a composer, toasts, a footer that knows the keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip

from geode_tui.core.strings import NAMES
from geode_tui.tui.choices import Choice
from geode_tui.tui.keys import shown
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.composer import Composer
from geode_tui.tui.widgets.pane import Pane

TOAST_S = 4.0
ERROR_TOAST_S = 3_600.0
"""An error stays until esc (SCREENS.md 10)."""
MOST_TOASTS = 3


class TooSmall(Pane):
    """The one line of a terminal without room."""

    def build(self, size: Size) -> list[Strip]:
        """The line."""
        return [row([Segment(self.look.t("screen.too_small"))], [], size.width, self.plane, self.look.glyphs.cut)]


class BaseScreen(Screen[None]):
    """See the module."""

    AUTO_FOCUS = "#entry"
    composer: Composer

    class ThemeChosen(Message):
        """The person wants another theme."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class LanguageChosen(Message):
        """The person wants another language."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.look = look
        self._keys: dict[str, str] = {}

    def show_hints(self) -> None:
        """Show the footer's keys for where the focus is."""
        raise NotImplementedError

    def action_escape(self) -> None:
        """Close the topmost thing."""
        raise NotImplementedError

    @property
    def parting(self) -> str | None:
        """A line to print after leaving, None where there is nothing to say."""
        raise NotImplementedError

    def set_look(self, look: Look) -> None:
        """Take another look everywhere."""
        self.look = look
        for pane in self.query(Pane):
            pane.set_look(look)
        self.composer.set_look(look)

    def language_choices(self) -> list[Choice]:
        """The palette's entries for the other languages."""
        others = [(code, name) for code, name in NAMES.items() if code != self.look.strings.language]
        return [
            Choice(f"language:{code}", self.look.t("palette.language", name=name), "/language") for code, name in others
        ]

    def open_reading(self, title: str, lines: Sequence[tuple[str, str]]) -> None:
        """Lines to read, over the screen."""
        from geode_tui.tui.screens.modal import ReadScreen

        self.app.push_screen(ReadScreen(self.look, title, lines))

    def open_palette(self, choices: Sequence[Choice], chosen: Callable[[str | None], None]) -> None:
        """Entries to choose from, over the screen; ``chosen`` is given the value of one, empty for none."""
        from geode_tui.tui.screens.modal import PaletteScreen

        self.app.push_screen(PaletteScreen(self.look, choices), chosen)

    def learn_keys(self, _: object = None) -> None:
        """Other keys work now: the focus has moved, or a key was given another place. Asked for only then, since it
        takes Textual over a millisecond to say.
        """
        active = [a.binding for a in self.active_bindings.values()]
        self._keys = {b.id: shown(b.key) for b in reversed(active) if b.id}
        self.show_hints()

    def close_topmost(self) -> bool:
        """Drop the composer's offers, else a selection, else the toasts; False when there is none of them."""
        if self.composer.entry.close_offers():
            return True
        if self.get_selected_text():
            self.clear_selection()
        elif self.query("Toast"):
            self.app.clear_notifications()
        else:
            return False
        return True

    def action_copy_or_clear(self) -> None:
        """Copy a selection, else end a search of prompts or clear the composer, else as esc. It never leaves."""
        entry = self.composer.entry
        if entry.searching:
            entry.close_offers()
        elif selected := (entry.selected_text if entry.has_focus else "") or self.get_selected_text():
            self.app.copy_to_clipboard(selected)
            self.say(self.look.t("screen.copied"))
        elif entry.text and entry.has_focus:
            entry.remember(entry.whole_text())
            entry.clear_text()
        else:
            self.action_escape()

    def say(self, text: str, *, error: bool = False) -> None:
        """A line for what cannot be seen elsewhere; an error stays until esc."""
        if len(self.query("Toast")) >= MOST_TOASTS:
            self.app.clear_notifications()
        if error:
            self.app.notify(self.look.line(text), severity="error", timeout=ERROR_TOAST_S, markup=False)
        else:
            self.app.notify(self.look.line(text), timeout=TOAST_S, markup=False)
