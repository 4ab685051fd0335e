"""When a note has done its work, and when one deserves to become a rule (RUNTIME.md 6). Pure: it only proposes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

import msgspec

LEAST_SESSIONS: Final = 3
LEAST_LIKENESS: Final = 0.6
"""Of the words of two notes, the share that both have (Jaccard)."""
_WORD: Final = re.compile(r"[a-z0-9_]{3,}|[가-힣]{2,}")

Verdict: TypeAlias = Literal["stays", "archive", "resurface"]


class Note(msgspec.Struct, frozen=True):
    """Something that was noted, and in which session; the session may be unknown."""

    text: str
    session_id: str = ""


class Proposal(msgspec.Struct, frozen=True):
    """Notes that say the same and come from several sessions. A person decides what becomes of it."""

    notes: tuple[Note, ...]
    sessions: tuple[str, ...]


def verdict(*, guard: str, guard_exists: bool, archived: bool) -> Verdict:
    """What should become of a note: one whose guarding test exists is done with, one that lost it counts again, and one
    that names none stays where it is.
    """
    if not guard or guard_exists == archived:
        return "stays"
    return "archive" if guard_exists else "resurface"


def defines_test(source: str, guard: str) -> bool:
    """Whether a test file's text defines ``guard``, ``path::test_name`` or ``path::Class::test_name``; none is run."""
    _, *names = guard.partition("[")[0].split("::")
    if not names:
        return False
    try:
        body: list[ast.stmt] = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for name in names[:-1]:
        body = next((node.body for node in body if isinstance(node, ast.ClassDef) and node.name == name), [])
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == names[-1] for node in body)


def likeness(one: str, other: str) -> float:
    """The share of words that two texts have in common, 0 to 1; 0 where one has none."""
    return _shared(_words(one), _words(other))


def proposals(notes: Iterable[Note]) -> tuple[Proposal, ...]:
    """Notes that are alike, each with the first of its group, and come from at least `LEAST_SESSIONS` sessions."""
    groups: list[tuple[frozenset[str], list[Note]]] = []
    for note in notes:
        words = _words(note.text)
        group = next((found for first, found in groups if _shared(first, words) >= LEAST_LIKENESS), None)
        if group is None:
            groups.append((words, [note]))
        else:
            group.append(note)
    found = (Proposal(tuple(group), tuple(sorted({n.session_id for n in group} - {""}))) for _, group in groups)
    return tuple(proposal for proposal in found if len(proposal.sessions) >= LEAST_SESSIONS)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
