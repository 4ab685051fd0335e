"""Which program wrote a transcript, by its first lines."""

from __future__ import annotations

from collections.abc import Iterable

from geode_tui.sources.claude_rows import read_rows

_OPENING_TYPES = frozenset({"user", "assistant", "system", "progress", "summary", "queue-operation", "attachment"})


def is_claude_code(head: Iterable[bytes]) -> bool:
    """Whether these are the first lines of a Claude Code transcript."""
    rows = (row for row in read_rows(head) if row is not None)
    return any(row.type in _OPENING_TYPES and (row.session_id or row.message or row.summary) for row in rows)
