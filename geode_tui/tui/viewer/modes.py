"""Ways to show bytes as rows: lines, lines that are wrapped, hexadecimal. A row is known by the byte it begins with."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Protocol

import msgspec

from geode_tui.core.text import clean
from geode_tui.tui.cells import chop_starts, expand_tabs, take, width_of
from geode_tui.tui.look import Redact
from geode_tui.tui.viewer.document import Document

LONG = 8_192
"""Bytes of a line from which it is read by windows, in which a sideways step is a byte."""
SEGMENT = 8_192
"""Bytes of a line that are wrapped on their own."""
MARGIN = 512
"""Bytes around a window that are looked at for a secret."""
_WORDS = (re.compile(r"[^\s\"'`,:;=(){}\[\]<>]+"), re.compile(r"\S+"), re.compile(r"(?s).+"))
"""What a secret is hidden with: as little as will do."""
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}
_PICTURES |= {0x7F: 0x2421} | dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), 0xFFFD)
_RETURN = "\u240d"
"""A carriage return; before a newline it is not shown."""
_MOST_KEPT = 64
"""Segments whose rows are kept."""


class Row(msgspec.Struct, frozen=True):
    """A row: what begins at ``start``. ``label`` stands before it; ``opens`` is None where there is nothing to open,
    else whether that is open; ``depth`` is how far it is indented.
    """

    start: int
    text: str
    label: str = ""
    opens: bool | None = None
    depth: int = 0
    key: str = ""


class Mode(Protocol):
    """Rows one after the other."""

    def row(self, start: int) -> Row:
        """The row that begins there."""
        ...

    def start_of(self, offset: int) -> int:
        """Where the row that holds ``offset`` begins."""
        ...

    def after(self, start: int) -> int | None:
        """Where the next row begins, None after the last one."""
        ...

    def before(self, start: int) -> int | None:
        """Where the row before begins, None before the first one."""
        ...

    def last(self) -> int:
        """Where the last row begins."""
        ...


def moved(mode: Mode, start: int, rows: int) -> int:
    """The row that many rows further on, or back; as far as there are any."""
    for _ in range(abs(rows)):
        found = mode.after(start) if rows > 0 else mode.before(start)
        if found is None:
            break
        start = found
    return start


def rows_from(mode: Mode, start: int, count: int) -> list[int]:
    """Where the first ``count`` rows from ``start`` on begin."""
    out = [start]
    while len(out) < count and (found := mode.after(out[-1])) is not None:
        out.append(found)
    return out


def decoded(data: bytes) -> str:
    """``data`` as text; a byte that is no UTF-8 is a character of its own, which `veiled` replaces."""
    return data.decode("utf-8", "surrogateescape")


def veiled(text: str, redact: Redact) -> str:
    """``text`` with no secret in it and nothing that a terminal obeys, character for character but for what has no
    width: a word that holds a secret becomes stars.
    """
    text = text.translate(_PICTURES)
    for words in _WORDS:
        if redact(text) == text:
            break
        text = words.sub(lambda word: word[0] if redact(word[0]) == word[0] else "*" * len(word[0]), text)
    return text


class Lines:
    """A row for every line, of which ``width`` cells from ``left`` on are shown."""

    def __init__(self, document: Document, redact: Redact, width: int, left: int = 0) -> None:
        self.document = document
        self.width = width
        self.left = left
        self._redact = redact

    def start_of(self, offset: int) -> int:
        """See `Mode`."""
        return self.document.line_start(min(offset, self._final))

    @property
    def _final(self) -> int:
        """The last byte: a newline at the very end begins no row."""
        return max(0, self.document.raw.size - 1)

    def after(self, start: int) -> int | None:
        """See `Mode`."""
        end = self.document.line_end(start)
        return end + 1 if end + 1 < self.document.raw.size else None

    def before(self, start: int) -> int | None:
        """See `Mode`."""
        return self.document.line_start(start - 1) if start else None

    def last(self) -> int:
        """See `Mode`."""
        return self.start_of(self.document.raw.size)

    def row(self, start: int) -> Row:
        """See `Mode`."""
        return Row(start, self._text(start), self.label(start))

    def label(self, start: int) -> str:
        """The line's number; empty where it is not known yet, or the row begins no line."""
        number = self.document.number(start)
        return str(number) if number is not None else ""

    def _text(self, start: int) -> str:
        line = self.document.raw.read(start, LONG + 1)
        newline = line.find(b"\n")
        if newline >= 0 or start + len(line) == self.document.raw.size:
            text = veiled(decoded(line if newline < 0 else line[:newline]), self._redact).removesuffix(_RETURN)
            return cells_from(clean(expand_tabs(text)), self.left, self.width)
        low = self.document.snapped(start + self.left)
        high = min(low + self.width * 4, self.document.line_end(start))
        return cells_from(clean(expand_tabs(self.window(low, high, start))), 0, self.width)

    def window(self, low: int, high: int, line: int) -> str:
        """The text of the bytes from ``low`` to ``high`` of the line that begins at ``line``."""
        first = self.document.snapped(max(line, low - MARGIN))
        data = self.document.raw.read(first, high + MARGIN - first)
        head, body = decoded(data[: low - first]), decoded(data[low - first : high - first])
        tail = decoded(data[high - first :].partition(b"\n")[0])
        return veiled(head + body + tail, self._redact)[len(head) : len(head) + len(body)]


