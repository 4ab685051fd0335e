"""Events of MCP servers and of the calls to them."""

from __future__ import annotations

import msgspec

from geode_tui.core.events.base import Payload


class McpTool(msgspec.Struct, frozen=True):
    """A tool that a server offers: its name in requests, the server's own name for it, what its description and schema
    cost in tokens, and how far it reaches.
    """

    name: str
    tool: str
    tokens: int
    safety: str


class McpServerConnected(Payload, frozen=True):
    """A server answers, or its tools changed. ``left_out`` has a line for each tool that cannot be used. ``place`` is
    the command or the address, ``version`` what the server calls itself.
    """

    server_name: str
    transport: str
    place: str
    tools: tuple[McpTool, ...]
    left_out: tuple[str, ...] = ()
    version: str = ""
    changed: bool = False
    """The server was connected before and told that its tools changed."""


class McpServerFailed(Payload, frozen=True):
    """A server could not be connected or was lost: its tools are gone until it is back. ``retry_in_s`` is None where it
    is not tried again by itself.
    """

    server_name: str
    error: str
    failures: int = 1
    retry_in_s: float | None = None


class McpServerLogged(Payload, frozen=True):
    """What a server wrote to its standard error. ``left_out`` lines were too many to keep."""

    server_name: str
    text: str
    left_out: int = 0


class McpCallProgress(Payload, frozen=True):
    """A server told how far a call is; ``total`` is None where it does not know."""

    server_name: str
    tool_name: str
    progress: float
    total: float | None = None
    message: str = ""
