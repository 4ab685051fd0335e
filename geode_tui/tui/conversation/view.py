"""The conversation of a run: one widget that draws its own lines, whatever the run's length (PERFORMANCE.md D2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.events import Blur, Click, Focus
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.core.strings import Strings
from geode_tui.log.rows import StoredMessage
from geode_tui.tui.cells import cut_end, pad
from geode_tui.tui.conversation.ink import MARGIN, Ink
from geode_tui.tui.conversation.items import CLOCK, user_strip
from geode_tui.tui.conversation.model import Place
from geode_tui.tui.conversation.window import Window
from geode_tui.tui.glyphs import Glyphs
from geode_tui.tui.keys import letter
from geode_tui.tui.palette import Palette
from geode_tui.view.follow import Added, Chunks, Completed, Index, Op
from geode_tui.view.state import RoundFigures, RunState


class Conversation(Window, can_focus=True):
    """Entries of a run, drawn in the window that is looked at; it follows the end only from the end.

    ``load`` reads a message with its body and is called in a thread; ``redact`` masks secrets in texts.
    """

    DEFAULT_CSS = """
    Conversation { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    """
    ALLOW_SELECT = False

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "move(1)", "Line down", id="conversation.down", show=False),
        Binding(letter("k", "up"), "move(-1)", "Line up", id="conversation.up", show=False),
        Binding("ctrl+d,pagedown", "half_page(1)", "Half a page down", id="conversation.page_down", show=False),
        Binding("ctrl+u,pageup", "half_page(-1)", "Half a page up", id="conversation.page_up", show=False),
        Binding(letter("g", "home"), "top", "To the beginning", id="conversation.top", show=False),
        Binding("G,shift+g,end", "bottom", "To the live end", id="conversation.end", show=False),
        Binding("right_curly_bracket", "round(1)", "Next round", id="conversation.next_round", show=False),
        Binding("left_curly_bracket", "round(-1)", "Previous round", id="conversation.previous_round", show=False),
        Binding(
            "right_square_bracket",
            "attention(1)",
            "Next that failed or asks",
            id="conversation.next_failed",
            show=False,
        ),
        Binding(
            "left_square_bracket",
            "attention(-1)",
            "Previous that failed or asks",
            id="conversation.previous_failed",
            show=False,
        ),
        Binding("enter,space", "fold", "Open or close", id="conversation.toggle", show=False),
        Binding(letter("y"), "copy", "Copy the block", id="conversation.copy", show=False),
    ]

    def __init__(
        self,
        load: Callable[[int], StoredMessage],
        strings: Strings,
        glyphs: Glyphs,
        palette: Palette,
        redact: Callable[[str], str],
    ) -> None:
        super().__init__(load, strings, glyphs, palette, redact)
        self._early: list[Op] = []
        """Operations that came before there was a size."""
        self._state = RunState()
        self._alive = True
        self._figures: tuple[RoundFigures, ...] = ()
        self._cursor: Place | None = None
        self._target: tuple[int, int] | None = None
        """The entry the cursor goes to once it is loaded, and which of its parts: the first (0), or the first (1) or
        last (-1) that failed or asks."""

    def begun(self) -> None:
        """Take what came before there was a size."""
        early, self._early = self._early, []
        self.show_state(self._state, alive=self._alive)
        self.apply(early)

    # -- what others call ------------------------------------------------------------------------------------------

    @property
    def loaded_messages(self) -> int:
        """Messages whose bodies are held."""
        return len(self.stage.loaded) if self.stage is not None else 0

    def apply(self, ops: Sequence[Op]) -> None:
        """Take the log's operations, in order."""
        stage = self.stage
        if stage is None:
            self._early += ops
            return
        anchor, before = self.place_at_top(), stage.total
        first, streams = stage.total, False
        for op in ops:
            match op:
                case Index(rows=rows):
                    stage.load_index(rows)
                    first, before = 0, stage.total
                case Added(row=row) | Completed(row=row):
                    stage.put(row)
                    first = 0
                case Chunks(message_id=message_id, pieces=pieces):
                    first = min(first, stage.stream(message_id, pieces))
                    streams = True
        if not self.following:
            self.unseen += max(0, stage.total - before)
        self.settle(anchor, exact=not streams, first=first)
        self.pump()

    def show_state(self, state: RunState, *, alive: bool = True) -> None:
        """Take the run's figures: how calls stand, what rounds cost. ``alive``: whether a worker holds the run."""
        stage = self.stage
        self._state, self._alive = state, alive
        if stage is None:
            return
        tools = state.open_tools if alive else {}
        asking = frozenset(each.call_id for each in state.approvals.values()) if alive else frozenset[str]()
        changed = {i for i in tools.keys() | stage.open_tools.keys() if tools.get(i) != stage.open_tools.get(i)}
        changed |= stage.asking ^ asking
        if stage.turn_open != (state.turn_open and alive):
            changed |= stage.transcript.unanswered
        figures = tuple(state.rounds)
        noted = figures != self._figures or stage.alive != alive
        stage.open_tools, stage.asking = tools, asking
        stage.turn_open, stage.alive = state.turn_open and alive, alive
        if not changed and not noted:
            return
        anchor = self.place_at_top()
        stage.refresh_cards(sorted(changed))
        if noted:
            self._figures = figures
            stage.notes = round_notes(figures, self.strings)
            stage.refresh_notes()
        self.settle(anchor)

    def tick(self, now: float) -> None:
        """The clock moved to ``now`` (epoch seconds): rows of calls that run or wait, and their spinners."""
        if self.stage is None:
            return
        canvas = self.stage.canvas
        canvas.now = now
        canvas.frame += 1
        for place in self.stage.tick():
            self.repaint_line(self.stage.transcript.line_of(place))

    def set_palette(self, palette: Palette) -> None:
        """Take other colours."""
        self.ink = Ink(palette, self.ink.glyphs)
        if self.stage is not None:
            self.new_canvas()

    def overlay(self, y: int) -> Strip | None:
        """What covers a line of the text: the turn's prompt in the first, news of the end in the last."""
        if y == 0:
            return self._sticky()
        if self.unseen and not self.following and y == self.size.height - 1:
            key = "conv.new_line" if self.unseen == 1 else "conv.new_lines"
            words = self.strings.t(key, n=f"{self.unseen:,}")
            text = pad(f"  {words}  G", self.area.width)
            return Strip([Segment(text, self.ink.role("accent", "panel", bold=True))])
        return None

    def _sticky(self) -> Strip | None:
        """The prompt of the turn in view, where its own first line is above the view."""
        stage, top = self.stage, self.scroll_offset.y
        place = stage.transcript.locate(top) if stage is not None else None
        if stage is None or place is None or self.size.height < 4:
            return None
        prompt = stage.transcript.prompt_before(place.entry)
        if prompt is None or stage.transcript.line_of(Place(prompt, 0, 0)) + (prompt > 0) >= top:
            return None
        text = stage.want_prompt(prompt)
        if not text:
            return None
        room = stage.canvas.body
        shown = cut_end(text, max(1, room - CLOCK), self.ink.glyphs.cut)
        return user_strip([Segment(pad(shown, room), self.ink.panel)], stage.canvas)

    # -- the cursor ------------------------------------------------------------------------------------------------

    def decorate(self, strip: Strip, line: int) -> Strip:
        """The cursor's bar beside its block, and its line marked where it can be opened."""
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

    def _set_cursor(self, line: int) -> None:
        """Put the cursor on ``line`` and bring it into view."""
        stage = self.stage
        if stage is None or not stage.total:
            return
        line = max(0, min(line, stage.total - 1))
        self._cursor = stage.transcript.locate(line)
        top, height = self.scroll_offset.y, self.size.height
        first = top + (1 if self._sticky() is not None else 0)
        if line < first:
            self.scroll_to(y=max(0, line - (1 if line else 0)), animate=False, immediate=True)
        elif line >= top + height:
            self.scroll_to(y=line - height + 1, animate=False, immediate=True)
        self.repaint()

    def _cursor_line(self) -> int | None:
        """The cursor's line where it is in view."""
        if self._cursor is None or self.stage is None:
            return None
        line = self.stage.transcript.line_of(self._cursor)
        top = self.scroll_offset.y
        return line if top <= line < top + self.size.height else None

    def drawn(self) -> None:
        """Put the cursor on the part of a loaded entry that was looked for."""
        stage, target = self.stage, self._target
        items = stage.transcript.entries[target[0]].items if stage is not None and target is not None else None
        if stage is None or target is None or not items:
            return
        self._target = None
        entry, which = target
        marked = [number for number, item in enumerate(items) if item.attention] if which else []
        number = marked[0 if which > 0 else -1] if marked else 0
        stage.prepare(stage.transcript.line_of(Place(entry, number, 0)), self.size.height, upwards=False)
        self._set_cursor(stage.transcript.line_of(Place(entry, number, items[number].before)))

    def _go_to(self, entry: int, which: int) -> None:
        """Bring ``entry`` into view and put the cursor on a part of it (see ``_target``)."""
        assert self.stage is not None
        self._target = entry, which
        line = self.stage.transcript.line_of(Place(entry, 0, 0))
        self.scroll_to(y=max(0, line - 1), animate=False, immediate=True)
        self.drawn()
        self.pump()

    # -- actions ---------------------------------------------------------------------------------------------------

    def action_move(self, step: int) -> None:
        """The cursor goes a line on; where it is out of view, it enters the view."""
        at = self._cursor_line()
        if at is not None:
            self._set_cursor(at + step)
        elif self.stage is not None:
            top = self.scroll_offset.y
            self._set_cursor(top + 1 if step > 0 else min(top + self.size.height, self.stage.total) - 1)

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
        """To the next block that failed, was refused or asks, or the one before."""
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
            if stage.transcript.needs_attention(index, stage.asking):
                self._go_to(index, step)
                return
            index += step

    def _here(self) -> Place | None:
        """The cursor's place where it is in view, else the top of the view."""
        return self._cursor if self._cursor_line() is not None else self.place_at_top()

    def action_fold(self) -> None:
        """Open or close the card or the thinking under the cursor."""
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

    def action_copy(self) -> None:
        """Copy the source text of the block under the cursor."""
        if self.stage is None or self._cursor is None:
            return
        item = self.stage.transcript.item_at(self._cursor)
        source = self._redact(item.source) if item is not None else ""
        if source:
            self.app.copy_to_clipboard(source)
            self.notify(self.strings.t("conv.copied", n=f"{len(source):,}"), markup=False)

    def on_click(self, event: Click) -> None:
        """A click puts the cursor there and opens or closes a card."""
        if self.stage is None or self.overlay(event.y) is not None:
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

    def on_focus(self, _: Focus) -> None:
        """Show the cursor, at the last line in view where it has no place yet."""
        if self.stage is not None and self._cursor_line() is None:
            line = min(self.scroll_offset.y + self.size.height, self.stage.total) - 1
            self._cursor = self.stage.transcript.locate(line)
        self.repaint()

    def on_blur(self, _: Blur) -> None:
        """Hide the cursor."""
        self.repaint()


def round_notes(figures: Sequence[RoundFigures], strings: Strings) -> dict[tuple[int, int], str]:
    """What each round added to the context and cost, as it stands beside its number."""
    notes: dict[tuple[int, int], str] = {}
    before: RoundFigures | None = None
    for each in figures:
        parts = []
        if before is not None and each.used > before.used:
            parts.append(f"+{fmt.tokens(each.used - before.used)} tok")
        if each.cost_micro is None:
            parts.append(strings.t("conv.unpriced"))
        elif each.cost_micro:
            parts.append(fmt.money(each.cost_micro))
        notes[each.turn, each.round] = "  ".join(parts)
        before = each
    return notes
