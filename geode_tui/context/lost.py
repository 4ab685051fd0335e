"""What a summary lost: things that the messages it stands for held, and that neither it nor the messages that stay
hold any more. Found by rules, without a model; the same texts always give the same list. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from geode_tui.context.lost_figures import bare_numbers, figures
from geode_tui.context.lost_finds import Find, clipped, finds, texts
from geode_tui.context.lost_terms import Prose, about, flat, plain
from geode_tui.context.lost_wishes import is_offer
from geode_tui.context.view import Item
from geode_tui.core.events import LostItem, LostKind
from geode_tui.core.messages import Message
from geode_tui.core.text import clean_line

MOST: Final = 60
"""Items of a list at most."""
TEXT_CHARS: Final = 160
_SHARES: Final[Mapping[LostKind, int]] = {
    "rule": 22,
    "question": 8,
    "error": 8,
    "path": 10,
    "number": 6,
    "identifier": 6,
}
"""Kinds by how much they weigh, and the items that each may have where others want room too."""
_ASKED_AT_MOST: Final = 100
"""Questions that are looked at, the newest."""
_LEAST_MESSAGE: Final = 12
"""Characters of an error's message by which it is known without what stands before it."""
_LOOKED_AT: Final = 20
"""Places of a file's name that are looked at for its folder."""
_WORDS: Final = re.compile(r"\w+", re.ASCII)
_PARTS: Final = re.compile(r"[\w.+-]+")
_BRACES: Final = re.compile(r"([\w./~@+-]{0,200})\{([^{}\s][^{}\n]{0,200})\}([\w./@+-]*)")


def lost(head: Sequence[Item], summary: str, tail: Sequence[Message], *, previous: str = "") -> tuple[LostItem, ...]:
    """The things of ``head`` that are not in front of the model any more, by weight; within a kind in their order.

    Args:
        head: The messages that the summary is to stand for.
        summary: Its text.
        tail: The messages that are still sent, in the form in which they are.
        previous: Text of the summary that stood so far, where there is one.
    """
    kept = _Kept(summary, tail)
    found = finds(head, previous)
    gone = {kind: list(islice(_gone(kind, found, kept, head, tail), MOST)) for kind in _SHARES}
    chosen: list[Find] = []
    for kind, share in _shared(gone).items():
        listed: list[Find] = []
        for find in gone[kind]:
            if len(listed) < share and not _is_told(find, [*chosen, *listed]):
                listed.append(find)
        chosen += sorted(listed, key=lambda find: find.seq)
    return tuple(LostItem(find.kind, clean_line(find.text, TEXT_CHARS), find.seq) for find in chosen)


def _gone(
    kind: LostKind, found: Sequence[Find], kept: _Kept, head: Sequence[Item], tail: Sequence[Message]
) -> Iterator[Find]:
    """What is not held any more of a kind, what counts most first."""
    of_kind = sorted((f for f in found if f.kind == kind), key=lambda f: (f.rank, f.seq), reverse=True)
    if kind == "question":
        of_kind = _still_open(sorted(of_kind, key=lambda f: f.seq, reverse=True)[:_ASKED_AT_MOST], head, tail)
    holds = kept.holds(kind)
    return (find for find in of_kind if not holds(find))


def _shared(gone: Mapping[LostKind, Sequence[Find]]) -> dict[LostKind, int]:
    """How many of each kind are listed: its share, and of what others leave over the weightier kinds first."""
    made = {kind: min(share, len(gone[kind])) for kind, share in _SHARES.items()}
    left = MOST - sum(made.values())
    for kind in made:
        more = min(left, len(gone[kind]) - made[kind])
        made[kind] += more
        left -= more
    return made


def _is_told(find: Find, chosen: Sequence[Find]) -> bool:
    """Whether a name or figure stands in something that is listed already."""
    if find.kind in {"rule", "question", "error"}:
        return False
    return any(find.what in other.text[: TEXT_CHARS - 1] for other in chosen)


