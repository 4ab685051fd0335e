"""The form of a summary: eleven headings in order, with something below each (RUNTIME.md 3.3). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from geode_tui.core.headings import NONE_BULLET, SUMMARY_HEADINGS
from geode_tui.core.text import clean

_KNOWN: Final = {re.sub(r"\W+", "", heading).lower(): heading for heading in SUMMARY_HEADINGS} | {
    "constraintsandpreferences": "Constraints & Preferences",
    "constraints": "Constraints & Preferences",
    "preferences": "Constraints & Preferences",
}
_OTHER: Final = "Critical Context"
"""Where stands what has no heading of ours."""
_MARKED: Final = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*")
_BOLD: Final = re.compile(r"(?:\d+[.)][ \t]*)?(?:\*\*|__)([^*_\n]{1,40}?):?(?:\*\*|__):?[ \t]*(.*)")
_BARE: Final = re.compile(r"(?:\d+[.)][ \t]*)?([^\n:]{1,40}?):?[ \t]*")
_FENCE: Final = re.compile(r"```|~~~")
_WRAPPED: Final = re.compile(r"\A```(?:markdown|md|text|txt|plaintext)?[ \t]*\n(.*)\n```[ \t]*\Z", re.DOTALL)
_THOUGHT: Final = re.compile(r"\A\s*<(think|thinking|analysis|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_TAGGED: Final = re.compile(r"\A<(summary|conversation_summary)\b[^>\n]*>(.*)</\1>\Z", re.DOTALL | re.IGNORECASE)
_CLOSES: Final = re.compile(r"<(?=\s*/?\s*conversation_summary\b)", re.IGNORECASE)
_NOTHING: Final = re.compile(
    r"[\s>*+•·—–-]*(?:"
    r"[(\[]?(?:none(?: yet)?|nothing|n/?a|not applicable|unknown|empty|없음|없습니다|해당 ?없음)[)\]]?"
    r"|(?:there (?:is|was) )?(?:no|nothing) (?:prior |previous |earlier )?(?:conversation |chat )?"
    r"(?:history|messages|conversation|to summari[sz]e)(?: (?:to summari[sz]e|(?:was )?provided|yet))?"
    r")[\s.。!]*",
    re.IGNORECASE,
)
"""A line that says that there is nothing to say."""


def unwrapped(text: str) -> str:
    """``text`` without what is around the summary: reasoning written out, code fences, the tags of a summary."""
    text = _THOUGHT.sub("", clean(text)).strip()
    for pattern, group in ((_WRAPPED, 1), (_TAGGED, 2), (_WRAPPED, 1)):
        if found := pattern.match(text):
            text = found[group].strip()
    return inert(text)


def inert(text: str) -> str:
    """``text`` with nothing in it that a terminal obeys or that closes the tags around a summary."""
    return _CLOSES.sub("\u2039", clean(text))


def sections(text: str) -> dict[str, list[str]]:
    """The lines below each of the eleven headings. What stands before the first heading, or below one that is not ours,
    is with "Critical Context".
    """
    found: dict[str, list[str]] = {heading: [] for heading in SUMMARY_HEADINGS}
    at = _OTHER
    for line, is_text in _lines(text):
        if is_text and (heading := _heading(line)) is not None:
            at, rest = heading
            found[at] += [rest if rest.startswith("- ") else f"- {rest}"] if rest else []
        elif is_text and (other := _MARKED.fullmatch(line)) and len(other[1]) <= 2:
            at = _OTHER
            if len(other[1]) == 2:
                found[at].append(f"### {other[2]}")
        else:
            found[at].append(line)
    return {heading: _trimmed(lines) for heading, lines in found.items()}


def formed(found: Mapping[str, list[str]]) -> str:
    """The text of a summary's sections: all headings, in order."""
    parts = (f"## {h}\n" + ("\n".join(found.get(h, [])) or NONE_BULLET) for h in SUMMARY_HEADINGS)
    return "\n\n".join(parts)


def normalised(text: str) -> str:
    """A summary in its form: the headings in order, "- none" below those with nothing to say, unknown headings kept
    under "Critical Context", no fences around it.
    """
    return formed(sections(unwrapped(text)))


def has_all_headings(text: str) -> bool:
    """Whether all eleven headings stand in ``text``, with something below the last."""
    there: list[str] = []
    after = ""
    for line, is_text in _lines(unwrapped(text)):
        if is_text and (heading := _heading(line)) is not None:
            there.append(heading[0])
            after = heading[1]
        else:
            after += line.strip()
    return set(there) == set(SUMMARY_HEADINGS) and bool(after)


def content(text: str) -> str:
    """All that is said below the headings."""
    return "\n".join(
        line for lines in sections(unwrapped(text)).values() for line in lines if not line.startswith("###")
    )


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is text and not within a fence. A fence that is never closed is left out."""
    lines = text.split("\n")
    fences = [at for at, line in enumerate(lines) if _FENCE.match(line)]
    if len(fences) % 2:
        del lines[fences.pop()]
    fenced = {at for start, end in zip(fences[::2], fences[1::2], strict=True) for at in range(start, end + 1)}
    yield from ((line.rstrip(), at not in fenced) for at, line in enumerate(lines))


def _heading(line: str) -> tuple[str, str] | None:
    """The heading of ours that ``line`` is, however it is marked, and what is said on the same line."""
    marked = _MARKED.fullmatch(line)
    text, rest = (marked[2], "") if marked else (line, "")
    if bold := _BOLD.fullmatch(text):
        text, rest = bold[1], bold[2]
    elif bare := _BARE.fullmatch(text):
        text = bare[1]
    if not text or text[0].isspace() or text[0] in "-+*>":
        return None
    name = _KNOWN.get(re.sub(r"\W+", "", text).lower())
    return (name, rest) if name else None


def _trimmed(lines: list[str]) -> list[str]:
    """``lines`` without blank ones at the ends and without those that say that there is nothing."""
    if all(_NOTHING.fullmatch(line) for line in lines):
        return []
    kept = [line for line in lines if not line or not _NOTHING.fullmatch(line)]
    while kept and not kept[0]:
        kept.pop(0)
    while kept and not kept[-1]:
        kept.pop()
    return kept
