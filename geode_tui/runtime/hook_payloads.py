"""What an extension is told: a copy that is bounded, holds no secret and cannot be changed (RUNTIME.md 10.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from geode_tui.core.text import SECRET_ENV, Redactor, scrub

MAX_CHARS, MAX_BYTES, MAX_ITEMS, MAX_DEPTH = 4_096, 32 * 1024, 64, 8
"""Characters of a string, bytes of the whole as JSON, items of a container, containers within each other."""
CUT = "truncated"
"""The key that says that something was left out."""
KEY_CHARS = 64
TOO_DEEP = "[nested too deeply]"
_SECRET_KEY = re.compile(
    r"(?:^|[_.\- ])(?:api_?key|access_?key|private_?key|secret_?key|token|secret|password|passwd|passphrase"
    r"|authorization|credentials?|cookies?)$",
    re.IGNORECASE,
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SMALL = 256
"""Bytes up to which a value is paid for before the larger ones: flags and figures always have their place."""
_LARGEST_INT = 2**63


def frozen(payload: Mapping[str, Any], redact: Redactor) -> Mapping[str, Any]:
    """``payload`` as extensions are given it; its own keys are all there unless they name a secret.

    Mappings are read-only and sequences tuples, so changing one in place raises. Where something did not fit, the key
    ``truncated`` says so. As JSON it is at most `MAX_BYTES` large.
    """
    return _Copy(redact).whole(payload)


def is_secret(key: str) -> bool:
    """Whether ``key`` names a secret: ``api_key``, ``accessToken``, ``GITHUB_TOKEN``; ``max_tokens`` does not."""
    return bool(SECRET_ENV.search(key) or _SECRET_KEY.search(_HUMP.sub("_", key)))


class _Copy:
    """One copy in the making, and how many bytes it may still take."""

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact
        self._left = MAX_BYTES - 64  # the braces, and the key that says that something is missing
        self._cut = False

    def whole(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """The outermost mapping: all keys first, then small values, then large ones."""
        items = dict(self._named(payload))
        for key in items:
            self._left -= _size(key) + 2 + len('""')
        made: dict[str, Any] = {}
        for key in sorted(items, key=lambda key: _is_large(items[key])):
            made[key] = self._value(items[key], 1)
        ordered = {key: made[key] for key in items}
        return MappingProxyType({**ordered, CUT: True} if self._cut else ordered)

    def _value(self, value: Any, depth: int) -> Any:
        match value:
            case None | bool() | float():
                return self._paid(value)
            case int():
                return self._paid(value) if -_LARGEST_INT <= value < _LARGEST_INT else self._text(hex(value))
            case str():
                return self._text(value)
            case Mapping():
                return self._mapping(value, depth)
            case list() | tuple() | set() | frozenset():
                return self._sequence(value, depth)
            case msgspec.Struct():
                return self._mapping(msgspec.structs.asdict(value), depth)
        return self._text(f"[{type(value).__name__}]")

    def _paid(self, value: Any) -> Any:
        self._left -= _size(value) + 1
        return value

    def _text(self, text: str) -> str:
        """As much of ``text`` as there is room for; a secret is masked before anything is cut off it."""
        kept = self._redact(scrub(text))
        if len(kept) > MAX_CHARS:
            kept = self._shorter(kept, MAX_CHARS)
        while kept and _size(kept) + 1 > self._left:
            kept = self._shorter(kept, len(kept) // 2)
        self._left -= _size(kept) + 1
        return kept

    def _shorter(self, text: str, length: int) -> str:
        self._cut = True
        return text[:length]

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Any:
        if depth >= MAX_DEPTH:
            return self._too_deep()
        self._left -= 3
        made: dict[str, Any] = {}
        for key, item in self._named(value):
            self._left -= _size(key) + 1
            if not self._has_room():
                break
            made[key] = self._value(item, depth + 1)
        return MappingProxyType(made)

    def _sequence(self, value: Iterable[Any], depth: int) -> Any:
        if depth >= MAX_DEPTH:
            return self._too_deep()
        self._left -= 3
        made: list[Any] = []
        for item in value:
            if len(made) == MAX_ITEMS:
                self._cut = True
                break
            if not self._has_room():
                break
            made.append(self._value(item, depth + 1))
        return tuple(made)

    def _too_deep(self) -> str:
        self._cut = True
        return self._text(TOO_DEEP)

    def _named(self, value: Mapping[Any, Any]) -> Iterable[tuple[str, Any]]:
        """The first `MAX_ITEMS` items, without those whose key names a secret."""
        taken = 0
        for key, item in value.items():
            name = scrub(str(key))
            if is_secret(name):
                continue
            if len(name) > KEY_CHARS:
                name = self._shorter(name, KEY_CHARS)
            if taken == MAX_ITEMS:
                self._cut = True
                return
            taken += 1
            yield self._redact(name), item

    def _has_room(self) -> bool:
        """Room for the smallest of everything: any figure, or an empty container."""
        room = self._left > 32
        self._cut = self._cut or not room
        return room


def _size(value: Any) -> int:
    return len(msgspec.json.encode(value))


def _is_large(value: Any) -> bool:
    return not isinstance(value, bool | int | float | str | None) or (isinstance(value, str) and len(value) > _SMALL)
