"""A model with a window of its own: it counts what it is sent, refuses what does not fit, and works for as many rounds
as it is told.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

from geode_tui.core.headings import SUMMARY_HEADINGS
from geode_tui.core.messages import Block, Message, TextBlock, ToolCallBlock, ToolResultBlock, answered
from geode_tui.core.tokens import text_tokens
from geode_tui.core.usage import Usage
from geode_tui.providers.base import Delta, Finished, Opened, Request, StreamEvent
from geode_tui.providers.errors import ErrorKind, ProviderError
from geode_tui.routes.catalog import Catalog, Route
from tests.runtime.harness import asks

SummaryStep: TypeAlias = Callable[[Request], "str | Finished | ProviderError"]


def summary_of(task: str) -> str:
    """A summary as a model writes it."""
    said = {
        "Active Task": task,
        "Completed Actions": "looked at nine parts; each gave words of its own",
        "Active State": "the parts seen so far hold nothing that asks for a change",
        "Remaining Work": "the parts that were not looked at yet",
    }
    return "\n\n".join(f"## {h}\n\n- {said.get(h, 'none')}" for h in SUMMARY_HEADINGS)


def block_tokens(block: Block) -> int:
    match block:
        case TextBlock():
            return text_tokens(block.text)
        case ToolCallBlock():
            return text_tokens(block.arguments) + 8
        case ToolResultBlock():
            return text_tokens(block.text) + 8
        case _:
            return 0


def tokens_of(messages: tuple[Message, ...]) -> int:
    """What the model counts of messages."""
    return sum(block_tokens(b) + 4 for m in messages for b in m.blocks)


def prompt_tokens(request: Request) -> int:
    """What the model counts of a request."""
    fixed = sum(text_tokens(p.text) for p in request.system) + 200 * len(request.tools)
    return fixed + tokens_of(request.messages)


class WindowModel:
    """See the module. ``tool`` is called in every answer until ``rounds`` answers were given."""

    source = "payg"

    def __init__(
        self,
        rounds: int,
        *,
        tool: str = "look",
        name: str = "openai",
        fits: int = 10_000_000,
        told: bool = True,
        summary: SummaryStep | None = None,
        simulated: bool = True,
    ) -> None:
        self.name = name
        self.simulated = simulated
        self.rounds = rounds
        self.tool = tool
        self.fits = fits
        self.told = told
        self.summary = summary or (lambda request: summary_of("the task"))
        self.requests: list[Request] = []
        self.refused: list[Request] = []

    @property
    def turns(self) -> list[Request]:
        return [r for r in self.requests if r.purpose == "turn"]

    @property
    def summaries(self) -> list[Request]:
        return [r for r in self.requests if r.purpose == "summary"]

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        assert answered(request.messages), "calls and results do not match"
        self.requests.append(request)
        count = prompt_tokens(request)
        if request.purpose == "turn" and count > self.fits:
            self.refused.append(request)
            limit = (self.fits, count) if self.told else (None, None)
            raise ProviderError(ErrorKind.CONTEXT_OVERFLOW, "too long", limit=limit[0], actual=limit[1])
        made = self._answer(request, count)
        if isinstance(made, ProviderError):
            raise made
        yield Opened(usage=Usage(count, 1))
        for index, block in enumerate(made.blocks):
            if isinstance(block, TextBlock):
                yield Delta(index, "text", block.text)
        yield made

    def _answer(self, request: Request, count: int) -> Finished | ProviderError:
        if request.purpose == "summary":
            made = self.summary(request)
            if not isinstance(made, str):
                return made
            return Finished((TextBlock(made),), "end_turn", Usage(count, text_tokens(made)))
        if self.rounds <= 0 or request.tool_choice == "none":
            return Finished((TextBlock("done"),), "end_turn", Usage(count, 10))
        self.rounds -= 1
        call = asks(self.tool, n=self.rounds)
        return Finished((TextBlock(f"round {self.rounds}"), call), "tool_use", Usage(count, 30))

    async def aclose(self) -> None:
        pass


def small_route(
    window: int = 60_000, provider: str = "openai", source: str = "payg", model: str = "some-model"
) -> Route:
    """A route whose window was set by the person."""
    return Catalog().route(model, provider, source, window=window)
