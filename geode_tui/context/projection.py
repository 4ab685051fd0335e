"""What of a result the model is shown: all of it, or head and tail with a note that says how much is left out."""

from __future__ import annotations

import bisect

from geode_tui.core.format import number
from geode_tui.core.limits import MAX_RESULT_TOKENS
from geode_tui.core.tokens import CHARS_PER_TOKEN, text_tokens
from geode_tui.routes.budget import SMALL_WINDOW, result_share

NOTE_TOKENS = 40
"""Room for the note that says what is left out."""
ROW_HEAD, ROW_TAIL = 48_000, 16_000
"""Characters that a row holds of a stored result."""
_SLICE = 1_000_000
"""Characters that are counted at a time."""


def result_limit(window: int, most: int = MAX_RESULT_TOKENS) -> int | None:
    """Tokens one result may take where it is not stored: ``most`` (0: any number), and on small windows a share of the
    window as well. None where nothing limits it.
    """
    limits = [most] if most else []
    if window <= SMALL_WINDOW:
        limits.append(result_share(window))
    return min(limits, default=None)


def project(text: str, limit: int) -> str:
    """``text`` within ``limit`` tokens (of at least 40), cut in the middle at line ends where there are any."""
    total = tokens_between(text, 0, len(text))
    if total <= limit:
        return text
    room = max(0, limit - NOTE_TOKENS)
    head = _line_end(text, _fitting(text, room * 3 // 4))
    end = text[-max(1, room * CHARS_PER_TOKEN) :]
    tail = _line_start(text, len(text) - _fitting(end[::-1], room // 4))
    left_out = tokens_between(text, head, tail)
    note = f"\n[... about {left_out} of {total} tokens left out here: ask for a smaller range to see them ...]\n"
    return text[:head] + note + text[tail:]


def ends(text: str, ref: str) -> str:
    """What a row holds of a stored result that is too large for it: its beginning and its end."""
    if len(text) <= ROW_HEAD + ROW_TAIL:
        return text
    left_out = number(len(text) - ROW_HEAD - ROW_TAIL)
    note = f"\n[... {left_out} of {number(len(text))} characters left out here: the whole is stored as {ref} ...]\n"
    return text[:ROW_HEAD] + note + text[-ROW_TAIL:]


def tokens_between(text: str, start: int, end: int) -> int:
    """Tokens of a part of ``text``, which may be very long."""
    return sum(text_tokens(text[at : min(at + _SLICE, end)]) for at in range(start, end, _SLICE))


def _fitting(text: str, tokens: int) -> int:
    """How many characters from the start of ``text`` take at most ``tokens``: scripts differ in their density."""
    most = min(len(text), tokens * CHARS_PER_TOKEN)
    return bisect.bisect_right(range(most + 1), tokens, key=lambda count: text_tokens(text[:count])) - 1


def _line_end(text: str, at: int) -> int:
    found = text.rfind("\n", at // 2, at)
    return at if found < 0 else found


def _line_start(text: str, at: int) -> int:
    found = text.find("\n", at, at + (len(text) - at) // 2)
    return at if found < 0 else found + 1
