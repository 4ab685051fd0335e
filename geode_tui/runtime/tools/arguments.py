"""From the JSON text a model sent to checked arguments, and from an argument type to the schema it is told."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from geode_tui.runtime.tools.base import ToolRefused
from geode_tui.runtime.tools.texts import one_line

MAX_CHARS = 4_000_000
"""Longest arguments that are read at all, in characters: more than any model writes in one answer."""

A = TypeVar("A", bound=msgspec.Struct)


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the arguments of all tools have in common: nothing unknown is let through."""


def decode_arguments(text: str, kind: type[A]) -> A:
    """The arguments in ``text``. An empty text counts as ``{}``.

    Raises:
        ToolRefused: ``text`` is not one JSON object that fits ``kind``; the message quotes the parse error.
    """
    if len(text) > MAX_CHARS:
        raise ToolRefused(f"the arguments are {len(text):,} characters long and the limit is {MAX_CHARS:,}: send less")
    try:
        return msgspec.json.decode(text.strip() or "{}", type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        reason = one_line(str(error), 300)
        raise ToolRefused(
            f"the arguments are not usable: {reason}. Send one JSON object that fits the schema"
        ) from None


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of ``kind`` as one plain object schema, without ``$ref``, ``$defs`` and titles."""
    schema = msgspec.json.schema(kind)
    definitions: dict[str, Any] = schema.pop("$defs", {})
    flat = _inline(schema, definitions)
    assert isinstance(flat, dict)
    return flat


def _inline(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inline(definitions[node["$ref"].rpartition("/")[2]], definitions)
    return {
        key: {name: _inline(field, definitions) for name, field in value.items()}
        if key == "properties"
        else _inline(value, definitions)
        for key, value in node.items()
        if key != "title"
    }
