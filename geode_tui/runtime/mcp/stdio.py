"""A server as a process of its own, spoken to over its pipes: one JSON-RPC message a line.

Not the SDK's own transport: results are kept byte by byte as they came, a long line is read in linear time, lone
surrogates do not lose a message, and the whole process group ends with the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCResponse, jsonrpc_message_adapter

from geode_tui.core.text import scrub
from geode_tui.runtime.tools.base import ProcessMark
from geode_tui.runtime.tools.processes import kill_group, mark_of

MAX_MESSAGE = 256 * 1024 * 1024
"""Longest message, bytes: a server that sends more has lost its mind, and the connection ends."""
LEAVE_S = 2.0
"""How long a server may take to leave once its input is closed."""
STATUS_S = 0.5
"""How long the status of a server that closed its output is waited for."""
_PIECE = 64 * 1024
_MAX_STDERR_LINE = 4_096

KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TMP", "TEMP", "USER", "LOGNAME", "SHELL")
"""What a server may know of the person's environment: no keys."""


class _Envelope(msgspec.Struct):
    result: msgspec.Raw = msgspec.Raw(b"null")


class Pipes:
    """A connection: the two streams that the SDK's session wants, and the untouched results beside them."""

    def __init__(self, process: asyncio.subprocess.Process, say: Callable[[str], None]) -> None:
        self._process = process
        self._say = say
        self._send_in: MemoryObjectSendStream[SessionMessage | Exception]
        self.incoming: MemoryObjectReceiveStream[SessionMessage | Exception]
        self._send_in, self.incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self._receive_out: MemoryObjectReceiveStream[SessionMessage]
        self.outgoing: MemoryObjectSendStream[SessionMessage]
        self.outgoing, self._receive_out = anyio.create_memory_object_stream[SessionMessage](0)
        self._kept: dict[Any, bytes] = {}
        self._wanted: set[Any] = set()
        self.ended = asyncio.Event()
        """The server closed its output."""
        self.why = ""

    def want(self, request_id: Any) -> None:
        """Keep the answer to this request as it comes."""
        self._wanted.add(request_id)

    def take(self, request_id: Any) -> bytes | None:
        """The bytes of the result of that request, and forget them."""
        self._wanted.discard(request_id)
        line = self._kept.pop(request_id, None)
        if line is None:
            return None
        try:
            return bytes(msgspec.json.decode(line, type=_Envelope).result)
        except (msgspec.DecodeError, UnicodeError):
            return line

    async def read(self) -> None:
        """Bring what the server writes to the session, until it ends."""
        assert self._process.stdout is not None
        try:
            async with self._send_in:
                async for line in _lines(self._process.stdout, MAX_MESSAGE):
                    message = _parsed(line)
                    if message is None:
                        self._say(line[:_MAX_STDERR_LINE].decode("utf-8", "replace"))
                        continue
                    if isinstance(message, JSONRPCResponse) and message.id in self._wanted:
                        self._kept[message.id] = line
                    await self._send_in.send(SessionMessage(message))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # the session left
        except ValueError as error:
            self.why = str(error)
        finally:
            self.ended.set()

    async def reason(self) -> str:
        """Why the connection ended, as far as that is known."""
        if not self.why:
            with contextlib.suppress(TimeoutError):
                return f"the server ended with status {await asyncio.wait_for(self._process.wait(), STATUS_S)}"
        return self.why or "the server closed its output"

    async def write(self) -> None:
        """Bring what the session sends to the server."""
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(ConnectionError, anyio.ClosedResourceError):
            async with self._receive_out:
                async for sent in self._receive_out:
                    text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                    stdin.write(text.encode() + b"\n")
                    await stdin.drain()

    async def drain_errors(self) -> None:
        """Read the server's standard error for ever, so that it never waits for us."""
        assert self._process.stderr is not None
        rest = b""
        while piece := await self._process.stderr.read(_PIECE):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self._say(line[:_MAX_STDERR_LINE].decode("utf-8", "replace"))
            rest = rest[:_MAX_STDERR_LINE]
        if rest:
            self._say(rest.decode("utf-8", "replace"))

    async def close(self) -> None:
        """Release the streams."""
        for stream in (self._send_in, self.incoming, self.outgoing, self._receive_out):
            await stream.aclose()


async def _lines(stream: asyncio.StreamReader, most: int) -> AsyncIterator[bytes]:
    """The lines of ``stream``. Raises ``ValueError`` for one that is too long."""
    parts: list[bytes] = []
    size = 0
    while piece := await stream.read(_PIECE):
        *whole, rest = piece.split(b"\n")
        for line in whole:
            yield b"".join((*parts, line))
            parts, size = [], 0
        parts.append(rest)
        size += len(rest)
        if size > most:
            raise ValueError(f"the server sent a message of more than {most // 1_048_576} MiB")


def _parsed(line: bytes) -> JSONRPCMessage | None:
    """The message in ``line``, or None where there is none: servers print to their output what belongs elsewhere."""
    if not line.strip():
        return None
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        pass
    try:
        decoded = _scrubbed(json.loads(line.decode("utf-8", "replace")))
        return jsonrpc_message_adapter.validate_python(decoded, by_name=False)
    except (ValueError, RecursionError):
        return None


def _scrubbed(value: Any) -> Any:
    match value:
        case str():
            return scrub(value)
        case dict():
            return {scrub(key): _scrubbed(inner) for key, inner in value.items()}
        case list():
            return [_scrubbed(inner) for inner in value]
    return value


def server_environment(environment: Mapping[str, str], own: Mapping[str, str], session_id: str) -> dict[str, str]:
    """What a server's process finds in its environment: the basics, its table's, and that it is inside a run."""
    basics = {name: environment[name] for name in KEPT_VARIABLES if name in environment}
    return {**basics, **own, "GEODE_INSIDE_RUN": session_id}


@contextlib.asynccontextmanager
async def started(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, say: Callable[[str], None]
) -> AsyncIterator[Pipes]:
    """Start ``command`` and speak to it; leaving ends its whole process group. Raises ``OSError``."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(environment),
        cwd=folder,
        start_new_session=True,
    )
    try:
        mark: ProcessMark | None = mark_of(process.pid)
    except ProcessLookupError:
        mark = None
    pipes = Pipes(process, say)
    errors = asyncio.create_task(pipes.drain_errors())
    tasks = [asyncio.create_task(pipes.read()), asyncio.create_task(pipes.write())]
    try:
        yield pipes
    finally:
        await asyncio.shield(_ended(process, mark, pipes, tasks, errors))


async def _ended(
    process: asyncio.subprocess.Process,
    mark: ProcessMark | None,
    pipes: Pipes,
    tasks: list[asyncio.Task[None]],
    errors: asyncio.Task[None],
) -> None:
    """Close the server's input, give it a moment, then end what is left of its group."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), LEAVE_S)
    if mark is not None:
        await asyncio.to_thread(kill_group, mark)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(errors, LEAVE_S)
    for task in (*tasks, errors):
        task.cancel()
    await asyncio.gather(*tasks, errors, return_exceptions=True)
    await pipes.close()
