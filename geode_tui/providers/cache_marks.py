"""The cache breakpoints of a Claude model, on the wires that can carry them: at most four a request. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from geode_tui.providers.base import SystemPart
from geode_tui.providers.codec import Wire

MAX_MARKS = 4
"""Cache breakpoints of one request (RUNTIME.md 7)."""


def system_blocks(parts: Iterable[SystemPart]) -> list[Wire]:
    """Text blocks with their marks: the last four, and none of an hour after one of five minutes."""
    kept = [part for part in parts if part.text.strip()]
    marked = [i for i, part in enumerate(kept) if part.cache][-MAX_MARKS:]
    blocks: list[Wire] = []
    short_seen = False
    for i, part in enumerate(kept):
        block: Wire = {"type": "text", "text": part.text}
        if i in marked:
            short_seen = short_seen or part.cache == "5m"
            block["cache_control"] = _control("5m" if short_seen else "1h")
        blocks.append(block)
    return blocks


def mark(ends: Sequence[Wire | None], wanted: Iterable[int], system: Iterable[Wire]) -> None:
    """Mark the newest of the ``wanted`` messages, as many as the marks of ``system`` leave free.

    ``ends`` holds for each message the block that can carry a mark.
    """
    free = MAX_MARKS - sum("cache_control" in block for block in system)
    markable = [end for i in sorted(set(wanted)) if 0 <= i < len(ends) and (end := ends[i]) is not None]
    for end in markable[len(markable) - min(free, len(markable)) :]:
        end["cache_control"] = _control("5m")


def _control(ttl: Literal["5m", "1h"]) -> Wire:
    return {"type": "ephemeral", "ttl": "1h"} if ttl == "1h" else {"type": "ephemeral"}
