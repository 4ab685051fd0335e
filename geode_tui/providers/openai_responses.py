"""The OpenAI adapter: the Responses API, on the platform or, for a Codex subscription, on its backend."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from geode_tui.providers.base import Request
from geode_tui.providers.openai_client import SDK, open_client, sdk_errors, send
from geode_tui.providers.openai_responses_request import CODEX, PROVIDER, encode_request
from geode_tui.providers.openai_responses_stream import Assembly
from geode_tui.providers.wire import CONNECT_TIMEOUT_S, Connection, SdkErrors, WireProvider

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream

CODEX_URL = "https://chatgpt.com/backend-api/codex"
IDLE_TIMEOUT_S = 300.0
"""Seconds without a byte after which a stream is given up. The service sends nothing while a model only thinks."""


class Codex(msgspec.Struct, frozen=True):
    """What the backend of a Codex subscription wants to know beside the token."""

    account_id: str = ""
    originator: str = "geode_tui"


class ResponsesProvider(WireProvider["AsyncOpenAI"]):
    """The Responses API. See `providers.base.Provider` for the contract.

    With ``codex`` it is the backend of a Codex subscription, and ``api_key`` that login's access token. Nothing about
    that backend is documented: this follows what its own client sends, and was not proven against the service.
    """

    sdk = SDK
    name = PROVIDER

    def __init__(
        self,
        api_key: str,
        base_url: str | None = None,
        *,
        codex: Codex | None = None,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``base_url`` None is the service's own; ``clock`` gives epoch seconds, for a wait that is named as a date."""
        self.source = "payg" if codex is None else "subscription"
        self._codex = codex
        url = base_url if codex is None or base_url is not None else CODEX_URL
        super().__init__(
            Connection(api_key, url, idle_timeout_s, connect_timeout_s, clock),
            "the OpenAI API key is empty or not a key: set OPENAI_API_KEY"
            if codex is None
            else "the Codex token is empty or not a token: set GEODE_CODEX_TOKEN",
        )

    def _encode(self, request: Request) -> dict[str, Any]:
        return encode_request(request, codex=self._codex is not None)

    def _assembly(self) -> Assembly:
        return Assembly(PROVIDER if self._codex is None else CODEX)

    def _errors(self) -> SdkErrors:
        return sdk_errors()

    def _open(self, connection: Connection) -> AsyncOpenAI:
        if self._codex is None:
            return open_client(connection, {}, own=True)
        headers = {"originator": self._codex.originator, "OpenAI-Beta": "responses=experimental"}
        if self._codex.account_id:
            headers["chatgpt-account-id"] = self._codex.account_id
        return open_client(connection, headers, own=False)

    def _headers(self, client: AsyncOpenAI, request: Request) -> Mapping[str, str]:  # noqa: ARG002
        return {"session_id": request.cache_key} if self._codex is not None and request.cache_key else {}

    async def _send(self, client: AsyncOpenAI, body: dict[str, Any], headers: Mapping[str, str]) -> AsyncStream[object]:
        return await send(client, "/responses", body, headers)
