"""The cursor of the conversation: where it is, how it moves, what it opens, and what is selected with it."""

from __future__ import annotations

from typing import NamedTuple

from rich.segment import Segment
from textual.events import Blur, Click, Focus, MouseDown, MouseMove, MouseUp
from textual.strip import Strip

from geode_tui.tui.conversation.ink import MARGIN
from geode_tui.tui.conversation.model import Place
from geode_tui.tui.conversation.picking import Cell, Picked, Span, highlighted
from geode_tui.tui.conversation.window import Window
from geode_tui.view.event_line import About


class Target(NamedTuple):
    """The entry the cursor goes to once it is loaded, and which of its parts: the first (0), or the first (1) or last
    (-1) that failed or asks.
    """

    entry: int
    which: int


class Pointed(Window):
    """A window with a cursor."""

    _cursor: Place | None = None
    _target: Target | None = None
    _picked: Picked | None = None
    _pressed: Cell | None = None
    """Where a mouse button went down."""

    @property
    def span(self) -> Span | None:
        """What is selected."""
        if self._picked is None or self.stage is None:
            return None
        return self._picked.span(self.stage.transcript.line_of)

    def pick(self, picked: Picked | None) -> None:
        """Select something else, or nothing."""
        if picked != self._picked:
            self._picked = picked
            self.repaint()

    def first_row(self) -> int:
        """The first row of the view that shows the text."""
        return 1 if self.overlay(0) is not None else 0

    # -- painting --------------------------------------------------------------------------------------------------
    def decorate(self, strip: Strip, line: int) -> Strip:
        """The selection, and the cursor's bar beside its block with its line marked where it can be opened."""
        span = self.span
        cells = span.cells(line, self.area.width) if span is not None else None
        strip = self._with_cursor(strip, line)
        return highlighted(strip, cells, self.area.width, self.ink) if cells is not None else strip

    def _with_cursor(self, strip: Strip, line: int) -> Strip:
        cursor, stage = self._cursor, self.stage
        if cursor is None or stage is None or not self.has_focus:
            return strip
        place = stage.transcript.locate(line)
        if place is None or place[:2] != cursor[:2]:
            return strip
        ink, here = self.ink, place.offset == cursor.offset
        item = stage.transcript.item_at(place)
        if item is not None and place.offset < item.before and not here:
            return strip
        if here and item is not None and item.foldable:
            strip = Strip(Segment.apply_style(strip, post_style=ink.selected))
            strip = strip.extend_cell_length(self.area.width - 1, ink.selected)
        mark = ink.glyphs.prompt if ink.glyphs.ascii and here else " "
        bar = Segment(mark, ink.bar if here else ink.bar_rest)
        return Strip([bar, *strip.extend_cell_length(MARGIN, ink.base).crop(1, None)])

    # -- where it is -----------------------------------------------------------------------------------------------
    def _set_cursor(self, line: int) -> None:
        """Put the cursor on ``line`` and bring it into view."""
        stage = self.stage
        if stage is None or not stage.total:
            return
        line = max(0, min(line, stage.total - 1))
        self._cursor = stage.transcript.locate(line)
        top, height = self.scroll_offset.y, self.size.height
        if line < top + self.first_row():
            self.scroll_to(y=max(0, line - (1 if line else 0)), animate=False, immediate=True)
        elif line >= top + height:
            self.scroll_to(y=line - height + 1, animate=False, immediate=True)
        self.repaint()

    def _cursor_line(self) -> int | None:
        """The cursor's line where it is in view."""
        if self._cursor is None or self.stage is None:
            return None
        line = self.stage.transcript.line_of(self._cursor)
        return line if self._in_view(line) else None

    def _in_view(self, line: int) -> bool:
        top = self.scroll_offset.y
        return top <= line < top + self.size.height

    def _here(self) -> Place | None:
        """The cursor's place where it is in view, else the top of the view."""
        return self._cursor if self._cursor_line() is not None else self.place_at_top()

    def drawn(self) -> bool:
        """Put the cursor on the part of a loaded entry that was looked for."""
        stage, target = self.stage, self._target
        items = stage.transcript.entries[target.entry].items if stage is not None and target is not None else None
        if stage is None or target is None or not items:
            return False
        self._target = None
        marked = [number for number, item in enumerate(items) if item.attention] if target.which else []
        number = marked[0 if target.which > 0 else -1] if marked else 0
        stage.prepare(stage.transcript.line_of(Place(target.entry, number, 0)), self.size.height, upwards=False)
        self._set_cursor(stage.transcript.line_of(Place(target.entry, number, items[number].before)))
        return True

    def _go_to(self, entry: int, which: int) -> None:
        """Bring ``entry`` into view and put the cursor on a part of it (see `Target`)."""
        assert self.stage is not None
        self._target = Target(entry, which)
        line = self.stage.transcript.line_of(Place(entry, 0, 0))
        self.scroll_to(y=max(0, line - 1), animate=False, immediate=True)
        self.drawn()
        self.pump()

    def show_message(self, about: About) -> bool:
        """Bring the message that an event is about into view, else the first of its round; False without either."""
        found = self.stage.transcript.find(about) if self.stage is not None else None
        if found is not None:
            self.following = False
            self._go_to(found, 0)
        return found is not None

    # -- actions ---------------------------------------------------------------------------------------------------
    def action_move(self, step: int) -> None:
        """The cursor goes a line on; where it is out of view, it enters the view."""
        self.pick(None)
        self._move(step)

    def _move(self, step: int) -> None:
        at = self._cursor_line()
        if at is not None:
            self._set_cursor(at + step)
        elif self.stage is not None:
            top = self.scroll_offset.y
            self._set_cursor(top + 1 if step > 0 else min(top + self.size.height, self.stage.total) - 1)

    def action_pick(self, step: int) -> None:
        """Select the cursor's line and the ones it goes over."""
        picked = self._picked if self._picked is not None and self._picked.lines else None
        if picked is not None or self._cursor_line() is None:
            self._move(step)
        if self._cursor is not None:
            here = Cell(self._cursor, 0)
            self.pick(Picked(picked.anchor if picked is not None else here, here, lines=True))

    def action_half_page(self, step: int) -> None:
        """Half a page on, the cursor with it."""
        at = self._cursor_line()
        half = max(1, self.size.height // 2) * step
        self.scroll_to(y=self.scroll_offset.y + half, animate=False, immediate=True)
        self._set_cursor((self.scroll_offset.y + 1) if at is None else at + half)

    def action_top(self) -> None:
        """To the beginning."""
        self.scroll_to(y=0, animate=False, immediate=True)
        self._set_cursor(0)

    def action_bottom(self) -> None:
        """To the live end."""
        self.following, self.unseen = True, 0
        if self.stage is not None:
            self.settle(None)
            self._set_cursor(self.stage.total - 1)
        self.pump()

    def action_round(self, step: int) -> None:
        """To the next round or prompt, or the one before."""
        here = self._here()
        if self.stage is None or here is None:
            return
        found = self.stage.transcript.round_beside(here.entry, step)
        if found is not None:
            self._go_to(found, 0)

    def action_attention(self, step: int) -> None:
        """To the next block that failed, was refused or asks, or change of the context, or the one before."""
        stage, here = self.stage, self._here()
        if stage is None or here is None:
            return
        entries = stage.transcript.entries
        marked = [number for number, item in enumerate(entries[here.entry].items or ()) if item.attention]
        beyond = [number for number in marked if (number - here.item) * step > 0]
        if beyond:
            number = beyond[0 if step > 0 else -1]
            before = entries[here.entry].items[number].before  # type: ignore[index]
            self._set_cursor(stage.transcript.line_of(Place(here.entry, number, before)))
            return
        index = here.entry + step
        while 0 <= index < len(entries):
            if stage.places.has_any(index) or stage.transcript.needs_attention(index, stage.asking):
                self._go_to(index, step)
                return
            index += step

    def action_fold(self) -> None:
        """Open or close the card, the run of cards or the thinking under the cursor."""
        stage, cursor = self.stage, self._cursor
        if stage is None or cursor is None:
            return
        anchor = self.place_at_top()
        self.following = False
        if stage.toggle(cursor):
            item = stage.transcript.item_at(cursor)
            self._cursor = cursor._replace(offset=item.before if item is not None else 0)
        self.settle(anchor)
        self.pump()

    # -- the mouse -------------------------------------------------------------------------------------------------
    def _cell_at(self, x: int, y: int) -> Cell | None:
        """The cell of the text at ``x``, ``y`` of the view."""
        place = self.stage.transcript.locate(self.scroll_offset.y + y) if self.stage is not None else None
        return Cell(place, max(0, x)) if place is not None else None

    def on_mouse_down(self, event: MouseDown) -> None:
        """A selection may begin."""
        inside = event.x < self.area.width and self.overlay(event.y) is None
        self._pressed = self._cell_at(event.x, event.y) if event.button == 1 and inside else None
        self.pick(None)
        if self._pressed is not None:
            self.capture_mouse()

    def on_mouse_move(self, event: MouseMove) -> None:
        """Select up to the pointer; beyond an edge the view follows it."""
        if self._pressed is None:
            return
        height = self.size.height
        if event.y < 0 or event.y >= height:
            step = -1 if event.y < 0 else 1
            self.scroll_to(y=self.scroll_offset.y + step, animate=False, immediate=True)
        head = self._cell_at(event.x, max(0, min(event.y, height - 1)))
        if head is not None and (head != self._pressed or self._picked is not None):
            self.pick(Picked(self._pressed, head))

    def on_mouse_up(self, _: MouseUp) -> None:
        """The selection stands."""
        if self._pressed is not None:
            self._pressed = None
            self.release_mouse()

    def on_click(self, event: Click) -> None:
        """A click puts the cursor there and opens or closes a card; the end of a selection does not."""
        if self.stage is None or self._picked is not None:
            return
        if self.overlay(event.y) is not None:
            if event.y and self.unseen:
                self.action_bottom()
            return
        place = self.stage.transcript.locate(self.scroll_offset.y + event.y)
        if place is None:
            return
        self._cursor = place
        item = self.stage.transcript.item_at(place)
        if item is not None and item.foldable and place.offset >= item.before:
            self.action_fold()
        self.repaint()

    # -- focus -----------------------------------------------------------------------------------------------------
    def on_focus(self, _: Focus) -> None:
        """Show the cursor, at the last line in view where it has no place yet."""
        if self.stage is not None and self._cursor_line() is None:
            line = min(self.scroll_offset.y + self.size.height, self.stage.total) - 1
            self._cursor = self.stage.transcript.locate(line)
        self.repaint()

    def on_blur(self, _: Blur) -> None:
        """Hide the cursor."""
        self.repaint()
