"""One connection to a server: handshake, the list of its tools, calls. The only module that knows the SDK's session."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import msgspec
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, REQUEST_TIMEOUT, UNSUPPORTED_PROTOCOL_VERSION
from pydantic import ValidationError

from geode_tui import __version__
from geode_tui.core.servers import McpServer
from geode_tui.core.text import clean_line
from geode_tui.runtime.mcp import stdio

MAX_PAGES = 50
"""Pages of a list of tools that are read."""
FORGOTTEN = "Session terminated"
"""What the SDK says where a server over HTTP no longer knows the session."""
FAREWELL_S = 2.0
FIRST_ID = 1_000_000
"""Requests about tools are numbered from here, all others by the SDK from one."""
_SSE_EVENT = stdio.MAX_MESSAGE
_HTTP_TIMEOUTS = httpx2.Timeout(10.0, read=None)
"""Connecting has its own bound; how long an answer takes is bounded by the call."""
_STUBS: dict[str, dict[str, Any]] = {
    "tools/call": {"content": [], "isError": True, "resultType": "complete"},
    "tools/list": {"tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"},
}
"""What the SDK's session is shown instead of an answer that it would refuse or lose parts of."""


class LinkLost(Exception):
    """The connection broke while a call was on its way: nobody knows what became of it."""


class CallFailed(Exception):
    """The server refused the call, or did not answer in time; one line."""


class Answer(msgspec.Struct, frozen=True):
    """A CallToolResult: the value, and its bytes as the server sent them."""

    value: Any
    raw: bytes


_answers: ContextVar[list[Answer]] = ContextVar("_answers")


class _Untouched(JSONRPCDispatcher):
    """Keeps answers about tools as they came. The SDK's models drop fields and refuse kinds that they do not know."""

    def __init__(self, incoming: Any, outgoing: Any, pipes: stdio.Pipes | None) -> None:
        super().__init__(incoming, outgoing)
        self._pipes = pipes
        self._numbers = itertools.count(FIRST_ID)

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: Any = None,
    ) -> dict[str, Any]:
        kept = _answers.get(None)
        if kept is None or method not in _STUBS:
            return await super().send_raw_request(method, params, opts, _related_request_id=_related_request_id)
        wanted: CallOptions = {**(opts or {}), "request_id": next(self._numbers)}
        if self._pipes is not None:
            self._pipes.want(wanted["request_id"])
        raw: bytes | None = None
        try:
            value = await super().send_raw_request(method, params, wanted, _related_request_id=_related_request_id)
        finally:
            if self._pipes is not None:
                raw = self._pipes.take(wanted["request_id"])
        if value.get("resultType") == "input_required":
            return value
        kept.append(Answer(value, raw if raw is not None else _encoded(value)))
        return dict(_STUBS[method])


def _encoded(value: Any) -> bytes:
    """JSON of a value whose own bytes the transport does not give, written as most servers write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Link:
    """An open connection. Calls may come from any task of the loop."""

    def __init__(self, session: ClientSession, pipes: stdio.Pipes | None) -> None:
        self._session = session
        self._pipes = pipes
        self.ended = asyncio.Event() if pipes is None else pipes.ended
        self.changed = asyncio.Event()
        """The server told that its tools changed."""

    async def reason(self) -> str:
        """Why the connection ended, as far as that is known."""
        return "the connection was lost" if self._pipes is None else await self._pipes.reason()

    async def heard(self, message: Any) -> None:
        """Take a notification."""
        if isinstance(message, types.ToolListChangedNotification):
            self.changed.set()

    @property
    def version(self) -> str:
        """What the server calls itself."""
        info = self._session.server_info
        return clean_line(f"{info.name} {info.version}", 80) if info is not None else ""

    async def tools(self, deadline_s: float) -> list[Any]:
        """The server's tools as it describes them, all pages. Raises `CallFailed`, `LinkLost`."""
        found: list[Any] = []
        cursor: str | None = None
        async with _bounded(deadline_s):
            for _ in range(MAX_PAGES):
                params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
                answer = await self._asked(lambda params=params: self._session.list_tools(params=params))  # type: ignore[misc]
                listed = answer.value.get("tools")
                found.extend(listed if isinstance(listed, list) else ())
                cursor = answer.value.get("nextCursor")
                if not isinstance(cursor, str) or not cursor:
                    break
        return found

    async def call(self, tool: str, arguments: dict[str, Any], deadline_s: float, progress: ProgressFnT) -> Answer:
        """Call a tool; a cancelled or late call is taken back at the server. Raises `CallFailed`, `LinkLost`."""
        return await self._asked(
            lambda: self._session.call_tool(
                tool, arguments, read_timeout_seconds=deadline_s, progress_callback=progress
            )
        )

    async def _asked(self, ask: Callable[[], Awaitable[object]]) -> Answer:
        kept: list[Answer] = []
        token = _answers.set(kept)
        try:
            await ask()
        except MCPError as error:
            lost = error.error.code == CONNECTION_CLOSED or (self._pipes is None and error.error.message == FORGOTTEN)
            if lost or self.ended.is_set():
                self.ended.set()
                raise LinkLost(clean_line(str(error))) from error
            if error.error.code == REQUEST_TIMEOUT:
                raise CallFailed("timed out") from error
            raise CallFailed(clean_line(f"the server refused: {error.error.message}", 400)) from error
        except (ValidationError, RuntimeError, ValueError) as error:
            if not kept:
                raise CallFailed(clean_line(f"the answer is not understood: {error}", 400)) from error
        finally:
            _answers.reset(token)
        if not kept:
            raise CallFailed("the server asked for more input, which a run cannot give")
        return kept[-1]


