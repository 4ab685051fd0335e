"""The Offloads tab: every result that left the context, and a viewer of the one under the cursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import msgspec
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from geode_tui.tui.hints import Area
from geode_tui.tui.keys import letter
from geode_tui.tui.viewer.viewer import Viewer
from geode_tui.tui.widgets.field import Field
from geode_tui.tui.widgets.offload_parts import OffloadParts, Part
from geode_tui.tui.widgets.wheel import Wheeled
from geode_tui.view.offloads import ORDERS, OffloadRow

SIDEWAYS = 16
"""Cells of a step to the side."""
_NUMBER = {"text": 10, "tree": 10, "hex": 0}
"""How a place that is typed is read; 0 takes ``0x`` too."""


class OffloadsPane(Wheeled, OffloadParts, can_focus=True):
    """See the module. Keys work the list, or the viewer once it was entered."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "move(1)", "Down", id="offloads.down"),
        Binding(letter("k", "up"), "move(-1)", "Up", id="offloads.up"),
        Binding("pagedown,ctrl+d", "page(1)", "A page down", id="offloads.page_down"),
        Binding("pageup,ctrl+u", "page(-1)", "A page up", id="offloads.page_up"),
        Binding(letter("g", "home"), "first", "To the beginning", id="offloads.first"),
        Binding("G,end", "last", "To the end", id="offloads.last"),
        Binding("enter", "enter", "Into the result; in it, open or wrap", id="offloads.open"),
        Binding(letter("h", "left"), "sideways(-1)", "To the left", id="offloads.left"),
        Binding(letter("l", "right"), "sideways(1)", "To the right", id="offloads.right"),
        Binding("shift+down,J", "select(1)", "Select downwards", id="offloads.select_down"),
        Binding("shift+up,K", "select(-1)", "Select upwards", id="offloads.select_up"),
        Binding("slash", "find", "Filter the list; in a result, find", id="offloads.find"),
        Binding(letter("n"), "match(1)", "Next match", id="offloads.next_match"),
        Binding("N", "match(-1)", "Match before", id="offloads.previous_match"),
        Binding("colon", "goto", "Go to a line", id="offloads.goto"),
        Binding(letter("t"), "turn", "As text, tree or hexadecimal", id="offloads.turn"),
        Binding(letter("w"), "wrap", "Wrap long lines, or not", id="offloads.wrap"),
        Binding(letter("z"), "full", "Give the result the whole width", id="offloads.full"),
        Binding(letter("r"), "recall", "Recall it into the conversation", id="offloads.recall"),
        Binding(letter("p"), "pin", "Keep it from expiring, or not", id="offloads.pin"),
        Binding(letter("y"), "copy", "Copy the selection, or the page", id="offloads.copy"),
        Binding(letter("s"), "save", "Save it to a file", id="offloads.save"),
        Binding(letter("o"), "sort", "Another order", id="offloads.sort"),
        Binding(letter("v"), "want('seen')", "What the model sees", id="offloads.seen"),
    ]

    ASKS = frozenset({"offloads.find", "offloads.goto", "offloads.save", "offloads.open"})
    """Entering is done as soon: what ``/`` asks for depends on it."""

    class Wanted(Message):
        """The screen shall do something with ``one``: show what the model has ``seen`` of it, ``recall`` it, ``pin``
        it, ``save`` it as ``text``, ``copy`` ``text``; ``zoom``, or not any more. ``part`` are the characters that are
        meant: where they begin and how many, (0, 0) for all.
        """

        def __init__(self, what: str, one: OffloadRow, text: str = "", part: tuple[int, int] = (0, 0)) -> None:
            super().__init__()
            self.what = what
            self.one = one
            self.text = text
            self.part = part

    class Said(Message):
        """The person shall be told ``text``."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Turned(Message):
        """Keys work the other part now."""

    @property
    def area(self) -> Area | None:
        """The part that keys work, or the field, whichever has the focus."""
        if self.has_focus:
            return "offloads" if self.part == "list" else "offloads_view"
        return "offloads_field" if self.field.typing else None

    # -- the two parts ------------------------------------------------------------------------------------------------
    def turn_to(self, part: Part) -> None:
        """Have the keys work ``part``."""
        self.part = part
        if part == "list" and self.full:
            self._set_full(False)
        self.repaint()
        self.post_message(self.Turned())

    def widen(self) -> bool:
        """Drop the selection, else what is found, else leave the result, else show all; False with nothing to do."""
        if self.part == "view":
            if self.page is not None and self.page.marked:
                self.page = msgspec.structs.replace(self.page, marked=0)  # a second esc may come before the next page
                self.ask(Viewer.deselect)
            elif self.page is not None and self.page.found is not None:
                self.page = msgspec.structs.replace(self.page, found=None)
                self.ask(lambda viewer: viewer.find(""))
            else:
                self.turn_to("list")
            return True
        filtered = bool(self.wanted)
        self.look_for("")
        return filtered

    def look_for(self, text: str) -> None:
        """Show only results that say ``text``; empty: all."""
        if text != self.wanted:
            self.wanted = text
            self._arrange()

    def on_field_written(self, event: Field.Written) -> None:
        """Narrow the list, or find in the result, while one types."""
        event.stop()
        text = event.text
        if event.purpose == "filter":
            self.look_for(text)
        elif event.purpose == "find":
            self.ask(lambda viewer: viewer.find(text))

    def on_field_entered(self, event: Field.Entered) -> None:
        """To what was found, to the place that was named, or save."""
        event.stop()
        text = event.text.strip()
        if event.purpose == "goto" and not self._go_to(text):
            return
        if event.purpose == "save" and text and self.selected is not None:
            self.post_message(self.Wanted("save", self.selected, text))
        self.field.close()
        self.focus()

    def on_field_left(self, event: Field.Left) -> None:
        """Look for nothing any more."""
        event.stop()
        if event.purpose == "filter":
            self.look_for("")
        elif event.purpose == "find":
            self.ask(lambda viewer: viewer.find(""))
        self.focus()

    def _go_to(self, text: str) -> bool:
        shape = self.page.shape if self.page is not None else "text"
        try:
            number = int(text.replace(",", ""), _NUMBER[shape])
        except ValueError:
            self.post_message(self.Said(self.look.t("offload.no_place")))
            return False
        self.ask(lambda viewer: viewer.go_to(max(0, number)))
        return True

    # -- keys ---------------------------------------------------------------------------------------------------------
    def _either(self, order: Callable[[Viewer], None], at: int) -> None:
        """Work the viewer, or put the cursor on row ``at`` of the list."""
        if self.part == "view":
            self.ask(order)
            return
        self._at = max(0, min(len(self.rows) - 1, at))
        self.repaint()

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self._either(lambda viewer: viewer.move(rows), self._at + rows)

    def action_page(self, pages: int) -> None:
        """Move by a page."""
        high = max(1, (self._low or self.size.height) - self._head - 2)
        self._either(lambda viewer: viewer.turn_page(pages), self._at + pages * high)

    def action_first(self) -> None:
        """To the beginning."""
        self._either(Viewer.first, 0)

    def action_last(self) -> None:
        """To the end."""
        self._either(Viewer.last, len(self.rows))

    def action_enter(self) -> None:
        """Into the result; in it, open a value or wrap."""
        if self.part == "view":
            self.ask(Viewer.open)
        elif self.rows:
            self.turn_to("view")

    def action_sideways(self, step: int) -> None:
        """Show what stands further to that side."""
        if self.part == "view":
            self.ask(lambda viewer: viewer.sideways(step * SIDEWAYS))

    def action_select(self, rows: int) -> None:
        """Select lines."""
        if self.part == "view":
            self.ask(lambda viewer: viewer.select(rows))
        else:
            self.action_move(rows)

    def action_find(self) -> None:
        """Ask what to filter by, or what to find."""
        t = self.look.t
        if self.part == "view":
            text = self.page.found.text if self.page is not None and self.page.found is not None else ""
            self.field.open("find", t("offload.find"), t("offload.find_hint"), text)
        else:
            self.field.open("filter", t("offload.filter"), t("offload.filter_hint"), self.wanted)
        self.repaint()

    def action_match(self, step: int) -> None:
        """To another match."""
        self.ask(lambda viewer: viewer.step_match(step))

    def action_goto(self) -> None:
        """Ask where to go."""
        if self.rows:
            self.turn_to("view")
            self.field.open("goto", self.look.t("offload.goto"), self.look.t("offload.goto_hint"))

    def action_save(self) -> None:
        """Ask for the name of a file."""
        one = self.selected
        if one is not None:
            name = f"{one.ref_id[:60]}.txt"
            self.field.open("save", self.look.t("offload.save"), self.look.t("offload.save_hint"), name)
            self.repaint()

    def action_turn(self) -> None:
        """Show it in another way."""
        self.ask(Viewer.turn)

    def action_wrap(self) -> None:
        """Wrap lines, or not."""
        self.ask(Viewer.wrap)

    def action_full(self) -> None:
        """Give the result the whole width, or not any more."""
        if self.rows:
            if self.part == "list":
                self.turn_to("view")
            self._set_full(not self.full)

    def _set_full(self, full: bool) -> None:
        self.full = full
        self.repaint()
        if self.selected is not None:
            self.post_message(self.Wanted("zoom" if full else "narrow", self.selected))

    def action_recall(self) -> None:
        """Recall the selection, or all of it, into the conversation."""
        one = self.selected
        if one is None:
            return
        if self.part == "list" or not self.viewing:
            self.post_message(self.Wanted("recall", one))
            return

        def recall(viewer: Viewer) -> None:
            self.post_message(self.Wanted("recall", one, part=viewer.marked_characters()))

        self.ask(recall)

    def action_copy(self) -> None:
        """Copy the selection, or the page; in the list, the reference."""
        one = self.selected
        if one is None:
            return
        if self.part == "list" or not self.viewing:
            self.post_message(self.Wanted("copy", one, one.ref_id))
            return

        def copy(viewer: Viewer) -> None:
            text = viewer.copied()
            too_long = self.Said(self.look.t("offload.too_long"))
            self.post_message(too_long if text is None else self.Wanted("copy", one, text))

        self.ask(copy)

    def action_pin(self) -> None:
        """Keep it from expiring, or not any more."""
        self.action_want("pin")

    def action_want(self, what: str) -> None:
        """Have the screen do something with the result under the cursor."""
        if self.selected is not None:
            self.post_message(self.Wanted(what, self.selected))

    def action_sort(self) -> None:
        """The next order, from its first row."""
        self.order = ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        self._at = 0
        self.turn_to("list")
        self._arrange()

    # -- the mouse ----------------------------------------------------------------------------------------------------
    def on_click(self, event: events.Click) -> None:
        """Select the row under the pointer; a click on the selected one, or below the list, enters the result."""
        index = self._top + event.y - self._head
        if event.y >= self._low and self.rows:
            self.turn_to("view")
        elif event.y == 0:
            self.action_sort()
        elif event.y >= self._head and index < len(self.rows):
            if index == self._at:
                self.turn_to("view")
            else:
                self._at = index
                self.turn_to("list")
