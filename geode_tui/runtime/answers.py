"""What an answer gives away beyond its words: a prompt that was cut, a tool call written as text. Pure."""

from __future__ import annotations

import re

from geode_tui.core.messages import Message

TRUNCATING = frozenset({"local", "openrouter", "glm"})
"""Providers whose backends may drop the start of a prompt that does not fit, and answer all the same. The others
refuse it."""
LEAST = 2_000
"""Tokens; below it no figure is doubted."""
NUDGE = "Your last answer ends in a tool call written as text. It was not run. Call the tool itself, or go on in words."
_TAIL = 4_000
"""Characters at the end of an answer that are looked at."""
_CALL_AT_END = re.compile(
    r"(?:<\|?(?:tool_call|tool_calls|function_call|function|invoke)\b[^<]{0,80}>?|\[TOOL_CALLS\])\s*"
    r"(?:[\[{<]|\w+\s*[({\[])[^`]*\Z",
    re.IGNORECASE,
)


def was_cut(provider: str, reported: int, least: int) -> bool:
    """Whether a backend of ``provider`` that counted ``reported`` prompt tokens cannot have read the whole prompt.

    ``least`` is the fewest tokens that it can have (`context.estimate.PromptMeter.least`).
    """
    return provider in TRUNCATING and least >= LEAST and 0 < reported < least


def ends_in_written_call(message: Message) -> bool:
    """Whether the answer ends in a tool call that came as text, whole or cut, instead of as a call."""
    return not message.calls and _CALL_AT_END.search(message.text[-_TAIL:]) is not None
