"""A call's arguments as a person can check them: nothing hidden, nothing obeyed."""

from __future__ import annotations

import re

import msgspec

from geode_tui.core.text import clean

_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0]"
)


def visible(text: str) -> str:
    """``text`` with direction marks and characters without width written out as escapes, then made inert."""
    return clean(_HIDDEN.sub(lambda m: f"\\u{ord(m[0]):04x}", text))


def readable(raw: str) -> str:
    """The arguments by name, strings with their own line breaks; anything but a JSON object as it was sent."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return visible(raw)
    if not isinstance(value, dict):
        return visible(raw)
    return "\n".join(_argument(visible(str(name)), item) for name, item in value.items())


def _argument(name: str, item: object) -> str:
    if not isinstance(item, str):
        return f"{name}: {visible(msgspec.json.encode(item).decode())}"
    if "\n" not in item:
        return f"{name}: {visible(item)}"
    return "\n".join([f"{name}:", *(f"  {line}" for line in visible(item).split("\n"))])
