"""The parts of an entry that are drawn by themselves: a block, a person's words, a row between rounds, a note."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.segment import Segment
from textual.strip import Strip

from geode_tui.core.strings import Strings
from geode_tui.tui.cells import cut_end, cut_segments, spread
from geode_tui.tui.conversation.blocks import Code, Parser, Piece, Plain, Prose, Run, Table
from geode_tui.tui.conversation.cutting import PIECE_LINES
from geode_tui.tui.conversation.highlight import loaded
from geode_tui.tui.conversation.ink import Ink
from geode_tui.tui.conversation.render import Page, draw_piece, plain_rows, plain_strips

HEAVY = 1_000
"""Characters from which an item is drawn in a thread, shown plain until then (PERFORMANCE.md D1)."""
CLOCK = 7
"""Cells for the time beside a person's words."""


class Canvas(Page):
    """A page with the words on it and the moment it is drawn at."""

    def __init__(self, ink: Ink, width: int, strings: Strings) -> None:
        super().__init__(ink, width)
        self.strings = strings
        self.now = 0.0
        """Epoch seconds, 0 while not known."""
        self.frame = 0
        """Number of the spinner's frame."""

    def note(self, key: str, role: str = "muted", **values: str) -> Strip:
        """One line of ours, two cells in; ``key`` names its text."""
        text = cut_end("  " + self.strings.t(key, **values), self.body, self.ink.glyphs.cut)
        return self.strip([Segment(text, self.ink.role(role))])


