"""The guess whether bytes are text."""

from __future__ import annotations

SAMPLE_BYTES = 8_192
"""How much of a file or an output decides whether it is binary."""

_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_MAX_CONTROL_SHARE = 0.10
_MAX_NON_TEXT_SHARE = 1 / 3


def is_binary(sample: bytes) -> bool:
    """Whether ``sample`` (the first `SAMPLE_BYTES`) is not text.

    More than 10 % control characters decide; where less than that, a third of control characters and bytes that are
    not UTF-8 taken together. A stray NUL or a few bad bytes in an output do not make it binary.
    """
    if not sample:
        return False
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    undecodable = sample.decode("utf-8", "replace").count("\ufffd")
    return controls > len(sample) * _MAX_CONTROL_SHARE or controls + undecodable > len(sample) * _MAX_NON_TEXT_SHARE
