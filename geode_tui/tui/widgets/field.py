"""A line to type in at the foot of a pane: what is looked for, or where to go."""

from __future__ import annotations

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
from textual.widgets import Input

from geode_tui.tui.cells import width_of
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.pane import Pane

MOST_CHARS = 200
"""Most characters that can be typed."""


class FieldName(Pane):
    """What the line is for."""

    def __init__(self, look: Look) -> None:
        super().__init__(look, id="field-name")
        self.text = ""

    @property
    def plane(self) -> Style:
        """The raised plane."""
        palette = self.look.palette
        return palette.style(palette.accent, palette.raised, bold=True)

    def build(self, size: Size) -> list[Strip]:
        """The one row."""
        return [row([Segment(self.text)], [], size.width, self.plane, self.look.glyphs.cut, margin=1)]


class Field(Horizontal):
    """See the module. Not shown while it is not used."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", id="field.close"),
    ]

    class Written(Message):
        """The text is another: ``text``, written for ``purpose``."""

        def __init__(self, purpose: str, text: str) -> None:
            super().__init__()
            self.purpose = purpose
            self.text = text

    class Entered(Written):
        """Enter was pressed."""

    class Left(Written):
        """Esc was pressed: it is closed."""

    def __init__(self, look: Look) -> None:
        super().__init__(classes="field")
        self.label = FieldName(look)
        self.entry = Input(compact=True, max_length=MOST_CHARS, classes="field-entry")
        self.entry.cursor_blink = False
        self.purpose = ""
        """What it is open for; empty while it is not."""
        self.display = False

    def compose(self) -> ComposeResult:
        """The name, then the line."""
        yield self.label
        yield self.entry

    @property
    def typing(self) -> bool:
        """Whether it has the focus."""
        return self.entry.has_focus

    def open(self, purpose: str, name: str, placeholder: str, text: str = "") -> None:
        """Show it with the focus in it, and ``text`` selected."""
        self.purpose = purpose
        self.label.text = name
        self.label.styles.width = width_of(name) + 2
        self.label.repaint()
        self.entry.placeholder = placeholder
        self.entry.value = text
        self.display = True
        self.screen.set_focus(self.entry)
        self.entry.select_all()

    def close(self) -> None:
        """Use it no more."""
        self.purpose = ""
        self.display = False

    def action_close(self) -> None:
        """Leave it."""
        purpose = self.purpose
        self.close()
        self.post_message(self.Left(purpose, self.entry.value))

    def on_click(self, event: events.Click) -> None:
        """The pane below has other rows here."""
        event.stop()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell the pane."""
        event.stop()
        if self.purpose:
            self.post_message(self.Written(self.purpose, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Tell the pane."""
        event.stop()
        self.post_message(self.Entered(self.purpose, event.value))


class Asking(Pane):
    """A pane with a field over its last row."""

    ASKS: ClassVar[frozenset[str]] = frozenset()
    """Ids of the bindings that open the field."""

    def __init__(self, look: Look, *, id: str) -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self.field = Field(look)

    def compose(self) -> ComposeResult:
        """The field."""
        yield self.field

    async def on_key(self, event: events.Key) -> None:
        """Open the field here and now, and hand it what was typed on. Left to Textual, a bound key is looked up only
        after it has bubbled to the application, and keys that came in the same read would be taken for the pane's.
        """
        if self.field.purpose and (event.is_printable or event.key == "enter"):
            event.stop()
            event.prevent_default()
            if event.is_printable:
                self.field.entry.insert_text_at_cursor(event.character or "")
            else:
                await self.field.entry.action_submit()
            return
        active = self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self and active.binding.id in self.ASKS:
            event.stop()
            event.prevent_default()
            await self.run_action(active.binding.action)

    def on_focus(self) -> None:
        """Whoever comes back to the pane asks for nothing more."""
        self.field.close()
        self.repaint()

    def on_blur(self) -> None:
        """Show the cursor faintly."""
        self.repaint()
