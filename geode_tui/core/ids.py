"""Ids: what they look like, and what is refused as one."""

from __future__ import annotations

import re
from datetime import datetime

_SAFE = re.compile(r"(?!\.)[A-Za-z0-9._:-]{1,128}")
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


class BadId(ValueError):
    """Not usable as an id: ids name files, so their form is fixed."""


def check_id(text: str) -> str:
    """``text`` if it may name a session or a result (RUNTIME.md 4.2); raises `BadId`."""
    if _SAFE.fullmatch(text) is None:
        raise BadId("an id has 1 to 128 letters, digits, '.', '_', ':' or '-', and does not start with '.'")
    return text


def new_session_id(now: datetime, random_bytes: bytes) -> str:
    """An id that sorts by time and can be typed: ``20261130-152345-k7f3``. Takes 4 random bytes or more."""
    tail = "".join(_LETTERS[b % len(_LETTERS)] for b in random_bytes[:4])
    return f"{now:%Y%m%d-%H%M%S}-{tail}"
