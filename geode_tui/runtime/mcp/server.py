"""One server for as long as a worker lives: connected, lost, tried again after a while, and given up at last."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from geode_tui.core.events import McpServerConnected, McpServerFailed, McpServerLogged, McpTool, Payload
from geode_tui.core.servers import McpServer, ServerProblem, expanded
from geode_tui.core.text import Redactor, clean_line
from geode_tui.runtime.clock import Clock
from geode_tui.runtime.mcp.described import Described, Listing, described
from geode_tui.runtime.mcp.link import CallFailed, Link, LinkLost, opened
from geode_tui.runtime.mcp.stdio import server_environment

CONNECT_S = 10.0
"""A server answers within this, seconds, or has failed."""
BACK_OFF_S, MAX_BACK_OFF_S = 1.0, 60.0
GIVE_UP = 5
"""Failures in a row after which a server is left alone until somebody asks for it."""
STEADY_S = 60.0
"""A connection that held this long ends a row of failures."""
LOG_EVERY_S = 5.0
LOG_LINES = 20
"""At most so many lines of a server's standard error are told at once."""
SHOWN_TOOLS = 256

State: TypeAlias = Literal["connecting", "connected", "waiting", "failed"]
Emit: TypeAlias = Callable[[Payload], Awaitable[None]]
Redact: TypeAlias = Callable[[str], str]


class Surroundings(msgspec.Struct, frozen=True):
    """What servers share: where they run, what they may know, whom they tell. ``hints``: a server's word that a tool
    only reads is taken. ``count`` counts tokens of text.
    """

    session_id: str
    root: Path
    environment: Mapping[str, str]
    clock: Clock
    redact: Redact
    emit: Emit
    count: Callable[[str], int]
    hints: bool = True


