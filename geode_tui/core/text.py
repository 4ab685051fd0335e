"""Text hygiene: what reaches a screen, a file or another program is inert.

Everything derived from stored bytes passes `clean` (nothing in it can drive a terminal) and a `Redactor` (nothing in
it is a known secret). The store itself keeps the raw text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}\u2028\u2029\ufeff\ufff9-\ufffb\ud800-\udfff]")
_SEQUENCE = re.compile(
    "(?:"
    "(?:\x1b[\\]P_^X]|[\x9d\x90\x9f\x9e\x98])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\\\|\x9c)"  # whole OSC, DCS, APC ...
    "|(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,16}[@-~]?"  # CSI
    "|\x1b[ -/]{0,4}[0-~]?"  # two-character escapes
    ")"
)


def scrub(text: str) -> str:
    """Make ``text`` storable: surrogate pairs are joined, lone surrogates become U+FFFD. Done where text enters."""
    if not _SURROGATE.search(text):
        return text
    joined = _PAIR.sub(lambda m: m[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _SURROGATE.sub("\ufffd", joined)


def _picture(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if code <= 0x9F or 0xD800 <= code <= 0xDFFF else ""


def clean(text: str) -> str:
    """``text`` with nothing in it that a terminal obeys; newline and tab stay.

    A whole escape sequence becomes one ESC picture so that its parameters do not litter the line; of one that never
    ends only the introducer does, and what follows stays readable. Other control characters become their Unicode
    pictures, bidirectional controls go, and a carriage return before a newline goes with it.
    """
    if not _UNSAFE.search(text):
        return text
    text = text.replace("\r\n", "\n")
    text = _SEQUENCE.sub("\u241b", text)
    return _UNSAFE.sub(lambda m: _picture(m[0]), text)


def clean_line(text: str, limit: int = 200) -> str:
    """One clean line of at most ``limit`` characters: for titles, names, ids and anything else that must not wrap."""
    line = " ".join(clean(text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1] + "\u22ef"


def fold_width(text: str) -> str:
    """NFC form: what was typed as separate jamo compares equal to composed Hangul."""
    return unicodedata.normalize("NFC", text)


_KEY_SHAPES = re.compile(
    r"\b(?:sk-ant-[A-Za-z0-9_-]{8,}|sk-(?:proj-)?[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|glpat-[A-Za-z0-9_-]{20,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})"
)
MASK = "[redacted]"
_MIN_SECRET = 8


class Redactor:
    """Masks known key shapes and the exact values of secrets this process holds."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        exact = sorted({s for s in secrets if len(s) >= _MIN_SECRET}, key=len, reverse=True)
        self._exact = re.compile("|".join(map(re.escape, exact))) if exact else None

    def __call__(self, text: str) -> str:
        """``text`` with every secret replaced by ``[redacted]``."""
        if self._exact is not None:
            text = self._exact.sub(MASK, text)
        return _KEY_SHAPES.sub(MASK, text)


SECRET_ENV = re.compile(r"(?:_API_KEY|_TOKEN|_SECRET|PASSWORD|_ACCESS_KEY)$|^(?:ANTHROPIC|OPENAI)_AUTH", re.IGNORECASE)
"""Environment variables whose values are secrets."""


def secret_values(environment: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The values in ``environment`` that must never be shown, by the names of their variables."""
    return tuple(value for name, value in environment if SECRET_ENV.search(name) and len(value) >= _MIN_SECRET)
