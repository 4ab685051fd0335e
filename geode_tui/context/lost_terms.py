"""What a sentence is about, and whether other lines say as much, in whatever words. English and Korean. Pure.

Words count by their stems: of English five letters without the usual endings, of Korean two syllables, since
particles follow them. Verbs that every rule has (touch, change, use) say nothing of what it is about.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from geode_tui.context.summary_terms import terms
from geode_tui.core.text import clean, fold_width

SENTENCE_END: Final = re.compile(r"(?<=[.!?。])\s+|\n+")
_QUOTES: Final = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "`": None, "*": None, "\u00a0": " "})
_ENDING: Final = re.compile(r"(?:ing|ed|e|ly)?s?$")
_WORD: Final = re.compile(r"[a-z]{3,}")
_PROPER: Final = re.compile(r"(?<=[a-z,:] )[A-Z][A-Za-z]{2,}")
"""A capital within a sentence: UTC, French, Friday."""
_HANGUL: Final = re.compile("[가-힣]+")
_TOKEN: Final = re.compile(r"[\w./\\:@#~-]+")
_PARTICLES: Final = frozenset("을를은는이가에의로와과도만")
_BULLET: Final = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+|#{1,6}\s")
_ENOUGH_PERCENT: Final = 50
_MOST_PERCENT: Final = 60
"""Enough of what is to be, where the line only says what is."""
_NAMED_PERCENT: Final = 30
"""Where all names are there, so much of the words is enough."""
_FEW_WORDS: Final = 2
"""Beside names, so few words need not be there."""
_COMMON_WORDS: Final = """
the and for are but not you your all any can had has have her was were one our out get him his how its may new now old
see two way who did let put say she too use used using also into than then that this these those there their them they
with from what when where which while will would should could shall must never always only ever dont doesnt cannot
please sure make makes made keep keeps touch edit change changes modify alter write file files code before after until
unless under without avoid just like need needs want more most very been being does done doing other each every such
here over because since about again anything everything something nothing none think know some same both either
really instead rather allowed forbidden prohibited permitted user asked asks ask under none still yet open question
"""
_COMMON_SYLLABLES: Final = """
하지 하고 하는 하면 해야 해서 합니 한다 해주 마세 말고 말것 않도 않는 안됩 안돼 됩니 된다 되는 되어 반드 절대 금지 항상
있는 없는 없이 그리 그대 모든 경우 때문 먼저 이후 이전 사용 수정 변경 파일 코드 하기 하도 주세 습니 입니 이것 그것 어떤
무엇 아직 이제 지금 마십
"""


def plain(text: str) -> str:
    """``text`` with the differences taken out that are of writing only: quotation marks, emphasis, composed forms."""
    return fold_width(clean(text)).translate(_QUOTES)


def flat(text: str) -> str:
    """``text`` as one line of lower case, for looking a sentence up."""
    return " ".join(plain(text).lower().split())


def _stem(word: str) -> str:
    bare = _ENDING.sub("", word)
    return (bare if len(bare) >= 3 else word)[:5]


def _syllables(word: str) -> str:
    """The beginning of a Korean word, without a particle that follows one syllable."""
    return word[0] if len(word) == 2 and word[1] in _PARTICLES else word[:2]


_COMMON: Final = frozenset(_COMMON_WORDS.split())
_COMMON_STEMS: Final = frozenset(stem for word in _COMMON if len(stem := _stem(word)) > 3)
"""Shorter ones are of other words as well: "not" of "notes"."""
_COMMON_BEGINNINGS: Final = frozenset(_COMMON_SYLLABLES.split())

_NEGATES: Final = re.compile(
    r"\b(?:not|never|no|none|nor|nothing|nobody|without|avoid\w*|forb[ia]d\w*|prohibit\w*|disallow\w*|bann?(?:ed|s)?"
    r"|refus\w*|exclud\w*|except|off[- ]limits|untouched|unchanged|unmodified|frozen|read[- ]only|alone|as is|cannot"
    r"|instead of|rather than|stop|skip\w*|\w+n't|dont)\b"
    r"|금지|지 ?마(?!치|무)|지 ?말|말 ?것|말고|않|안 ?(?:되|돼|된|됩|됨|함|한다)|못 ?하|없이|불가|제외|그대로|대신",
    re.IGNORECASE,
)


def forbids(sentence: str) -> bool:
    """Whether a sentence says what is not to be, or is not."""
    return _NEGATES.search(sentence) is not None


_ORDERS: Final = re.compile(
    r"\b(?:must|shall|should|always|only|every|each|required?|mandatory)\b|반드시|항상|꼭 |필수|[가-힣]만 |할 ?것|해야",
    re.IGNORECASE,
)


def orders(sentence: str) -> bool:
    """Whether a sentence says how things are to be."""
    return _ORDERS.search(sentence) is not None or forbids(sentence)


class About(msgspec.Struct, frozen=True):
    """What a sentence is about: names as they stand (by their last parts, proper names by their stems), and stems of
    words; whether it forbids, and whether it orders.
    """

    names: frozenset[str]
    words: frozenset[str]
    forbids: bool
    orders: bool

    @property
    def topic(self) -> About:
        """The same without a wish: what an answer to it, or word of it, is about."""
        return About(self.names, self.words, forbids=False, orders=False)

    def __len__(self) -> int:
        return len(self.names) + len(self.words)


def about(sentence: str) -> About:
    """See `About`. ``sentence`` has passed `plain`."""
    names = frozenset(_last_part(name) for name in terms(sentence).names)
    rest = _TOKEN.sub(lambda m: " " if _last_part(m[0].lower()) in names else m[0], sentence)
    proper = frozenset(stem for word in _PROPER.findall(rest) for stem in _words(word.lower()))
    words = frozenset(_words(rest.lower())) - proper
    return About(names | proper, words, forbids(sentence), orders(sentence))


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if word not in _COMMON and (stem := _stem(word)) not in _COMMON_STEMS:
            yield stem
    for word in _HANGUL.findall(text):
        beginning = _syllables(word)
        if len(word) > 1 and beginning not in _COMMON_BEGINNINGS:
            yield beginning


def _last_part(name: str) -> str:
    part = re.split(r"[/\\]", name.strip("/\\.:-#@"))[-1]
    return part if len(part) >= 3 else name


@lru_cache(maxsize=1 << 15)
def _keys_of(token: str) -> frozenset[str]:
    bare = token.strip("/\\.:-#@")
    return frozenset({token, bare, _last_part(token), *_words(token)} - {""})


def keys(text: str) -> frozenset[str]:
    """All by which a text of lower case can be found."""
    return frozenset().union(*map(_keys_of, _TOKEN.findall(text)))


def bullets(text: str) -> Iterator[str]:
    """The lines of a text, each bullet with the indented lines that go on with it."""
    whole = ""
    for line in text.split("\n"):
        if line.startswith((" ", "\t")) and whole and not _BULLET.match(line):
            whole += f" {line.strip()}"
            continue
        if whole.strip():
            yield whole
        whole = line
    if whole.strip():
        yield whole


class _Line(msgspec.Struct, frozen=True):
    keys: frozenset[str]
    sentences: tuple[tuple[frozenset[str], bool], ...]
    hangul: bool
    orders: bool
    seq: int
    role: str


class Prose:
    """Lines that people and models wrote, to be looked through for what a sentence is about."""

    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self._at: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, text: str, seq: int = 0, role: str = "", *, answers: bool = False) -> None:
        """Take in a text that has passed `plain`. With ``answers`` it is for `holds` of what forbids nothing, and its
        questions are left out.
        """
        for bullet in bullets(text):
            parts = [s for s in SENTENCE_END.split(bullet) if s.strip() and not (answers and s.rstrip().endswith("?"))]
            sentences = tuple((keys(part.lower()), not answers and forbids(part)) for part in parts)
            found = frozenset[str]().union(*(known for known, _ in sentences))
            for key in found:
                self._at[key].append(len(self._lines))
            self._lines.append(_Line(found, sentences, _HANGUL.search(bullet) is not None, orders(bullet), seq, role))

    def holds(self, asked: About, *, after: int = -1, by: str = "") -> bool:
        """Whether one line says what ``asked`` does: half of its names, and enough of all. What forbids is only held by
        what does, in the sentence itself. With ``after`` and ``by``, only lines of that role in later messages count.
        """
        met = Counter(at for key in asked.names | asked.words for at in self._at.get(key, ()))
        return any(
            line.seq > after and (not by or line.role == by) and _says(line, asked)
            for line in (self._lines[at] for at, _ in met.most_common())
        )


def _says(line: _Line, asked: About) -> bool:
    names, words = asked.names & line.keys, asked.words & line.keys
    if asked.forbids and not any(negated and (names | words) & known for known, negated in line.sentences):
        return False
    if len(names) * 2 < len(asked.names):
        return False
    expected = asked.words
    if not line.hangul:
        expected = frozenset(word for word in expected if word.isascii())
    if asked.names and len(names) == len(asked.names):
        return len(expected) <= _FEW_WORDS or len(words) * 100 >= len(expected) * _NAMED_PERCENT
    enough = _ENOUGH_PERCENT if line.orders or not asked.orders else _MOST_PERCENT
    whole = 2 * len(asked.names) + len(asked.words)
    return bool(words) and (2 * len(names) + len(words)) * 100 >= whole * enough
