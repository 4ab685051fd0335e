"""A server's tool as a tool of the run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from geode_tui.core.events import BlobRef, McpCallProgress
from geode_tui.core.text import clean_line
from geode_tui.log.receipts import Spool
from geode_tui.log.store import StoreError
from geode_tui.runtime.mcp.described import Described
from geode_tui.runtime.mcp.link import Answer, CallFailed, LinkLost
from geode_tui.runtime.mcp.result import shown
from geode_tui.runtime.mcp.server import Server
from geode_tui.runtime.tools.arguments import MAX_CHARS
from geode_tui.runtime.tools.base import Prepared, Simple, ToolContext, ToolOutcome, ToolRefused
from geode_tui.runtime.tools.texts import one_line

PROGRESS_EVERY_S = 1.0
BACK_S = 10.0
"""How long a call that may be made again waits for its server to come back, seconds."""


class McpTool:
    """See the module. It outlives its server's connections: a call takes the one that stands."""

    polls = False

    def __init__(self, server: Server, described: Described) -> None:
        self.spec = described.spec
        self.safety = described.safety
        self.fingerprint = described.fingerprint
        self._server = server
        self._described = described

    def brief(self, arguments: str) -> str:
        """The arguments, on one line."""
        return one_line(arguments if arguments.strip() not in {"", "{}"} else self._described.tool)

    async def prepare(self, arguments: str, context: ToolContext) -> Prepared:
        """Check that ``arguments`` are an object, which the server judges. Raises `ToolRefused`."""
        decoded = _object(arguments)
        if self._server.link is None:
            raise ToolRefused(f"the server {self._server.config.name} is not connected: {self._server.error}")

        async def effect() -> ToolOutcome:
            return await self._run(decoded, context)

        return Simple(effect)

    async def _run(self, arguments: dict[str, Any], context: ToolContext) -> ToolOutcome:
        deadline = self._server.config.deadline_s
        try:
            async with asyncio.timeout(deadline):
                answer = await self._answered(arguments, deadline)
        except TimeoutError:
            return _failed(f"timed out after {deadline:g} s", "timed out")
        except CallFailed as failed:
            return _failed(f"timed out after {deadline:g} s" if str(failed) == "timed out" else str(failed), "failed")
        except LinkLost:
            why = f"the server {self._server.config.name} was lost during the call"
            return _failed(f"outcome unknown: {why}. Look at what it did before you call it again", "outcome unknown")
        return await self._outcome(answer, context)

    async def _answered(self, arguments: dict[str, Any], deadline_s: float) -> Answer:
        """The server's answer. A call that died on the way is made once more where that does no harm."""
        try:
            return await self._call(arguments, deadline_s)
        except LinkLost:
            if not self._described.repeatable:
                raise
        try:
            async with asyncio.timeout(BACK_S):
                await self._server.up.wait()
        except TimeoutError:
            raise CallFailed(f"the server {self._server.config.name} was lost and did not come back") from None
        return await self._call(arguments, deadline_s)

    async def _call(self, arguments: dict[str, Any], deadline_s: float) -> Answer:
        link, server, told = self._server.link, self._server, 0.0
        if link is None:
            raise CallFailed(f"the server {server.config.name} is not connected: {server.error}")

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            nonlocal told
            now = server.around.clock.monotonic()
            if told and now - told < PROGRESS_EVERY_S and progress != total:
                return
            told = now
            text = clean_line(message or "", 200)
            await server.around.emit(McpCallProgress(server.config.name, self.spec.name, progress, total, text))

        try:
            return await link.call(self._described.tool, arguments, deadline_s, tell)
        except LinkLost:
            server.up.clear()  # until it is connected again
            raise

    async def _outcome(self, answer: Answer, context: ToolContext) -> ToolOutcome:
        """The result as it is shown, and the receipt of it as it came."""
        seen = shown(answer.value)
        receipt, spool = None, context.spool
        if spool is not None:
            receipt = await asyncio.to_thread(_kept, spool, answer.raw)
        size = f"{len(answer.raw):,} bytes"
        return ToolOutcome(
            seen.text,
            is_error=seen.is_error,
            summary="error" if seen.is_error else size,
            facts={"server": clean_line(self._server.config.name, 60), "bytes": len(answer.raw)},
            untouched=receipt,
            images=seen.images,
        )


def _object(arguments: str) -> dict[str, Any]:
    """The arguments, empty ones as ``{}``. Raises `ToolRefused`."""
    if len(arguments) > MAX_CHARS:
        raise ToolRefused(f"the arguments are {len(arguments):,} characters long and the limit is {MAX_CHARS:,}")
    try:
        return msgspec.json.decode(arguments.strip() or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        reason = one_line(str(error), 300)
        raise ToolRefused(
            f"the arguments are not usable: {reason}. Send one JSON object that fits the schema"
        ) from None


def _kept(spool: Callable[[], Spool], raw: bytes) -> BlobRef | None:
    """The receipt of ``raw``; None where it cannot be written."""
    try:
        file = spool()
        try:
            file.write(raw)
        except BaseException:
            file.drop()
            raise
        return file.keep()
    except (OSError, StoreError):
        return None


def _failed(text: str, summary: str) -> ToolOutcome:
    return ToolOutcome(text, is_error=True, summary=summary)
