"""JSON as a tree: what is closed is not parsed, what is long comes in parts."""

from __future__ import annotations

from typing import Any

import msgspec

from geode_tui.tui.look import Redact
from geode_tui.tui.viewer.modes import Row, veiled

LIMIT = 16_000_000
"""Bytes up to which there is a tree: it holds them all."""
PART = 500
"""Children that are shown at a time."""
MOST_CHARS = 2_000
"""Characters of a value that are shown."""


class NoTree(ValueError):
    """The bytes are no JSON, or it is nested too deeply."""


class _Node(msgspec.Struct):
    """A value. ``children`` are None while it is closed; ``rest`` are those that are not shown yet, which one node
    without a value of its own stands for.
    """

    raw: bytes
    key: str = ""
    depth: int = 0
    count: int | None = None
    open: bool = False
    rest: tuple[tuple[str, bytes], ...] = ()


class Tree:
    """The values of a JSON text as rows: a row's place is its number. Raises `NoTree` where the text is no JSON."""

    def __init__(self, data: bytes, redact: Redact, width: int) -> None:
        self.width = width
        self._redact = redact
        try:
            msgspec.json.decode(data, type=msgspec.Raw)
            self._nodes = [_Node(data.strip())]
            self.toggle(0)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise NoTree(str(error)) from error

    # -- rows ---------------------------------------------------------------------------------------------------------
    def start_of(self, offset: int) -> int:
        """See `Mode`."""
        return max(0, min(offset, len(self._nodes) - 1))

    def after(self, start: int) -> int | None:
        """See `Mode`."""
        return start + 1 if start + 1 < len(self._nodes) else None

    def before(self, start: int) -> int | None:
        """See `Mode`."""
        return start - 1 if start else None

    def last(self) -> int:
        """See `Mode`."""
        return len(self._nodes) - 1

    def row(self, start: int) -> Row:
        """See `Mode`."""
        node = self._nodes[start]
        key = veiled(node.key, self._redact)
        if node.rest:
            return Row(start, f"+{len(node.rest):,}", "", False, node.depth)
        if node.raw[:1] not in (b"{", b"["):
            return Row(start, self._value(node.raw), "", None, node.depth, key)
        braces = "{}" if node.raw[:1] == b"{" else "[]"
        count = "" if node.count is None else f" {node.count:,}"
        return Row(start, f"{braces}{count}", "", node.open, node.depth, key)

    def _value(self, raw: bytes) -> str:
        text = raw[: MOST_CHARS * 4].decode("utf-8", "replace")
        if raw[:1] == b'"' and len(raw) <= MOST_CHARS * 4:
            text = msgspec.json.encode(self._redact(msgspec.json.decode(raw, type=str))).decode()
        return veiled(text[:MOST_CHARS], self._redact)

    # -- opening ------------------------------------------------------------------------------------------------------
    def toggle(self, at: int) -> None:
        """Open the value in row ``at``, or close it; show more children where it stands for those."""
        node = self._nodes[at]
        if node.rest:
            self._nodes[at : at + 1] = _part(node.rest, node.depth)
        elif node.open:
            end = at + 1
            while end < len(self._nodes) and self._nodes[end].depth > node.depth:
                end += 1
            del self._nodes[at + 1 : end]
            node.open = False
        elif node.raw[:1] in (b"{", b"["):
            children = _children(node.raw)
            node.open, node.count = True, len(children)
            self._nodes[at + 1 : at + 1] = _part(children, node.depth + 1)


def _part(children: tuple[tuple[str, bytes], ...], depth: int) -> list[_Node]:
    nodes = [_Node(raw, key, depth) for key, raw in children[:PART]]
    return nodes + ([_Node(b"", "", depth, rest=children[PART:])] if len(children) > PART else [])


def _children(raw: bytes) -> tuple[tuple[str, bytes], ...]:
    found: Any = msgspec.json.decode(raw, type=dict[str, msgspec.Raw] if raw[:1] == b"{" else list[msgspec.Raw])
    pairs = found.items() if isinstance(found, dict) else enumerate(found)
    return tuple((str(key), bytes(value)) for key, value in pairs)
