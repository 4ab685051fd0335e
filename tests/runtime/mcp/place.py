"""Servers for tests: started by a hub without a worker, in a folder of their own, with what they told."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

from geode_tui.core.events import Payload
from geode_tui.core.servers import McpServer
from geode_tui.core.text import Redactor
from geode_tui.core.tokens import text_tokens
from geode_tui.log.receipts import Spool
from geode_tui.runtime.mcp.hub import Hub
from geode_tui.runtime.mcp.server import Server, Surroundings
from geode_tui.runtime.tools.base import ToolContext, ToolOutcome

HERE = Path(__file__).parent
PATIENCE_S = 60.0
K = TypeVar("K", bound=Payload)


class Hasty:
    """A clock whose sleeps are short: back-off is told in events, tests do not wait for it."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.02))


def server(name: str = "hand", mode: str = "plain", *, script: str = "server.py", **more: Any) -> McpServer:
    return McpServer(name=name, command=sys.executable, args=(str(HERE / script), mode), **more)


class Place:
    """A hub, what it told, and a folder."""

    def __init__(self, root: Path, servers: tuple[McpServer, ...], environment: dict[str, str], hints: bool) -> None:
        self.root = root
        self.count, self.seen = root / "count", root / "seen"
        self.told: list[Payload] = []
        self._news = asyncio.Event()
        own = {"MCP_TEST_COUNT": str(self.count), "MCP_TEST_SEEN": str(self.seen)}
        servers = tuple(
            s if s.url else McpServer(**{**{f: getattr(s, f) for f in s.__struct_fields__}, "env": {**own, **s.env}})
            for s in servers
        )
        around = Surroundings(
            session_id="s-1",
            root=root,
            environment=environment,
            clock=Hasty(),
            redact=Redactor(),
            emit=self._emit,
            count=text_tokens,
            hints=hints,
        )
        self.hub = Hub(servers, around)
        self.context = ToolContext(root, (), "s-1", spool=lambda: Spool(root / ".geode"))

    async def _emit(self, payload: Payload) -> None:
        self.told.append(payload)
        self._news.set()

    def all(self, kind: type[K]) -> list[K]:
        return [payload for payload in self.told if isinstance(payload, kind)]

    async def wait(self, kind: type[K], fits: Callable[[K], bool] = lambda _: True, *, number: int = 1) -> K:
        """The ``number``-th event of that kind that fits."""
        async with asyncio.timeout(PATIENCE_S):
            while len(found := [p for p in self.all(kind) if fits(p)]) < number:
                self._news.clear()
                await self._news.wait()
        return found[number - 1]

    async def call(self, name: str, arguments: str = "{}") -> ToolOutcome:
        tool = self.hub.tools()[name]
        return await (await tool.prepare(arguments, self.context)).run()

    def server(self, name: str = "hand") -> Server:
        return next(s for s in self.hub.servers if s.config.name == name)


@contextlib.asynccontextmanager
async def place(
    root: Path, *servers: McpServer, environment: dict[str, str] | None = None, hints: bool = True
) -> AsyncIterator[Place]:
    import os

    given = {"PATH": os.environ["PATH"], "HOME": str(root), **(environment or {})}
    here = Place(root, servers or (server(),), given, hints)
    here.hub.start()
    try:
        await here.hub.ready()
        yield here
    finally:
        await here.hub.close()
