"""Words for the full-text index, and where they stand in a text (PERFORMANCE.md, D11)."""

from __future__ import annotations

import re

MOST_TERMS = 24
"""Terms of a query that are looked for."""
MOST_CHARS = 1_000
"""Characters of a query that are read."""
AROUND = 60
"""Characters of a snippet on either side of what was found."""
MARKS = ("[", "]")

_CJK = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


def index_text(text: str) -> str:
    """``text`` with each run of CJK characters as overlapping pairs and its last character.

    So every character begins a token: words of two and more are phrases of pairs, one character is a prefix.
    """
    return _CJK.sub(lambda found: f" {_pairs(found.group())} {found.group()[-1]} ", text)


def terms(query: str) -> tuple[str, ...]:
    """What ``query`` asks for: its words, cut where CJK begins or ends. Signs alone are no term."""
    found: list[str] = []
    for word in query[:MOST_CHARS].replace("\0", " ").split():
        at = 0
        for run in _CJK.finditer(word):
            found += (word[at : run.start()], run.group())
            at = run.end()
        found.append(word[at:])
    return tuple(dict.fromkeys(t for t in found if any(map(str.isalnum, t))))[:MOST_TERMS]


def match(wanted: tuple[str, ...]) -> str:
    """The FTS5 expression that holds where all of ``wanted`` do; nothing in a term is syntax."""
    return " AND ".join(_phrase(term) for term in wanted)


def snippet(text: str, wanted: tuple[str, ...]) -> str:
    """One line of ``text`` around the first term that stands in it, the terms between `MARKS`."""
    if not wanted:
        return ""
    pattern = re.compile("|".join(re.escape(t) for t in sorted(wanted, key=len, reverse=True)), re.IGNORECASE)
    first = pattern.search(text)
    start = max(0, first.start() - AROUND) if first else 0
    end = min(len(text), (first.end() if first else 0) + AROUND)
    line = pattern.sub(lambda found: f"{MARKS[0]}{found.group()}{MARKS[1]}", text[start:end])
    return " ".join(f"{'...' if start else ''}{line}{'...' if end < len(text) else ''}".split())


def _pairs(run: str) -> str:
    return " ".join(run[i : i + 2] for i in range(len(run) - 1)) if len(run) > 1 else run


def _phrase(term: str) -> str:
    if _CJK.fullmatch(term):
        return f'"{_pairs(term)}"' + (" *" if len(term) == 1 else "")
    return '"' + term.replace('"', '""') + '"'
