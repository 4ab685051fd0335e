"""The Anthropic adapter: one streamed request over the official SDK, every failure classified."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from geode_tui.providers.anthropic_request import PROVIDER, encode_request
from geode_tui.providers.anthropic_stream import Assembly, MalformedEvent
from geode_tui.providers.base import Request, StreamEvent
from geode_tui.providers.classify import classify_status
from geode_tui.providers.errors import ErrorKind, ProviderError

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic, AsyncStream

IDLE_TIMEOUT_S = 120.0
"""Seconds without a byte after which a stream is given up; the service sends a ping far more often than that."""
CONNECT_TIMEOUT_S = 10.0
"""Seconds for opening a connection."""


class AnthropicProvider:
    """The Messages API for a key that pays as it goes. See `providers.base.Provider` for the contract."""

    name = PROVIDER
    source = "payg"
    simulated = False

    def __init__(
        self,
        api_key: str,
        base_url: str | None = None,
        *,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``base_url`` None is the service's own; ``clock`` gives epoch seconds, for a wait that is named as a date."""
        self._api_key = api_key.strip()
        self._base_url = base_url
        self._idle_timeout_s = idle_timeout_s
        self._connect_timeout_s = connect_timeout_s
        self._clock = clock
        self._client: AsyncAnthropic | None = None

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Send ``request`` once; see `Provider.stream`. Raises `ProviderError` and nothing else."""
        body = _encoded(request)
        client = await self._connected()
        import httpx2
        from anthropic import AnthropicError

        assembly = Assembly()
        try:
            async with await _send(client, body) as events:
                _expect_events(events)
                async for event in events:
                    passed_on = assembly.feed(event)
                    if passed_on is not None:
                        yield passed_on
        except (AnthropicError, httpx2.HTTPError, ValueError) as error:
            # What breaks after the last event does not take back a complete answer.
            if not assembly.complete:
                raise self._failure(error, assembly) from None
        yield assembly.finish()

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _connected(self) -> AsyncAnthropic:
        if not self._api_key or not self._api_key.isascii() or not self._api_key.isprintable():
            raise ProviderError(ErrorKind.AUTH, "the Anthropic API key is empty or not a key: set ANTHROPIC_API_KEY")
        if self._base_url is not None and not _is_web_address(self._base_url):
            raise ProviderError(ErrorKind.BAD_REQUEST, "the base URL must be an http:// or https:// address")
        if self._client is None:
            # The SDK takes seconds to import on a busy machine, and the worker's loop has other work.
            await asyncio.to_thread(importlib.import_module, "anthropic")
        return self._opened()

    def _opened(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic, Timeout

        if self._client is None:
            self._client = AsyncAnthropic(
                api_key=self._api_key,
                base_url=self._base_url,
                timeout=Timeout(self._idle_timeout_s, connect=self._connect_timeout_s),
                max_retries=0,
            )
        return self._client

    def _failure(self, error: Exception, assembly: Assembly) -> ProviderError:
        """``error`` as the one error type. Its text is kept, but never with the key in it."""
        from anthropic import APIStatusError, APITimeoutError
        from httpx2 import TimeoutException

        if isinstance(error, APIStatusError):
            return self._answered(error, assembly)
        if isinstance(error, APITimeoutError | TimeoutException):
            return self._broken(ErrorKind.TIMEOUT, "the server did not answer in time", assembly)
        if isinstance(error, UnicodeEncodeError):
            message = "the conversation holds half a character that cannot be sent"
            return self._broken(ErrorKind.HISTORY_INVALID, message, assembly)
        if isinstance(error, _NotAStream):
            return self._broken(ErrorKind.INVALID_RESPONSE, str(error), assembly)
        if isinstance(error, ValueError):
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

    def _answered(self, error: APIStatusError, assembly: Assembly) -> ProviderError:
        verdict = classify_status(error.status_code, error.body, error.response.headers, now=self._clock())
        return ProviderError(
            verdict.kind,
            self._masked(verdict.message),
            status=error.status_code if error.status_code >= 400 else None,
            retry_after=verdict.retry_after,
            visible=assembly.visible,
            usage=assembly.usage,
            limit=verdict.limit,
            actual=verdict.actual,
            retryable=verdict.retryable,
        )

    def _masked(self, text: str) -> str:
        return text.replace(self._api_key, "[API key]")


class _NotAStream(ValueError):
    """A success answer that is no event stream."""


def _encoded(request: Request) -> dict[str, Any]:
    """The body of ``request``. A stored block that is damaged is told apart from what a server may send."""
    try:
        return encode_request(request)
    except ValueError:
        message = "a stored block of the conversation is not valid JSON"
        raise ProviderError(ErrorKind.HISTORY_INVALID, message) from None


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


async def _send(client: AsyncAnthropic, body: dict[str, Any]) -> AsyncStream[object]:
    """Open the stream. Its events stay plain decoded JSON, so that a block is kept exactly as it came."""
    from anthropic import AsyncStream

    return await client.post("/v1/messages", cast_to=object, body=body, stream=True, stream_cls=AsyncStream[object])


def _expect_events(events: AsyncStream[object]) -> None:
    kind = events.response.headers.get("content-type", "")
    if not kind.startswith("text/event-stream"):
        raise _NotAStream(f"the server answered with {kind or 'no content type'}, not a stream: check the base URL")
