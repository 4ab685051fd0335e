"""What the palette lists."""

from __future__ import annotations

import msgspec


class Choice(msgspec.Struct, frozen=True):
    """An entry of the palette. ``value`` is given back when it is chosen."""

    value: str
    name: str
    hint: str = ""
