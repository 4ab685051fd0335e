"""Modal screens: lines to read, and a list to choose from. At most 96 wide, no borders (SCREENS.md 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import Input

from geode_tui.tui.cells import cut_end, line_starts, pad, width_of
from geode_tui.tui.choices import Choice
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.pane import Pane


class Reading(Pane, can_focus=True):
    """A title and lines that scroll. A line may have two columns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "scroll(1)", "Scroll down", id="reading.down"),
        Binding(letter("k", "up"), "scroll(-1)", "Scroll up", id="reading.up"),
        Binding("pagedown,space,ctrl+d", "scroll(10)", "Scroll on", id="reading.page_down"),
        Binding("pageup,ctrl+u", "scroll(-10)", "Scroll back", id="reading.page_up"),
    ]

    def __init__(self, look: Look, title: str, lines: Sequence[tuple[str, str]]) -> None:
        super().__init__(look, id="reading")
        self.title = title
        self.lines = tuple(lines)
        self._top = 0
        self._column = max((width_of(left) + 2 for left, right in lines if left and right), default=0)

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.panel)

    def build(self, size: Size) -> list[Strip]:
        """The title on its own plane, then a window on the lines."""
        palette, cut = self.look.palette, self.look.glyphs.cut
        head = palette.style(palette.accent, palette.raised, bold=True)
        close = [Segment(self.look.t("modal.close"), palette.style(palette.muted))]
        title = row([Segment(self.title)], close, size.width, head, cut, margin=2)
        body = [line for left, right in self.lines for line in self._wrapped(left, right, size.width - 4)]
        room = max(1, size.height - 2)
        self._top = max(0, min(self._top, len(body) - room))
        shown = body[self._top : self._top + room]
        return [title, *(row(cells, [], size.width, self.plane, cut, margin=2) for cells in [[], *shown])]

    def _wrapped(self, left: str, right: str, width: int) -> list[list[Segment]]:
        palette = self.look.palette
        column = min(self._column, width // 2) if left else 0
        if not right:
            return [[Segment(left, palette.style(palette.text, bold=True))]]
        starts = line_starts(right, max(4, width - column))
        pieces = [right[a:b].rstrip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        key = palette.style(palette.accent, bold=True)
        name = cut_end(left, max(0, column - 2), self.look.glyphs.cut)
        heads = [pad(name, column), *[" " * column] * (len(pieces) - 1)]
        return [[Segment(head, key), Segment(piece)] for head, piece in zip(heads, pieces, strict=True)]

    def action_scroll(self, rows: int) -> None:
        """Move the window."""
        self._top = max(0, self._top + rows)
        self.repaint()


class ReadScreen(ModalScreen[None]):
    """Lines to read, over the run."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,f1,question_mark," + letter("q"), "close", "Close", id="modal.close"),
    ]

    def __init__(self, look: Look, title: str, lines: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.pane = Reading(look, title, lines)

    def compose(self) -> ComposeResult:
        """The lines."""
        yield self.pane

    def action_close(self) -> None:
        """Back to the run."""
        self.dismiss(None)


class ChoiceList(Pane):
    """The entries that match, one of them selected."""

    class Taken(Message):
        """An entry was clicked."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self, look: Look, choices: Sequence[Choice]) -> None:
        super().__init__(look, id="choices")
        self._choices = tuple(choices)
        self._top = 0
        self.shown = self._choices
        self.at = 0

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.panel)

    def filter(self, text: str) -> None:
        """Keep the entries that hold every word of ``text``, those whose name begins with it first."""
        words = text.casefold().split()
        hits = [c for c in self._choices if all(word in f"{c.name} {c.hint}".casefold() for word in words)]
        self.shown = tuple(sorted(hits, key=lambda c: not c.name.casefold().startswith(text.casefold().strip())))
        self.at = 0
        self.repaint()

    def move(self, step: int) -> None:
        """Select another entry."""
        self.at = max(0, min(len(self.shown) - 1, self.at + step))
        self.repaint()

    def build(self, size: Size) -> list[Strip]:
        """A window on the entries, or a line that says that none matches."""
        palette, cut = self.look.palette, self.look.glyphs.cut
        if not self.shown:
            return [row([Segment(self.look.t("palette.none"))], [], size.width, self.plane, cut, margin=2)]
        self._top = top = max(0, self.at - size.height + 1)
        out = []
        for index, choice in enumerate(self.shown[top : top + size.height], start=top):
            chosen = index == self.at
            fill = palette.style(palette.text, palette.select, bold=True, reverse=True) if chosen else self.plane
            hint = [Segment(f"{choice.hint}  ", palette.style(palette.text if chosen else palette.muted))]
            mark = self.look.glyphs.prompt if chosen and self.look.flat else " "
            out.append(row([Segment(f"{mark} {choice.name}")], hint, size.width, fill, cut))
        return out

    # -- mouse --------------------------------------------------------------------------------------------------------
    def on_click(self, event: events.Click) -> None:
        """Choose the entry under the pointer."""
        if 0 <= self._top + event.y < len(self.shown):
            self.post_message(self.Taken(self.shown[self._top + event.y]))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move on."""
        event.stop()
        self.move(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move back."""
        event.stop()
        self.move(-1)


class PaletteScreen(ModalScreen[str]):
    """Everything that can be done here, by name. Gives back the value of what was chosen, or an empty string."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+p", "close", "Close", id="palette.close"),
        Binding("down,ctrl+n", "move(1)", "Next", id="palette.down"),
        Binding("up", "move(-1)", "Before", id="palette.up"),
        Binding("pagedown", "move(10)", "A page on", id="palette.page_down"),
        Binding("pageup", "move(-10)", "A page back", id="palette.page_up"),
    ]

    def __init__(self, look: Look, choices: Sequence[Choice], *, placeholder: str = "") -> None:
        super().__init__()
        self.look = look
        self.choices = ChoiceList(look, choices)
        self.entry = Input(placeholder=placeholder or look.t("palette.placeholder"), id="palette-entry", compact=True)
        self.entry.cursor_blink = False

    def compose(self) -> ComposeResult:
        """A line to type in, and the entries."""
        with Vertical(id="palette"):
            yield self.entry
            yield self.choices

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow the list."""
        event.stop()
        self.choices.filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Choose the selected entry."""
        event.stop()
        if self.choices.shown:
            self.dismiss(self.choices.shown[self.choices.at].value)

    def on_choice_list_taken(self, event: ChoiceList.Taken) -> None:
        """An entry was clicked."""
        event.stop()
        self.dismiss(event.choice.value)

    def action_move(self, step: int) -> None:
        """Select another entry."""
        self.choices.move(step)

    def action_close(self) -> None:
        """Back without a choice."""
        self.dismiss("")
