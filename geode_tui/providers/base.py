"""The port between the runtime and whatever answers: a neutral request in, a neutral stream out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, Protocol, TypeAlias

import msgspec

from geode_tui.core.messages import Block, Message
from geode_tui.core.tools import ToolSpec
from geode_tui.core.usage import Usage

Purpose: TypeAlias = Literal["turn", "summary", "dream", "subagent", "title"]
Thinking: TypeAlias = Literal["default", "off", "adaptive", "budgeted"]
"""``default`` says nothing, so that the provider's own default holds."""
StopReason: TypeAlias = str
"""What ended the answer. Adapters translate their own words into these: end_turn, tool_use, max_tokens, stop_sequence,
pause_turn, refusal, content_filter, compaction, model_context_window_exceeded. Anything else is the provider's own
word, shown verbatim and treated as incomplete."""


class SystemPart(msgspec.Struct, frozen=True):
    """A part of the system prompt; ``cache`` marks the end of a prefix that should be cached (``"5m"``, ``"1h"``)."""

    text: str
    cache: Literal["5m", "1h"] | None = None


class Edits(msgspec.Struct, frozen=True):
    """What a provider is asked to take off the prompt by itself (RUNTIME.md 3.1), in tokens of the prompt.

    At ``compact_at`` it replaces the conversation so far by a block of its own. At ``clear_at`` it empties tool
    results: all but the newest ``clear_keep`` and those of the tools ``clear_except``, where that takes off at least
    ``clear_at_least``. None asks for nothing.
    """

    compact_at: int | None = None
    clear_at: int | None = None
    clear_keep: int = 0
    clear_at_least: int = 0
    clear_except: tuple[str, ...] = ()


class Request(msgspec.Struct, frozen=True):
    """A finished request: everything that shapes the answer is in it."""

    model: str
    system: tuple[SystemPart, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    max_tokens: int = 32_768
    thinking: Thinking = "default"
    thinking_budget: int = 0
    """Tokens, for ``budgeted`` thinking."""
    effort: str | None = None
    cache_messages: tuple[int, ...] = ()
    """Indexes into ``messages`` after which a cache breakpoint is wanted."""
    cache_key: str = ""
    """Names the prefix to providers that route by such a key; the same for all requests of a session."""
    betas: tuple[str, ...] = ()
    """Beta features to switch on, merged with those the adapter needs itself."""
    compare_with: str | None = None
    """Asks why the cache missed: the response id to compare with, empty for a first request; None does not ask."""
    edits: Edits = Edits()
    compaction: str | None = None
    """Asks for a compaction of the messages and nothing else: how it is to be written, empty for the provider's own
    way. None is an ordinary request. The answer is one block and stops for ``compaction``; where no summary came of it
    there is no block, and it stops for the reason why. Either way the call is in ``extra_usage`` alone.
    """
    purpose: Purpose = "turn"


class Opened(msgspec.Struct, frozen=True):
    """The provider accepted the request and the answer began. ``usage`` is what is known so far (a lower bound)."""

    response_id: str = ""
    model: str = ""
    usage: Usage = Usage()


class Delta(msgspec.Struct, frozen=True):
    """A piece of block number ``block``. ``kind`` is ``text``, ``thinking`` or ``tool_call`` (raw argument text);
    ``name`` is the tool's name on the first piece of a call.
    """

    block: int
    kind: Literal["text", "thinking", "tool_call"]
    text: str
    name: str = ""


class Progress(msgspec.Struct, frozen=True):
    """Usage known so far, cumulative: the latest replaces the one before."""

    usage: Usage


class CacheMiss(msgspec.Struct, frozen=True):
    """The provider's own word on why a prefix was not read from its cache, and the tokens it cost, where it says."""

    reason: str
    tokens: int | None = None


class Cleared(msgspec.Struct, frozen=True):
    """Results that the provider emptied in the prompt, and the tokens that this took off it."""

    tool_uses: int
    tokens: int


class Finished(msgspec.Struct, frozen=True):
    """The complete answer: the last event of every stream that did not fail.

    ``usage`` is the call that read the whole conversation: the size of the prompt follows from it. ``extra_usage`` are
    further calls that the provider made for the same answer and bills as well (a loop over its own tools, a
    compaction), each priced by its own size. ``reported_micro`` is a price that the provider itself put on the answer,
    micro-dollars.
    """

    blocks: tuple[Block, ...]
    stop_reason: StopReason
    usage: Usage
    response_id: str = ""
    model: str = ""
    cache_miss: CacheMiss | None = None
    reported_micro: int | None = None
    extra_usage: tuple[Usage, ...] = ()
    cleared: Cleared | None = None


StreamEvent: TypeAlias = Opened | Delta | Progress | Finished


class Provider(Protocol):
    """An adapter. One instance serves one worker; it may be used for several requests at a time."""

    name: str
    """Provider name of the route: ``anthropic``, ``offline`` ..."""
    source: str
    """Route source: ``payg``, ``subscription``, ``adapter``."""
    simulated: bool
    """Whether its money is simulated: marked so everywhere and kept out of every real total."""

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Send ``request`` once. Ends with `Finished` or raises `providers.errors.ProviderError`; it never retries.
        Cancelling the consumer closes the connection.
        """
        ...

    async def aclose(self) -> None:
        """Close what is kept open."""
        ...
