"""The offline provider: answers from the request alone, streamed like any other."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from typing import Final, Literal

import msgspec

from geode_tui.core.messages import TextBlock, ToolCallBlock
from geode_tui.providers.base import Delta, Finished, Opened, Request, StreamEvent
from geode_tui.providers.offline.answer import Answer, answer
from geode_tui.providers.offline.usage import block_tokens, prompt_usage

PIECE_CHARS: Final = 24
"""Characters of one streamed piece."""


class OfflineProvider:
    """A deterministic planner behind the `Provider` protocol: no key, no network, no language model.

    Its whole state is the request, so a run goes on after a crash, in another worker, or after an interrupt as if
    nothing had happened. ``seed`` varies the order of equal candidates and the choice of words; ``pace_s`` is the
    pause before each streamed piece, in seconds.
    """

    name: str = "offline"
    source: str = "adapter"
    simulated: bool = True

    def __init__(self, seed: int = 0, pace_s: float = 0.0) -> None:
        self._seed = seed
        self._pace_s = pace_s

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Answer ``request``. Raises no `ProviderError`: there is nothing that can be unreachable."""
        prompt = prompt_usage(request)
        made = await asyncio.to_thread(answer, request, self._seed)
        response_id = _response_id(request, made, self._seed)
        yield Opened(response_id, request.model, prompt)
        for delta in _pieces(made):
            if self._pace_s > 0:
                await asyncio.sleep(self._pace_s)
            yield delta
        output = sum(block_tokens(b) for b in made.blocks)
        usage = msgspec.structs.replace(prompt, output_tokens=output)
        yield Finished(made.blocks, made.stop_reason, usage, response_id, request.model)

    async def aclose(self) -> None:
        """Nothing is kept open."""


def _pieces(made: Answer) -> Iterator[Delta]:
    for index, block in enumerate(made.blocks):
        kind: Literal["text", "tool_call"]
        if isinstance(block, TextBlock):
            kind, text, name = "text", block.text, ""
        elif isinstance(block, ToolCallBlock):
            kind, text, name = "tool_call", block.arguments, block.name
        else:
            continue
        for start in range(0, max(1, len(text)), PIECE_CHARS):
            yield Delta(index, kind, text[start : start + PIECE_CHARS], name if start == 0 else "")


def _response_id(request: Request, made: Answer, seed: int) -> str:
    text = f"{seed}\0{len(request.messages)}\0{made!r}"
    return f"offline_{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
