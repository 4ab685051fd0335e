"""One streamed request over a vendor's SDK, and every way it can fail as one error type.

The SDK opens the connection, sends and splits the stream into events; the events stay plain decoded JSON, so that
what a provider wants back is kept exactly as it came. It never retries: that is decided, and shown, elsewhere.
"""

from __future__ import annotations

import asyncio
import importlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

from geode_tui.core.usage import Usage
from geode_tui.providers.base import Finished, Request, StreamEvent
from geode_tui.providers.classify import classify_status
from geode_tui.providers.errors import ErrorEvent, ErrorKind, MalformedEvent, ProviderError

if TYPE_CHECKING:
    import anthropic
    import openai

CONNECT_TIMEOUT_S = 10.0
"""Seconds for opening a connection."""
SECRET_CHARS = 8
"""A shorter key is a word for a server that wants none, and may stand in any message."""


class Assembly(Protocol):
    """One answer while it streams. Feed it every event in order, then ask for `finish`."""

    @property
    def visible(self) -> bool:
        """Whether a piece of text or of a tool call was given out."""

    @property
    def complete(self) -> bool:
        """Whether the provider said that the answer ended."""

    @property
    def usage(self) -> Usage | None:
        """The last figures reported, a lower bound until the end; None before any."""

    def feed(self, event: object) -> Sequence[StreamEvent]:
        """Take in one decoded event; returns what there is to pass on. Raises `MalformedEvent` or `ErrorEvent`."""

    def finish(self) -> Finished:
        """The complete answer. Raises `ProviderError` where the stream ended too early or said nothing at all."""


class Client(Protocol):
    """An SDK's client, as far as all of them are the same."""

    async def close(self) -> None:
        """Close the connections."""


class SdkErrors(NamedTuple):
    """The error classes of an SDK: their common base, one for an error answer, one for a time-out."""

    base: type[Exception]
    status: type[Exception]
    timeout: type[Exception]


class Connection(NamedTuple):
    """How to reach a server. ``base_url`` None is the service's own; ``clock`` gives epoch seconds."""

    api_key: str
    base_url: str | None
    idle_timeout_s: float
    connect_timeout_s: float
    clock: Callable[[], float]


ClientT = TypeVar("ClientT", bound=Client)
Events = AbstractAsyncContextManager["anthropic.AsyncStream[object] | openai.AsyncStream[object]"]


