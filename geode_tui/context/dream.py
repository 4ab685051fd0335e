"""Dreams: what a session should still know later, under six headings, each line with the messages that it rests on
(RUNTIME.md 5.1). Their form, how they are read, and how one is put together. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from geode_tui.context.local_facts import is_ask
from geode_tui.context.view import Item
from geode_tui.core.headings import NONE_BULLET
from geode_tui.core.messages import TextBlock, ToolCallBlock, ToolResultBlock
from geode_tui.core.text import MASK, Redactor, clean_line

FACTS: Final = "Durable Facts"
DECISIONS: Final = "Decisions"
TASKS: Final = "Unresolved Tasks"
RISKS: Final = "Stale Risks"
QUERIES: Final = "Useful Recall Queries"
CITATIONS: Final = "Citations"
DREAM_HEADINGS: Final = (FACTS, DECISIONS, TASKS, RISKS, QUERIES, CITATIONS)
"""RUNTIME.md 5.1, in its order."""
CLAIMS: Final = (FACTS, DECISIONS, TASKS, RISKS)
"""Headings whose lines say something that a message has to bear out."""
LINE_CHARS: Final = 400
LINES: Final = 30
"""Under a heading, at most."""
CITED: Final = 200
"""Messages that a line may cite."""

Voice: TypeAlias = Literal["person", "agent", "result", "note"]
"""Whose words a message holds."""

_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s*(.+?)\s*:?\s*#*\s*\Z|\s{0,3}\*\*(.+?):?\*\*:?\s*\Z")
_BULLET: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_CITATION: Final = re.compile(r"\(\s*seqs?\.?\s*([0-9][0-9,;\s–-]*)\)", re.IGNORECASE)
_SPAN: Final = re.compile(r"(\d{1,9})(?:\s*[–-]\s*(\d{1,9}))?")
_ASSIGNED: Final = re.compile(
    r"(?i)\b((?:[a-z0-9]+[_-])*(?:api[_-]?key|secret|token|passw(?:or)?d|passphrase)\b[\"']?\s*[:=]\s*)[^\s\"',;`)]{6,}"
)
"""A secret by the name that it is given: keys of known shapes are masked wherever they stand."""


class Line(msgspec.Struct, frozen=True):
    """A line below a heading, without its bullet. ``seqs`` are the messages that it cites."""

    heading: str
    text: str
    seqs: tuple[int, ...]

    @property
    def claim(self) -> str:
        """What it says, without its citations."""
        return " ".join(_CITATION.sub(" ", self.text).split())


class Mark(msgspec.Struct, frozen=True):
    """A line of a dream, counted from 1, that is not borne out as it should be, and ``why``."""

    line: int
    why: str


class Dream(msgspec.Struct, frozen=True):
    """A finished dream. ``first`` is the first message that was read for it, ``upto`` the last. ``dropped`` lines were
    left out because a tool result gave an order. ``why`` says why no model wrote it; empty where one did.
    """

    content: str
    first: int
    upto: int
    marks: tuple[Mark, ...] = ()
    dropped: int = 0
    why: str = ""


# -- messages as evidence ----------------------------------------------------------------------------------------------
def voice(item: Item) -> Voice:
    """Whose words the message holds."""
    if any(isinstance(block, ToolResultBlock) for block in item.message.blocks):
        return "result"
    if item.message.role == "assistant":
        return "agent"
    return "person" if is_ask(item) else "note"


def said(item: Item, most: int = 20_000) -> str:
    """The text of a message that a claim can rest on, ``most`` characters of each part: words, calls, results."""
    parts = []
    for block in item.message.blocks:
        match block:
            case TextBlock(text=text) | ToolResultBlock(text=text):
                parts.append(text[:most])
            case ToolCallBlock(name=name, arguments=arguments):
                parts.append(f"{name} {arguments[:most]}")
    return "\n".join(parts)


# -- reading -----------------------------------------------------------------------------------------------------------
def headings_of(text: str) -> set[str]:
    """The headings of a dream that stand in ``text``."""
    return {heading for row in text.splitlines() if (heading := _heading(row))}


def lines_of(text: str) -> Iterator[Line]:
    """The lines below the headings of a dream, in order; what says nothing is left out."""
    heading = ""
    for row in text.splitlines():
        if found := _heading(row):
            heading = found
            continue
        bare = clean_line(_BULLET.sub("", row, count=1), LINE_CHARS)
        if heading and bare and not bare.startswith("```") and bare.lower().strip("()-. ") != "none":
            yield Line(heading, bare, cited(bare))


def cited(text: str) -> tuple[int, ...]:
    """The messages that ``text`` cites as ``(seq 3)``, ``(seq 3-5)`` or ``(seq 3, 7)``."""
    found: dict[int, None] = {}
    for group in _CITATION.findall(text):
        for first, last in _SPAN.findall(group):
            begin, end = int(first), int(last or first)
            found.update(dict.fromkeys(range(begin, min(end, begin + CITED) + 1)))
    return tuple(found)[:CITED]


def _heading(row: str) -> str:
    match = _HEADING.match(row)
    name = ((match[1] or match[2]) if match else "").strip("*_ ").lower()
    return next((heading for heading in DREAM_HEADINGS if heading.lower() == name), "")


# -- putting together --------------------------------------------------------------------------------------------------
def masked(text: str, redact: Redactor) -> str:
    """``text`` without secrets: those that are known, keys by their shape, and what is assigned to a secret's name."""
    return _ASSIGNED.sub(lambda m: m[1] + MASK, redact(text))


def composed(
    session_id: str, lines: Sequence[tuple[Line, str]], first: int, upto: int, *, dropped: int = 0, why: str = ""
) -> Dream:
    """A dream of such lines, each with why it is marked (empty: it is not); its citations are counted here."""
    rows: list[str] = []
    marks: list[Mark] = []
    by_heading: Mapping[str, list[tuple[Line, str]]] = {heading: [] for heading in DREAM_HEADINGS}
    for line, mark in lines:
        if line.heading != CITATIONS and len(by_heading[line.heading]) < LINES:
            by_heading[line.heading].append((line, mark))
    for heading in DREAM_HEADINGS[:-1]:
        rows += [f"## {heading}", ""]
        for line, mark in by_heading[heading]:
            rows.append(f"- {line.text}")
            if mark:
                marks.append(Mark(len(rows), mark))
        if not by_heading[heading]:
            rows.append(NONE_BULLET)
        rows.append("")
    named = sorted({seq for kept in by_heading.values() for line, _ in kept for seq in line.seqs if seq <= upto})
    rows += [f"## {CITATIONS}", "", f"- session {session_id}, messages {first}-{upto}"]
    if named:
        rows.append(f"- cited: {', '.join(ranges(named))}")
    return Dream("\n".join(rows) + "\n", first, upto, tuple(marks), dropped, why)


def ranges(seqs: Iterable[int]) -> list[str]:
    """``1-3`` and ``7`` for 1, 2, 3 and 7, which come in order."""
    spans: list[tuple[int, int]] = []
    for seq in seqs:
        if spans and seq == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], seq)
        else:
            spans.append((seq, seq))
    return [str(a) if a == b else f"{a}-{b}" for a, b in spans]
