"""A text while it streams, read line by line: each piece costs what it adds, whatever stands before it.

Blocks are told apart by their first lines alone, so a few constructs look different until the message is complete and
read once as a whole (loose lists, link definitions). Only the open block is drawn again: a short one as Markdown, a
long one as plain text of which the last row grows, a fence line by line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from geode_tui.core.text import clean_line
from geode_tui.tui.conversation.blocks import INLINE_LIMIT, Parser
from geode_tui.tui.conversation.cutting import PIECE_CHARS, PIECE_LINES, plain_cut
from geode_tui.tui.conversation.growing import Growing, OpenLine
from geode_tui.tui.conversation.items import HEAVY, Canvas, Item, SegmentItem

HELD_CHARS = 200
"""A line up to this long may still turn out to end its block."""
TABLE_LIMIT = 100_000
"""Characters of a table that is styled when it closes; a longer one waits for the end of the message."""

_FENCE = re.compile(r"( *)(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^ \t]*)")
_MARKER = re.compile(r"( *)([-*+]|\d{1,9}[.)])( +|$)")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_DELIMITERS = re.compile(r" *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?\|? *$")

Mode: TypeAlias = Literal["none", "text", "long", "table", "fence"]


class LiveText:
    """One text block of an answer that streams. ``items`` is the answer's list, of which it owns the end."""

    def __init__(
        self, items: list[Item], gap: int, canvas: Canvas, parser: Parser, redact: Callable[[str], str]
    ) -> None:
        self._items = items
        self._gap = gap
        """Blank lines before its first block."""
        self._canvas = canvas
        self._parser = parser
        self._redact = redact
        self._first = self._at = len(items)
        self._mode: Mode = "none"
        self._lines: list[str] = []
        self._size = 0
        self._line = ""
        self._handed = False
        """Part of the last line is in the growing item already."""
        self._blank = False
        self._lists: list[tuple[int, int]] = []
        """Open list items: column of their text in the source, and cells they move it by on screen."""
        self._indent = self._dedent = self._before = 0
        self._fence = ("", "")
        self.dirty = self._at
        """The first item that changed since the caller looked."""

    def set_canvas(self, canvas: Canvas) -> None:
        """Draw on another canvas from now on."""
        self._canvas = canvas

    def feed(self, text: str) -> None:
        """Add clean text."""
        self.dirty = min(self.dirty, self._tail())
        first, *more = text.split("\n")
        self._grow(first)
        for part in more:
            self._end_line()
            self._grow(part)
        self._show()

    def finish(self) -> None:
        """The block is whole."""
        self.dirty = min(self.dirty, self._tail())
        if self._line and not (self._mode == "fence" and self._closes(self._line)):
            self._end_line()
        self._seal()

    # -- lines -----------------------------------------------------------------------------------------------------

    def _grow(self, part: str) -> None:
        self._line += part
        if self._mode in {"none", "text"} and self._size + len(self._line) > HEAVY:
            self._lengthen("long")
        if self._mode in {"long", "table", "fence"} and (self._handed or len(self._line) > HELD_CHARS):
            self._hand_over()

    def _end_line(self) -> None:
        line = self._line
        match self._mode:
            case "fence" if not self._handed and self._closes(line):
                self._line = ""
                self._seal()
            case "long" | "table" if not self._handed and (not line.strip() or _begins_block(line)):
                self._seal()
                self._take(line)
            case "long" | "table" | "fence":
                self._hand_over()
                growing = self._growing()
                growing.end_line(self._canvas)
                self._handed = False
                if self._mode == "fence" and (growing.height >= PIECE_LINES or growing.chars >= PIECE_CHARS // 2):
                    self._add_growing(growing.language, 0)
            case _:
                self._take(line)

    def _take(self, line: str) -> None:
        """A whole line that no open block has claimed as its own."""
        self._line = ""
        if not line.strip():
            self._seal()
            self._blank = True
        elif (fence := _FENCE.match(line)) and fence[0]:
            self._seal()
            self._place(line)
            self._open_fence(fence)
        elif self._mode == "text" and self._goes_on(line):
            self._append(line)
        else:
            self._seal()
            self._mode = "text"
            self._place(line)
            self._append(line)
            if _HEADING.match(line):
                self._seal()

    def _goes_on(self, line: str) -> bool:
        """Whether ``line`` belongs to the open block."""
        quoted = self._lines[0].startswith(">") and line.startswith(">")
        return quoted or bool(_UNDERLINE.match(line)) or not _begins_block(line)

    def _append(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1
        if len(self._lines) == 2 and "|" in self._lines[0] and _DELIMITERS.match(line):
            self._lengthen("table")
        elif self._size > HEAVY:
            self._lengthen("long")

    def _place(self, line: str) -> None:
        """Where a block that begins with ``line`` stands among open lists."""
        column = len(line) - len(line.lstrip(" "))
        marker = _MARKER.match(line)
        follows = bool(self._lists)
        while self._lists and column < self._lists[-1][0]:
            self._lists.pop()
        self._indent = self._lists[-1][1] if self._lists else 0
        self._dedent = column if marker else min(column, self._lists[-1][0]) if self._lists else 0
        self._before = self._gap if self._at == self._first else 0 if follows and marker and not self._blank else 1
        self._blank = False
        if marker:
            shown = 2 if not marker[2][0].isdigit() else len(marker[2]) + 1
            self._lists.append((marker.end(), self._indent + shown))

    def _open_fence(self, fence: re.Match[str]) -> None:
        self._mode = "fence"
        self._fence = (fence[2], fence[1])
        self._dedent = len(fence[1])
        self._add_growing(clean_line(fence[3], 40), self._before)

    def _closes(self, line: str) -> bool:
        text, mark = line.strip(), self._fence[0]
        return len(text) >= len(mark) and not text.strip(mark[0])

    # -- items -----------------------------------------------------------------------------------------------------

    def _tail(self) -> int:
        """The first item that more text can change."""
        if self._mode in {"none", "text"}:
            return self._at
        return len(self._items) - (2 if isinstance(self._items[-1], OpenLine) else 1)

    def _growing(self) -> Growing:
        item = self._items[self._tail()]
        assert isinstance(item, Growing)
        return item

    def _add_growing(self, language: str | None, before: int) -> Growing:
        self._drop_open_line()
        growing = Growing(language, self._indent, before, self._canvas, self._redact)
        self._items.append(growing)
        return growing

    def _drop_open_line(self) -> None:
        if len(self._items) > self._at and isinstance(self._items[-1], OpenLine):
            del self._items[-1]

    def _lengthen(self, mode: Literal["long", "table"]) -> None:
        """The open block became too long to be read again with each piece."""
        if self._mode == "none":
            self._place(self._line)
        del self._items[self._at :]
        self._mode = mode
        growing = self._add_growing(None, self._before)
        for line in self._lines:
            growing.feed(_without(self._dedent, line), self._canvas)
            growing.end_line(self._canvas)
        self._lines, self._size = [], 0

    def _hand_over(self) -> None:
        """Give what there is of the last line to the growing item, and split that where it has become long."""
        self._drop_open_line()
        growing = self._growing()
        text = self._line if self._handed else _without(self._dedent, self._line)
        if text:
            growing.feed(text, self._canvas)
        self._line, self._handed = "", True
        limit = PIECE_CHARS if self._mode == "fence" or growing is not self._items[self._at] else INLINE_LIMIT
        while self._mode != "table" and growing.chars > limit:
            cut = plain_cut(growing.source) if growing.language is None else PIECE_CHARS
            rest = growing.shorten(cut, self._canvas)
            growing = self._add_growing(growing.language, 0)
            limit = PIECE_CHARS
            *whole, last = rest.split("\n")
            for line in whole:
                growing.feed(line, self._canvas)
                growing.end_line(self._canvas)
            growing.feed(last, self._canvas)

    def _show(self) -> None:
        """Draw the open block as it is now."""
        if self._mode in {"none", "text"}:
            lines = [*self._lines, self._line] if self._line else self._lines
            if self._mode == "none" and self._line.strip():
                self._preview(self._line)
            elif lines and self._mode == "text":
                self._put_segment("\n".join(lines))
        else:
            self._drop_open_line()
            if self._line:
                text = self._redact(_without(self._dedent, self._line))
                self._items.append(OpenLine(text, self._growing().language, self._indent))

    def _preview(self, line: str) -> None:
        """A first line that is not whole: placed as if it were, without a trace."""
        kept = list(self._lists), self._blank
        self._place(line)
        self._put_segment(line)
        self._lists, self._blank = kept

    def _put_segment(self, source: str) -> None:
        source = "\n".join(_without(self._dedent, line) for line in source.split("\n"))
        self._items[self._at :] = [SegmentItem(self._parser, self._redact(source), self._indent, self._before)]

    def _seal(self) -> None:
        """The open block is whole: what comes now is another."""
        self._drop_open_line()
        if self._mode == "text":
            self._put_segment("\n".join(self._lines))
        elif self._mode in {"long", "table"}:
            source = self._redact("".join(item.source for item in self._items[self._at :]).rstrip("\n"))
            if len(source) <= (TABLE_LIMIT if self._mode == "table" else INLINE_LIMIT):
                self.dirty = min(self.dirty, self._at)
                self._items[self._at :] = [SegmentItem(self._parser, source, self._indent, self._before)]
        elif self._mode == "none":
            del self._items[self._at :]
        self._mode, self._lines, self._size, self._handed = "none", [], 0, False
        self._at = len(self._items)


def _begins_block(line: str) -> bool:
    return bool(
        _HEADING.match(line) or _MARKER.match(line) or _RULE.match(line) or _FENCE.match(line) or line.startswith(">")
    )


def _without(indent: int, line: str) -> str:
    """``line`` less up to ``indent`` spaces before it."""
    return line[min(indent, len(line) - len(line.lstrip(" "))) :]