class Wrapped(Lines):
    """A row for every ``width`` cells of a line. A long line is wrapped in segments, each on its own."""

    def __init__(self, document: Document, redact: Redact, width: int) -> None:
        super().__init__(document, redact, width)
        self._kept: dict[tuple[int, int, int], tuple[tuple[int, ...], tuple[str, ...]]] = {}

    def start_of(self, offset: int) -> int:
        """See `Mode`."""
        offset = min(offset, self._final)
        if self.document.raw.read(offset, 1) == b"\n" and self.document.line_start(offset) < offset:
            offset -= 1  # a newline is never in a row of its own
        starts, _ = self._rows(self._segment(offset))
        return starts[max(0, bisect_right(starts, offset) - 1)]

    def after(self, start: int) -> int | None:
        """See `Mode`."""
        _, _, end = segment = self._segment(start)
        starts, _ = self._rows(segment)
        at = bisect_right(starts, start)
        if at < len(starts):
            return starts[at]
        end += self.document.raw.read(end, 1) == b"\n"
        return end if end < self.document.raw.size else None

    def before(self, start: int) -> int | None:
        """See `Mode`."""
        return self.start_of(start - 1) if start else None

    def label(self, start: int) -> str:
        """See `Lines.label`."""
        begins = not start or self.document.raw.read(start - 1, 1) == b"\n"
        return super().label(start) if begins else ""

    def _text(self, start: int) -> str:
        starts, texts = self._rows(self._segment(start))
        return texts[max(0, bisect_right(starts, start) - 1)]

    def _segment(self, offset: int) -> tuple[int, int, int]:
        """(where the line begins, where the segment of it begins that holds ``offset``, where that ends)."""
        line, snapped = self.document.line_start(offset), self.document.snapped
        index = (offset - line) // SEGMENT
        if offset >= snapped(line + (index + 1) * SEGMENT):
            index += 1
        start, end = snapped(line + index * SEGMENT), snapped(line + (index + 1) * SEGMENT)
        newline = self.document.raw.read(start, end - start).find(b"\n")
        return line, start, start + newline if newline >= 0 else end

    def _rows(self, segment: tuple[int, int, int]) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Where the rows of a segment begin, and their texts."""
        if segment not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[segment] = self._made(*segment)
        return self._kept[segment]

    def _made(self, line: int, start: int, end: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
        text = self.window(start, end, line).replace("\t", " ")
        chops = chop_starts(text, self.width)
        texts = [clean(text[a:b]) for a, b in zip(chops, [*chops[1:], None], strict=True)]
        texts[-1] = texts[-1].removesuffix(_RETURN)
        raw = decoded(self.document.raw.read(start, end - start))
        starts, at = [], 0
        for chop in chops:
            start += len(raw[at:chop].encode("utf-8", "surrogateescape"))
            at = chop
            starts.append(start)
        return tuple(starts), tuple(texts)


class Hex:
    """Bytes in hexadecimal, as many in a row as there is room for."""

    def __init__(self, document: Document, redact: Redact, width: int) -> None:
        self.document = document
        self.per_row = 16 if width >= 67 else 8 if width >= 33 else 4
        self._redact = redact

    def start_of(self, offset: int) -> int:
        """See `Mode`."""
        return max(0, min(offset, self.document.raw.size - 1)) // self.per_row * self.per_row

    def after(self, start: int) -> int | None:
        """See `Mode`."""
        following = start + self.per_row
        return following if following < self.document.raw.size else None

    def before(self, start: int) -> int | None:
        """See `Mode`."""
        return start - self.per_row if start else None

    def last(self) -> int:
        """See `Mode`."""
        return self.start_of(self.document.raw.size)

    def row(self, start: int) -> Row:
        """See `Mode`."""
        first = max(0, start - MARGIN)
        around = self.document.raw.read(first, start - first + self.per_row + MARGIN)
        text, at = around.decode("latin-1"), start - first
        shown = veiled(text, self._redact)[at : at + self.per_row]
        data = around[at : at + self.per_row]
        hidden = [shown[i] == "*" != text[at + i] for i in range(len(data))]
        pairs = " ".join("**" if hide else f"{byte:02x}" for byte, hide in zip(data, hidden, strict=True))
        plain = "".join(char if " " <= char <= "~" else "." for char in shown)
        return Row(start, f"{pairs:<{self.per_row * 3}} {plain}", f"{start:08x}")


def cells_from(text: str, left: int, width: int) -> str:
    """``width`` cells of ``text`` from cell ``left`` on; of a wide character that begins before, a space is left."""
    if text.isascii():
        return text[left : left + width]
    head = take(text, left)
    rest = text[len(head) :]
    if rest and width_of(head) < left:
        rest = f" {rest[1:]}"
    return take(rest[: width * 4], width)
