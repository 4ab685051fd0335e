"""Which names of events are shown: a list with a mark for each, over the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.pane import Pane
from geode_tui.tui.widgets.wheel import Wheeled


class NameList(Wheeled, Pane, can_focus=True):
    """The names, those that are shown marked, and how often each came."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "move(1)", "Next name", id="names.down"),
        Binding(letter("k", "up"), "move(-1)", "Name before", id="names.up"),
        Binding("pagedown,ctrl+d", "move(10)", "Ten names on", id="names.page_down"),
        Binding("pageup,ctrl+u", "move(-10)", "Ten names back", id="names.page_up"),
        Binding(letter("g", "home"), "move(-100000)", "First name", id="names.first"),
        Binding("G,end", "move(100000)", "Last name", id="names.last"),
        Binding("space", "turn", "Show or hide the name", id="names.turn"),
        Binding(letter("o"), "only", "Show only this name", id="names.only"),
        Binding(letter("a"), "all", "Show all names", id="names.all"),
    ]

    def __init__(self, look: Look, counts: Mapping[str, int], hidden: Iterable[str]) -> None:
        """``counts`` maps each name to how many events have it."""
        super().__init__(look, id="names")
        self.hidden = frozenset(hidden)
        self._counts = dict(counts)
        self.names = sorted({*counts, *self.hidden})
        self._at = 0
        self._top = 0

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.panel)

    def build(self, size: Size) -> list[Strip]:
        """The title, a window on the names, and the keys."""
        palette, glyphs, t = self.look.palette, self.look.glyphs, self.look.t
        head = palette.style(palette.accent, palette.raised, bold=True)
        close = [Segment(t("modal.close"), palette.style(palette.muted))]
        title = row([Segment(t("names.title"))], close, size.width, head, glyphs.cut, margin=2)
        room = max(1, size.height - 4)
        self._top = max(0, min(self._top, self._at, len(self.names) - room), self._at - room + 1)
        lines = [self._line(i, size.width) for i in range(self._top, min(len(self.names), self._top + room))]
        blank = Strip.blank(size.width, self.plane)
        keys = [Segment(t("names.keys"), palette.style(palette.muted))]
        foot = row(keys, [], size.width, self.plane, glyphs.cut, margin=2)
        return [title, blank, *lines, *[blank] * (room - len(lines)), blank, foot][: size.height]

    def _line(self, index: int, width: int) -> Strip:
        palette, glyphs = self.look.palette, self.look.glyphs
        name, here = self.names[index], index == self._at
        fill = palette.style(palette.text, palette.select, reverse=True) if here else self.plane
        muted = palette.style(palette.text if here else palette.muted)
        hidden = name in self.hidden
        mark = Segment(f"{' ' if hidden else glyphs.ok} ", palette.style(palette.ok, bold=True))
        pointer = Segment(f"{glyphs.prompt if here and glyphs.ascii else ' '} ")
        text = Segment(self.look.line(name, 60), muted if hidden else palette.style(bold=True))
        count = [Segment(fmt.number(self._counts.get(name, 0)), muted)]
        return row([pointer, mark, text], count, width, fill, glyphs.cut, margin=1)

    # -- keys and mouse -----------------------------------------------------------------------------------------------
    def action_move(self, step: int) -> None:
        """Move the cursor."""
        self._at = max(0, min(len(self.names) - 1, self._at + step))
        self.repaint()

    def action_turn(self) -> None:
        """Show the name under the cursor, or hide it."""
        if self.names:
            self.hidden ^= {self.names[self._at]}
            self.repaint()

    def action_only(self) -> None:
        """Hide all others."""
        if self.names:
            self.hidden = frozenset(self.names) - {self.names[self._at]}
            self.repaint()

    def action_all(self) -> None:
        """Hide none."""
        self.hidden = frozenset()
        self.repaint()

    def on_click(self, event: events.Click) -> None:
        """Show or hide the name under the pointer."""
        index = self._top + event.y - 2
        if event.y - 2 >= 0 and index < len(self.names):
            self._at = index
            self.action_turn()


class NamesScreen(ModalScreen[frozenset[str]]):
    """See the module. Gives back the names that are hidden from now on."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter," + letter("q"), "close", "Close", id="names.close"),
    ]

    def __init__(self, look: Look, counts: Mapping[str, int], hidden: Iterable[str]) -> None:
        super().__init__()
        self.list = NameList(look, counts, hidden)

    def compose(self) -> ComposeResult:
        """The list."""
        yield self.list

    def action_close(self) -> None:
        """Back to the run with what was chosen."""
        self.dismiss(self.list.hidden)
