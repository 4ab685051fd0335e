"""Whether a summary still names what the latest instruction is about: by its terms, whatever the wording. Pure.

Names of files, identifiers and figures count most; words count by their stems, Hangul and Han text by pairs of
characters, since particles change the ends of words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from geode_tui.core.text import fold_width

LEAST_TERMS: Final = 3
"""Shorter instructions ("go on") are not asked for."""
KEPT_PERCENT: Final = 40
"""Of what an instruction weighs, this much is named in a summary that keeps it."""
ENOUGH: Final = 24
"""Of a long instruction a summary names this much, not a share."""
ENOUGH_NAMES: Final = 4
"""Half of the names must be there, or this many."""
_NAME, _STEM, _PAIR = 4, 2, 1
"""Weights: a name, the stem of a word, a pair of characters."""
_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9_.~/\\@#-][\w./\\:@#~-]*", re.ASCII)
_IS_NAME: Final = re.compile(r"[a-z][A-Z]|\w[./\\:@#_]+\w|\w{2,}/$|^[~.]?/\w|^\.\w|\d\d|[A-Za-z]\d|-\w*\d", re.ASCII)
"""A word with a sign, a digit or a capital within; compounds with hyphens are words like others."""
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_DENSE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")
_COMMON_WORDS: Final = """
this that with from have please would could should there their them then than when what which where will your
into about after before also just like make need want some more most very been being were does doing done same
other each every such they here these those over under using used sure okay yeah well still because while
since until really maybe think know look show give tell take keep good work things thing something anything
everything right continue start
"""
_COMMON_ENDS: Final = """
습니 니다 해줘 주세 세요 하고 하는 해서 으로 에서 하지 말고 그리 리고 이제 지금 합니 입니 있는 없는 대해 위해 하면
해주 까지 부터 것을 것은 것이 그것 이것 어떻 떻게 하게 해야 야해 한다 했다 되는 되도 도록 같은 같이 다음 에는 에게
이랑 라고 라는 는데 은데 지만 면서 거나 든지 です ます した して する から まで こと この その
"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())
_COMMON_PAIRS: Final = frozenset(_COMMON_ENDS.split())


class Terms(msgspec.Struct, frozen=True):
    """What a text is about: names as they are written, stems of words, pairs of characters; all lower case."""

    names: frozenset[str]
    stems: frozenset[str]
    pairs: frozenset[str]

    def __len__(self) -> int:
        return len(self.names) + len(self.stems) + len(self.pairs)

    @property
    def weight(self) -> int:
        """How much all of it counts."""
        return _NAME * len(self.names) + _STEM * len(self.stems) + _PAIR * len(self.pairs)


def terms(text: str) -> Terms:
    """The terms of an instruction."""
    text = fold_width(text)
    names = {name.lower() for name in _names(text)}
    rest = _ASCII_WORD.sub(lambda m: " " if _IS_NAME.search(_bare(m[0])) else m[0], text)
    words = {word.lower() for word in _WORD.findall(rest) if not _DENSE.search(word)} - _COMMON
    pairs = {run[at : at + 2] for run in _DENSE.findall(text) for at in range(len(run) - 1)} - _COMMON_PAIRS
    return Terms(frozenset(names), frozenset(_stem(word) for word in words), frozenset(pairs))


def keeps_instruction(summary: str, latest: str) -> bool:
    """Whether ``summary`` names enough of what ``latest`` is about. True where that is too little to tell.

    What an instruction says in one script and the summary in another is not looked for: only names are.
    """
    asked, text = terms(latest), fold_width(summary).lower()
    dense = sum(map(len, _DENSE.findall(text)))
    letters = sum(1 for char in text if char.isalpha())
    asked = Terms(
        asked.names,
        asked.stems if dense * 2 <= letters else frozenset(),
        asked.pairs if dense * 10 >= letters else frozenset(),
    )
    if len(asked) < LEAST_TERMS:
        return True
    found = Terms(
        frozenset(name for name in asked.names if _is_named(name, text)),
        frozenset(stem for stem in asked.stems if stem in text),
        frozenset(pair for pair in asked.pairs if pair in text),
    )
    if len(found.names) < min(ENOUGH_NAMES, -(-len(asked.names) // 2)):
        return False
    return found.weight >= min(ENOUGH, -(-asked.weight * KEPT_PERCENT // 100))


def _is_named(name: str, text: str) -> bool:
    """Whether ``text`` names it: as it is, by the last part of a path, or by all words of one/another."""
    if name in text or _last_part(name) in text:
        return True
    words = name.split("/")
    return all(word.isalpha() and _stem(word) in text for word in words)


def _names(text: str) -> Iterator[str]:
    for word in _ASCII_WORD.findall(text):
        bare = _bare(word)
        if _IS_NAME.search(bare):
            yield bare


def _bare(word: str) -> str:
    """``word`` without the punctuation of its sentence."""
    return word.rstrip(".:-#@").lstrip("-#@")


def _stem(word: str) -> str:
    return word[: max(4, len(word) - 3)]


def _last_part(name: str) -> str:
    part = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    return part if len(part) >= 4 else name
