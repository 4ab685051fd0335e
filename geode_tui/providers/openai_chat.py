"""The Chat Completions adapter: OpenRouter, GLM, and whatever speaks that wire on this machine or at an address."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from geode_tui.providers.base import Request
from geode_tui.providers.openai_chat_request import encode_request
from geode_tui.providers.openai_chat_stream import Assembly
from geode_tui.providers.openai_client import SDK, open_client, sdk_errors, send
from geode_tui.providers.wire import CONNECT_TIMEOUT_S, Connection, SdkErrors, WireProvider

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream

IDLE_TIMEOUT_S = 600.0
"""Seconds without a byte after which a stream is given up. A local model reads a long prompt in silence."""


class ChatProvider(WireProvider["AsyncOpenAI"]):
    """The Chat Completions API of any server. See `providers.base.Provider` for the contract."""

    sdk = SDK

    def __init__(
        self,
        name: str,
        api_key: str,
        base_url: str,
        *,
        source: str,
        headers: Mapping[str, str] | None = None,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``name`` is the provider's, whose ways of speaking the wire are met; ``headers`` are sent as well.

        A server that wants no key still gets one, which may be any word. ``clock`` gives epoch seconds, for a wait
        that is named as a date.
        """
        self.name = name
        self.source = source
        self._own_headers = dict(headers or {})
        super().__init__(
            Connection(api_key, base_url, idle_timeout_s, connect_timeout_s, clock),
            f"the API key for {name} is empty or not a key",
        )

    def _encode(self, request: Request) -> dict[str, Any]:
        return encode_request(request, self.name)

    def _assembly(self) -> Assembly:
        return Assembly(self.name)

    def _errors(self) -> SdkErrors:
        return sdk_errors()

    def _open(self, connection: Connection) -> AsyncOpenAI:
        return open_client(connection, self._own_headers, own=self.name == "openai")

    async def _send(self, client: AsyncOpenAI, body: dict[str, Any], headers: Mapping[str, str]) -> AsyncStream[object]:
        return await send(client, "/chat/completions", body, headers)
