"""What the Dreams tab shows: the texts that are kept of a session, their lines, and how two of them differ. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

import msgspec

LineKind: TypeAlias = Literal["heading", "bullet", "text", "blank"]

_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(\S.*)\Z")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_CITATION = re.compile(r"\(\s*seqs?\.?\s*(\d[\d,;\s–-]*)\)", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,9}")


class DreamRow(msgspec.Struct, frozen=True):
    """A dream or a summary. ``at`` is when it was written, ``observed_at`` when the newest message that it is about was
    said (epoch seconds, 0: not known). ``marks`` are lines of ``text``, counted from 1, that no message bears out, and
    why. ``model`` is empty where none wrote it, and ``why`` says why. ``applied`` is None where that is no question.
    ``injected``: the next assembly will tell of it.
    """

    artifact_id: str
    kind: str
    at: float
    first: int = 0
    upto: int = 0
    text: str = ""
    tokens: int = 0
    model: str = ""
    why: str = ""
    cost_micro: int | None = None
    observed_at: float = 0.0
    marks: tuple[tuple[int, str], ...] = ()
    approved: bool = False
    applied: bool | None = None
    forgotten: str | None = None
    injected: bool = False


class DreamTable(msgspec.Struct, frozen=True):
    """All of a session's, the newest first. ``injection`` is the raw text that the next assembly will inject. ``upto``
    is the last message that a dream is about, ``last_at`` when the newest dream was written, ``cost_micro`` what all
    dreams cost. ``recorder`` is the program that recorded the run, empty for a run of our own.
    """

    rows: tuple[DreamRow, ...] = ()
    injection: str = ""
    upto: int = 0
    last_at: float = 0.0
    model: str = ""
    cost_micro: int = 0
    recorder: str = ""

    @property
    def dreams(self) -> int:
        """How many dreams there are."""
        return sum(row.kind == "dream" for row in self.rows)


class DreamLine(msgspec.Struct, frozen=True):
    """A line of a kept text, without its signs and citations. ``mark`` says why nothing bears it out."""

    kind: LineKind
    text: str
    seqs: tuple[int, ...] = ()
    mark: str = ""


def lines_of(row: DreamRow) -> tuple[DreamLine, ...]:
    """The lines of ``row``'s text, in order."""
    marks = dict(row.marks)
    return tuple(_line(text, marks.get(number, "")) for number, text in enumerate(row.text.split("\n"), start=1))


def _line(text: str, mark: str) -> DreamLine:
    if not text.strip():
        return DreamLine("blank", "")
    if heading := _HEADING.match(text):
        return DreamLine("heading", heading[1].rstrip("# "))
    seqs = tuple(int(number) for group in _CITATION.findall(text) for number in _NUMBER.findall(group))
    bare = _BULLET.sub("", text, count=1)
    return DreamLine("text" if bare == text else "bullet", " ".join(_CITATION.sub(" ", bare).split()), seqs, mark)


def one_before(rows: Sequence[DreamRow], index: int) -> DreamRow | None:
    """The newest text of the same kind that is older than that of ``rows[index]`` and was not forgotten."""
    kind = rows[index].kind
    return next((row for row in rows[index + 1 :] if row.kind == kind and row.text), None)


def difference(before: DreamRow, after: DreamRow) -> Iterator[tuple[Literal["-", "+"], str]]:
    """The lines that ``after`` does not say any more, and those that it says newly; citations are left out."""
    old, new = _claims(before), _claims(after)
    for same, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if same != "equal":
            yield from (("-", text) for text in old[a:b])
            yield from (("+", text) for text in new[c:d])


def _claims(row: DreamRow) -> list[str]:
    return [line.text for line in lines_of(row) if line.kind in {"bullet", "text"}]