def _still_open(asked: Sequence[Find], head: Sequence[Item], tail: Sequence[Message]) -> list[Find]:
    """The questions that nobody answered: an offer is answered by the person's next words, any other question by a
    line of the other side that says what it is about.
    """
    if not asked:
        return []
    newest = max((item.seq for item in head), default=0)
    said = [(item.seq, item.message) for item in head] + [(newest + n, m) for n, m in enumerate(tail, 1)]
    first = min(find.seq for find in asked)
    prose, last = Prose(), {"user": 0, "assistant": 0}
    for seq, message in said:
        if (
            message.role != "tool"
            and seq > first
            and message.origin not in {"runtime", "resume", "note"}
            and message.text
        ):
            prose.add(plain(clipped(message.text)), seq, message.role, answers=True)
            last[message.role] = seq
    return [
        find
        for find in asked
        if not (find.role == "assistant" and is_offer(find.what) and last["user"] > find.seq)
        and not prose.holds(
            about(find.what).topic, after=find.seq, by="user" if find.role == "assistant" else "assistant"
        )
    ]


class _Kept:
    """What is still in front of the model: the summary, and the messages that stay."""

    def __init__(self, summary: str, tail: Sequence[Message]) -> None:
        written = [summary, *_spelt_out(summary)]
        self._text = plain("\n".join([*written, *(text for message in tail for text in texts(message))]))
        self._flat = flat(self._text)
        self._words = set(_WORDS.findall(self._text))
        self._figures = {figure.key for figure in figures(self._text)}
        self._numbers = bare_numbers(self._text)
        self._prose = Prose()
        self._prose.add(plain("\n".join(written)))
        for message in tail:
            if message.role != "tool":
                self._prose.add(plain(clipped(message.text)))

    def holds(self, kind: LostKind) -> Callable[[Find], bool]:
        """What tells of a find of that kind whether it is still there."""
        match kind:
            case "rule" | "question":
                return self._says
            case "error":
                return self._names_error
            case "path":
                return self._names_path
            case "number":
                return self._states
            case _:
                return self._has_name

    def _says(self, find: Find) -> bool:
        asked = about(find.what) if find.kind == "rule" else about(find.what).topic
        return not asked or flat(find.what) in self._flat or self._prose.holds(asked)

    def _names_error(self, find: Find) -> bool:
        line = flat(find.what)
        said = line.rpartition(": ")[2]
        if line in self._flat or (len(said) >= _LEAST_MESSAGE and said in self._flat):
            return True
        return self._prose.holds(about(plain(find.what)).topic)

    def _names_path(self, find: Find) -> bool:
        parts = find.what.lstrip("./~").split("/")
        if not set(_WORDS.findall(parts[-1])) <= self._words:
            return False
        if any(self._places("/".join(parts[-2:]))):
            return True
        return len(parts) > 1 and any(parts[-2] in self._line(at) for at in islice(self._places(parts[-1]), _LOOKED_AT))

    def _states(self, find: Find) -> bool:
        figure = find.figure
        return figure is not None and (figure.key in self._figures or figure.number in self._numbers)

    def _has_name(self, find: Find) -> bool:
        return set(_WORDS.findall(find.what)) <= self._words and any(self._places(find.what))

    def _places(self, name: str) -> Iterator[int]:
        """Where a name stands as a word of its own."""
        at = self._text.find(name)
        while at >= 0:
            before, after = self._text[at - 1 : at], self._text[at + len(name) : at + len(name) + 1]
            if not _within(name[:1], before) and not _within(name[-1:], after):
                yield at
            at = self._text.find(name, at + 1)

    def _line(self, at: int) -> set[str]:
        start, end = self._text.rfind("\n", 0, at) + 1, self._text.find("\n", at)
        return set(_PARTS.findall(self._text[start : end if end >= 0 else None]))


def _within(edge: str, beside: str) -> bool:
    """Whether what stands beside a name's edge makes both one word: Hangul does not, a particle may follow anything."""
    return bool(edge and beside) and edge.isascii() and beside.isascii() and _is_word(edge) and _is_word(beside)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _spelt_out(text: str) -> Iterator[str]:
    """``src/{a,b}.py`` as ``src/a.py`` and ``src/b.py``."""
    for found in _BRACES.finditer(text):
        yield from (f"{found[1]}{each.strip()}{found[3]}" for each in found[2].split(","))
