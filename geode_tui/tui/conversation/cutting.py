"""Where long texts are cut, so that each part is read or drawn in a few milliseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

SECTION_CHARS = 16_000
"""Characters of Markdown that are read at a time."""
PIECE_CHARS = 8_000
"""Longer plain text and code are split, so that each piece is drawn in a few milliseconds."""
PIECE_LINES = 100
"""Lines of code and rows of a table in one piece."""

_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]{1,200}\]:", re.MULTILINE)


def sections(text: str) -> Iterator[str]:
    """Parts of a long text that read alone as they read together: each begins with a paragraph or a heading after a
    blank line, outside of fences. Reading one at a time keeps the tokens few, and with them the collector's pauses.

    A text that defines link targets is one section: a definition counts wherever it stands.
    """
    if len(text) <= SECTION_CHARS or _DEFINITION.search(text):
        yield text
        return
    start = at = 0
    fence, blank = "", False
    for line in text.splitlines(keepends=True):
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line.strip(" \t\n" + fence[0]):
                fence = ""
        if blank and not fence and at - start >= SECTION_CHARS and (line[0].isalpha() or line[0] == "#"):
            yield text[start:at]
            start = at
        blank = not line.strip()
        at += len(line)
    yield text[start:]


def code_chunks(lines: Sequence[str]) -> Iterator[list[str]]:
    """``lines`` in parts of at most `PIECE_LINES` lines and about `PIECE_CHARS` characters; longer lines are split."""
    chunk: list[str] = []
    size = 0
    for line in lines:
        for at in range(0, max(1, len(line)), PIECE_CHARS):
            part = line[at : at + PIECE_CHARS]
            if chunk and (len(chunk) >= PIECE_LINES or size + len(part) > PIECE_CHARS):
                yield chunk
                chunk, size = [], 0
            chunk.append(part)
            size += len(part)
    yield chunk


def plain_cut(text: str, start: int = 0) -> int:
    """Where a piece of a long plain text that begins at ``start`` ends: after its last line or word within
    `PIECE_CHARS`, the same however much of the text is there already.
    """
    half, end = start + PIECE_CHARS // 2, start + PIECE_CHARS
    line, word = text.rfind("\n", half, end), text.rfind(" ", half, end)
    return line + 1 if line > 0 else word + 1 if word > 0 else end
