"""Choosing lines to quote: exactly as a tool showed them, the ones that matter to the prompt."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from geode_tui.providers.offline.board import Board
from geode_tui.providers.offline.evidence import CUT_AT, Line
from geode_tui.providers.offline.moves import defines, pattern_of
from geode_tui.providers.offline.tasks import Task

LONGEST: Final = 240
"""A longer line is not quoted: it would fill the screen, and one near grep's bound may have been cut."""
AT_LEAST: Final = 3
"""Lines quoted of a file even if none of them stands out."""
_HEADING = re.compile(r"^(#{1,4})\s+\S|^=+ \S")
_PROSE = (".md", ".rst", ".txt", ".adoc", ".mdx")


def quotable(line: Line) -> bool:
    """Whether a line can be quoted so that it is found again: printable, short enough, and not easily taken for a
    quote's own first line."""
    text = line.text
    if (
        len(text.strip()) < 4
        or len(text) > min(LONGEST, CUT_AT - 1)
        or "\ufffd" in text
        or text.lstrip().startswith(("```", "~~~"))
    ):
        return False
    if any(unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} and c != "\t" for c in text + line.path):
        return False
    if text.startswith("…") or text.endswith("…"):
        return False  # A search shows a part of a long line so.
    return re.search(r":\d+\s*$", text) is None and re.search(r"\w", text) is not None


def choose(lines: Iterable[Line], task: Task, most: int) -> list[Line]:
    """At most ``most`` of ``lines``, the best, in the order of the file."""
    pattern = _words(task)
    known = list(lines)
    below = _below_matches(known, pattern)
    scored = [
        (score(line, pattern) + (2.5 if (line.path, line.number) in below else 0.0), line)
        for line in known
        if quotable(line)
    ]
    best = sorted(scored, key=lambda x: (-x[0], x[1].path, x[1].number))
    chosen: list[Line] = []
    seen: set[str] = set()
    for value, line in best:
        if len(chosen) >= most or (value <= 0 and len(chosen) >= AT_LEAST):
            break
        if line.text.strip() not in seen:
            chosen.append(line)
            seen.add(line.text.strip())
    return sorted(chosen, key=lambda x: (x.path, x.number))


def _below_matches(lines: Iterable[Line], words: re.Pattern[str] | None) -> set[tuple[str, int]]:
    """The places of the three lines under each line that matches and opens something: they are what it is about."""
    if words is None:
        return set()
    opens = [x for x in lines if x.text.rstrip().endswith(("[", "{", "(", ":")) and words.search(x.text)]
    return {(x.path, x.number + i) for x in opens for i in (1, 2, 3)}


def _words(task: Task) -> re.Pattern[str] | None:
    pattern = pattern_of(task)
    loose = pattern_of(task, loose=True)
    both = "|".join(p for p in (pattern, loose) if p)
    return re.compile(both, re.IGNORECASE) if both else None


def score(line: Line, words: re.Pattern[str] | None) -> float:
    """How much a line says: the prompt's words, definitions, headings; imports and closing brackets say little."""
    text = line.text
    value = 0.0
    if words is not None:
        value += 4.0 * len({m.casefold() for m in words.findall(text) if m})
    heading = _HEADING.match(text)
    if heading and line.path.endswith(_PROSE):
        value += 4.0 - 0.5 * len(heading.group(1) or "#")
    elif defines(text):
        value += 3.0 - min(1.5, 0.25 * (len(text) - len(text.lstrip())))
    elif re.match(r'\s*(?:name|version|description|title|license)"?\s*[:=]', text):
        value += 2.5
    elif text.lstrip().startswith(('"""', "//!", "///", "/**")):
        value += 2.0
    elif re.match(r"[A-Z][A-Z0-9_]{2,}\s*[:=]", text):
        value += 1.5
    elif line.path.endswith(_PROSE) and len(text) > 40:
        value += 1.0
    if re.match(r"\s*(?:import|from|use|#include|require|package)\b", text):
        value -= 2.0
    if text != text.rstrip():
        value -= 1.0
    return value


def lines_of(board: Board, path: str) -> list[Line]:
    """The lines of ``path`` that were read."""
    return [Line(path, n, text) for n, text in sorted(board.lines.get(path, {}).items())]


def true_hits(board: Board, hits: Sequence[Line]) -> list[Line]:
    """``hits`` with the text a read showed where there is one, since a search may have cut or trimmed it."""
    return [Line(h.path, h.number, board.lines.get(h.path, {}).get(h.number, h.text)) for h in hits]


def block(lines: Sequence[Line]) -> str:
    """A fenced block of quotes: ``path:LINE`` and under it the line as it is."""
    if not lines:
        return ""
    ticks = max((len(m) for line in lines for m in re.findall(r"`+", line.text)), default=0)
    fence = "`" * max(3, ticks + 1)
    body = "\n\n".join(f"{line.path}:{line.number}\n{line.text}" for line in lines)
    return f"{fence}text\n{body}\n{fence}"
