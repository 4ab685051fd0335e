"""What the adapters over OpenAI's SDK share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from geode_tui.providers.wire import Connection, SdkErrors

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream

SDK = "openai"
URL = "https://api.openai.com/v1"


def sdk_errors() -> SdkErrors:
    """See `WireProvider._errors`."""
    from openai import APIStatusError, APITimeoutError, OpenAIError

    return SdkErrors(OpenAIError, APIStatusError, APITimeoutError)


def open_client(connection: Connection, headers: Mapping[str, str], *, own: bool) -> AsyncOpenAI:
    """A client for ``connection``. Only OpenAI's ``own`` platform is told the organisation the environment names."""
    from openai import AsyncOpenAI, Timeout

    client = AsyncOpenAI(
        api_key=connection.api_key,
        base_url=connection.base_url or URL,
        timeout=Timeout(connection.idle_timeout_s, connect=connection.connect_timeout_s),
        max_retries=0,
        default_headers=headers,
    )
    if not own:
        client.organization = client.project = None
    return client


async def send(client: AsyncOpenAI, path: str, body: dict[str, Any], headers: Mapping[str, str]) -> AsyncStream[object]:
    """Send ``body`` and open the stream of the answer."""
    from openai import AsyncStream

    return await client.post(
        path,
        cast_to=object,
        body=body,
        options={"headers": headers},
        stream=True,
        stream_cls=AsyncStream[object],
    )
