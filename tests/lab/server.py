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
from tests.lab.chaos import Chaos, Storm
from tests.lab.chat_profiles import PROFILES
from tests.lab.chat_wire import COMPLETIONS, ChatWire
from tests.lab.codex_wire import CODEX, CodexWire
from tests.lab.http import Received, play, read_request
from tests.lab.kinds import kind_of
from tests.lab.models_wire import MODELS, ModelsWire
from tests.lab.playing import Wire
from tests.lab.prefix_cache import PrefixCache
from tests.lab.responses_wire import INPUT_TOKENS, RESPONSES, ResponsesWire
from tests.lab.rules import Limits
from tests.lab.scripts import Reply, Say, ScriptStep, reply_of
from tests.lab.summaries import of_messages
from tests.lab.window import WindowReport, window_report

SECRET = b"lab"
"""Signs thinking. It is the same in every lab, so that a conversation survives the restart of its server."""


class Lab:
    """A scripted model on a loopback port, an asynchronous context manager. It speaks every wire, each below its own
    path: `base_url`, `openai_url`, `codex_url` and `chat_url`.

    ``requests`` are all requests for an answer in order of arrival, refused ones included; ``counted`` are those for a
    token count, ``listed`` those for the list of models. When the script has run out, the answer is ``otherwise``.
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
        reject_at: float = 1.0,
        always_overflow: bool = False,
        cache_minimum: int = 1_024,
        clock: Callable[[], float] = time.time,
        port: int = 0,
        chaos: Chaos | None = None,
        otherwise: ScriptStep = Say("done"),  # noqa: B008 - frozen
        compacting: ScriptStep = of_messages,
    ) -> None:
        """Args mean what `Limits` says; ``cache_minimum`` is the smallest cached prefix in tokens, ``clock`` gives
        epoch seconds for cache lifetimes and arrival times, ``port`` 0 takes a free one, ``chaos`` lets answers fail
        before the scripted ones. ``compacting`` answers requests for a compaction, which take nothing off the script:
        its text becomes the block's."""
        limits = Limits(window, max_output, models, api_key, bound_thinking, reject_at, always_overflow)
        self._wires = _wires(limits, clock, cache_minimum)
        self._models = ModelsWire(limits)
        self._storm = Storm(chaos) if chaos else None
        self._otherwise = otherwise
        self.compacting = compacting
        self._script: deque[ScriptStep] = deque(script)
        self._clock = clock
        self._port = port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.requests: list[Received] = []
        self.counted: list[Received] = []
        self.listed: list[Received] = []
        self.faults: list[Exception] = []
        """Errors of the lab itself, or of a script's callables. Raised again when the lab is left."""

    @property
    def base_url(self) -> str:
        """``http://127.0.0.1:PORT``."""
        assert self._server is not None, "the lab is not running"
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def openai_url(self) -> str:
        """The base URL of the Responses wire and of OpenAI's own Chat Completions."""
        return f"{self.base_url}/v1"

    @property
    def codex_url(self) -> str:
        """The base URL of the subscription's wire."""
        return f"{self.base_url}{CODEX.removesuffix('/responses')}"

    def chat_url(self, vendor: str = "openai") -> str:
        """The base URL of a vendor's Chat Completions: openai, glm, openrouter or ollama."""
        return self.base_url + next(profile.path for profile in PROFILES if profile.name == vendor)

    @property
    def sent(self) -> WindowReport:
        """What the requests so far were, and what the window did with them."""
        return window_report(self.requests)

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
        wire: Wire = self._wires.get(received.path, self._wires[""])
        if received.method == "GET" and received.path.endswith(MODELS):
            wire = self._models
            self.listed.append(received)
        else:
            (self.counted if received.path in {COUNT_TOKENS, INPUT_TOKENS} else self.requests).append(received)
        try:
            return await play(wire.respond(received, self._next_reply), received, reader, writer)
        except Exception as error:  # noqa: BLE001 - kept for the test, which fails with it
            self.faults.append(error)
            return False

    def _next_reply(self, body: dict[str, Any]) -> Reply:
        trouble = self._storm.next() if self._storm else None
        if trouble is None and kind_of(body) == "compaction":
            return reply_of(self.compacting, body)
        return trouble or reply_of(self._script.popleft() if self._script else self._otherwise, body)


def _wires(limits: Limits, clock: Callable[[], float], cache_minimum: int) -> dict[str, Wire]:
    """The wires by path. The one without a path answers for all that are not there."""
    anthropic = AnthropicWire(limits, PromptCache(clock, cache_minimum), SECRET)
    responses = ResponsesWire(limits, PrefixCache(clock, cache_minimum), SECRET, clock)
    chats = (ChatWire(profile, limits, PrefixCache(clock, cache_minimum), SECRET, clock) for profile in PROFILES)
    return {
        "": anthropic,
        RESPONSES: responses,
        INPUT_TOKENS: responses,
        CODEX: CodexWire(limits, PrefixCache(clock, cache_minimum), SECRET, clock),
        **{chat.profile.path + COMPLETIONS: chat for chat in chats},
    }


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
