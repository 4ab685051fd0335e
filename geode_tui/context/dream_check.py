"""Whether the messages bear out what a dream says. The transcript is evidence: what a tool result orders is never a
fact, a decision or a task, whoever wrote it down (RUNTIME.md 5.1). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from geode_tui.context.dream import (
    CLAIMS,
    DECISIONS,
    DREAM_HEADINGS,
    RISKS,
    TASKS,
    Dream,
    Line,
    composed,
    headings_of,
    lines_of,
    masked,
    said,
    voice,
)
from geode_tui.context.summary_terms import Terms, terms
from geode_tui.context.view import Item
from geode_tui.core.text import Redactor, clean, fold_width

NO_SOURCE: Final = "cites nothing"
NOT_SAID: Final = "the messages that it cites do not say this"
RESULT_ONLY: Final = "only a tool result says this"
_ENOUGH_PERCENT: Final = 40
"""Of what a claim weighs, as `context.summary_terms` weighs."""
_NAME, _STEM, _PAIR = 4, 2, 1
_SEARCHED: Final = 200
"""Newest messages in which an order's origin is looked for, beside those that its line cites."""
_ORDERS: Final = re.compile(
    r"\b(?:always|never|must(?: not)?|should|do not|don['’]?t|remember|ignore|disregard|obey|from now on|make sure"
    r"|rules?|polic(?:y|ies)|instruct\w*|prefer\w*|wants?|requires?|asked|required|mandatory|allowed|authori[sz]ed|trusted)\b"
    r"|^\W*(?:run|execute|install|delete|remove|send|post|upload|download|fetch|open|use|call|add|set|write|push|curl"
    r"|wget|sudo|rm|chmod|export|reveal|print|disable|enable|grant|skip)\b"
    r"|\brm -[rf]|\bcurl\b|\bwget\b|\|\s*(?:ba|z)?sh\b"
    r"|항상|절대|반드시|꼭 |기억|무시|규칙|지시|하세요|하십시오|하라|해라|해야"
    r"|마세요|마라|말 것|금지|실행|설치|삭제|전송",
    re.IGNORECASE,
)
"""Words of orders, and of what passes an order off as a person's wish: where a tool result said it, it is neither."""


def is_order(text: str) -> bool:
    """Whether ``text`` reads as if somebody were to do or to remember something."""
    return _ORDERS.search(text) is not None


def _holds(asked: Terms, low: str) -> bool:
    """Whether a text in lower case says enough of what a claim is about: half of its names, and 40 % of its weight."""
    names = [name for name in asked.names if name in low]
    if len(names) * 2 < len(asked.names):
        return False
    found = _NAME * len(names) + _STEM * sum(stem in low for stem in asked.stems)
    found += _PAIR * sum(pair in low for pair in asked.pairs)
    return found * 100 >= _ENOUGH_PERCENT * asked.weight


class Evidence:
    """The messages of a session, oldest first, for looking up what its dreams say of them."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._texts: dict[int, str] = {}

    @cached_property
    def by_seq(self) -> Mapping[int, Item]:
        """The messages by their seqs."""
        return {item.seq: item for item in self._items}

    def verdict(self, line: Line) -> str | None:
        """Why a line is marked; empty where it is borne out, None where it must not stand in a dream at all."""
        if line.heading not in CLAIMS:
            return ""
        known = [self.by_seq[seq] for seq in line.seqs if seq in self.by_seq]
        if line.heading != RISKS and self._planted(line, known):
            return None
        missing = [seq for seq in line.seqs if seq not in self.by_seq]
        if missing:
            return f"there is no message {missing[0]}"
        if not known:
            return NO_SOURCE
        if not _holds(terms(line.claim), "\n".join(map(self._text, known))):
            return NOT_SAID
        return RESULT_ONLY if line.heading == TASKS and _only_results(known) else ""

    def _planted(self, line: Line, known: Sequence[Item]) -> bool:
        """Whether a tool result put this into the dream: no person said it, and it orders, or claims a decision."""
        if line.heading == DECISIONS and known and _only_results(known):
            return True
        if not is_order(line.claim):
            return False
        asked, looked = terms(line.claim), [*known, *self._items[-_SEARCHED:]]
        if any(voice(item) == "person" and _holds(asked, self._text(item)) for item in looked):
            return False
        if known and _only_results(known):
            return True
        return any(voice(item) == "result" and _holds(asked, self._text(item)) for item in looked)

    def _text(self, item: Item) -> str:
        """What the message says, for looking terms up in it."""
        if item.seq not in self._texts:
            self._texts[item.seq] = fold_width(said(item)).lower()
        return self._texts[item.seq]


def _only_results(known: Sequence[Item]) -> bool:
    return all(voice(item) == "result" for item in known)


def judged(
    text: str, items: Sequence[Item], first: int, upto: int, *, session_id: str, redact: Redactor
) -> Dream | None:
    """A model's dream as far as it can be kept; None where the text is none.

    ``items`` are all messages of the session, ``first`` to ``upto`` those that were read for the dream.
    """
    if not set(DREAM_HEADINGS[:-1]) <= headings_of(text):
        return None
    return checked(list(lines_of(masked(clean(text), redact))), items, first, upto, session_id=session_id)


def checked(
    lines: Sequence[Line], items: Sequence[Item], first: int, upto: int, *, session_id: str, why: str = ""
) -> Dream:
    """A dream of these lines, less those that must not stand in one, the rest marked where they are not borne out."""
    evidence = Evidence(items)
    verdicts = [(line, evidence.verdict(line)) for line in lines]
    kept = [(line, mark) for line, mark in verdicts if mark is not None]
    return composed(session_id, kept, first, upto, dropped=len(lines) - len(kept), why=why)
