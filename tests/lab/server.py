"""The lab: a scripted model behind a real HTTP server on loopback."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from tests.lab.anthropic_wire import COUNT_TOKENS, AnthropicWire
from tests.lab.cache import PromptCache
from tests.lab.http import Received, play, read_request
from tests.lab.rules import Limits
from tests.lab.scripts import Reply, Say, ScriptStep, reply_of

SECRET = b"lab"
"""Signs thinking. It is the same in every lab, so that a conversation survives the restart of its server."""


class Lab:
    """A scripted model on a loopback port, an asynchronous context manager.

    ``requests`` are all message requests in order of arrival, refused ones included; ``counted`` are the requests for
    a token count. When the script has run out, the answer is ``done``.
    """

    def __init__(
        self,
        *,
        script: Sequence[ScriptStep] = (),
        window: int = 200_000,
        max_output: int = 64_000,
        models: tuple[str, ...] = (),
        api_key: str | None = None,
        bound_thinking: bool = False,
        cache_minimum: int = 1_024,
        clock: Callable[[], float] = time.time,
        port: int = 0,
    ) -> None:
        """Args mean what `Limits` says; ``cache_minimum`` is the smallest cached prefix in tokens, ``clock`` gives
        epoch seconds for cache lifetimes and arrival times, ``port`` 0 takes a free one."""
        limits = Limits(window, max_output, models, api_key, bound_thinking)
        self._wire = AnthropicWire(limits, PromptCache(clock, cache_minimum), SECRET)
        self._script: deque[ScriptStep] = deque(script)
        self._clock = clock
        self._port = port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.requests: list[Received] = []
        self.counted: list[Received] = []
        self.faults: list[Exception] = []
        """Errors of the lab itself, or of a script's callables. Raised again when the lab is left."""

    @property
    def base_url(self) -> str:
        """``http://127.0.0.1:PORT``."""
        assert self._server is not None, "the lab is not running"
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def remaining(self) -> int:
        """How many steps of the script were not used yet."""
        return len(self._script)

    def script(self, *steps: ScriptStep) -> None:
        """Append to the script. May be called from any thread."""
        self._script.extend(steps)

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)

    async def stop(self) -> None:
        """Stop listening and drop every connection."""
        assert self._server is not None, "the lab is not running"
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
        self._raise_faults(error)

    def _raise_faults(self, error: BaseException | None) -> None:
        if error is None and self.faults:
            raise self.faults[0]

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        try:
            while received := await read_request(reader, self._clock()):
                if not await self._answered(received, reader, writer):
                    break
        except asyncio.CancelledError:
            return  # the lab stops; the stream protocol would report a cancelled handler as an error
        finally:
            writer.close()

    async def _answered(self, received: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        (self.counted if received.path == COUNT_TOKENS else self.requests).append(received)
        try:
            return await play(self._wire.respond(received, self._next_reply), received, reader, writer)
        except Exception as error:  # noqa: BLE001 - kept for the test, which fails with it
            self.faults.append(error)
            return False

    def _next_reply(self, body: dict[str, Any]) -> Reply:
        return reply_of(self._script.popleft() if self._script else Say("done"), body)


@contextmanager
def lab_thread(**options: Any) -> Iterator[Lab]:
    """A running `Lab` in a thread of its own, for tests without an event loop or that start other processes."""
    lab = Lab(**options)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="lab", daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(lab.start(), loop).result()
    try:
        yield lab
    finally:
        asyncio.run_coroutine_threadsafe(lab.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    lab._raise_faults(None)
