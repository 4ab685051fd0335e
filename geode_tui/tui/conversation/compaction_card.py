"""A compaction in the conversation: what stands for which messages since, what it cost and lost, and its text."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.core.text import clean_line
from geode_tui.tui.cells import cut_segments, line_starts, pad, segments_width, spread, width_of
from geode_tui.tui.conversation.items import Canvas, Item, SegmentItem
from geode_tui.tui.conversation.notes import GLYPHS, WindowNoteItem
from geode_tui.view.state import WindowNote
from geode_tui.view.window_notes import lost_text, note_facts, note_head

INDENT = 2
"""Cells by which everything but the title stands further in."""


class CompactionCard(WindowNoteItem):
    """See the module. Closed it shows the figures, opened also the text, once that was read."""

    def __init__(self, note: WindowNote) -> None:
        super().__init__(note)
        self.key = f"view.{note.version}" if note.version else ""
        self.rounds = ""
        """The rounds it stands for, as they are shown."""
        self.text: Item | None = None
        """What stands for the messages, once that was read."""
        self._instead = "note.reading"
        self._detail = ""

    @property
    def lacks_text(self) -> bool:
        """Whether its text is to be read."""
        return self.opened and self.text is None and self._instead == "note.reading"

    @property
    def heavy(self) -> bool:
        """See `Item.heavy`."""
        return self.opened and self.text is not None and self.text.heavy

    @property
    def source(self) -> str:
        """See `Item.source`."""
        return self.text.source if self.text is not None else ""

    def stands_for(self, rounds: str) -> None:
        """Say which ``rounds`` it stands for."""
        if rounds != self.rounds:
            self.rounds = rounds
            self.forget()

    def show(self, text: SegmentItem | None) -> None:
        """Its text was read; None: there is nothing to read."""
        self.text = text
        self._instead = "note.left_out" if self.note.what == "trimmed" else "note.opaque"
        self.forget()

    def show_trouble(self, detail: str) -> None:
        """Its text could not be read: it is tried again when the card is opened anew."""
        self._instead, self._detail = "note.unread", detail
        self.forget()

    def forget_trouble(self) -> None:
        """It is opened anew."""
        if self._instead == "note.unread":
            self._instead = "note.reading"

    # -- drawing ---------------------------------------------------------------------------------------------------
    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`."""
        body = self.text.draw(_inner(canvas)) if self.opened and self.text is not None else []
        return [*self._head(canvas), *self._body(canvas, body)]

    def sketch(self, canvas: Canvas) -> list[Strip]:
        """See `Item.sketch`."""
        body = self.text.sketch(_inner(canvas)) if self.opened and self.text is not None else []
        return [*self._head(canvas), *self._body(canvas, body)]

    def estimate(self, canvas: Canvas) -> int:
        """See `Item.estimate`."""
        note = self.note
        head = 1 + len(self._facts(canvas)) + (1 + len(note.told) if note.lost else 0)
        return head + (1 + self.text.estimate(_inner(canvas)) if self.opened and self.text is not None else 0)

    def _body(self, canvas: Canvas, text: list[Strip]) -> list[Strip]:
        if not self.opened:
            return []
        if self.text is None:
            return [canvas.note(self._instead, detail=self._detail)]
        space = Segment(" " * INDENT, canvas.ink.base)
        return [Strip([]), *(Strip(cut_segments([space, *strip], canvas.width, "")) for strip in text)]

    def _head(self, canvas: Canvas) -> list[Strip]:
        facts = [canvas.strip([Segment(" " * INDENT + line, canvas.ink.muted)]) for line in self._facts(canvas)]
        return [self._title(canvas), *facts, *self._lost(canvas)]

    def _facts(self, canvas: Canvas) -> list[str]:
        """The lines of its figures."""
        text = ", ".join(note_facts(self.note, canvas.strings, self.rounds))
        if not text:
            return []
        starts = line_starts(text, max(1, canvas.body - INDENT))
        return [text[a:b].rstrip() for a, b in zip(starts, [*starts[1:], None], strict=True)]

    def _title(self, canvas: Canvas) -> Strip:
        """What befell the context; then why, and at the right the sizes, each with the shares of the budget if there is
        room.
        """
        ink, note, strings = canvas.ink, self.note, canvas.strings
        fold = (ink.glyphs.open if self.opened else ink.glyphs.closed) + " " if self.foldable else ""
        head = f"{fold}{getattr(ink.glyphs, GLYPHS[note.what])} {note_head(note, strings)}"
        left, right = [Segment(head, ink.role("accent", bold=True))], list[Segment]()
        arrow = f" {ink.glyphs.arrow} "
        if note.before or note.after:
            sizes = f"{fmt.tokens(note.before)}{arrow}{fmt.tokens(note.after)}"
            right.append(Segment(sizes, ink.role("text", bold=True)))
        room = canvas.body - segments_width(left) - segments_width(right) - 1
        key = f"view.cause_{note.cause}"
        why = f"  {strings.t(key)}" if note.what != "native" and strings.has(key) else ""
        if why and width_of(why) <= room:
            left.append(Segment(why, ink.muted))
            room -= width_of(why)
        shares = f"  {fmt.percent(note.before, note.budget)}{arrow}{fmt.percent(note.after, note.budget)}"
        if right and note.budget and width_of(shares) <= room:
            right.append(Segment(shares, ink.muted))
        cells = spread(left, right, canvas.body, ink.glyphs.cut)
        return canvas.strip([cell if cell.style else Segment(cell.text, ink.base) for cell in cells])

    def _lost(self, canvas: Canvas) -> list[Strip]:
        """How much it lost, and the weightiest of that."""
        ink, note, strings = canvas.ink, self.note, canvas.strings
        if not note.lost:
            return []
        said = f"{' ' * INDENT}{ink.glyphs.warning} {lost_text(note, strings)}"
        row = [Segment(said, ink.role("warn")), Segment(f"  {strings.t('note.lost_key')}", ink.muted)]
        rows = [row]
        kinds = [strings.t(f"lost.kind_{item.kind}") for item in note.told]
        column = max(map(width_of, kinds), default=0)
        for kind, item in zip(kinds, note.told, strict=True):
            name = Segment(f"{' ' * 2 * INDENT}{pad(kind, column)}  ", ink.muted)
            rows.append([name, Segment(clean_line(item.text), ink.role("text"))])
        return [canvas.strip(cut_segments(row, canvas.body, ink.glyphs.cut)) for row in rows]


class CompactionItem(CompactionCard):
    """The card of a provider's own compaction, in the place of its block, whose text is ``text``. How large the prompt
    was, and what was lost, is only known from its note.
    """

    follows = False

    def __init__(self, key: str, text: SegmentItem) -> None:
        super().__init__(WindowNote(0, "native"))
        self.key = key
        self.text = text

    def take(self, note: WindowNote) -> None:
        """Say what ``note`` says."""
        if note != self.note:
            self.note = note
            self.forget()


def _inner(canvas: Canvas) -> Canvas:
    return Canvas(canvas.ink, canvas.width - INDENT, canvas.strings)
