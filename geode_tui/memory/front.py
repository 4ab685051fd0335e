"""The front matter of a Markdown file: its plain values and lists. Pure."""

from __future__ import annotations

import msgspec

_FENCE = "---"


class Front(msgspec.Struct, frozen=True):
    """``key: value`` lines, lists of ``- item`` lines by their key, and the text below."""

    values: dict[str, str]
    lists: dict[str, list[str]]
    body: str


def front_of(text: str) -> Front:
    """The front matter of ``text``: between a first line ``---`` and the next one; without both all is the body."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != _FENCE or _FENCE not in (line.strip() for line in lines[1:]):
        return Front({}, {}, text.strip())
    end = next(i for i, line in enumerate(lines[1:], 1) if line.strip() == _FENCE)
    values, lists = _parsed(lines[1:end])
    return Front(values, lists, "\n".join(lines[end + 1 :]).strip())


def _parsed(lines: list[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    values: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    above = ""
    for line in lines:
        inner = line.strip()
        if above and inner.startswith("- "):
            lists.setdefault(above, []).append(_bare(inner[2:]))
        elif line[:1].strip() and not inner.startswith("#") and ":" in inner:
            key, _, value = inner.partition(":")
            above = key.strip()
            if value.strip():
                values[above] = _bare(value)
    return values, lists


def _bare(text: str) -> str:
    """``text`` without the quotes around it."""
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text
