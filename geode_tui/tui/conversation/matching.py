"""Matching what a person looks for: without regard to case or to how characters are composed, and across line ends."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from geode_tui.core.text import fold_width
from geode_tui.tui.cells import width_of

_SOFT = "\0"
"""Stands where a drawn line ends; clean text never holds it."""
_MARKUP = re.compile(r"[\s*_`~\\#>|-]+")
_JUNGSEONG, _JONGSEONG_END = "\u1160", "\u11ff"


class Stretch(NamedTuple):
    """Part of a match: cells ``start`` to ``stop`` of line ``line``."""

    line: int
    start: int
    stop: int


class Matcher:
    """Finds ``query``. A space in it stands for any space between words."""

    def __init__(self, query: str) -> None:
        words = [word for word in re.split(r"\s+", fold_width(query)) if word]
        self._text = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
        joined = (f"{_SOFT}?".join(map(re.escape, word)) for word in words)
        self._drawn = re.compile(f"(?:{_SOFT}| +)".join(joined), re.IGNORECASE)
        self._bare = _bare(" ".join(words))

    def count(self, text: str) -> int:
        """How often it stands in ``text``."""
        return sum(1 for _ in self._text.finditer(fold_width(text)))

    def may_stand_in(self, markdown: str) -> bool:
        """Whether it may stand in what ``markdown`` shows; cheap, and never False where it does."""
        if "](" in markdown or "&" in markdown or not self._bare:
            return True
        return self._bare in _bare(fold_width(markdown))

    def in_lines(self, lines: Sequence[tuple[int, str]]) -> list[tuple[Stretch, ...]]:
        """The matches in drawn lines, each given as (cell it begins at, text); a match may go on in the next line."""
        folded: list[str] = []
        places: list[tuple[int, int]] = []
        for number, (_, text) in enumerate(lines):
            composed, starts = _composed(text)
            folded.append(composed)
            places += [(number, start) for start in starts]
            places.append((number, len(text)))
        found = self._drawn.finditer(_SOFT.join(folded))
        return [tuple(_stretches(lines, places, match.start(), match.end())) for match in found]


def _stretches(
    lines: Sequence[tuple[int, str]], places: Sequence[tuple[int, int]], start: int, stop: int
) -> Iterable[Stretch]:
    """The characters from ``start`` to ``stop`` of all lines joined, as cells of each line."""
    (first, begin), (last, end) = places[start], places[stop]
    for number in range(first, last + 1):
        column, text = lines[number]
        left = width_of(text[:begin]) if number == first else 0
        right = width_of(text[:end]) if number == last else width_of(text)
        if right > left:
            yield Stretch(number, column + left, column + right)


def _composed(text: str) -> tuple[str, Iterable[int]]:
    """``text`` in NFC, and where each of its characters begins in ``text``."""
    if unicodedata.is_normalized("NFC", text):
        return text, range(len(text))
    composed: list[str] = []
    starts: list[int] = []
    begin = 0
    for at in range(1, len(text) + 1):
        if at < len(text) and _joins(text[at]):
            continue
        cluster = fold_width(text[begin:at])
        composed.append(cluster)
        starts += [begin] * len(cluster)
        begin = at
    return "".join(composed), starts


def _joins(char: str) -> bool:
    """Whether ``char`` may become one with the character before it."""
    return unicodedata.combining(char) != 0 or _JUNGSEONG <= char <= _JONGSEONG_END


def _bare(text: str) -> str:
    """``text`` without spaces and without what Markdown may take away."""
    return _MARKUP.sub("", text).casefold()