class Item:
    """``before`` blank lines, then ``height`` lines: an estimate until ``strips`` are there."""

    before = 0
    weight = 0
    """Characters to draw."""
    key = ""
    """What it is remembered by when it was opened; empty where it cannot be."""
    opened = False
    ordinal = -1
    """Its number among the items of its message; negative for what the screen adds."""

    def __init__(self) -> None:
        self.height = 1
        self.strips: list[Strip] | None = None
        self.asked = False
        """A thread draws it now."""
        self.sketchy = False
        """The strips are a plain stand-in."""

    @property
    def lines(self) -> int:
        """All lines it takes."""
        return self.before + self.height

    @property
    def heavy(self) -> bool:
        """Whether it is drawn in a thread."""
        return self.weight > HEAVY

    @property
    def foldable(self) -> bool:
        """Whether it can be opened and closed."""
        return bool(self.key)

    @property
    def attention(self) -> bool:
        """Whether ``[`` and ``]`` stop here."""
        return False

    @property
    def source(self) -> str:
        """Its text, for copying."""
        return ""

    @property
    def words(self) -> str:
        """What a search looks through: its text as it is read, without markup."""
        return ""

    @property
    def picture_key(self) -> str:
        """Items with the same key, which is not empty, have the same picture."""
        return ""

    def draw(self, canvas: Canvas) -> list[Strip]:
        """Its lines without the blank ones before it. May run in a thread where ``weight`` is large."""
        raise NotImplementedError

    def sketch(self, canvas: Canvas) -> list[Strip]:
        """A plain stand-in where drawing is heavy, in the time that wrapping takes."""
        return self.draw(canvas)

    def estimate(self, canvas: Canvas) -> int:
        """A guess at its height on ``canvas``, cheap."""
        return max(1, self.weight // canvas.body)

    def put(self, strips: list[Strip]) -> None:
        """It was drawn."""
        self.strips, self.height = strips, len(strips)
        self.sketchy = False

    def forget(self) -> None:
        """Its picture is out of date or out of view; the height stays as the best estimate."""
        self.strips = None


def _text_of(runs: Sequence[Run]) -> str:
    return "".join(text for text, _ in runs)


class PieceItem(Item):
    """A block of Markdown, code or plain text."""

    def __init__(self, piece: Piece, before: int | None = None) -> None:
        super().__init__()
        self.piece = piece
        self.before = piece.before if before is None else before
        match piece:
            case Prose():
                self.weight = sum(len(text) for text, _ in piece.runs)
            case Code():
                self.weight = sum(map(len, piece.lines))
            case Table():
                self.weight = len(piece.source)
            case Plain():
                self.weight = len(piece.text)
            case _:
                pass

    @property
    def heavy(self) -> bool:
        """See `Item.heavy`: the first code is, since what colours it is loaded with it."""
        waits = isinstance(self.piece, Code) and bool(self.piece.language) and not loaded()
        return waits or super().heavy

    @property
    def source(self) -> str:
        """See `Item.source`."""
        return self.piece.source

    @property
    def words(self) -> str:
        """See `Item.words`."""
        match self.piece:
            case Prose(runs=runs):
                return _text_of(runs)
            case Code(lines=lines):
                return "\n".join(lines)
            case Table(header=header, rows=rows):
                return "\n".join(_text_of(cell) for row in (header, *rows) for cell in row)
            case Plain(text=text):
                return text
            case _:
                return ""

    @property
    def picture_key(self) -> str:
        """See `Item.picture_key`."""
        match self.piece:
            case Prose() | Plain():
                return self.source
            case Table(rows=rows) if len(rows) < PIECE_LINES:
                return self.source
            case _:
                return ""

    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`."""
        return draw_piece(self.piece, canvas)

    def sketch(self, canvas: Canvas) -> list[Strip]:
        """See `Item.sketch`."""
        piece = self.piece
        match piece:
            case Code():
                piece = Code(piece.source, 0, piece.lead, piece.rest, piece.lines)
            case Prose():
                text = _text_of(piece.runs)
                piece = Plain(text, 0, piece.lead, piece.rest, text)
            case _:
                pass
        return draw_piece(piece, canvas)

    def estimate(self, canvas: Canvas) -> int:
        """See `Item.estimate`."""
        match self.piece:
            case Code(lines=lines):
                return sum(1 + len(line) // canvas.body for line in lines)
            case Table(rows=rows, header=header):
                return len(rows) + bool(header)
            case Plain(text=text):
                return text.count("\n") + 1 + len(text) // canvas.body
            case _:
                return 1 + self.weight // canvas.body


class SegmentItem(Item):
    """A stretch of an answer that streams: its source is read as Markdown each time it is drawn."""

    def __init__(self, parser: Parser, text: str, indent: int, before: int) -> None:
        super().__init__()
        self._parser = parser
        self.text = text
        self.indent = indent
        """Cells by which a list around it moves it."""
        self.before = before
        self.weight = len(text)

    @property
    def source(self) -> str:
        """See `Item.source`."""
        return self.text

    @property
    def words(self) -> str:
        """See `Item.words`."""
        return self.text

    @property
    def picture_key(self) -> str:
        """See `Item.picture_key`."""
        return "" if self.indent else self.text

    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`."""
        strips: list[Strip] = []
        room = Canvas(canvas.ink, canvas.width - self.indent, canvas.strings) if self.indent else canvas
        for piece in self._parser.parse(self.text):
            strips += [Strip([])] * (piece.before if strips else 0) + draw_piece(piece, room)
        if room is canvas:
            return strips
        space = Segment(" " * self.indent, canvas.ink.base)
        return [Strip(cut_segments([space, *strip], canvas.width, "")) for strip in strips]

    def sketch(self, canvas: Canvas) -> list[Strip]:
        """See `Item.sketch`."""
        return [strip for line in self.text.split("\n") for strip in plain_strips(line, self.indent, canvas)]

    def estimate(self, canvas: Canvas) -> int:
        """See `Item.estimate`."""
        return self.text.count("\n") + 1 + len(self.text) // canvas.body


class UserItem(Item):
    """A person's words, literally, on a plane of their own."""

    def __init__(self, piece: Plain, at: float | None) -> None:
        super().__init__()
        self._piece = piece
        self._at = at
        self.weight = len(piece.text)

    @property
    def source(self) -> str:
        """See `Item.source`."""
        return self._piece.text

    @property
    def words(self) -> str:
        """See `Item.words`."""
        return self._piece.text

    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`."""
        ink = canvas.ink
        first = time_stamp(self._at, canvas)
        room = canvas.body - CLOCK if has_clock(canvas) else canvas.body
        strips = []
        for number, row in enumerate(plain_rows(self._piece.text, room, ink.panel)):
            stamp = first if not number else []
            cells = spread(row, stamp, canvas.body, ink.glyphs.cut)
            strips.append(user_strip([s if s.style else Segment(s.text, ink.panel) for s in cells], canvas))
        return strips

    def estimate(self, canvas: Canvas) -> int:
        """See `Item.estimate`."""
        return self._piece.text.count("\n") + 1 + len(self._piece.text) // max(1, canvas.body - CLOCK)


def has_clock(canvas: Canvas) -> bool:
    """Whether there is room for the time beside a person's words."""
    return canvas.body >= 3 * CLOCK


def time_stamp(at: float | None, canvas: Canvas) -> list[Segment]:
    """The time ``at`` (epoch seconds) a person said something, where it is known and there is room for it."""
    if at is None or not has_clock(canvas):
        return []
    return [Segment(time.strftime("%H:%M ", time.localtime(at)), canvas.ink.role("muted", "panel"))]


def user_strip(row: Sequence[Segment], canvas: Canvas) -> Strip:
    """A row of a person's words with the bar (or mark) that says so before it."""
    ink = canvas.ink
    mark = ink.glyphs.prompt if ink.flat else " "
    bar = Segment(mark, ink.palette.style(ink.palette.user, "" if ink.flat else ink.palette.user, bold=True))
    return Strip(cut_segments([Segment(" ", ink.base), bar, *row], canvas.width, ""))


class RoundItem(Item):
    """The row that begins a round: its number, and at the right what it added and cost (or that it streams)."""

    def __init__(self, number: int, note: str) -> None:
        super().__init__()
        self.number = number
        self.note = note

    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`."""
        ink = canvas.ink
        title = Segment(canvas.strings.t("conv.round", n=self.number), ink.muted)
        note = [Segment(self.note, ink.muted)] if self.note else []
        row = spread([title], note, canvas.body, ink.glyphs.cut)
        return [canvas.strip([s if s.style else Segment(s.text, ink.base) for s in row])]


class NoteItem(Item):
    """One line of ours in between: ``key`` names its text."""

    def __init__(self, key: str, *, role: str = "muted", glyph: str = "", detail: str = "") -> None:
        super().__init__()
        self._text, self._role, self._glyph, self._detail = key, role, glyph, detail

    @property
    def attention(self) -> bool:
        """See `Item.attention`."""
        return self._role in {"warn", "crit"}

    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`."""
        ink = canvas.ink
        mark = getattr(ink.glyphs, self._glyph) + " " if self._glyph else ""
        text = canvas.strings.t(self._text, detail=self._detail) if self._detail else canvas.strings.t(self._text)
        line = cut_end(mark + text, canvas.body, ink.glyphs.cut)
        return [canvas.strip([Segment(line, ink.role(self._role, bold=self.attention))])]
