"""Text that grows at its end and is wrapped as it comes: the cost of a piece does not depend on what stands before."""

from __future__ import annotations

from collections.abc import Callable

from textual.strip import Strip

from geode_tui.tui.cells import chop_starts, expand_tabs, line_starts, width_of
from geode_tui.tui.conversation.items import Canvas, Item
from geode_tui.tui.conversation.render import code_strips, plain_strips

HIGHLIGHT_CHARS = 1_000
"""Longer lines of code stay in one colour while they stream."""


class LineWrap:
    """One line that grows. Greedy wrapping never changes a row that is full, so only the last is wrapped again.

    Secrets are masked in that row with what is added to it.
    """

    def __init__(self, width: int, breaks: Callable[[str, int], list[int]], redact: Callable[[str], str]) -> None:
        self._width = width
        self._breaks = breaks
        self._redact = redact
        self._tail = ""

    def feed(self, text: str) -> list[str]:
        """Rows that replace the last one, after ``text`` was added."""
        line = self._redact(self._tail + expand_tabs(text, width_of(self._tail)))
        starts = self._breaks(line, self._width)
        rows = [line[a:b] for a, b in zip(starts, [*starts[1:], len(line)], strict=True)]
        self._tail = rows[-1]
        return rows


class Growing(Item):
    """Plain text, or code in ``language``, to which characters and line ends are added."""

    def __init__(
        self, language: str | None, indent: int, before: int, canvas: Canvas, redact: Callable[[str], str]
    ) -> None:
        super().__init__()
        self.language = language
        """None for plain text."""
        self.before = before
        self.chars = 0
        self._indent = indent
        self._redact = redact
        self._lines: list[str] = []
        self._line: list[str] = []
        self._drawn: list[Strip] = []
        self._begin(canvas)

    @property
    def source(self) -> str:
        """See `Item.source`."""
        return "\n".join([*self._lines, "".join(self._line)])

    @property
    def picture_key(self) -> str:
        """See `Item.picture_key`."""
        return self.source if self.language is None and not self._indent else ""

    def _begin(self, canvas: Canvas) -> None:
        """Draw from the first line on."""
        self._drawn = self.strips = []
        self.height = 0
        self._new_line(canvas)

    def _new_line(self, canvas: Canvas) -> None:
        room = max(1, canvas.body - self._indent - (2 if self.language is not None else 0))
        self._wrap = LineWrap(room, line_starts if self.language is None else chop_starts, self._redact)
        self._line_at = len(self._drawn)

    def feed(self, text: str, canvas: Canvas) -> None:
        """Add ``text``, which holds no newline, to the last line."""
        self._wake(canvas)
        self._line.append(text)
        self.chars += len(text)
        rows = self._wrap.feed(text)
        if len(self._drawn) > self._line_at:
            self._drawn.pop()
        self._drawn += [self._row(row, canvas) for row in rows]
        self.height = len(self._drawn)

    def end_line(self, canvas: Canvas) -> None:
        """The last line is whole: code gets its colours, and a new line begins."""
        self._wake(canvas)
        line = "".join(self._line)
        if not line or (self.language is not None and len(line) <= HIGHLIGHT_CHARS):
            self._drawn[self._line_at :] = self._whole(self._redact(line), canvas)
        self._lines.append(line)
        self._line = []
        self.chars += 1
        self.height = len(self._drawn)
        self._new_line(canvas)

    def _wake(self, canvas: Canvas) -> None:
        """Draw what was forgotten while it was out of view."""
        if self.strips is None:
            self.put(self.draw(canvas))

    def _whole(self, line: str, canvas: Canvas) -> list[Strip]:
        if self.language is None:
            return plain_strips(line, self._indent, canvas)
        return code_strips(line, self.language, self._indent, canvas)

    def _row(self, row: str, canvas: Canvas) -> Strip:
        if self.language is None:
            return plain_strips(row, self._indent, canvas)[0]
        return code_strips(row, "", self._indent, canvas)[0]

    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`; the last line goes on growing from there."""
        lines, last = self._lines, "".join(self._line)
        self._lines, self._line, self.chars = [], [], 0
        self._begin(canvas)
        for line in lines:
            self.feed(line, canvas)
            self.end_line(canvas)
        if last:
            self.feed(last, canvas)
        return self._drawn

    def estimate(self, canvas: Canvas) -> int:
        """See `Item.estimate`."""
        return len(self._lines) + 1 + self.chars // canvas.body

    def shorten(self, length: int, canvas: Canvas) -> str:
        """Keep the first ``length`` characters and give back the rest."""
        text = self.source
        *self._lines, last = text[:length].removesuffix("\n").split("\n")
        self._line = [last]
        self.put(self.draw(canvas))
        return text[length:]


class OpenLine(Item):
    """The last line of an open block while it is short enough to be something else in the end, a closing fence say."""

    def __init__(self, text: str, language: str | None, indent: int) -> None:
        super().__init__()
        self._text, self._language, self._indent = text, language, indent

    @property
    def source(self) -> str:
        """See `Item.source`."""
        return self._text

    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`."""
        if self._language is None:
            return plain_strips(self._text, self._indent, canvas)
        return code_strips(self._text, "", self._indent, canvas)
