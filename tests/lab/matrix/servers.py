"""The servers: the lab itself, and two that others wrote, as processes; not every machine has those."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

import httpx2

from tests.lab.matrix.cells import WINDOW, Cell, cells
from tests.lab.matrix.scripts import LAB, aimock, llmock
from tests.lab.server import Lab

PATIENCE_S = 30.0
ROOT = Path(__file__).parents[3]
AIMOCK = "GEODE_TEST_AIMOCK"
"""Names the command of aimock where it is neither below the project nor on the path."""


class Server(Protocol):
    """Something that answers like the vendors."""

    def url(self, wire: str) -> str:
        """The base URL of a wire, as an adapter wants it."""
        ...

    async def verdict(self) -> tuple[str, ...]:
        """What the server has to say about its client, as codes; it has nothing to say about most."""
        ...


class LabServer:
    """The lab, afresh for every cell."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def url(self, wire: str) -> str:
        """See `Server`."""
        urls = {"anthropic": self._lab.base_url, "responses": self._lab.openai_url, "codex": self._lab.codex_url}
        return urls.get(wire) or self._lab.chat_url("glm")

    async def verdict(self) -> tuple[str, ...]:
        """See `Server`."""
        return ()


class Llmock:
    """One process for all cells, told before each what to do and asked afterwards how its client took it."""

    def __init__(self, root: str) -> None:
        self._root = root

    def url(self, wire: str) -> str:
        """See `Server`."""
        return f"{self._root}/anthropic" if wire == "anthropic" else f"{self._root}/v1"

    async def prepare(self, cell: Cell) -> None:
        """Forget the cell before, and script this one."""
        await _ask("POST", f"{self._root}/_llmock/reset")
        behaviours = llmock(cell.scenario, cell.wire)
        await _ask("POST", f"{self._root}/_llmock/scenario", {"behaviors": behaviours})

    async def verdict(self) -> tuple[str, ...]:
        """See `Server`."""
        found = await _ask("GET", f"{self._root}/_llmock/verdict")
        return tuple(sorted({finding["code"] for finding in found["findings"]}))


class Aimock:
    """One process for all cells: it tells them apart by their prompts."""

    def __init__(self, root: str) -> None:
        self._root = root

    def url(self, wire: str) -> str:
        """See `Server`."""
        return self._root if wire == "anthropic" else f"{self._root}/v1"

    async def verdict(self) -> tuple[str, ...]:
        """See `Server`."""
        return ()


class Servers:
    """Starts a server when the first cell asks for it; an asynchronous context manager that ends them all."""

    def __init__(self) -> None:
        self._stack = contextlib.AsyncExitStack()
        self._llmock: Llmock | None = None
        self._aimock: Aimock | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @contextlib.asynccontextmanager
    async def ready(self, cell: Cell) -> AsyncIterator[Server]:
        """The server of a cell, prepared for its scenario."""
        if cell.server == "lab":
            window = WINDOW if cell.scenario == "overflow" else 200_000
            async with Lab(script=LAB[cell.scenario], window=window) as lab:
                yield LabServer(lab)
        elif cell.server == "llmock":
            if self._llmock is None:
                self._llmock = Llmock(await self._stack.enter_async_context(_llmock_running()))
            await self._llmock.prepare(cell)
            yield self._llmock
        else:
            if self._aimock is None:
                self._aimock = Aimock(await self._stack.enter_async_context(_aimock_running()))
            yield self._aimock


def missing(server: str) -> str:
    """Why a server cannot be run here; empty where it can."""
    command = {"llmock": _llmock_command, "aimock": _aimock_command}.get(server)
    return "" if command is None or command() else f"{server} is not installed: make third-party"


def _llmock_command() -> list[str] | None:
    found = shutil.which("llmock", path=str(Path(sys.executable).parent))
    return [found, "serve"] if found else None


def _aimock_command() -> list[str] | None:
    named = os.environ.get(AIMOCK)
    beside = ROOT / ".third-party" / "node_modules" / ".bin" / "aimock"
    found = named or (str(beside) if beside.exists() else shutil.which("aimock"))
    return [found] if found and shutil.which("node") else None


@contextlib.asynccontextmanager
async def _llmock_running() -> AsyncIterator[str]:
    command = _llmock_command()
    assert command is not None, missing("llmock")
    port = _free_port()
    # Sent at once, a broken stream would be over before its client can leave it, and count as one that was read.
    pace = ["--stream-chunk-delay-ms", "30"]
    command += ["--port", str(port), "--host", "127.0.0.1", "--log-level", "warning", *pace]
    async with _process(command, port) as root:
        yield root


@contextlib.asynccontextmanager
async def _aimock_running() -> AsyncIterator[str]:
    command = _aimock_command()
    assert command is not None, missing("aimock")
    port = _free_port()
    with tempfile.TemporaryDirectory() as folder:
        fixtures, config = Path(folder, "fixtures.json"), Path(folder, "aimock.json")
        entries = [entry for c in cells("aimock") for entry in aimock(c.scenario, c.wire, c.prompt)]
        fixtures.write_text(json.dumps({"fixtures": entries}), encoding="utf-8")
        config.write_text(json.dumps({"llm": {"fixtures": str(fixtures)}}), encoding="utf-8")
        async with _process([*command, "--config", str(config), "--port", str(port)], port) as root:
            yield root


@contextlib.asynccontextmanager
async def _process(command: list[str], port: int) -> AsyncIterator[str]:
    """A server process, once it listens; ended afterwards."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await _listens(port):
                assert process.poll() is None, f"{command[0]} ended by itself"
                await asyncio.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def _ask(method: str, url: str, body: Any = None) -> Any:
    assert urlsplit(url).hostname == "127.0.0.1"
    async with httpx2.AsyncClient(verify=False, timeout=PATIENCE_S) as client:
        answer = await client.request(method, url, json=body)
        answer.raise_for_status()
        return answer.json()
