"""Calls beside the conversation: on the session's own route, under their own purpose, and billed to the run.

They carry messages of their own, so only the fit check concerns them; what goes wrong is their caller's to handle
(RUNTIME.md 2.1, decision 8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import uuid4

from geode_tui.context.figures import figures
from geode_tui.context.prefix import Prefix
from geode_tui.context.summary_source import Source
from geode_tui.context.upkeep import SummaryAnswer, SummaryFailed
from geode_tui.core.events import LlmCallRetried
from geode_tui.core.messages import user_text
from geode_tui.core.text import Redactor, clean_line
from geode_tui.providers.base import Purpose, Request, SystemPart
from geode_tui.providers.errors import ErrorKind, ProviderError
from geode_tui.routes.budget import budget_of
from geode_tui.routes.shape import shape
from geode_tui.runtime.drafting import Drafting
from geode_tui.runtime.middleware import MiddlewareError
from geode_tui.runtime.retries import Stop, decide, smaller_output
from geode_tui.runtime.sending import Answered, Draft, Sender
from geode_tui.runtime.session import Session, TurnEnd

RETRY_FOR_S = 60.0
"""How long a summary waits for its provider: the conversation waits with it."""
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
                answered = await self._ask("summary", source.system, source.text, source.tokens, max_tokens)
        except TimeoutError:
            raise SummaryFailed("timeout", f"the model gave none within {WHOLE_S:.0f} s") from None
        answer = answered.answer
        route = self._session.route
        return SummaryAnswer(
            answered.message.text, answer.stop_reason, answer.model or route.model, route.provider,
            answer.usage.output_tokens,
        )  # fmt: skip

    async def _ask(self, purpose: Purpose, system: str, text: str, tokens: int, max_tokens: int) -> Answered:
        session, call_id = self._session, uuid4().hex
        started, attempt, wanted = session.clock.monotonic(), 0, max_tokens
        while True:
            attempt += 1
            draft = self._draft(purpose, system, text, tokens, wanted)
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

    def _draft(self, purpose: Purpose, system: str, text: str, tokens: int, max_tokens: int) -> Draft:
        session = self._session
        shaped = shape(session.route, max_tokens, session.options.effort, closing=True, most=session.output_limit)
        request = Request(
            model=session.route.model,
            system=(SystemPart(system),),
            messages=(user_text(text, "runtime"),),
            max_tokens=shaped.max_tokens,
            thinking=shaped.thinking,
            effort=shaped.effort,
            purpose=purpose,
        )
        count = session.meter.counter.count(system)
        parts = {"system": count, "user": max(0, tokens - count)}
        budget = budget_of(session.route, shaped.reserve)
        context = figures(tokens, parts, session.route, budget, "estimated", simulated=session.provider.simulated)
        return Draft(request, context, Prefix(count), "", original=False)
