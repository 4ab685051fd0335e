"""One result that is looked at: which rows of it are on screen, where the cursor is, what is looked for.

It may block, so it is worked in a thread, by one at a time; what it gives out is an unchanging `Page`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from geode_tui.core.text import clean, clean_line
from geode_tui.log.store import StoreError
from geode_tui.tui.cells import expand_tabs, width_of
from geode_tui.tui.look import Redact
from geode_tui.tui.viewer.document import Bytes, Document
from geode_tui.tui.viewer.modes import LONG, Hex, Lines, Mode, Row, Wrapped, decoded, moved, rows_from, veiled
from geode_tui.tui.viewer.search import Found, Search
from geode_tui.tui.viewer.tree import LIMIT, NoTree, Tree

Shape: TypeAlias = Literal["text", "tree", "hex"]
STEP_S = 0.02
"""Seconds of work between two looks at whether something was ordered."""
NUMBERS_FROM = 48
"""Cells from which lines are numbered."""
MOST_COPIED = 1_000_000
"""Bytes that are copied at once: a terminal takes hardly more."""
_WITHIN = bytes(range(0x80, 0xC0))
"""Bytes that begin no character of UTF-8."""
_BYTES_A_LINE = 40
"""By which the room for the numbers is guessed."""


class PageRow(msgspec.Struct, frozen=True):
    """A row on screen. ``at``: the cursor is there, ``marked``: it is selected, ``hit``: it holds the match."""

    row: Row
    at: bool
    marked: bool
    hit: bool


class Page(msgspec.Struct, frozen=True):
    """What is on screen. ``at`` is the number of the cursor's line, or its byte in hexadecimal, ``of`` how many there
    are, both None where that is not known yet; ``percent`` how much is indexed. ``gutter`` is the cells before a row.
    """

    shape: Shape = "text"
    rows: tuple[PageRow, ...] = ()
    gutter: int = 0
    at: int | None = None
    of: int | None = None
    size: int = 0
    percent: int = 100
    found: Found | None = None
    wrapped: bool = False
    left: int = 0
    marked: int = 0
    trouble: str = ""


class Viewer:
    """See the module. Orders are its methods; `carry_out` takes several, and goes on with what takes long when there
    are none.
    """

    def __init__(self, raw: Bytes, redact: Redact) -> None:
        self.raw = raw
        self.document = Document(raw)
        self.shape: Shape = "hex" if raw.kind == "binary" else "text"
        self.trouble = ""
        """Why the result cannot be read, or not in this way."""
        self._redact = redact
        self._width, self._height = 80, 1
        self._wrapped = False
        self._left = 0
        self._top = self._at = 0
        self._line = 0
        """The line that the cursor was in last."""
        self._anchor: int | None = None
        self._search: Search | None = None
        self._wanted: int | None = None
        """Where the match that is waited for must not be before."""
        self._match: int | None = None
        self._awaited: int | None = None
        """The line to go to once it has been counted."""
        self._tree: Tree | None = None
        self._broken = False
        self._mode: Mode = self._made()

    @property
    def busy(self) -> bool:
        """Whether something that takes long goes on."""
        searching = self._search is not None and not self._search.over
        return not self._broken and (searching or not self.document.done)

    def carry_out(self, orders: Sequence[Callable[[Viewer], None]]) -> Page:
        """Do ``orders``, or without any a little of what takes long, and show what is to be seen then."""
        try:
            for order in orders:
                order(self)
            until = time.monotonic() + STEP_S
            while not orders and self.busy:
                self._go_on()
                if time.monotonic() >= until:
                    break
            return self.page()
        except (StoreError, OSError) as error:
            self._broken = True
            self.trouble = clean_line(str(error))
            return msgspec.structs.replace(Page(self.shape), trouble=self.trouble)

    def _go_on(self) -> None:
        if not self.document.done:
            self.document.step()
            self._arrive()
        if self._search is not None and not self._search.over:
            self._search.step()
            self._seek()

    def _arrive(self) -> None:
        """To the line that is waited for, once it is known where that is."""
        if self._awaited is not None and (self.document.done or self.document.lines > self._awaited):
            self._go(self.document.offset_of(self._awaited))

    # -- what is on screen --------------------------------------------------------------------------------------------
    @property
    def _gutter(self) -> int:
        if self.shape == "hex":
            return 9 if self._width >= NUMBERS_FROM else 0
        if self.shape == "tree" or self._width < NUMBERS_FROM:
            return 0
        return max(4, len(str(self.raw.expected // _BYTES_A_LINE))) + 1

    def _made(self) -> Mode:
        width = max(1, self._width - self._gutter)
        if self.shape == "tree" and self._tree is not None:
            return self._tree
        if self.shape == "hex":
            return Hex(self.document, self._redact, width)
        if self._wrapped:
            return Wrapped(self.document, self._redact, width)
        return Lines(self.document, self._redact, width, self._left)

    def _remake(self) -> None:
        """Other rows, around the same place."""
        self._mode = self._made()
        self._at = self._mode.start_of(self._at)
        self._top = self._mode.start_of(self._top)
        self._fit()

    def _fit(self) -> None:
        """Bring the cursor into view."""
        if self._at < self._top:
            self._top = self._at
        elif self._at not in rows_from(self._mode, self._top, self._height):
            self._top = moved(self._mode, self._at, 1 - self._height)

    def page(self) -> Page:
        """The rows on screen."""
        low, high = self.marked or (0, 0)
        match = self._match if self.shape != "tree" else None
        starts = rows_from(self._mode, self._top, self._height) if self.raw.size else []
        rows = []
        for index, start in enumerate(starts):
            end = starts[index + 1] if index + 1 < len(starts) else self._mode.after(start) or self.raw.size + 1
            hit = match is not None and start <= match < end
            rows.append(PageRow(self._mode.row(start), start == self._at, low <= start < high, hit))
        at: int | None = self._at
        of: int | None = self.raw.expected
        if self.shape == "text":
            at = self.document.number(self._at)
            of = self.document.lines if self.document.done else None
        elif self.shape == "tree":
            at, of = self._at + 1, self._mode.last() + 1
        found = self._search.found(self._match) if self._search is not None else None
        return Page(
            self.shape, tuple(rows), self._gutter, at, of, self.raw.expected, self.document.percent, found,
            self._wrapped, self._left, high - low, self.trouble,
        )  # fmt: skip

    # -- orders -------------------------------------------------------------------------------------------------------
    def resize(self, width: int, height: int) -> None:
        """Show ``width`` by ``height`` cells."""
        if (width, height) != (self._width, self._height):
            self._width, self._height = width, max(1, height)
            self._remake()

    def move(self, rows: int) -> None:
        """Move the cursor; a selection ends."""
        self._anchor = self._awaited = None
        self._at = moved(self._mode, self._at, rows)
        self._fit()

    def turn_page(self, pages: int) -> None:
        """Move by a page."""
        self.move(pages * max(1, self._height - 1))

    def select(self, rows: int) -> None:
        """Move the cursor and select what lies between."""
        anchor = self._at if self._anchor is None else self._anchor
        self.move(rows)
        self._anchor = anchor if self.shape != "tree" else None

    def deselect(self) -> None:
        """Select nothing."""
        self._anchor = None

    def first(self) -> None:
        """To the beginning."""
        self._go(0)

    def last(self) -> None:
        """To the end; while that has not come yet, to what there is of it, and then on."""
        self._go(self._mode.last())
        self._awaited = None if self.document.done or self.shape != "text" else self.raw.expected

    def go_to(self, number: int) -> None:
        """To a line, a byte in hexadecimal, a row of the tree."""
        if self.shape == "text":
            self._go(self.document.offset_of(number))
            self._awaited = None if self.document.done else number
        else:
            self._go(number - 1 if self.shape == "tree" else number)

    def _go(self, offset: int) -> None:
        self._anchor, self._left, self._awaited = None, 0, None
        self._at = offset
        self._remake()

    def sideways(self, cells: int) -> None:
        """Show what stands further right, or left."""
        if self.shape == "text" and not self._wrapped:
            self._left = max(0, self._left + cells)
            self._remake()

    def wrap(self) -> None:
        """Wrap lines, or show each in one row."""
        self._wrapped, self._left = not self._wrapped, 0
        self._remake()

    def turn(self) -> None:
        """As text, as a tree where it is JSON, in hexadecimal; and again."""
        shapes: list[Shape] = ["text", "tree", "hex"] if self._plant() else ["text", "hex"]
        before, self.shape = self.shape, shapes[(shapes.index(self.shape) + 1) % len(shapes)]
        if before == "text":
            self._line = self._at
        elif self.shape == "text" and self._mode.start_of(self._line) == self._at:
            self._at = self._line  # a row of bytes begins before the line did
        self._anchor = None
        if "tree" in (before, self.shape):
            self._top = self._at = 0
        self._remake()

    def _plant(self) -> bool:
        """Whether there is a tree; it is made when it is first wanted."""
        if self._tree is None and self.raw.kind == "json" and self.raw.whole and self.raw.size <= LIMIT:
            try:
                self._tree = Tree(self.raw.read(0, self.raw.size), self._redact, self._width)
            except NoTree:
                return False
        return self._tree is not None

    def open(self) -> None:
        """Open the value under the cursor, or close it; text wraps."""
        if self.shape == "tree" and self._tree is not None:
            self._tree.toggle(self._at)
            self._fit()
        elif self.shape == "text":
            self.wrap()

    # -- finding ------------------------------------------------------------------------------------------------------
    def find(self, text: str) -> None:
        """Look for ``text`` from the cursor on; empty: for nothing."""
        if self.shape == "tree":
            self.shape = "text"
            self._top = self._at = 0
            self._remake()
        self._match = None
        self._search = Search(self.raw, text, self._at) if text else None
        self._wanted = self._at if text else None

    def step_match(self, step: int) -> None:
        """To the next match, or to the one before."""
        if self._search is None:
            return
        if step > 0:
            self._wanted = self._at if self._match is None else self._match + 1
            self._seek()
        elif (found := self._search.previous(self._at if self._match is None else self._match)) is not None:
            self._show_match(found)

    def _seek(self) -> None:
        if self._search is None or self._wanted is None:
            return
        found = self._search.next(self._wanted)
        if found is not None:
            self._wanted = None
            self._show_match(found)

    def _show_match(self, offset: int) -> None:
        self._match, self._anchor, self._awaited = offset, None, None
        self._at = self._mode.start_of(offset)
        if isinstance(self._mode, Lines) and not self._wrapped:
            column = self._column(self._at, offset)
            width = self._width - self._gutter
            if not self._left <= column <= self._left + width - (self._search.length if self._search else 1):
                self._left = 0 if column < width // 2 else column - width // 2
                self._mode = self._made()
        if self._at not in rows_from(self._mode, self._top, self._height) or self._at < self._top:
            self._top = moved(self._mode, self._at, -(self._height // 3))

    def _column(self, start: int, offset: int) -> int:
        """Cells, or in a long line bytes, before ``offset`` in the line that begins at ``start``."""
        if self.document.line_end(start) - start > LONG:
            return offset - start
        text = veiled(decoded(self.raw.read(start, offset - start)), self._redact)
        return width_of(expand_tabs(text))

    # -- what is selected ---------------------------------------------------------------------------------------------
    @property
    def marked(self) -> tuple[int, int] | None:
        """The bytes that are selected."""
        if self._anchor is None or self.shape == "tree":
            return None
        low, high = sorted((self._anchor, self._at))
        following = self._mode.after(high)
        return low, self.raw.size if following is None else following

    def copied(self) -> str | None:
        """What is selected, else the page, as inert text; None where that is too much."""
        if self.shape != "text":
            rows = [one.row for one in self.page().rows]
            marked = self.marked
            wanted = [row for row in rows if marked is None or marked[0] <= row.start < marked[1]]
            return "\n".join(f"{row.label}  {row.key}  {row.text}".strip() for row in wanted)
        shown = rows_from(self._mode, self._top, self._height)
        low, high = self.marked or (self._top, self._mode.after(shown[-1]) or self.raw.size)
        if high - low > MOST_COPIED:
            return None
        return clean(self._redact(self.raw.read(low, high - low).decode("utf-8", "replace")))

    def marked_characters(self) -> tuple[int, int]:
        """(offset, length) of the selection in characters; (0, 0) without one: all of it."""
        if self.marked is None:
            return 0, 0
        low, high = self.marked
        return self._characters(0, low), self._characters(low, high)

    def _characters(self, low: int, high: int) -> int:
        count = 0
        for at in range(low, high, 1 << 20):
            data = self.raw.read(at, min(1 << 20, high - at))
            count += len(data.translate(None, _WITHIN))
        return count
