"""A selection in the conversation: from one cell to another, by what stands there, and the text it is the source of."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
from rich.segment import Segment
from textual.strip import Strip

from geode_tui.tui.cells import width_of
from geode_tui.tui.conversation.blocks import Code, Prose
from geode_tui.tui.conversation.ink import MARGIN, Ink
from geode_tui.tui.conversation.items import Item, PieceItem, UserItem
from geode_tui.tui.conversation.model import Place
from geode_tui.tui.conversation.stage import Stage

Part: TypeAlias = str | int
"""A text, or the id of a message whose text is still to be read."""


class Cell(NamedTuple):
    """A cell of a line of the conversation."""

    place: Place
    column: int


class Span(NamedTuple):
    """From cell ``start`` of line ``first`` to before cell ``stop`` of line ``last``; None is the line's end."""

    first: int
    start: int
    last: int
    stop: int | None

    def cells(self, line: int, width: int) -> tuple[int, int] | None:
        """The cells of ``line`` in it; None where it has none."""
        if not self.first <= line <= self.last:
            return None
        start = self.start if line == self.first else 0
        stop = self.stop if line == self.last and self.stop is not None else width
        return start, max(start, stop)


class Picked(msgspec.Struct, frozen=True):
    """What is selected: between two cells, or (``lines``) whole lines."""

    anchor: Cell
    head: Cell
    lines: bool = False

    def span(self, line_of: Callable[[Place], int]) -> Span:
        """Where it is now."""
        (first, start), (last, stop) = sorted((line_of(cell.place), cell.column) for cell in (self.anchor, self.head))
        return Span(first, 0, last, None) if self.lines else Span(first, start, last, stop + 1)


def highlighted(strip: Strip, cells: tuple[int, int], width: int, ink: Ink) -> Strip:
    """``strip`` with ``cells`` shown as selected."""
    strip = strip.extend_cell_length(width, ink.base)
    start, stop = cells
    middle = Segment.apply_style(strip.crop(start, stop), post_style=ink.picked)
    return Strip([*strip.crop(0, start), *middle, *strip.crop(stop)])


def parts_of(stage: Stage, span: Span) -> list[Part]:
    """What ``span`` is the source of, in order, with the line ends between."""
    parts: list[Part] = []
    last_source = ""
    line = span.first
    while line <= span.last:
        place = stage.transcript.locate(line)
        if place is None:
            break
        entry = stage.transcript.entries[place.entry]
        if not entry.items:
            parts += ["\n\n", entry.row.id]
            line = stage.transcript.heights.top(place.entry + 1)
            continue
        item = entry.items[place.item]
        top = line - place.offset
        text = _text_in(item, top, span)
        if text and not (isinstance(item, PieceItem) and text is last_source):
            parts += ["\n\n" if item.before else "\n", text]
        last_source = text
        line = top + item.lines
    return parts[1:]


def _text_in(item: Item, top: int, span: Span) -> str:
    """The part of ``item``, which begins at line ``top``, that ``span`` covers: its source where that is all of it."""
    strips = item.strips or []
    begin, end = top + item.before, top + item.lines - 1
    whole = (span.first, span.start) <= (begin, MARGIN) and (
        span.last > end
        or (span.last == end and (span.stop is None or not strips or span.stop >= width_of(strips[-1].text.rstrip())))
    )
    if whole and item.source:
        return item.words if isinstance(item, PieceItem) and isinstance(item.piece, Code) else item.source
    rows = list(_rows(strips, begin, span))
    prose = isinstance(item, UserItem) or (isinstance(item, PieceItem) and isinstance(item.piece, Prose))
    return _unwrapped(rows) if prose else "\n".join(rows)


def _rows(strips: Sequence[Strip], begin: int, span: Span) -> Iterator[str]:
    for number, strip in enumerate(strips):
        cells = span.cells(begin + number, strip.cell_length)
        if cells is not None:
            yield strip.crop(max(MARGIN, cells[0]), max(MARGIN, cells[1])).text.rstrip()


def _unwrapped(rows: Sequence[str]) -> str:
    """Lines that were wrapped, as one: a space stands where they were, but for scripts that are written without."""
    text = ""
    for row in map(str.strip, rows):
        close = text and unicodedata.east_asian_width(text[-1]) == "W" and not "\uac00" <= text[-1] <= "\ud7a3"
        text += row if close or not text else f" {row}"
    return text
