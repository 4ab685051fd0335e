"""An answer on its way into the log: pieces coalesced to at most 30 commits a second."""

from __future__ import annotations

import asyncio
import contextlib

from geode_tui.core.usage import Usage
from geode_tui.log.rows import ChunkRow
from geode_tui.log.writer import Tx
from geode_tui.providers.base import Delta, Finished, Opened, Progress, Provider, Request
from geode_tui.providers.errors import ErrorKind, ProviderError
from geode_tui.runtime.session import Session

COMMIT_S = 1 / 30
MERGE_CHARS = 8_192


class AnswerStream:
    """Consumes one stream. The message row is opened with the first piece; without ``rows`` there is none, and the
    answer is its caller's alone.
    """

    def __init__(self, session: Session, *, rows: bool = True) -> None:
        self._session = session
        self._rows = rows
        self._waiting: list[Delta] = []
        self._seq = 0
        self._more = asyncio.Event()
        self._ended = asyncio.Event()
        self.usage = Usage()

    async def consume(self, provider: Provider, request: Request) -> Finished:
        """The complete answer. Raises `ProviderError`; what was streamed until then is committed."""
        flusher = asyncio.create_task(self._flush_at_pace())
        answer: Finished | None = None
        try:
            async for event in provider.stream(request):
                match event:
                    case Delta() if self._rows:
                        self._waiting.append(event)
                        self._more.set()
                    case Opened(usage=usage) | Progress(usage=usage):
                        self.usage = usage
                    case Finished():
                        answer = event
        finally:
            self._ended.set()
            self._more.set()
            await flusher
        if answer is not None:
            return answer
        raise ProviderError(ErrorKind.STREAM_INTERRUPTED, "the stream ended without an answer", usage=self.usage)

    async def _flush_at_pace(self) -> None:
        while not self._ended.is_set():
            await self._more.wait()
            self._more.clear()
            if self._waiting:
                await self._flush()
                self._session.journal.probe("stream: pieces committed")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(COMMIT_S):
                    await self._ended.wait()
        if self._waiting:
            await self._flush()

    async def _flush(self) -> None:
        pieces, self._waiting = _merged(self._waiting), []

        def work(tx: Tx) -> tuple[int, int]:
            opened = self._session.open.message or tx.open_message()
            rows = [ChunkRow(opened[0], self._seq + k, p.block, p.kind, p.text, p.name) for k, p in enumerate(pieces)]
            tx.add_chunks(rows)
            return opened

        self._session.open.message = await self._session.journal.write(work)
        self._seq += len(pieces)


def _merged(deltas: list[Delta]) -> list[Delta]:
    """Neighbours of one block as one piece."""
    merged: list[Delta] = []
    for delta in deltas:
        last = merged[-1] if merged else None
        if last and (last.block, last.kind) == (delta.block, delta.kind) and len(last.text) < MERGE_CHARS:
            merged[-1] = Delta(last.block, last.kind, last.text + delta.text, last.name or delta.name)
        else:
            merged.append(delta)
    return merged
