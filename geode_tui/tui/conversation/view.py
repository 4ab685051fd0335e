"""The conversation of a run: one widget that draws its own lines, whatever the run's length (PERFORMANCE.md D2)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from geode_tui.core import format as fmt
from geode_tui.core.strings import Strings
from geode_tui.core.text import clean_line
from geode_tui.log.rows import MessageRow, StoredMessage
from geode_tui.tui.cells import cut_end, pad, spread
from geode_tui.tui.conversation.compaction_card import CompactionCard
from geode_tui.tui.conversation.finding import Finding, FindState
from geode_tui.tui.conversation.ink import Ink
from geode_tui.tui.conversation.items import CLOCK, time_stamp, user_strip
from geode_tui.tui.conversation.model import Place
from geode_tui.tui.conversation.note_places import Past
from geode_tui.tui.conversation.picking import parts_of
from geode_tui.tui.conversation.pointing import Pointed
from geode_tui.tui.conversation.search import Hit
from geode_tui.tui.conversation.stage import Stage
from geode_tui.tui.glyphs import Glyphs
from geode_tui.tui.keys import letter
from geode_tui.tui.palette import Palette
from geode_tui.tui.widgets.paced import PERIOD_S
from geode_tui.view.follow import Added, Chunks, Completed, Index, Op
from geode_tui.view.state import RoundFigures, RunState


class Conversation(Pointed, can_focus=True):
    """Entries of a run, drawn in the window that is looked at; it follows the end only from the end.

    ``load`` reads a message with its body, ``past`` what befell the context; both are called in a thread. ``redact``
    masks secrets in texts.
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
        Binding("J,shift+j,shift+down", "pick(1)", "Select lines downwards", id="conversation.select_down", show=False),
        Binding("K,shift+k,shift+up", "pick(-1)", "Select lines upwards", id="conversation.select_up", show=False),
        Binding(letter("l"), "lost", "What the summary lost", id="conversation.lost", show=False),
        Binding(letter("y"), "copy", "Copy the selection or block", id="conversation.copy", show=False),
        Binding("Y,shift+y", "copy_message", "Copy the message", id="conversation.copy_message", show=False),
        Binding("slash", "find", "Find", id="conversation.find", show=False),
        Binding(letter("n"), "find_step(1)", "Next match", id="conversation.next_match", show=False),
        Binding("N,shift+n", "find_step(-1)", "Match before", id="conversation.previous_match", show=False),
    ]

    class FindWanted(Message):
        """The person wants to look for something."""

    class LostWanted(Message):
        """The person wants to see what a summary lost: that of ``version`` of the view, or 0 for the newest."""

        def __init__(self, version: int) -> None:
            super().__init__()
            self.version = version

    class FindChanged(Message):
        """A search has got on, or there is none any more."""

        def __init__(self, state: FindState | None) -> None:
            super().__init__()
            self.state = state

    def __init__(
        self,
        load: Callable[[int], StoredMessage],
        strings: Strings,
        glyphs: Glyphs,
        palette: Palette,
        redact: Callable[[str], str],
        past: Past | None = None,
    ) -> None:
        super().__init__(load, strings, glyphs, palette, redact, past)
        self._early: list[Op] = []
        """Operations that came before there was a size."""
        self._state = RunState()
        self._alive = True
        self._figures: tuple[RoundFigures, ...] = ()
        self._notes_at = 0.0
        self._notes_due: Timer | None = None
        """Places the notes that came too soon after the last ones."""
        self._met = False
        """Whether the run's state is known."""
        self._finding: Finding | None = None
        self._find_from: Hit | None = None
        """Where the view was when the search began."""
        self._find_line = 0
        """The line of the match one stands at."""

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
                    self._look_again(row)
                    first = 0
                case Chunks(message_id=message_id, pieces=pieces):
                    first = min(first, stage.stream(message_id, pieces))
                    streams = True
        if self._place_notes(stage):
            first = 0
        if not self.following:
            self.unseen += max(0, stage.total - before)
        self.settle(anchor, exact=not streams, first=first)
        self.pump()

    def _look_again(self, row: MessageRow) -> None:
        """A search that goes on, or is done, takes a message that is final now."""
        index = self.stage.transcript.index_of(row.id) if self.stage is not None else None
        if self._finding is not None and index is not None and row.status != "open":
            self._finding.search.look_again(index)

    def show_state(self, state: RunState, *, alive: bool = True) -> None:
        """Take the run's figures: how calls stand, what rounds cost. ``alive``: whether a worker holds the run."""
        stage = self.stage
        self._state, self._alive = state, alive
        if stage is None:
            return
        if not self._met:
            self._met = True
            self.repaint()
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
        anchor = self.place_at_top()
        placed = self._place_notes(stage)
        if not changed and not noted and not placed:
            return
        drawn = stage.refresh_cards(sorted(changed)) or placed
        if noted:
            self._figures = figures
            stage.notes = round_notes(figures, self.strings)
            drawn = stage.refresh_notes() or drawn
        if drawn:  # else a text that streams would lose the room it scrolls into
            self.settle(anchor)
            self.pump()

    def _place_notes(self, stage: Stage) -> bool:
        """Place what befell the context, at most so many times a second as anybody reads it: every placing lays part of
        the page out anew. Whether anything changed.
        """
        if self._notes_due is not None or stage.places.has_placed(self._state.window_notes):
            return False
        wait = self._notes_at + PERIOD_S - time.monotonic()
        if wait > 0:
            self._notes_due = self.set_timer(wait, self._place_late_notes)
            return False
        changed = stage.place_notes(self._state.window_notes)
        if changed:
            self._notes_at = time.monotonic()
        return changed

    def _place_late_notes(self) -> None:
        self._notes_due = None
        stage, anchor = self.stage, self.place_at_top()
        if stage is not None and self._place_notes(stage):
            self.settle(anchor)
            self.pump()

    def tick(self, now: float) -> None:
        """The clock moved to ``now`` (epoch seconds): rows of calls that run or wait, and their spinners."""
        if self.stage is None:
            return
        canvas = self.stage.canvas
        canvas.now = now
        canvas.frame += 1
        for place in self.stage.tick():
            self.repaint_line(self.stage.transcript.line_of(place))

    def set_look(self, palette: Palette, strings: Strings) -> None:
        """Take other colours and words."""
        self.ink = Ink(palette, self.ink.glyphs)
        self.strings = strings
        if self.stage is not None:
            self.new_canvas()

    def overlay(self, y: int) -> Strip | None:
        """What covers a line of the text: the turn's prompt in the first, news of the end in the last, and in a run
        where nothing was said yet what to do.
        """
        if self._empty:
            return self._nothing_said(y)
        if y == 0:
            return self._sticky()
        if self.unseen and not self.following and y == self.size.height - 1:
            key = "conv.new_line" if self.unseen == 1 else "conv.new_lines"
            words = self.strings.t(key, n=f"{self.unseen:,}")
            text = pad(f"  {words}  G", self.area.width)
            return Strip([Segment(text, self.ink.role("accent", "panel", bold=True))])
        return None

    @property
    def _empty(self) -> bool:
        """Whether it is known that nothing was said."""
        return self._met and not self._state.turn and self.stage is not None and not self.stage.transcript.entries

    def _nothing_said(self, y: int) -> Strip | None:
        keys = ("conv.empty", "conv.empty_next")
        first = 1 if self.size.height > len(keys) else 0
        if self.stage is None or not first <= y < first + len(keys):
            return None
        return self.stage.canvas.note(keys[y - first], "text" if y == first else "muted")

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
        canvas, ink = stage.canvas, self.ink
        stamp = time_stamp(stage.transcript.entries[prompt].row.timestamp, canvas)
        shown = cut_end(text, max(1, canvas.body - CLOCK), ink.glyphs.cut)
        cells = spread([Segment(shown, ink.panel)], stamp, canvas.body, ink.glyphs.cut)
        return user_strip([s if s.style else Segment(s.text, ink.panel) for s in cells], canvas)

    def action_lost(self) -> None:
        """Ask for what the summary under the cursor lost; elsewhere for that of the newest."""
        cursor, stage = self._cursor, self.stage
        item = stage.transcript.item_at(cursor) if cursor is not None and stage is not None else None
        self.post_message(self.LostWanted(item.note.version if isinstance(item, CompactionCard) else 0))

    # -- find ------------------------------------------------------------------------------------------------------
    @property
    def found(self) -> FindState | None:
        """How the search stands; None while there is none."""
        return self._finding.state if self._finding is not None else None

    def find(self, query: str) -> None:
        """Look for ``query`` in the whole run, from the place where the search began; empty: for nothing yet."""
        stage = self.stage
        if stage is None:
            return
        if self._finding is not None:
            self._finding.end()
        if self._find_from is None:
            self._find_from = self._find_start()
        self._finding = Finding(query, stage, self._find_from, self._find_got_on) if query.strip() else None
        self._find_got_on()

    def end_find(self) -> None:
        """Look for nothing any more; the view stays."""
        if self._finding is not None:
            self._finding.end()
        self._finding = self._find_from = None
        self.repaint()

    def action_find(self) -> None:
        """Ask what to look for."""
        self.post_message(self.FindWanted())

    def action_find_step(self, step: int) -> None:
        """To the next match, or the one before: from the one that is in view, else from the top of the view."""
        finding, stage = self._finding, self.stage
        if finding is None or stage is None:
            return
        current = finding.current
        if current is None or not self._in_view(self._find_line):
            finding.current = None
            current = self._find_start()
        finding.step(current, step)
        self._find_got_on()

    def _find_start(self) -> Hit:
        """The top of the view."""
        place = self.place_at_top() or Place(0, 0, 0)
        item = self.stage.transcript.item_at(place) if self.stage is not None and self.stage.total else None
        return Hit(place.entry, max(0, item.ordinal) if item is not None else 0, 0)

    def _find_got_on(self) -> None:
        self._seek()
        self.repaint()
        self.pump()
        self.post_message(self.FindChanged(self.found))

    def _seek(self) -> bool:
        """Bring the match that is sought into view, as far as its message is here; whether the view moved."""
        finding, stage = self._finding, self.stage
        if finding is None or stage is None or finding.sought is None:
            return False
        self.following = False
        top = self.scroll_offset.y
        entry = finding.sought.entry
        arrived = finding.arrive()
        anchor = arrived or Place(entry, 0, 0)
        self._find_line = stage.transcript.line_of(anchor)
        if arrived is not None:
            self._cursor = anchor
        if self._find_line < top + self.first_row() or self._find_line >= top + self.size.height:
            top = max(0, self._find_line - self.size.height // 3)
        self.settle(stage.transcript.locate(top))
        return True

    def decorate(self, strip: Strip, line: int) -> Strip:
        """The line with the cursor, the selection and its matches."""
        strip = super().decorate(strip, line)
        place = self.stage.transcript.locate(line) if self._finding is not None and self.stage is not None else None
        return strip if self._finding is None or place is None else self._finding.decorate(strip, place)

    def drawn(self) -> bool:
        """Go on to what was looked for."""
        moved = super().drawn()
        return self._seek() or moved

    # -- copying ---------------------------------------------------------------------------------------------------
    @property
    def has_selection(self) -> bool:
        """Whether something is selected."""
        return self._picked is not None

    def action_copy(self) -> None:
        """Copy what is selected, else the source text of the block under the cursor."""
        stage, span = self.stage, self.span
        if stage is None:
            return
        if span is not None:
            parts = parts_of(stage, span)
            if any(isinstance(part, int) for part in parts):
                self._copy_later(lambda: "".join(p if isinstance(p, str) else stage.whole(p) for p in parts))
            else:
                self._copy("".join(map(str, parts)))
            return
        item = stage.transcript.item_at(self._cursor) if self._cursor is not None else None
        self._copy(item.source if item is not None else "")

    def action_copy_message(self) -> None:
        """Copy the whole message under the cursor."""
        stage, here = self.stage, self._here()
        if stage is not None and here is not None:
            message_id = stage.transcript.entries[here.entry].row.id
            self._copy_later(lambda: stage.whole(message_id))

    def _copy_later(self, read: Callable[[], str]) -> None:
        assert self.stage is not None
        self.stage.loader.ask(read, self._copy, lambda error: self._say("conv.trouble_short", str(error)))

    def _copy(self, text: str) -> None:
        if text := self._redact(text):
            self.app.copy_to_clipboard(text)
            self._say("conv.copied", fmt.tokens(len(text)))

    def _say(self, key: str, detail: str) -> None:
        self.notify(self.strings.t(key, n=clean_line(self._redact(detail))), markup=False)


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
