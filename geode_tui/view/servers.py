"""The MCP servers of a run, as its events tell of them."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from geode_tui.core import events as ev
from geode_tui.core import format as fmt
from geode_tui.core.strings import Strings
from geode_tui.core.text import clean, clean_line

MAX_SERVERS = 64
"""Servers that are remembered of a run: more than the settings take."""
MAX_NAMED = 256

ServerMood: TypeAlias = Literal["connected", "waiting", "failed", "ended"]
"""``waiting`` is tried again by itself, ``failed`` when somebody asks, ``ended`` with its worker."""


class ServerTool(msgspec.Struct, frozen=True):
    """A tool that a server offers; see `core.events.McpTool`."""

    name: str
    tool: str
    tokens: int
    safety: str


class RunServer(msgspec.Struct, frozen=True):
    """A server: ``since`` in epoch seconds, ``retry_at`` too, 0 where it is not tried again. ``error`` is the last."""

    name: str
    mood: ServerMood
    transport: str = ""
    place: str = ""
    version: str = ""
    tools: tuple[ServerTool, ...] = ()
    left_out: tuple[str, ...] = ()
    error: str = ""
    since: float = 0.0
    retry_at: float = 0.0

    @property
    def tokens(self) -> int:
        """What its descriptions and schemas take of every request."""
        return sum(tool.tokens for tool in self.tools)


def connected(server: RunServer | None, p: ev.McpServerConnected, row: ev.EventRow) -> RunServer:
    """``server`` once it answers."""
    tools = tuple(
        ServerTool(clean_line(t.name), clean_line(t.tool), t.tokens, clean_line(t.safety)) for t in p.tools[:MAX_NAMED]
    )
    return RunServer(
        clean_line(p.server_name),
        "connected",
        clean_line(p.transport),
        clean_line(p.place),
        clean_line(p.version),
        tools,
        tuple(map(clean_line, p.left_out)),
        server.error if server is not None else "",
        row.ts,
    )


def failed(server: RunServer | None, p: ev.McpServerFailed, row: ev.EventRow) -> RunServer:
    """``server`` once it is lost, or could not be reached."""
    mood: ServerMood = "failed" if p.retry_in_s is None else "waiting"
    known = server or RunServer(clean_line(p.server_name), mood)
    retry_at = 0.0 if p.retry_in_s is None else row.ts + p.retry_in_s
    return msgspec.structs.replace(
        known, mood=mood, tools=(), left_out=(), error=clean_line(p.error, 300), since=row.ts, retry_at=retry_at
    )


def server_report(server: RunServer) -> dict[str, Any]:
    """A server as programs get it: {name, state, transport, place, version, tools, tokens, left_out, error}."""
    return {
        "name": server.name,
        "state": server.mood,
        "transport": server.transport,
        "place": server.place,
        "version": server.version,
        "tools": [msgspec.to_builtins(tool) for tool in server.tools],
        "tokens": server.tokens,
        "left_out": list(server.left_out),
        "error": server.error or None,
    }


def server_lines(server: RunServer, strings: Strings) -> list[tuple[str, str]]:
    """A server for a person: its line, then (tool, tokens and reach), what was left out, and what to do."""
    head = strings.t(f"mcp.{server.mood}")
    if server.tools:
        tools = strings.t("mcp.tools", n=len(server.tools), tokens=fmt.tokens(server.tokens))
        head = f"{head}  {tools}"
    lines = [(server.name, f"{head}  {server.version or server.place}".rstrip())]
    for tool in sorted(server.tools, key=lambda t: -t.tokens):
        reach = "" if tool.safety == "read" else f"  {strings.t('mcp.asks')}"
        lines.append((f"  {tool.name}", f"{strings.t('mcp.cost', tokens=fmt.tokens(tool.tokens))}{reach}"))
    lines += [("", f"  {clean(line)}") for line in server.left_out]
    if server.error:
        lines.append(("", f"  {strings.t('mcp.error', error=server.error)}"))
    if server.mood == "failed":
        lines.append(("", f"  {strings.t('mcp.do_restart', name=server.name)}"))
    return lines
