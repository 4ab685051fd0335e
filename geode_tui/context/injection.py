"""What the next assembly will say of a session's dreams and summaries (RUNTIME.md 5.2). Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import islice
from typing import Final

from geode_tui.log.views import Artifact

MOST: Final = 3
"""Texts, the newest ones."""
CHARS: Final = 500
"""Of each text."""
KINDS: Final = frozenset({"dream", "compaction_summary"})

_JOINS: Final = "\u200d"
_EXTENDS: Final = frozenset({"Mn", "Me", "Mc", "Sk"})


def chosen(found: Iterable[Artifact]) -> tuple[Artifact, ...]:
    """Those of a session's artifacts (the newest first) that will be injected: forgotten ones and summaries that were
    never applied will not.
    """
    usable = (
        artifact
        for artifact in found
        if artifact.kind in KINDS and artifact.content.strip() and artifact.metadata.get("applied") is not False
    )
    return tuple(islice(usable, MOST))


def injection(found: Iterable[Artifact]) -> str:
    """The exact text, from a session's artifacts, the newest first; empty where there is none."""
    return " | ".join(
        f"{one.kind} seq={one.source_start_seq}-{one.source_end_seq}: {cut(flat(one.content), CHARS)}"
        for one in chosen(found)
    )


def flat(text: str) -> str:
    """``text`` in one line."""
    return " ".join(text.split())


def cut(text: str, most: int) -> str:
    """At most ``most`` characters of ``text``; a letter keeps its marks, or goes with them."""
    if len(text) <= most:
        return text
    end = most
    while end > 0 and _continues(text, end):
        end -= 1
    return text[:end].rstrip()


def _continues(text: str, at: int) -> bool:
    """Whether the character at ``at`` belongs to the one before it."""
    char, before = text[at], text[at - 1]
    if char == _JOINS or before == _JOINS or unicodedata.category(char) in _EXTENDS:
        return True
    return _jamo(char) and _jamo(before) and not ("\u1100" <= char <= "\u115f")


def _jamo(char: str) -> bool:
    return "\u1100" <= char <= "\u11ff"
