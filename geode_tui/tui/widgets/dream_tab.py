"""The Dreams tab: what is kept of a run beside its messages, and the lines of the text under the cursor."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar, Literal, TypeAlias

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.hints import Area
from geode_tui.tui.keys import letter
from geode_tui.tui.rows import fit, row
from geode_tui.tui.widgets.dream_data import READING_S, DreamData
from geode_tui.tui.widgets.dream_rows import HEAD, DreamList, DreamText, moment
from geode_tui.tui.widgets.field import Field
from geode_tui.tui.widgets.wheel import Wheeled
from geode_tui.view.dreams import DreamRow, one_before

Part: TypeAlias = Literal["list", "view"]
BOTH_FROM = 66
"""Cells of the pane from which the text stands beside the list; below that it takes its place."""
TOP = 2
"""Rows above the list and the text."""


class DreamsPane(Wheeled, DreamData, can_focus=True):
    """See the module. Keys work the list, or the text once it was entered."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "move(1)", "Down", id="dreams.down"),
        Binding(letter("k", "up"), "move(-1)", "Up", id="dreams.up"),
        Binding("pagedown,ctrl+d", "page(1)", "A page down", id="dreams.page_down"),
        Binding("pageup,ctrl+u", "page(-1)", "A page up", id="dreams.page_up"),
        Binding(letter("g", "home"), "move(-1000000)", "To the beginning", id="dreams.first"),
        Binding("G,end", "move(1000000)", "To the end", id="dreams.last"),
        Binding("enter", "enter", "Into the text; in it, to the message that is cited", id="dreams.open"),
        Binding(letter("h", "left"), "cite(-1)", "Citation before", id="dreams.left"),
        Binding(letter("l", "right"), "cite(1)", "Next citation", id="dreams.right"),
        Binding(letter("i"), "want('injected')", "What will be injected", id="dreams.injected"),
        Binding(letter("d"), "diff", "Changes since the one before", id="dreams.diff"),
        Binding(letter("n"), "want('dream')", "Dream now", id="dreams.dream"),
        Binding(letter("a"), "want('approve')", "Say that it is right", id="dreams.approve"),
        Binding(letter("x"), "forget", "Forget it", id="dreams.forget"),
        Binding(letter("y"), "want('copy')", "Copy the text", id="dreams.copy"),
    ]

    ASKS = frozenset({"dreams.forget"})

    class Wanted(Message):
        """The screen shall show what is ``injected``, ``dream`` now, ``approve``, ``forget`` (``text`` says why) or
        ``copy`` a text, or ``jump`` to message ``seq``.
        """

        def __init__(self, what: str, one: DreamRow | None, text: str = "", seq: int = 0) -> None:
            super().__init__()
            self.what = what
            self.one = one
            self.text = text
            self.seq = seq

    class Turned(Message):
        """Keys work the other part now."""

    part: Part = "list"
    diff = False
    _top = 0
    _text_top = 0
    _left = 0
    """Cells of the list where the text stands beside it; 0 where one takes the other's place."""
    _drawn: Sequence[int] = ()
    """The line in each row of the text in view."""

    @property
    def area(self) -> Area | None:
        """The part that keys work, or the field, whichever has the focus."""
        if self.has_focus:
            return "dreams" if self.part == "list" else "dreams_view"
        return "dreams_field" if self.field.typing else None

    # -- drawing ------------------------------------------------------------------------------------------------------
    def build(self, size: Size) -> list[Strip]:
        """A heading, the health of the dreaming, and below them the list and the text."""
        if self.view != self._made_of and not self._reading:
            self.call_later(self._renew)  # it was hidden, for a moment, when it wanted to read
        head = [self._heading(size.width), self._health(size.width)]
        below = Size(size.width, max(1, size.height - TOP - bool(self.field.purpose)))
        if not self.table.rows:
            self._left = 0
            return [*head, self._row(size.width), *(self._row(size.width, [Segment(text)]) for text in self._nothing())]
        self._left = min(32, size.width // 3) if size.width >= BOTH_FROM else 0
        if not self._left:
            return [*head, *(self._list(below) if self.part == "list" else self._text(below))]
        upper = self._list(Size(self._left, below.height))
        text = self._text(Size(size.width - self._left, below.height))
        return [*head, *(Strip([*a, *b]) for a, b in zip(upper, text, strict=True))]

    def _row(self, width: int, left: Sequence[Segment] = (), right: Sequence[Segment] = ()) -> Strip:
        return row(left, right, width, self.plane, self.look.glyphs.cut, margin=1)

    def _heading(self, width: int) -> Strip:
        palette, t = self.look.palette, self.look.t
        dreams = self.table.dreams
        accent = palette.style(palette.accent, bold=True, underline=self.has_focus and self.part == "list")
        left = [Segment(t("tab.dreams"), accent), Segment(f" {fmt.number(dreams)}")]
        if summaries := len(self.table.rows) - dreams:
            told = t("dreams.summaries", n=fmt.number(summaries))
            left.append(Segment(f"  {told}", palette.style(palette.muted)))
        if self.trouble and self.table.rows:
            left.append(Segment(f"  {self.look.line(self.trouble)}", palette.style(palette.crit)))
        return self._row(width, left)

    def _health(self, width: int) -> Strip:
        t, table = self.look.t, self.table
        muted = self.look.palette.style(self.look.palette.muted)
        if self._made_of is None:
            return self._row(width)
        since = t("dreams.lag", n=fmt.number(self.lag))
        told = [t("dreams.none_yet"), since]
        if table.dreams:
            by = self.look.line(table.model, 40) if table.model else t("dreams.local")
            at = t("dreams.last", at=moment(table.last_at, self.source.clock()))
            told = [at, since, by, t("dreams.cost", cost=fmt.money(table.cost_micro))]
        return self._row(width, fit([[Segment(text, muted)] for text in told], width - 2))

    def _nothing(self) -> Sequence[str]:
        t = self.look.t
        if self.trouble:
            return (self.look.line(self.trouble),)
        if self._reading or self._made_of is None:
            slow = self._reading and time.monotonic() - self._read_since >= READING_S
            return (t("dreams.reading"),) if slow else ()
        return (t("dreams.empty"),) if self.table.recorder else (t("dreams.empty"), t("dreams.empty_next"))

    def _list(self, size: Size) -> list[Strip]:
        """A window of the list, two rows a text."""
        rows, room = self.table.rows, max(1, size.height // 2)
        self._top = max(0, min(self._top, self._at, len(rows) - room), self._at - room + 1)
        lit = (self.has_focus and self.part == "list") or self.field.typing
        drawn = DreamList(self.look, size.width, lit, self.source.clock())
        window = range(self._top, min(len(rows), self._top + room))
        out = [strip for i in window for strip in drawn.rows(rows[i], selected=i == self._at)][: size.height]
        return out + [Strip.blank(size.width, self.plane)] * (size.height - len(out))

    def _text(self, size: Size) -> list[Strip]:
        """The text under the cursor, scrolled so that its line stands in view."""
        one = self.selected
        assert one is not None
        focused = self.has_focus and self.part == "view"
        before = one_before(self.table.rows, self._at)
        now = self.source.clock()
        drawn = DreamText(self.look, size, focused, now, one, self.lines, self._line, self._cite, before, self.diff)
        head = drawn.head()[: max(1, size.height - 3)]
        body, room = drawn.body(), max(1, size.height - len(head))
        places = [index for index, (line, _) in enumerate(body) if line == self._line]
        first, last = (places[0], places[-1]) if places else (0, 0)
        self._text_top = max(0, min(self._text_top, len(body) - room))
        if not self.diff:
            self._text_top = max(min(self._text_top, first), min(first, last - room + 1))
        window = body[self._text_top : self._text_top + room]
        self._drawn = [line for line, _ in window]
        out = [*head, *(strip for _, strip in window)][: size.height]
        plane = self.look.palette.style(self.look.palette.text, self.look.palette.surface)
        return out + [Strip.blank(size.width, plane)] * (size.height - len(out))

    # -- keys ---------------------------------------------------------------------------------------------------------
    def turn_to(self, part: Part) -> None:
        """Have the keys work ``part``."""
        self.part = part
        self.repaint()
        self.post_message(self.Turned())

    def widen(self) -> bool:
        """Leave the difference, else the text; False with nothing to leave."""
        if self.diff:
            self.action_diff()
        elif self.part == "view":
            self.turn_to("list")
        else:
            return False
        return True

    def action_move(self, rows: int) -> None:
        """Move the cursor: over the texts, or over the lines of one that say something."""
        if self.part == "list":
            self._text_top = 0
            self.choose(self._at + rows)
            return
        if self.diff:
            self._text_top = max(0, self._text_top + rows)  # the end is known when it is drawn
        else:
            said = [index for index, line in enumerate(self.lines) if line.kind != "blank"]
            at = next((place for place, index in enumerate(said) if index >= self._line), 0)
            if said:
                self._line, self._cite = said[max(0, min(len(said) - 1, at + rows))], 0
        self.repaint()

    def action_page(self, pages: int) -> None:
        """Move by a page."""
        high = max(1, self.size.height - TOP - HEAD)
        self.action_move(pages * (high // 2 if self.part == "list" else high))

    def action_enter(self) -> None:
        """Into the text; in it, to the message that the line under the cursor cites."""
        if self.part == "list":
            if self.table.rows:
                self.turn_to("view")
        elif not self.diff and self._line < len(self.lines):
            seqs = self.lines[self._line].seqs
            self.post_message(self.Wanted("jump", self.selected, seq=seqs[self._cite % len(seqs)] if seqs else 0))

    def action_cite(self, step: int) -> None:
        """Another citation of the line under the cursor."""
        if self.part == "view":
            self._cite += step
            self.repaint()

    def action_diff(self) -> None:
        """What the text says otherwise than the one before, or the text again."""
        if self.table.rows:
            self.diff, self._text_top = not self.diff, 0
            self.part = "view" if self.diff or self._left == 0 else self.part
            self.repaint()
            self.post_message(self.Turned())

    def action_want(self, what: str) -> None:
        """Have the screen do something with the text under the cursor, or with all of them."""
        if self.selected is not None or what in {"dream", "injected"}:
            self.post_message(self.Wanted(what, self.selected))

    def action_forget(self) -> None:
        """Ask whether the text shall be forgotten, and why."""
        one = self.selected
        if one is None:
            return
        if self.table.recorder or one.forgotten is not None:
            self.post_message(self.Wanted("forget", one))
            return
        self.field.open("forget", self.look.t("dreams.forget"), self.look.t("dreams.forget_hint"))
        self.repaint()

    def on_field_entered(self, event: Field.Entered) -> None:
        """Forget it."""
        event.stop()
        self.field.close()
        self.focus()
        self.post_message(self.Wanted("forget", self.selected, event.text.strip()))

    def on_field_left(self, event: Field.Left) -> None:
        """Keep it."""
        event.stop()
        self.focus()

    # -- the mouse ----------------------------------------------------------------------------------------------------
    def on_click(self, event: events.Click) -> None:
        """Select what is under the pointer; a click on the selected one enters it, or goes where it points."""
        y = event.y - TOP
        if y < 0 or not self.table.rows:
            return
        if event.x < self._left or (not self._left and self.part == "list"):
            index = self._top + y // 2
            if index == self._at:
                self.turn_to("view")
            elif index < len(self.table.rows):
                self.choose(index)
                self.turn_to("list")
            return
        place = y - HEAD
        if 0 <= place < len(self._drawn) and not self.diff:
            again = self.part == "view" and self._drawn[place] == self._line
            self._line, self._cite = self._drawn[place], self._cite if again else 0
            if again:
                self.action_enter()
        self.turn_to("view")
