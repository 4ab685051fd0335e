"""MCP servers as the settings declare them: one table a server, checked one by one.

A table that cannot be used costs that server and one line, never the run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec

from geode_tui.core.text import SECRET_ENV, clean_line

DEADLINE_S = 60.0
MAX_SERVERS = 32
NAME_CHARS = 64
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)

Seconds = Annotated[float, msgspec.Meta(gt=0, le=600)]


class ServerProblem(ValueError):
    """A server's table cannot be used: one line that names it and says what to do."""


class McpServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"exclude": "except"}):
    """A server: a ``command`` that is spoken to over its pipes, or a ``url`` (streamable HTTP).

    Values of ``args``, ``env``, ``url`` and ``headers`` may name variables of the environment as ``${NAME}``.
    ``deadline_s`` bounds one call, wall clock. ``only`` and ``except`` choose among the server's own tool names.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    deadline_s: Seconds = DEADLINE_S
    enabled: bool = True
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def transport(self) -> str:
        """``stdio`` or ``http``."""
        return "http" if self.url else "stdio"

    @property
    def place(self) -> str:
        """What is started or where it is, in one line without the secrets that a URL may hold."""
        if not self.url:
            return clean_line(" ".join((self.command, *self.args)))
        parts = urlsplit(self.url)
        return clean_line(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}")

    def offers(self, tool: str) -> bool:
        """Whether the settings let the server's tool ``tool`` through."""
        return (not self.only or tool in self.only) and tool not in self.exclude

    @property
    def takes(self) -> tuple[str, ...]:
        """The variables of the person's environment that it would be told."""
        texts = (*self.args, *self.env.values(), self.url, *self.headers.values())
        return tuple(sorted({name for text in texts for name in _VARIABLE.findall(text)}))

    def secrets(self) -> tuple[str, ...]:
        """The table's own values that must never be shown."""
        headers = (value for name, value in self.headers.items() if _SECRET_HEADER.search(name))
        parts = urlsplit(self.url)
        return (
            *headers,
            parts.password or "",
            parts.query,
            *(value for name, value in self.env.items() if SECRET_ENV.search(name)),
        )


class Declared(msgspec.Struct, frozen=True):
    """The servers that can be used, in the order of their names, and (name, line) of the tables that cannot."""

    servers: tuple[McpServer, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()


def declared(tables: Mapping[str, Any]) -> Declared:
    """Read the tables ``[mcp.NAME]``."""
    servers: list[McpServer] = []
    problems: list[tuple[str, str]] = []
    for name in sorted(tables):
        shown = clean_line(name, NAME_CHARS)
        try:
            if len(servers) >= MAX_SERVERS:
                raise ServerProblem(f"more than {MAX_SERVERS} servers are set; take some out")
            servers.append(_server(name, tables[name]))
        except ServerProblem as problem:
            problems.append((shown, f"mcp.{shown} cannot be used: {problem}"))
    return Declared(tuple(servers), tuple(problems))


def _server(name: str, table: Any) -> McpServer:
    shown = clean_line(name, NAME_CHARS)
    if not name.strip() or len(name) > NAME_CHARS or clean_line(name, NAME_CHARS) != name:
        raise ServerProblem(f"a server's name is 1 to {NAME_CHARS} printable characters; rename the table")
    if not isinstance(table, Mapping):
        raise ServerProblem(f"it is no table; write [mcp.{shown}] with a command or a url below it")
    try:
        server = msgspec.convert({**table, "name": name}, McpServer)
    except msgspec.ValidationError as error:
        raise ServerProblem(clean_line(str(error))) from error
    if bool(server.command) == bool(server.url):
        raise ServerProblem("give it either a command or a url")
    if server.url and urlsplit(server.url).scheme not in {"http", "https"} and "${" not in server.url:
        raise ServerProblem("the url must begin with http:// or https://")
    misplaced = ("args", "env", "cwd") if server.url else ("headers",)
    for field in misplaced:
        if getattr(server, field):
            raise ServerProblem(f"{field} does not go with a {'url' if server.url else 'command'}")
    return server


def expanded(server: McpServer, environment: Mapping[str, str]) -> McpServer:
    """``server`` with its variables filled in. Raises `ServerProblem` for one that is not set."""

    def fill(text: str) -> str:
        def value(match: re.Match[str]) -> str:
            found = environment.get(match[1])
            if found is None:
                raise ServerProblem(f"mcp.{server.name}: the variable {match[1]} is not set; set it, or take it out")
            return found

        return _VARIABLE.sub(value, text)

    return msgspec.structs.replace(
        server,
        args=tuple(map(fill, server.args)),
        env={name: fill(value) for name, value in server.env.items()},
        url=fill(server.url),
        headers={name: fill(value) for name, value in server.headers.items()},
    )