class WireProvider(ABC, Generic[ClientT]):
    """What all adapters over an SDK share. See `providers.base.Provider` for the contract."""

    sdk: ClassVar[str]
    """The SDK's module."""
    name: str
    source: str
    simulated: bool = False

    def __init__(self, connection: Connection, key_advice: str) -> None:
        """``key_advice`` is the line for a key that cannot be one."""
        self._connection = connection._replace(api_key=connection.api_key.strip())
        self._key_advice = key_advice
        self._client: ClientT | None = None
        self._opening = asyncio.Lock()

    @abstractmethod
    def _encode(self, request: Request) -> dict[str, Any]:
        """The body of ``request``. Raises ``ValueError`` where a stored block is no JSON any more."""

    @abstractmethod
    def _assembly(self) -> Assembly:
        """A new assembly."""

    @abstractmethod
    def _errors(self) -> SdkErrors:
        """The SDK's error classes. Called when it has been imported."""

    @abstractmethod
    def _open(self, connection: Connection) -> ClientT:
        """A client. Called when the SDK has been imported."""

    @abstractmethod
    async def _send(self, client: ClientT, body: dict[str, Any], headers: Mapping[str, str]) -> Events:
        """Send ``body`` with ``headers`` beside the client's own, and open the stream of the answer."""

    def _headers(self, client: ClientT, request: Request) -> Mapping[str, str]:  # noqa: ARG002
        """Headers that ``request`` needs."""
        return {}

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Send ``request`` once; see `Provider.stream`. Raises `ProviderError` and nothing else."""
        body = self._encoded(request)
        client = await self._connected()
        import httpx2

        assembly = self._assembly()
        try:
            async with await self._send(client, body, self._headers(client, request)) as events:
                await _expect_events(events)
                async for event in events:
                    for passed_on in assembly.feed(event):
                        yield passed_on
        except (self._errors().base, httpx2.HTTPError, ValueError, RecursionError) as error:
            # What breaks after the last event does not take back a complete answer.
            if not assembly.complete:
                raise self._failure(error, assembly) from None
        yield assembly.finish()

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _encoded(self, request: Request) -> dict[str, Any]:
        """The body of ``request``. A stored block that is damaged is told apart from what a server may send."""
        try:
            return self._encode(request)
        except ValueError:
            message = "a stored block of the conversation is not valid JSON"
            raise ProviderError(ErrorKind.HISTORY_INVALID, message) from None

    async def _connected(self) -> ClientT:
        key, url = self._connection.api_key, self._connection.base_url
        if not key or not key.isascii() or not key.isprintable():
            raise ProviderError(ErrorKind.AUTH, self._key_advice)
        if url is not None and not is_web_address(url):
            raise ProviderError(ErrorKind.BAD_REQUEST, "the base URL must be an http:// or https:// address")
        async with self._opening:
            if self._client is None:
                # An SDK takes seconds to import on a busy machine and a client reads the machine's certificates: not on
                # the worker's loop, which has other work.
                self._client = await asyncio.to_thread(self._imported_and_opened)
            return self._client

    def _imported_and_opened(self) -> ClientT:
        importlib.import_module(self.sdk)
        return self._open(self._connection)

    # -- failures -----------------------------------------------------------------------------------------------------
    def _failure(self, error: Exception, assembly: Assembly) -> ProviderError:
        """``error`` as the one error type. Its text is kept, but never with the key in it."""
        from httpx2 import TimeoutException

        _, status, timeout = self._errors()
        if isinstance(error, status) or getattr(error, "body", None) is not None:
            return self._answered(error, assembly)
        if isinstance(error, timeout | TimeoutException):
            return self._broken(ErrorKind.TIMEOUT, "the server did not answer in time", assembly)
        if isinstance(error, UnicodeEncodeError):
            message = "the conversation holds half a character that cannot be sent"
            return self._broken(ErrorKind.HISTORY_INVALID, message, assembly)
        if isinstance(error, _NotAStream):
            return self._broken(ErrorKind.INVALID_RESPONSE, str(error), assembly)
        if isinstance(error, ValueError | RecursionError):
            detail = str(error) if isinstance(error, MalformedEvent) else "an event is not valid JSON"
            return self._broken(ErrorKind.SERVER, f"the server sent a broken stream: {detail}", assembly)
        cause = error.__cause__ or error
        detail = str(cause) or type(cause).__name__
        return self._broken(ErrorKind.CONNECTION, f"the connection failed: {detail}", assembly)

    def _broken(self, kind: ErrorKind, message: str, assembly: Assembly) -> ProviderError:
        """A failure that is not the server's word: after visible output it is an interruption, whatever the cause."""
        return ProviderError(
            ErrorKind.STREAM_INTERRUPTED if assembly.visible else kind,
            self._masked(message),
            visible=assembly.visible,
            usage=assembly.usage,
        )

    def _answered(self, error: Any, assembly: Assembly) -> ProviderError:
        """The server's own word, as an error answer or as an event inside an answer that had begun well."""
        status = getattr(error, "status_code", 200)
        response = getattr(error, "response", None)
        headers = None if response is None else response.headers
        verdict = classify_status(status, error.body, headers, now=self._connection.clock())
        return ProviderError(
            verdict.kind,
            self._masked(verdict.message),
            status=status if status >= 400 else None,
            retry_after=verdict.retry_after,
            visible=assembly.visible,
            usage=assembly.usage,
            limit=verdict.limit,
            actual=verdict.actual,
            retryable=verdict.retryable,
            output=verdict.output,
        )

    def _masked(self, text: str) -> str:
        key = self._connection.api_key
        return text.replace(key, "[API key]") if len(key) >= SECRET_CHARS else text


class _NotAStream(ValueError):
    """A success answer that is no event stream."""


async def _expect_events(events: Any) -> None:
    """Raise unless the answer is a stream. Some servers put an error into a success answer: then it is that error."""
    kind = events.response.headers.get("content-type", "")
    if kind.startswith("text/event-stream"):
        return
    if "json" in kind:
        body = (await events.response.aread()).decode(errors="replace")
        if classify_status(200, body).kind is not ErrorKind.UNKNOWN:
            raise ErrorEvent(body)
    raise _NotAStream(f"the server answered with {kind or 'no content type'}, not a stream: check the base URL")


def is_web_address(url: str) -> bool:
    """Whether ``url`` is an http or https address with a host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
