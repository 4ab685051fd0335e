"""Text measured in terminal cells: cutting, padding, wrapping and rows laid out from the right.

All of it works on clean text without newlines (`core.text.clean`) whose tabs are expanded; a character two cells wide
is never split. Widths of zero or one cell are legal everywhere.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment

TAB = 4
"""Columns between tab stops."""

# Ideographs and kana may be broken anywhere; Hangul and everything else only at spaces.
_BREAKABLE = "\u2e80-\u312f\u31a0-\ua4cf\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"
_JOINED = "\u0300-\u036f\u200d\u3099\u309a\ufe00-\ufe0f"
_ASCII_WORD = re.compile(r" +|[^ ]+")


@functools.cache
def _words_of_any_script() -> re.Pattern[str]:
    """Compiled when such text first comes: it takes 4 ms."""
    return re.compile(f" +|[{_BREAKABLE}][{_JOINED}]*|[^ {_BREAKABLE}]+")


def width_of(text: str) -> int:
    """Cells that ``text`` takes."""
    return len(text) if text.isascii() else cell_len(text)


def expand_tabs(text: str, column: int = 0) -> str:
    """``text`` with spaces up to the next tab stop for each tab; it begins in ``column``."""
    if "\t" not in text:
        return text
    parts: list[str] = []
    for index, part in enumerate(text.split("\t")):
        if index:
            gap = TAB - column % TAB
            parts.append(" " * gap)
            column += gap
        parts.append(part)
        column += width_of(part)
    return "".join(parts)


def take(text: str, width: int) -> str:
    """The longest beginning of ``text`` that fits into ``width`` cells."""
    if width <= 0:
        return ""
    if text.isascii():
        return text[:width]
    # No grapheme has more than two cells, but any number of characters without width may precede the cut.
    used = 0
    for start, _, size in split_graphemes(text)[0]:
        used += size
        if used > width:
            return text[:start]
    return text


def cut_end(text: str, width: int, glyph: str) -> str:
    """``text`` in at most ``width`` cells; where something is left out, ``glyph`` stands at the end."""
    if width_of(text) <= width:
        return text
    return take(take(text, width - width_of(glyph)) + glyph, width)


def cut_front(text: str, width: int, glyph: str) -> str:
    """As `cut_end`, but the end stays: for paths."""
    if width_of(text) <= width:
        return text
    room = width - width_of(glyph)
    if room <= 0:
        return take(glyph, width)
    if text.isascii():
        return glyph + text[-room:]
    spans, size = split_graphemes(text)
    for _, end, cells in spans:
        size -= cells
        if size <= room:
            return glyph + text[end:]
    return glyph


def pad(text: str, width: int, *, right: bool = False) -> str:
    """``text`` filled with spaces to ``width`` cells, at its end or (``right``) before it."""
    space = " " * max(0, width - width_of(text))
    return space + text if right else text + space


def line_starts(text: str, width: int) -> list[int]:
    """Where the lines of ``text`` begin when it is wrapped at words into ``width`` cells; always begins with 0.

    Spaces at a break hang over the end of their line (strip them when drawing). Wrapping is greedy, so the text from
    the last start on can be wrapped again with more text after it and nothing before it changes.
    """
    width = max(1, width)
    if len(text) <= width and text.isascii():
        return [0]
    starts = [0]
    used = 0
    words = _ASCII_WORD if text.isascii() else _words_of_any_script()
    for match in words.finditer(text):
        word, at = match[0], match.start()
        size = width_of(word)
        if used + size <= width:
            used += size
        elif word[0] == " ":
            used = width + 1  # they hang over: not even a character without width belongs on this line any more
        else:
            if at > starts[-1]:
                starts.append(at)
            used = size
            if size > width:
                chopped = chop_starts(word, width)
                starts += [at + offset for offset in chopped[1:]]
                used = width_of(word[chopped[-1] :])
    return starts


def chop_starts(text: str, width: int) -> list[int]:
    """As `line_starts`, but broken wherever the line is full: for code."""
    width = max(1, width)
    if text.isascii():
        return list(range(0, len(text), width)) or [0]
    starts, used = [0], 0
    for start, _, size in split_graphemes(text)[0]:
        if used + size > width and start > starts[-1]:
            starts.append(start)
            used = 0
        used += size
    return starts


def segments_width(segments: Sequence[Segment]) -> int:
    """Cells that ``segments`` take."""
    return sum(width_of(segment.text) for segment in segments)


def cut_segments(segments: Sequence[Segment], width: int, glyph: str) -> list[Segment]:
    """``segments`` in at most ``width`` cells, the last one cut with ``glyph`` where they are longer."""
    if segments_width(segments) <= width:
        return list(segments)
    kept: list[Segment] = []
    room = width - width_of(glyph)
    style = segments[0].style
    for segment in segments:
        style = segment.style
        text = take(segment.text, room)
        kept.append(Segment(text, style))
        room -= width_of(text)
        if text != segment.text:
            break
    kept.append(Segment(take(glyph, width), style))
    return kept


def spread(left: Sequence[Segment], right: Sequence[Segment], width: int, glyph: str) -> list[Segment]:
    """One row of exactly ``width`` cells: ``right`` stands at its end, ``left`` gets what remains less one space.

    A ``right`` part that does not fit is left out whole.
    """
    end = segments_width(right)
    if end > width or (left and end and end + 2 > width):
        right, end = (), 0
    room = width - end - (1 if right else 0)
    start = cut_segments(left, max(0, room), glyph)
    gap = width - end - segments_width(start)
    return [*start, Segment(" " * max(0, gap)), *right]
