"""What a tool call came to, in the person's language. The log keeps the one line that its tool wrote, in English."""

from __future__ import annotations

import re

from geode_tui.core.strings import Strings

_COUNTED = re.compile(r"([\d,]+) (line|lines|match|matches|entry|entries|file|files)\Z")
_WITH_VALUE = (
    (re.compile(r"(\d+) of (\d+) done\Z"), "sum.done"),
    (re.compile(r"exit (\d+)\Z"), "sum.exit"),
    (re.compile(r"ended by (\S+)\Z"), "sum.signal"),
    (re.compile(r"timed out after ([\d.]+) s\Z"), "sum.timeout"),
    (re.compile(r"binary (.+)\Z"), "sum.binary"),
)
_FIXED = {
    "empty": "sum.empty",
    "error": "sum.error",
    "failed": "card.failed",
    "interrupted": "card.interrupted",
    "not run": "card.not_run",
    "not started": "card.queued",
    "outcome unknown": "card.unknown",
    "no line": "sum.no_line",
    "past the end": "sum.past_end",
    "refused": "card.refused",
    "unknown reference": "sum.unknown_ref",
}


def summary_words(summary: str, strings: Strings) -> str:
    """``summary`` in the language of ``strings``; one that is not known, or says nothing in words, as it is."""
    if key := _FIXED.get(summary):
        return strings.t(key)
    if counted := _COUNTED.match(summary):
        return strings.t(f"sum.{counted[2]}", n=counted[1])
    for pattern, key in _WITH_VALUE:
        if match := pattern.match(summary):
            return strings.t(key, **dict(zip("nm", match.groups(), strict=False)))
    return summary
