"""The composer: one to six rows of text that are sent with enter and never lost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from geode_tui.core import format as fmt
from geode_tui.core.text import clean
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.pane import Pane

CHIP_FROM = 8_000
"""Characters from which a paste is shown as a chip: one key in a text of 100 K costs 97 ms (PERFORMANCE.md 7)."""
KEPT = 500
"""Most earlier prompts kept."""
_PASTE_MARKS = ("\x1b[200~", "\x1b[201~")


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


class Entry(TextArea):
    """The text. Large pastes stand in it as chips."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send", id="composer.send"),
        Binding("ctrl+j,alt+enter,shift+enter", "newline", "New line", id="composer.newline"),
        Binding("up", "earlier", "Up, or the prompt before", id="composer.earlier"),
        Binding("down", "later", "Down, or the next prompt", id="composer.later"),
    ]

    class Sent(Message):
        """Enter was pressed. ``text`` is whole: chips are replaced by what was pasted."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, look: Look) -> None:
        super().__init__(
            id="entry",
            soft_wrap=True,
            show_line_numbers=False,
            compact=True,
            highlight_cursor_line=False,
            placeholder=look.t("composer.placeholder"),
        )
        self.cursor_blink = False
        self.look = look
        self._pasted: dict[str, str] = {}
        self._history: list[str] = []
        self._at: int | None = None
        self._draft = ""

    # -- text ---------------------------------------------------------------------------------------------------------
    def whole_text(self) -> str:
        """The text with every chip replaced by what was pasted."""
        text = self.text
        for chip, pasted in self._pasted.items():
            text = text.replace(chip, pasted)
        return text

    def put(self, text: str) -> None:
        """Replace the text; a large one becomes a chip. The cursor goes to its end."""
        self._pasted.clear()
        self.load_text("")
        self._insert(text)

    def give_back(self, text: str) -> None:
        """``text`` was not sent after all: it stands before what was typed since."""
        since = self.whole_text()
        self.put(f"{text}\n{since}" if since else text)

    def clear_text(self) -> None:
        """Empty it."""
        self._pasted.clear()
        self._at = None
        self.load_text("")

    def _insert(self, text: str) -> None:
        self.insert(self._chip(text) if len(text) > CHIP_FROM else clean(text))

    def _chip(self, text: str) -> str:
        chip = self.look.t("composer.pasted", characters=fmt.tokens(len(text)))
        number = 2
        while chip in self._pasted:
            chip = self.look.t("composer.pasted_again", characters=fmt.tokens(len(text)), n=number)
            number += 1
        self._pasted[chip] = text
        return chip

    def on_paste(self, event: events.Paste) -> None:
        """Insert what was pasted, without the marks that would end a paste early."""
        event.stop()
        event.prevent_default()
        text = event.text
        for mark in _PASTE_MARKS:
            text = text.replace(mark, "")
        self._insert(text)

    # -- history ------------------------------------------------------------------------------------------------------
    def seed(self, inputs: Iterable[str]) -> None:
        """Earlier prompts of the session, oldest first, before those of this screen."""
        self._history = [*inputs, *self._history][-KEPT:]

    def remember(self, text: str) -> None:
        """``text`` was sent."""
        if text and self._history[-1:] != [text]:
            self._history = [*self._history, text][-KEPT:]
        self._at = None

    def _go(self, step: int) -> None:
        at = len(self._history) if self._at is None else self._at
        if at == len(self._history):
            self._draft = self.whole_text()
        target = max(0, min(len(self._history), at + step))
        if target == at:
            return
        self._at = target
        self.put(self._draft if target == len(self._history) else self._history[target])

    # -- actions ------------------------------------------------------------------------------------------------------
    def action_send(self) -> None:
        """Hand the text over and be empty: what is typed from now on is the next message."""
        text = self.whole_text()
        self.remember(text)
        self.clear_text()
        self.post_message(self.Sent(text))

    async def on_key(self, event: events.Key) -> None:
        """Do what a key is bound to, here and now. Left to Textual, a bound key is looked up only after it has bubbled
        to the application, and letters typed after it would come first.
        """
        active = None if event.is_printable else self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self:
            event.stop()
            event.prevent_default()
            await self.run_action(active.binding.action)

    def action_newline(self) -> None:
        """A new line at the cursor."""
        self.insert("\n")

    def action_earlier(self) -> None:
        """Up; in the first row, the prompt before."""
        if self.wrapped_document.location_to_offset(self.cursor_location).y == 0:
            self._go(-1)
        else:
            self.action_cursor_up()

    def action_later(self) -> None:
        """Down; in the last row, the next prompt."""
        last = self.wrapped_document.height - 1
        if self.wrapped_document.location_to_offset(self.cursor_location).y >= last:
            self._go(1)
        else:
            self.action_cursor_down()


class Composer(Horizontal):
    """The prompt sign and the text; its height follows the text."""

    def __init__(self, look: Look) -> None:
        super().__init__(id="composer")
        self.prompt = Prompt(look)
        self.entry = Entry(look)
        self._most = 6

    def compose(self) -> ComposeResult:
        """The sign, then the text."""
        yield self.prompt
        yield self.entry

    def set_look(self, look: Look) -> None:
        """Take another look."""
        self.prompt.set_look(look)
        self.entry.look = look

    def set_rows(self, most: int) -> None:
        """Let it grow to ``most`` rows."""
        self._most = most
        self.fit_rows()

    def fit_rows(self) -> None:
        """Follow the text's height."""
        rows = max(1, min(self._most, self.entry.wrapped_document.height))
        if self.styles.height is None or self.styles.height.value != rows:
            self.styles.height = rows

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """The text changed."""
        event.stop()
        self.fit_rows()

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
