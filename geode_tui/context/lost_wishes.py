"""What people wish in their words: rules that must be kept, questions that wait for an answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from geode_tui.context.lost_terms import SENTENCE_END

_CLAUSE: Final = r"(?:^|[,;:.(—–-]\s*|\b(?:and|or|but|please|you|we|should|must|may|shall|to)\s+)"
_RULE: Final = re.compile(
    rf"{_CLAUSE}(?:never\b|(?:do not|don't|dont)\s+(?!worry|mind|bother|hesitate|know|think|understand|see\b|care"
    r"|need))"
    r"|\b(?:must|shall)(?! have\b)\b|\bmay not\b|\bmust ?n['o]t\b|\bunder no circumstances\b|\b(?:is|are) (?:forbidden"
    r"|prohibited|off[- ]limits)\b|\bnot allowed\b|\bno \w+ (?:is|are) allowed\b"
    rf"|{_CLAUSE}(?:always|only ever|make sure|avoid)\b"
    r"|반드시|절대(?! ?(?:경로|값|좌표|적인))|금지|(?<!까)지 ?마(?:세요|라|십시오|시고|요)?(?![가-힣])|(?<!까)지 ?말"
    r"|[면서] 안 ?(?:돼|되|된|됩|됨)|(?<![가-힣])(?:꼭|항상)(?= )|해야 ?(?:만|합니다|한다|해|돼|됩|함)",
    re.IGNORECASE,
)
_RULE_HINTS: Final = re.compile(
    "never|not|n't|dont|must|shall|always|only ever|make sure|avoid|forbid|prohibit|off[- ]limits|no |under no"
    "|반드시|절대|금지|지 ?마|지 ?말|안|꼭|항상|해야"
)
_OPEN_HINTS: Final = re.compile("open|still|unresolved|to be decided|tbd|미정|미해결|확인|정해지지")
"""What a sentence has in lower case if it may be one: most have none, and patterns are slow."""
_NEXT_RULE: Final = re.compile(
    r"[,;] (?=(?:(?:and|but) )?(?:never|always|do not|don't|must|avoid)\b)|(?<=지 말고)[, ]+(?=반드시|꼭|항상|절대)"
    r"|(?<=고), (?=반드시|꼭|항상|절대)",
    re.IGNORECASE,
)
_REQUEST: Final = re.compile(
    r"(?:^|[:,] )\W*(?:can|could|would|will) you\b|(?:해|줘|줄|주)[^?]{0,6}(?:래|수 있|시겠|겠)[^?]{0,6}\?",
    re.IGNORECASE,
)
_OFFER: Final = re.compile(
    r"\b(?:should|shall|may|can) (?:I|we)\b|\b(?:do|would) you (?:want|like|prefer)\b|\bis that (?:ok|okay|right)\b"
    r"|(?:할까요|드릴까요|될까요|괜찮)",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"\bopen question\b|\bstill (?:open|unclear|unknown|undecided)\b|\bunresolved\b|\bto be decided\b|\bTBD\b"
    r"|미정|미해결|확인이? ?필요|정해지지 않",
    re.IGNORECASE,
)


def sentences(bullet: str) -> Iterator[str]:
    """The sentences of a line, and of those the clauses that are rules of their own."""
    if bullet.lstrip().startswith(">"):
        return
    for sentence in SENTENCE_END.split(bullet):
        start = 0
        if not _RULE_HINTS.search(sentence.lower()):
            yield _bare(sentence)
            continue
        for found in _NEXT_RULE.finditer(sentence):
            if _RULE.search(sentence, start, found.start()):
                yield _bare(sentence[start : found.start()])
                start = found.end()
        yield _bare(sentence[start:])


def _bare(sentence: str) -> str:
    return sentence.strip().lstrip("-+•#> \t").strip()


def is_rule(sentence: str) -> bool:
    """Whether a sentence of the person says what must or must never be."""
    if len(sentence) < 6 or sentence.endswith("?") or not _RULE_HINTS.search(sentence.lower()):
        return False
    return _RULE.search(sentence) is not None


def is_question(sentence: str) -> bool:
    """Whether a sentence asks for an answer, and not for work."""
    if len(sentence) < 8:
        return False
    if sentence.endswith("?"):
        return _REQUEST.search(sentence) is None
    return _OPEN_HINTS.search(sentence.lower()) is not None and _OPEN.search(sentence) is not None


def is_offer(sentence: str) -> bool:
    """Whether a question is answered by whatever the person says next."""
    return _OFFER.search(sentence) is not None
