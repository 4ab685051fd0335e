"""Just enough HTTP/1.1 to be misbehaved on purpose: requests are read whole, answers are played action by action."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal, TypeAlias

from tests.lab.gate import Gate

MAX_BODY = 32 * 1024 * 1024
"""Bytes; the vendor's limit of one request."""
MAX_HEAD = 64 * 1024


@dataclass
class Received:
    """A request as it arrived. ``disconnected`` opens when the client leaves before the answer ended."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    arrived: float
    """Epoch seconds by the lab's clock."""
    too_large: bool = False
    status: int | None = None
    tokens: int | None = None
    """The prompt's size by the lab's count, where it came so far."""
    overflow: bool = False
    """Whether it was refused because its prompt did not fit."""
    disconnected: Gate = field(default_factory=Gate)

    @property
    def body(self) -> Any:
        """The parsed JSON body; raises ``ValueError`` where it is none."""
        return json.loads(self.raw)


@dataclass(frozen=True)
class Send:
    """Bytes of the body."""

    data: bytes


@dataclass(frozen=True)
class Pause:
    """Seconds in which nothing is sent."""

    seconds: float


@dataclass(frozen=True)
class Hold:
    """Nothing is sent from ``reached`` (opened here) until ``release`` is opened."""

    reached: Gate
    release: Gate


@dataclass(frozen=True)
class End:
    """Leave before the body is complete: ``close`` the connection, or ``reset`` it."""

    how: Literal["close", "reset"]


Action: TypeAlias = Send | Pause | Hold | End


@dataclass(frozen=True)
class Whole:
    """An answer with its whole body at once."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Streamed:
    """A 200 answer whose body is played."""

    actions: Iterable[Action]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Dropped:
    """No answer at all."""


Response: TypeAlias = Whole | Streamed | Dropped


async def read_request(reader: asyncio.StreamReader, now: float) -> Received | None:
    """The next request of a connection, or None when the client is done. A body over `MAX_BODY` is not kept."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        return await _received(head, reader, now)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        return None


async def _received(head: bytes, reader: asyncio.StreamReader, now: float) -> Received:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name
    }
    length = int(headers.get("content-length", "0"))
    too_large = length > MAX_BODY
    raw = await _skipped(reader, length) if too_large else await reader.readexactly(length)
    return Received(method, target.partition("?")[0], headers, raw, now, too_large)


async def _skipped(reader: asyncio.StreamReader, length: int) -> bytes:
    """Read ``length`` bytes without keeping them: closing on unread ones would lose the answer."""
    while length > 0 and (data := await reader.read(min(length, MAX_HEAD))):
        length -= len(data)
    return b""


async def play(
    response: Response, received: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """Send ``response``. Returns whether the connection can be used again."""
    if isinstance(response, Dropped):
        return False
    if isinstance(response, Whole):
        received.status = response.status
        writer.write(_head(response.status, response.headers, f"content-length: {len(response.body)}") + response.body)
        await writer.drain()
        return True
    received.status = 200
    writer.write(_head(200, response.headers, "transfer-encoding: chunked"))
    left = asyncio.ensure_future(reader.read(1))
    try:
        for action in response.actions:
            if isinstance(action, End):
                if action.how == "reset":
                    _reset(writer)
                return False
            if not await _act(action, writer, left):
                received.disconnected.open()
                return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        # A client that already sent its next request on this connection would have had its first byte eaten.
        return not left.done()
    except ConnectionError:
        received.disconnected.open()
        return False
    finally:
        left.cancel()
        await asyncio.wait({left})


async def _act(action: Send | Pause | Hold, writer: asyncio.StreamWriter, left: asyncio.Future[bytes]) -> bool:
    """Do one action; False when the client has left."""
    if isinstance(action, Send):
        writer.write(f"{len(action.data):x}\r\n".encode() + action.data + b"\r\n")
        await writer.drain()
        return not left.done()
    if isinstance(action, Hold):
        action.reached.open()
    pause = action.release.wait() if isinstance(action, Hold) else asyncio.sleep(action.seconds)
    waiting: asyncio.Future[None] = asyncio.ensure_future(pause)
    try:
        await asyncio.wait((waiting, left), return_when=asyncio.FIRST_COMPLETED)
        return not left.done()
    finally:
        waiting.cancel()


def _head(status: int, headers: Mapping[str, str], framing: str) -> bytes:
    lines = [f"HTTP/1.1 {status} {_phrase(status)}", *(f"{k}: {v}" for k, v in headers.items()), framing]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST instead of FIN."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
