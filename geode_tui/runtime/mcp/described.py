"""A server's description of its tools as data: cleaned, bounded, refused with one line where it cannot be used."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from geode_tui.core.servers import McpServer
from geode_tui.core.text import clean, clean_line, scrub
from geode_tui.core.tools import Safety, ToolSpec
from geode_tui.runtime.mcp.names import look_alike, tool_name

MAX_TOOLS = 256
MAX_DESCRIPTION = 4_000
"""Characters of a description: the rest is cut."""
MAX_SCHEMA = 64 * 1024
"""Bytes of a schema's JSON: a larger one costs the tool."""
MAX_DEPTH = 32
_PROSE = frozenset({"description", "title"})


class Described(msgspec.Struct, frozen=True):
    """A usable tool. ``tool`` is the server's name for it; ``fingerprint`` changes with anything that is told of it;
    ``repeatable``: a call may be made twice without harm. ``tokens`` is the cost of the description and the schema.
    """

    tool: str
    spec: ToolSpec
    safety: Safety
    repeatable: bool
    fingerprint: str
    tokens: int


class Listing(msgspec.Struct, frozen=True):
    """What of a server's list can be used, and one line for each tool that cannot."""

    tools: tuple[Described, ...] = ()
    left_out: tuple[str, ...] = ()


class _Unusable(ValueError):
    """A tool that is left out, and why."""


def described(
    server: McpServer, listed: Sequence[Any], count: Callable[[str], int], *, hints: bool, marked: bool = False
) -> Listing:
    """Read a server's list. ``hints``: its word that a tool only reads is taken (a trusted folder). ``marked``: the
    server's name looks like another's, so that the names of its tools need a hash.
    """
    named = [entry for entry in listed if isinstance(entry, Mapping) and isinstance(entry.get("name"), str)]
    alike = look_alike([entry["name"] for entry in named])
    tools: dict[str, Described] = {}
    left_out: list[str] = ["a tool without a name is left out"] * (len(named) < len(listed))
    for entry in named:
        tool = entry["name"]
        if not server.offers(tool):
            continue
        try:
            if len(tools) >= MAX_TOOLS:
                raise _Unusable(f"a server may have {MAX_TOOLS} tools")
            name = tool_name(server.name, tool, marked=marked or tool in alike)
            if name in tools:
                raise _Unusable("it is listed twice")
            tools[name] = _one(server, entry, name, count, hints=hints)
        except _Unusable as reason:
            left_out.append(f"the tool {clean_line(tool, 60)} is left out: {reason}")
    return Listing(tuple(tools.values()), tuple(left_out[:20]))


def _one(
    server: McpServer, entry: Mapping[str, Any], name: str, count: Callable[[str], int], *, hints: bool
) -> Described:
    text = entry.get("description")
    description = clean(scrub(text))[:MAX_DESCRIPTION] if isinstance(text, str) else ""
    schema = _schema(entry.get("inputSchema"))
    annotations = entry.get("annotations")
    said = annotations if isinstance(annotations, Mapping) else {}
    reads = said.get("readOnlyHint") is True
    spec = ToolSpec(name, description or clean_line(entry["name"]), schema)
    told = _encoded((server.command, server.args, server.url, entry["name"], description, schema, said))
    return Described(
        tool=entry["name"],
        spec=spec,
        safety=Safety.READ if reads and hints else Safety.EXECUTE,
        repeatable=reads or said.get("idempotentHint") is True,
        fingerprint=hashlib.sha256(told).hexdigest()[:16],
        tokens=count(description) + count(_encoded(schema).decode()),
    )


def _schema(schema: Any) -> dict[str, Any]:
    """The schema as it is sent. Raises `_Unusable`."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise _Unusable("its schema is not that of an object")
    if not isinstance(schema.get("properties", {}), Mapping):
        raise _Unusable("the properties in its schema are no object")
    try:
        cleaned = {key: value for key, value in _cleaned(schema, MAX_DEPTH).items() if key != "$schema"}
        size = len(_encoded(cleaned))
    except RecursionError:
        raise _Unusable(f"its schema is more than {MAX_DEPTH} levels deep") from None
    if size > MAX_SCHEMA:
        raise _Unusable(f"its schema takes {size:,} bytes and {MAX_SCHEMA:,} are allowed")
    return {"type": "object", "properties": {}, **cleaned}


def _encoded(value: Any) -> bytes:
    """JSON of what a server said. Raises `_Unusable`."""
    try:
        return msgspec.json.encode(value)
    except ValueError:
        raise _Unusable("its description holds a character that cannot be sent") from None


def _cleaned(value: Any, levels: int, *, prose: bool = False) -> Any:
    if levels < 0:
        raise RecursionError
    match value:
        case str():
            return clean(scrub(value)) if prose else scrub(value)
        case Mapping():
            return {scrub(key): _cleaned(inner, levels - 1, prose=key in _PROSE) for key, inner in value.items()}
        case list():
            return [_cleaned(inner, levels - 1) for inner in value]
    return value