class Server:
    """See the module. `run` is a task of its own; everything else may be called from the same loop."""

    def __init__(self, config: McpServer, around: Surroundings, *, marked: bool = False) -> None:
        self.config = config
        self.around = around
        self.state: State = "connecting"
        self.listing = Listing()
        self.error = ""
        self.link: Link | None = None
        self.settled = asyncio.Event()
        """The first attempt is over, well or badly."""
        self.up = asyncio.Event()
        """Set while the server is connected."""
        self._marked = marked
        self._failures = 0
        self._asked = asyncio.Event()
        self._lines: deque[str] = deque(maxlen=LOG_LINES)
        self._left_out = 0
        self._spoke = asyncio.Event()
        self._last = ""
        self._redact = around.redact

    def restart(self) -> None:
        """Try again now, as if it had never failed; a connection that stands is made anew."""
        self._failures = 0
        self._asked.set()
        if self.link is not None:
            self.link.ended.set()

    async def run(self) -> None:
        """Keep the server connected until cancelled."""
        telling = asyncio.create_task(self._tell_lines())
        try:
            while True:
                await self._once()
                await self._pause()
        finally:
            telling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await telling

    # -- a connection -------------------------------------------------------------------------------------------------
    async def _once(self) -> None:
        """Connect and stay so for as long as it goes."""
        self.state, self._last = "connecting", ""
        self._asked.clear()
        begun: float | None = None
        try:
            config = expanded(self.config, self.around.environment)
            self._redact = _also(self.around.redact, config.secrets())
            environment = server_environment(self.around.environment, config.env, self.around.session_id)
            async with opened(config, environment, self.around.root, self._said, within_s=CONNECT_S) as link:
                await self._take(link, await link.tools(CONNECT_S), changed=False)
                begun = self.around.clock.monotonic()
                await self._until_lost(link)
                if not self._asked.is_set():
                    self.error = self._reason(await link.reason())
        except ServerProblem as problem:
            self.error, self._failures = str(problem), GIVE_UP
        except Exception as error:  # noqa: BLE001 - whatever a server does costs that server alone
            self.error = self._reason(one_line(error))
        finally:
            self.link = None
            self.listing = Listing()
            self.up.clear()
        if begun is not None and self.around.clock.monotonic() - begun >= STEADY_S:
            self._failures = 0

    async def _until_lost(self, link: Link) -> None:
        """Wait for the connection's end; meanwhile its tools may change."""
        while not link.ended.is_set():
            ended = asyncio.create_task(link.ended.wait())
            changed = asyncio.create_task(link.changed.wait())
            try:
                await asyncio.wait({ended, changed}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                ended.cancel()
                changed.cancel()
            if link.changed.is_set() and not link.ended.is_set():
                link.changed.clear()
                await self._take(link, await link.tools(CONNECT_S), changed=True)

    async def _take(self, link: Link, listed: list[Any], *, changed: bool) -> None:
        around = self.around
        self.listing = described(self.config, listed, around.count, hints=around.hints, marked=self._marked)
        self.link, self.state, self.error = link, "connected", ""
        tools = tuple(
            McpTool(d.spec.name, clean_line(d.tool, 80), d.tokens, d.safety.value)
            for d in self.listing.tools[:SHOWN_TOOLS]
        )
        connected = McpServerConnected(
            server_name=self.config.name,
            transport=self.config.transport,
            place=self._redact(self.config.place),
            tools=tools,
            left_out=self.listing.left_out,
            version=link.version,
            changed=changed,
        )
        await around.emit(connected)
        self.settled.set()
        self.up.set()

    def _reason(self, reason: str) -> str:
        said = f"; it wrote: {self._last}" if self._last else ""
        return clean_line(self._redact(reason + said), 300)

    async def _pause(self) -> None:
        """Say what went wrong, and wait until it is time to try again or somebody asks."""
        if self._asked.is_set():  # made anew on purpose: nothing failed
            return
        self._failures += 1
        gives_up = self._failures >= GIVE_UP
        delay = None if gives_up else min(MAX_BACK_OFF_S, BACK_OFF_S * 2 ** (self._failures - 1))
        self.state = "failed" if gives_up else "waiting"
        await self.around.emit(McpServerFailed(self.config.name, self.error, self._failures, delay))
        self.settled.set()
        asked = asyncio.create_task(self._asked.wait())
        waits: set[asyncio.Task[Any]] = {asked}
        if delay is not None:
            waits.add(asyncio.create_task(_slept(self.around.clock, delay)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()

    # -- what it writes -----------------------------------------------------------------------------------------------
    def _said(self, line: str) -> None:
        """Take a line of the server's standard error; never waits."""
        line = clean_line(self._redact(line), 300)
        if not line:
            return
        self._last = line
        if len(self._lines) == LOG_LINES:
            self._left_out += 1
        self._lines.append(line)
        self._spoke.set()

    async def _tell_lines(self) -> None:
        while True:
            await self._spoke.wait()
            await self.around.clock.sleep(LOG_EVERY_S)
            text, left_out = "\n".join(self._lines), self._left_out
            self._lines.clear()
            self._left_out = 0
            self._spoke.clear()
            await self.around.emit(McpServerLogged(self.config.name, text, left_out))


def tools_of(servers: list[Server]) -> list[tuple[Server, Described]]:
    """Every tool that can be called now, in an order that depends on the names alone."""
    return [(s, d) for s in servers for d in sorted(s.listing.tools, key=lambda d: d.spec.name)]


def one_line(error: BaseException) -> str:
    """The first cause in ``error``: groups say nothing, their members do."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case FileNotFoundError():
            return f"{error.filename} is not there; check the command and the cwd"
        case PermissionError():
            return f"{error.filename} may not be run; check its permissions"
        case CallFailed() | LinkLost():
            return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _also(redact: Redact, secrets: tuple[str, ...]) -> Redact:
    """``redact``, and the secrets that only a server's table names."""
    own = Redactor(secrets)
    return lambda text: own(redact(text))


async def _slept(clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)