@contextlib.asynccontextmanager
async def _bounded(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise CallFailed(f"no answer within {seconds:g} s") from None


@contextlib.asynccontextmanager
async def opened(
    server: McpServer,
    environment: Mapping[str, str],
    root: Path,
    say: Callable[[str], None],
    *,
    within_s: float,
) -> AsyncIterator[Link]:
    """Connect to ``server``, whose variables are filled in; to be entered and left by one task. Raises `CallFailed`,
    `LinkLost`, ``OSError``, and groups of them.
    """
    async with contextlib.AsyncExitStack() as stack:
        pipes: stdio.Pipes | None = None
        incoming: Any
        outgoing: Any
        if server.url:
            client = await stack.enter_async_context(_client(server.headers))
            transport = streamable_http_client(server.url, http_client=client, max_sse_event_size=_SSE_EVENT)
            incoming, outgoing = await stack.enter_async_context(transport)
        else:
            folder = root / server.cwd
            pipes = await stack.enter_async_context(
                stdio.started((server.command, *server.args), environment, folder, say)
            )
            incoming, outgoing = pipes.incoming, pipes.outgoing
        dispatcher = _Untouched(incoming, outgoing, pipes)
        link: Link | None = None

        async def heard(message: types.ServerNotification | Exception) -> None:
            if link is not None:
                await link.heard(message)

        session = ClientSession(
            dispatcher=dispatcher,
            message_handler=heard,
            client_info=types.Implementation(name="geode-tui", version=__version__),
        )
        await stack.enter_async_context(session)
        link = Link(session, pipes)
        async with _bounded(within_s):
            try:
                await _shake_hands(session)
            except LinkLost:
                raise LinkLost(await link.reason()) from None
        yield link


def _client(headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """A client whose requests are bounded by the calls they belong to, and whose farewell has a bound of its own."""

    async def bound(request: httpx2.Request) -> None:
        if request.method == "DELETE":
            request.extensions["timeout"] = httpx2.Timeout(FAREWELL_S).as_dict()

    return httpx2.AsyncClient(headers=headers, timeout=_HTTP_TIMEOUTS, event_hooks={"request": [bound]})


async def _shake_hands(session: ClientSession) -> None:
    """Agree on a version: the handshake that every server knows first, then what newer ones alone answer to."""
    try:
        await session.initialize()
    except MCPError as error:
        if error.error.code not in {UNSUPPORTED_PROTOCOL_VERSION, METHOD_NOT_FOUND}:
            raise _refused(error) from error
        try:
            await session.discover()
        except MCPError as newer:
            raise _refused(newer) from newer


def _refused(error: MCPError) -> Exception:
    line = clean_line(error.error.message, 300)
    return LinkLost(line) if error.error.code == CONNECTION_CLOSED else CallFailed(line)
