"""The Anthropic adapter: the Messages API over the official SDK."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from geode_tui.providers.anthropic_edits import betas_for
from geode_tui.providers.anthropic_request import PROVIDER, encode_request
from geode_tui.providers.anthropic_stream import Assembly
from geode_tui.providers.base import Request
from geode_tui.providers.wire import CONNECT_TIMEOUT_S, Connection, SdkErrors, WireProvider

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream

IDLE_TIMEOUT_S = 120.0
"""Seconds without a byte after which a stream is given up; the service sends a ping far more often than that."""
_BETA = "anthropic-beta"


class AnthropicProvider(WireProvider["AsyncAnthropic"]):
    """The Messages API for a key that pays as it goes. See `providers.base.Provider` for the contract."""

    sdk = "anthropic"
    name = PROVIDER
    source = "payg"

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
        super().__init__(
            Connection(api_key, base_url, idle_timeout_s, connect_timeout_s, clock),
            "the Anthropic API key is empty or not a key: set ANTHROPIC_API_KEY",
        )

    def _encode(self, request: Request) -> dict[str, Any]:
        return encode_request(request)

    def _assembly(self) -> Assembly:
        return Assembly()

    def _errors(self) -> SdkErrors:
        from anthropic import AnthropicError, APIStatusError, APITimeoutError

        return SdkErrors(AnthropicError, APIStatusError, APITimeoutError)

    def _open(self, connection: Connection) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic, Timeout

        return AsyncAnthropic(
            api_key=connection.api_key,
            base_url=connection.base_url,
            timeout=Timeout(connection.idle_timeout_s, connect=connection.connect_timeout_s),
            max_retries=0,
        )

    def _headers(self, client: AsyncAnthropic, request: Request) -> Mapping[str, str]:
        # The SDK takes headers from the environment too; betas that stand there are added to, not replaced.
        given = client.default_headers.get(_BETA)
        betas = [*(given.split(",") if isinstance(given, str) else ()), *betas_for(request), *request.betas]
        merged = ",".join(dict.fromkeys(beta.strip() for beta in betas if beta.strip()))
        return {_BETA: merged} if merged else {}

    async def _send(
        self, client: AsyncAnthropic, body: dict[str, Any], headers: Mapping[str, str]
    ) -> AsyncStream[object]:
        from anthropic import AsyncStream

        return await client.post(
            "/v1/messages",
            cast_to=object,
            body=body,
            options={"headers": headers},
            stream=True,
            stream_cls=AsyncStream[object],
        )
