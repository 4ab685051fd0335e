"""The composer: one to six rows of text that are sent with enter and never lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.entry import Entry
from geode_tui.tui.widgets.pane import Pane
from geode_tui.tui.widgets.suggestions import MOST_ROWS

__all__ = ["Composer", "Entry", "Prompt"]


class Prompt(Pane):
    """The prompt sign before the text, with a bar while the text has the focus."""

    def __init__(self, look: Look) -> None:
        super().__init__(look, id="prompt")
        self.focused = False

    @property
    def plane(self) -> Style:
        """The composer's plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.raised if self.focused else palette.panel)

    def build(self, size: Size) -> list[Strip]:
        """The sign in the first row."""
        palette = self.look.palette
        bar = Segment(" ", palette.style(palette.text, palette.accent) if self.focused else None)
        sign = Segment(f" {self.look.glyphs.prompt}", palette.style(palette.accent, bold=True))
        first = row([bar, sign], [], size.width, self.plane, self.look.glyphs.cut)
        rest = row([bar], [], size.width, self.plane, self.look.glyphs.cut)
        return [first] + [rest] * (size.height - 1)


class Composer(Vertical):
    """The prompt sign and the text, with offers above it; its height follows them."""

    class Written(Message):
        """The text changed."""

    def __init__(self, look: Look, paths: Callable[[], Sequence[str]] | None = None) -> None:
        """``paths`` reads the paths of the project, in a thread."""
        super().__init__(id="composer")
        self.prompt = Prompt(look)
        self.entry = Entry(look)
        self.entry.paths = paths
        self._line = Horizontal()
        self._most = 6

    def compose(self) -> ComposeResult:
        """The offers, then the sign and the text."""
        yield self.entry.suggestions
        with self._line:
            yield self.prompt
            yield self.entry

    def on_mount(self) -> None:
        """Take the room that the text and the offers need."""
        self.styles.height = "auto"
        self._line.styles.height = 1

    def set_look(self, look: Look) -> None:
        """Take another look."""
        self.prompt.set_look(look)
        self.entry.set_look(look)

    def set_rows(self, most: int) -> None:
        """Let it grow to ``most`` rows."""
        self._most = most
        self.entry.suggestions.set_rows(most if most < 4 else MOST_ROWS)
        self.fit_rows()

    def fit_rows(self) -> None:
        """Follow the text's height."""
        rows = max(1, min(self._most, self.entry.wrapped_document.height))
        if self._line.styles.height is None or self._line.styles.height.value != rows:
            self._line.styles.height = rows
            self.call_after_refresh(self._tell_caret)

    def _tell_caret(self) -> None:
        """The terminal's own cursor, where an input method draws, moves with the text."""
        if self.entry.has_focus:
            self.app.cursor_position = self.entry.cursor_screen_offset

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """The text changed."""
        event.stop()
        self.entry.offer()
        self.fit_rows()
        self.post_message(self.Written())

    def on_resize(self) -> None:
        """It wraps in another width."""
        self.call_after_refresh(self.fit_rows)

    def on_descendant_focus(self) -> None:
        """Light the bar."""
        self.prompt.focused = True
        self.prompt.repaint()

    def on_descendant_blur(self) -> None:
        """Put it out."""
        self.prompt.focused = False
        self.prompt.repaint()
