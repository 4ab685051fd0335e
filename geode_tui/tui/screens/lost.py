"""What a summary lost: a list from which one goes to its message, or puts it back for the model, over the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.strip import Strip

from geode_tui.tui.cells import pad, width_of
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.pane import Pane
from geode_tui.tui.widgets.wheel import Wheeled
from geode_tui.view.window_history import LostRow

TOP = 2
"""Rows above the list: the title and a blank one."""


class LostList(Wheeled, Pane, can_focus=True):
    """The things that version ``version`` of the view lost, the weightiest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "move(1)", "Next thing", id="lost.down"),
        Binding(letter("k", "up"), "move(-1)", "Thing before", id="lost.up"),
        Binding("pagedown,ctrl+d", "move(10)", "Ten things on", id="lost.page_down"),
        Binding("pageup,ctrl+u", "move(-10)", "Ten things back", id="lost.page_up"),
        Binding(letter("g", "home"), "move(-100000)", "First thing", id="lost.first"),
        Binding("G,end", "move(100000)", "Last thing", id="lost.last"),
        Binding("enter", "jump", "Show its message", id="lost.jump"),
        Binding(letter("p"), "put_back", "Put it back, pinned", id="lost.back"),
    ]

    class Chosen(Message):
        """The person wants to see the message of a thing."""

        def __init__(self, thing: LostRow) -> None:
            super().__init__()
            self.thing = thing

    class BackWanted(Message):
        """The person wants thing ``index`` put back."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, look: Look, version: int, things: Sequence[LostRow]) -> None:
        super().__init__(look, id="lost")
        self.version = version
        self.things = tuple(things)
        self.asked: frozenset[int] = frozenset()
        """Things that are on their way back."""
        self._at = 0
        self._top = 0

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.panel)

    def take(self, things: Sequence[LostRow], asked: frozenset[int]) -> None:
        """Show how they stand now."""
        self.things, self.asked = tuple(things), asked
        self.repaint()

    def build(self, size: Size) -> list[Strip]:
        """The title, a window on the things, and the keys."""
        palette, glyphs, t = self.look.palette, self.look.glyphs, self.look.t
        head = palette.style(palette.accent, palette.raised, bold=True)
        muted = palette.style(palette.muted)
        title = row(
            [Segment(t("lost.title", n=self.version))],
            [Segment(t("modal.close"), muted)],
            size.width, head, glyphs.cut, margin=2,
        )  # fmt: skip
        blank = Strip.blank(size.width, self.plane)
        if not self.things:
            return [title, blank, row([Segment(t("lost.nothing"))], [], size.width, self.plane, glyphs.cut, margin=2)]
        room = max(1, size.height - TOP - 2)
        self._top = max(0, min(self._top, self._at, len(self.things) - room), self._at - room + 1)
        kinds = [t(f"lost.kind_{thing.kind}") for thing in self.things]
        column = max(map(width_of, kinds))
        shown = range(self._top, min(len(self.things), self._top + room))
        lines = [self._line(index, pad(kinds[index], column), size.width) for index in shown]
        foot = row([Segment(t("lost.keys"), muted)], [], size.width, self.plane, glyphs.cut, margin=2)
        return [title, blank, *lines, *[blank] * (room - len(lines)), blank, foot][: size.height]

    def _line(self, index: int, kind: str, width: int) -> Strip:
        palette, glyphs, t = self.look.palette, self.look.glyphs, self.look.t
        thing, here = self.things[index], index == self._at
        fill = palette.style(palette.text, palette.select, reverse=True) if here else self.plane
        muted = palette.style(palette.text if here else palette.muted)
        pointer = Segment(f"{glyphs.prompt if here and self.look.flat else ' '} ")
        right = [Segment(f"  #{thing.seq}" if thing.seq else "", muted)]
        if thing.pinned:
            right.insert(0, Segment(f"{glyphs.pinned} {t('lost.pinned')}", palette.style(palette.ok, bold=True)))
        elif index in self.asked:
            right.insert(0, Segment(f"{glyphs.pending} {t('lost.asked')}", muted))
        left = [pointer, Segment(f"{kind}  ", muted), Segment(self.look.line(thing.text))]
        return row(left, right, width, fill, glyphs.cut, margin=1)

    # -- keys and mouse -----------------------------------------------------------------------------------------------
    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self._at = max(0, min(len(self.things) - 1, self._at + rows))
        self.repaint()

    def action_jump(self) -> None:
        """Show the message of the thing under the cursor."""
        if self.things:
            self.post_message(self.Chosen(self.things[self._at]))

    def action_put_back(self) -> None:
        """Put it back, unless that was done or is on its way."""
        if self.things and not self.things[self._at].pinned and self._at not in self.asked:
            self.asked |= {self._at}
            self.repaint()
            self.post_message(self.BackWanted(self._at))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there; on the cursor's row show its message."""
        index = self._top + event.y - TOP
        if event.y < TOP or index >= min(len(self.things), self._top + self.size.height - TOP - 2):
            return
        if index == self._at:
            self.action_jump()
        else:
            self._at = index
            self.repaint()


class LostScreen(ModalScreen[LostRow | None]):
    """See the module. Gives back the thing whose message is to be shown. ``put_back`` is given a thing's number."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape," + letter("q"), "close", "Close", id="lost.close"),
    ]

    def __init__(
        self, look: Look, version: int, things: Sequence[LostRow], put_back: Callable[[int, int], None]
    ) -> None:
        super().__init__()
        self.list = LostList(look, version, things)
        self._put_back = put_back

    def compose(self) -> ComposeResult:
        """The list."""
        yield self.list

    def on_lost_list_chosen(self, event: LostList.Chosen) -> None:
        """Back to the run, at the message; one that only the former summary said stays."""
        event.stop()
        if event.thing.seq:
            self.dismiss(event.thing)
        else:
            self.app.notify(self.list.look.t("lost.no_message"), markup=False)

    def on_lost_list_back_wanted(self, event: LostList.BackWanted) -> None:
        """Ask for it."""
        event.stop()
        self._put_back(self.list.version, event.index)

    def action_close(self) -> None:
        """Back to the run."""
        self.dismiss(None)
