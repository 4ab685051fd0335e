"""The change a write makes, as a unified diff bounded in lines, in line length and in the time it takes."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

import msgspec

MAX_DIFF_LINES = 200
_MAX_LINE_CHARS = 300
_MAX_COMPARED_LINES = 2_000
_CONTEXT = 3


class Change(msgspec.Struct, frozen=True):
    """Lines added and removed, and the diff between them as text."""

    added: int
    removed: int
    diff: str


def change_between(old: str, new: str, name: str) -> Change:
    """The change from ``old`` to ``new``, the texts of file ``name``.

    Lines that are the same at both ends are set aside first. Where more than 2,000 lines remain they count as
    replaced altogether, since comparing them one by one could take minutes.
    """
    before, after = _lines(old), _lines(new)
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    start = max(head - _CONTEXT, 0)
    keep = max(tail - _CONTEXT, 0)
    before_middle, after_middle = before[start : len(before) - keep], after[start : len(after) - keep]
    if max(len(before_middle), len(after_middle)) > _MAX_COMPARED_LINES:
        removed, added = len(before) - head - tail, len(after) - head - tail
        return Change(added, removed, f"[{removed:,} lines replaced by {added:,}: too many for a diff]")
    matcher = SequenceMatcher(None, before_middle, after_middle)
    added = removed = 0
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            removed += i2 - i1
            added += j2 - j1
    return Change(added, removed, _bounded(name, list(_hunks(matcher, before_middle, after_middle, start))))


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], lines[-1] + "  [no line end]"]


def _common(first: list[str], second: list[str]) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def _hunks(matcher: SequenceMatcher[str], before: list[str], after: list[str], offset: int) -> Iterator[str]:
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        old = _range(group[0][1], group[-1][2], offset)
        new = _range(group[0][3], group[-1][4], offset)
        yield f"@@ -{old} +{new} @@"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (" " + line for line in before[i1:i2])
            else:
                yield from ("-" + line for line in before[i1:i2])
                yield from ("+" + line for line in after[j1:j2])


def _range(begin: int, end: int, offset: int) -> str:
    length = end - begin
    first = begin + offset + (1 if length else 0)
    return str(first) if length == 1 else f"{first},{length}"


def _bounded(name: str, hunks: list[str]) -> str:
    if not hunks:
        return "[no change]"
    lines = [f"--- {name}", f"+++ {name}", *hunks]
    shown = [line if len(line) <= _MAX_LINE_CHARS else line[: _MAX_LINE_CHARS - 1] + "…" for line in lines]
    if len(shown) > MAX_DIFF_LINES:
        shown[MAX_DIFF_LINES:] = [f"[{len(lines) - MAX_DIFF_LINES:,} more lines of the diff left out]"]
    return "\n".join(shown)
