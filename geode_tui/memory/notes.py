"""The rules for what is noted: insights of a project and patterns that were learned (RUNTIME.md 6). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final

from geode_tui.core.text import fold_width

MOST_INSIGHTS: Final = 50
MOST_LEARNED: Final = 100
INSIGHT_CHARS: Final = range(10, 501)
LEARNED_CHARS: Final = 500
SECTIONS: Final = ("## 최근 인사이트", "## Recent Insights")
"""Headings that insights may stand under; a document without one gets the last."""
_STUBS: Final = re.compile(r"^\[unknown\]|tier=\?|score=0\.00\b|tools=\[[\s,]*\]")
"""What a run writes that found out nothing."""
_CATEGORY: Final = re.compile(r"[^\W\d_][\w-]{0,39}")
_DATE: Final = r"\d{4}-\d{2}-\d{2}"
_MARKS: Final = re.compile(rf"^(?:-(?:\s+|$))?(?:\[{_DATE}\]\s*)?(?:\[[^\]\n]{{1,40}}\]\s*)?|\s*\({_DATE}\)$")
_INSIGHT_DATE: Final = re.compile(rf"^-\s+(?:{_DATE}:\s*)?")


def insight_refused(text: str) -> str:
    """Why ``text`` may not be noted as an insight, in one line; empty where it may."""
    text = text.strip()
    if len(text.splitlines()) > 1:
        return "an insight is one line"
    if len(text) not in INSIGHT_CHARS:
        return f"an insight has {INSIGHT_CHARS.start} to {INSIGHT_CHARS.stop - 1} characters, this has {len(text)}"
    if _STUBS.search(text):
        return "this says only that nothing was found out"
    return ""


def with_insight(document: str, insight: str, day: str) -> str:
    """``document`` with ``insight`` as the newest of its section, dated ``day`` (ISO); the oldest of too many goes.

    One that is there already changes nothing. Raises `ValueError` for one that `insight_refused` names.
    """
    if why := insight_refused(insight):
        raise ValueError(why)
    head, block, rest = _around(document)
    found = [line for line in block if line.strip()]
    if _same(insight) in {_same(_INSIGHT_DATE.sub("", line)) for line in found}:
        return document
    gap = list(takewhile(lambda line: not line.strip(), reversed(block))) or [""] * bool(rest)
    noted = [f"- {day}: {insight.strip()}", *found][:MOST_INSIGHTS]
    return "\n".join([*head, *noted, *gap, *rest])


def _around(document: str) -> tuple[list[str], list[str], list[str]]:
    """The lines up to the section's heading, which is made if need be, those of its insights, and what follows."""
    lines = document.split("\n")
    at = next((i for i, line in enumerate(lines) if line.strip() in SECTIONS), None)
    if at is None:
        above = [*document.rstrip().split("\n"), ""] if document.strip() else []
        return [*above, SECTIONS[-1]], [""], []
    block = list(takewhile(lambda line: line.startswith("- ") or not line.strip(), lines[at + 1 :]))
    return lines[: at + 1], block, lines[at + 1 + len(block) :]


def learned_text(entry: str) -> str:
    """What an entry of learned patterns says, without its bullet, date and category."""
    return _MARKS.sub("", entry.strip()).strip()


def merged_learned(*lists: Iterable[str]) -> tuple[str, ...]:
    """What is said in all of them, the earlier lists first: each pattern once, whatever its case, and not too many."""
    found: dict[str, str] = {}
    for text in (learned_text(entry) for entries in lists for entry in entries):
        if text:
            found.setdefault(_same(text), text)
    return tuple(found.values())[:MOST_LEARNED]


def with_learned(entries: Sequence[str], pattern: str, category: str, day: str) -> tuple[str, ...]:
    """``entries``, the oldest first, with ``pattern`` as the newest; the oldest of too many goes. One that is there
    already changes nothing. Raises `ValueError` where it says nothing or is not one line.
    """
    text = pattern.strip()
    if len(text.splitlines()) != 1 or len(text) > LEARNED_CHARS:
        raise ValueError(f"a pattern is one line of 1 to {LEARNED_CHARS} characters")
    if not _CATEGORY.fullmatch(category):
        raise ValueError("a category is a short word")
    if _same(text) in {_same(learned_text(entry)) for entry in entries}:
        return tuple(entries)
    return (*entries, f"- [{category}] {text} ({day})")[-MOST_LEARNED:]


def _same(text: str) -> str:
    """Equal for texts that differ in case, spaces or the form of their letters only."""
    return " ".join(fold_width(text).casefold().split())
