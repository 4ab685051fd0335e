"""Calls beside the conversation: on the session's own route, under their own purpose, and billed to the run.

They carry messages of their own, so only the fit check concerns them; what goes wrong is their caller's to handle
(RUNTIME.md 2.1, decision 8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from uuid import uuid4

import msgspec

from geode_tui.context.figures import figures
from geode_tui.context.prefix import Prefix
from geode_tui.context.prompt import cache_marks
from geode_tui.context.summary_source import Source
from geode_tui.context.upkeep import NativeAnswer, SummaryAnswer, SummaryFailed
from geode_tui.context.view import Sent
from geode_tui.core.events import LlmCallRetried
from geode_tui.core.messages import Message, OpaqueBlock, user_text
from geode_tui.core.native import content_of, succeeded
from geode_tui.core.text import Redactor, clean_line
from geode_tui.providers.base import Edits, Purpose, Request, SystemPart
from geode_tui.providers.errors import ErrorKind, ProviderError
from geode_tui.routes.budget import budget_of
from geode_tui.routes.shape import MAX_TOKENS, shape
from geode_tui.runtime.drafting import Drafting
from geode_tui.runtime.middleware import MiddlewareError
from geode_tui.runtime.retries import Stop, decide, smaller_output
from geode_tui.runtime.sending import REFUSALS, Answered, Draft, Sender
from geode_tui.runtime.session import Session, TurnEnd

RETRY_FOR_S = 60.0
"""How long a summary waits for its provider: the conversation waits with it."""
DREAM_S = 120.0
"""A dream may take so long, seconds: nobody waits for it, and a worker that would leave stays no longer for it."""
WHOLE_S = 300.0
"""A summary that takes longer than this, seconds, is given up: nothing may hold up a run for ever."""


class Auxiliary:
    """See the module."""

    def __init__(
        self, session: Session, drafting: Drafting, sender: Sender, redact: Redactor, dice: Callable[[], float]
    ) -> None:
        self._session = session
        self._drafting = drafting
        self._sender = sender
        self._redact = redact
        self._dice = dice

    async def summarise(self, source: Source, max_tokens: int) -> SummaryAnswer:
        """A model's summary of ``source``. Raises `SummaryFailed`."""
        try:
            async with asyncio.timeout(WHOLE_S):
                answered = await self._ask(lambda most: self._draft("summary", source, most), max_tokens)
        except TimeoutError:
            raise SummaryFailed("timeout", f"the model gave none within {WHOLE_S:.0f} s") from None
        answer = answered.answer
        route = self._session.route
        return SummaryAnswer(
            answered.message.text, answer.stop_reason, answer.model or route.model, route.provider,
            answer.usage.output_tokens,
        )  # fmt: skip

    async def compact(self, upto: int, instructions: str) -> NativeAnswer:
        """The provider's own compaction of what is sent of the conversation up to the message ``upto``.

        Raises `SummaryFailed`, also where the answer holds no block with a text: that one is not kept.
        """
        try:
            async with asyncio.timeout(WHOLE_S):
                answered = await self._ask(lambda most: self._compaction(upto, instructions, most), MAX_TOKENS)
        except TimeoutError:
            raise SummaryFailed("timeout", f"it gave none within {WHOLE_S:.0f} s") from None
        answer = answered.answer
        block = next((b for b in answer.blocks if isinstance(b, OpaqueBlock) and succeeded(b)), None)
        if block is None:
            line = f"its answer holds no summary (stop reason {clean_line(answer.stop_reason, 60)})"
            raise SummaryFailed("native_failed", line)
        model = answer.model or self._session.route.model
        return NativeAnswer(block.raw, block.provider, content_of(block.raw), model)

    async def dream(self, source: Source, max_tokens: int, most_micro: int | None) -> SummaryAnswer:
        """A model's dream of ``source``, asked for once: there will be another turn. It may cost ``most_micro``
        micro-dollars; None is any price. Raises `SummaryFailed`.
        """
        try:
            async with asyncio.timeout(DREAM_S):
                answered = await self._once(self._draft("dream", source, max_tokens), most_micro)
        except TimeoutError:
            await self._sender.give_up("timeout", f"no dream within {DREAM_S:.0f} s")
            raise SummaryFailed("timeout", f"the model gave none within {DREAM_S:.0f} s") from None
        except asyncio.CancelledError:
            await self._sender.give_up("cancelled", "the worker left")
            raise
        answer = answered.answer
        if answer.stop_reason in REFUSALS:
            raise SummaryFailed("refusal", "the model refused")
        route = self._session.route
        model = answer.model or route.model
        text = answered.message.text
        return SummaryAnswer(text, answer.stop_reason, model, route.provider, answer.usage.output_tokens)

    async def _once(self, draft: Draft, most_micro: int | None) -> Answered:
        """Send ``draft``, and once only. Raises `SummaryFailed`."""
        try:
            draft = await self._drafting.through_middleware(draft)
            if draft.context.used > draft.context.budget:
                raise SummaryFailed("context_overflow", f"its request needs about {draft.context.used} tokens")
            worst = self._sender.worst(draft)
            if most_micro is not None and (worst is None or worst > most_micro):
                raise SummaryFailed("share", "it may cost more than the dreams' share of the cost budget leaves")
            return await self._sender.attempt(draft, uuid4().hex, 1)
        except TurnEnd as end:
            raise SummaryFailed("middleware", end.detail) from None
        except MiddlewareError as error:
            raise SummaryFailed("middleware", str(error)) from None
        except ProviderError as error:
            line = clean_line(self._redact(error.message), 200)
            raise SummaryFailed(error.kind.value, f"{error.kind.value}: {line}") from None

    async def _ask(self, make: Callable[[int], Draft], max_tokens: int) -> Answered:
        """Send what ``make`` makes for the output that it is given. Raises `SummaryFailed`."""
        session, call_id = self._session, uuid4().hex
        started, attempt, wanted = session.clock.monotonic(), 0, max_tokens
        while True:
            attempt += 1
            draft = make(wanted)
            try:
                draft = await self._drafting.through_middleware(draft)
            except TurnEnd as end:
                raise SummaryFailed("middleware", end.detail) from None
            if draft.context.used > draft.context.budget:
                line = f"its request needs about {draft.context.used} tokens and {draft.context.budget} fit"
                raise SummaryFailed("context_overflow", line, too_large=True)
            try:
                return await self._sender.attempt(draft, call_id, attempt)
            except MiddlewareError as error:
                raise SummaryFailed("middleware", str(error)) from None
            except ProviderError as error:
                if (lower := smaller_output(error, wanted)) is not None:
                    wanted = lower
                    continue
                await self._wait(error, call_id, attempt, session.clock.monotonic() - started)

    async def _wait(self, error: ProviderError, call_id: str, attempt: int, elapsed: float) -> None:
        """Wait for the next attempt; raises `SummaryFailed` where there is none."""
        session = self._session
        line = clean_line(self._redact(error.message), 200)
        if error.kind is ErrorKind.EMPTY:
            raise SummaryFailed("summary_empty", "the model's answer was empty")
        limit = min(RETRY_FOR_S, session.options.retry_for_s)
        step = decide(error, attempt, elapsed, limit, self._dice())
        if isinstance(step, Stop):
            too_large = error.kind is ErrorKind.CONTEXT_OVERFLOW
            raise SummaryFailed(error.kind.value, f"{error.kind.value}: {line}", too_large=too_large)
        at = session.clock.now() + step.delay_s
        retried = LlmCallRetried(call_id, attempt + 1, error.kind.value, round(step.delay_s, 3), at, step.max_attempts)
        await session.journal.write(lambda tx: tx.event(retried))
        await session.countdown.wait(step.delay_s)

    def _compaction(self, upto: int, instructions: str, max_tokens: int) -> Draft:
        """The conversation's own request up to ``upto``, which asks for nothing but a compaction: what stands before it
        is what is cached of the conversation.
        """
        draft = self._drafting.draft("")
        messages = up_to(self._session.conversation.sent, upto)
        request = msgspec.structs.replace(
            draft.request,
            messages=messages,
            cache_messages=cache_marks(messages),
            max_tokens=min(draft.request.max_tokens, max_tokens),
            edits=Edits(),
            compare_with=None,
            compaction=instructions,
            purpose="summary",
        )
        return self._drafting.measured(msgspec.structs.replace(draft, request=request, original=False))

    def _draft(self, purpose: Purpose, source: Source, max_tokens: int) -> Draft:
        session = self._session
        shaped = shape(session.route, max_tokens, session.options.effort, closing=True, most=session.output_limit)
        request = Request(
            model=session.route.model,
            system=(SystemPart(source.system),),
            messages=(user_text(source.text, "runtime"),),
            max_tokens=shaped.max_tokens,
            thinking=shaped.thinking,
            effort=shaped.effort,
            purpose=purpose,
        )
        count, tokens = session.meter.counter.count(source.system), source.tokens
        parts = {"system": count, "user": max(0, tokens - count)}
        budget = budget_of(session.route, shaped.reserve)
        context = figures(tokens, parts, session.route, budget, "estimated", simulated=session.provider.simulated)
        return Draft(request, context, Prefix(count), "", original=False)


def up_to(sent: Sequence[Sent], upto: int) -> tuple[Message, ...]:
    """The messages that are sent up to the message ``upto``, with whatever stands for earlier ones."""
    end = next((at for at, each in enumerate(sent) if each.seq > upto), len(sent))
    return tuple(each.message for each in sent[:end])
