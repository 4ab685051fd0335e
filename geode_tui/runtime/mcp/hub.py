"""All servers of a worker: started side by side, their tools offered while they are connected, ended with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from geode_tui.core.servers import McpServer
from geode_tui.runtime.mcp.names import look_alike
from geode_tui.runtime.mcp.server import CONNECT_S, Server, Surroundings, tools_of
from geode_tui.runtime.mcp.tool import McpTool
from geode_tui.runtime.tools.base import Tool

CLOSE_S = 10.0
"""How long servers may take to end, seconds, before they are left behind."""


class Hub:
    """See the module."""

    def __init__(self, configs: Sequence[McpServer], around: Surroundings) -> None:
        alike = look_alike([config.name for config in configs])
        self.servers = [Server(c, around, marked=c.name in alike) for c in configs if c.enabled]
        self._tasks: list[asyncio.Task[None]] = []
        self._ready_by = 0.0
        self._offered: dict[tuple[str, str], McpTool] = {}

    def start(self) -> None:
        """Begin to connect, all at once."""
        self._ready_by = asyncio.get_running_loop().time() + CONNECT_S
        self._tasks = [asyncio.create_task(server.run()) for server in self.servers]

    async def ready(self) -> None:
        """Wait until every server was tried once, at most until `CONNECT_S` after the start: slow ones join later."""
        left = self._ready_by - asyncio.get_running_loop().time()
        if left > 0:
            waits = [asyncio.ensure_future(server.settled.wait()) for server in self.servers]
            if waits:
                await asyncio.wait(waits, timeout=left)
            for wait in waits:
                wait.cancel()

    def tools(self, allowed: Callable[[str], bool] = lambda _name: True) -> Mapping[str, Tool]:
        """The tools that can be called now, by name; each is one object as long as nothing of it changes."""
        kept: dict[tuple[str, str], McpTool] = {}
        found: dict[str, Tool] = {}
        for server, described in tools_of(self.servers):
            key = (described.spec.name, described.fingerprint)
            if described.spec.name in found or not allowed(described.spec.name):
                continue
            tool = kept[key] = self._offered.get(key) or McpTool(server, described)
            found[described.spec.name] = tool
        self._offered = kept
        return found

    def restart(self, name: str) -> str:
        """Connect server ``name`` anew; without a name all. Returns what is wrong, empty where nothing is."""
        chosen = [server for server in self.servers if not name or server.config.name == name]
        if not chosen:
            known = ", ".join(server.config.name for server in self.servers) or "none"
            return f"there is no server {name}; the servers are: {known}"
        for server in chosen:
            server.restart()
        return ""

    async def close(self) -> None:
        """End every connection, and the processes behind them."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
