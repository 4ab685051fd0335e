"""The one request path: assemble, middleware, allow-list, budget, maintain once, fit check, send (RUNTIME.md 2.1); the
retries of one request, and its recoveries when it does not fit.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from uuid import uuid4

from geode_tui.context.pressure import Need
from geode_tui.context.window import WindowManager
from geode_tui.core.endings import Ending
from geode_tui.core.events import ContextFigures, LlmCallRetried, WrapUpStarted
from geode_tui.core.text import Redactor, clean_line
from geode_tui.providers.errors import ErrorKind, ProviderError
from geode_tui.routes.budget import budget_of
from geode_tui.runtime.answers import was_cut
from geode_tui.runtime.auxiliary import Auxiliary
from geode_tui.runtime.drafting import Drafting
from geode_tui.runtime.guards import time_bound
from geode_tui.runtime.keeper import SessionPorts
from geode_tui.runtime.middleware import MiddlewareError
from geode_tui.runtime.observed import output_instead
from geode_tui.runtime.retries import Stop, decide, smaller_output
from geode_tui.runtime.sending import Answered, Draft, Sender
from geode_tui.runtime.session import Session, TurnEnd
from geode_tui.runtime.spending import check_cost

RECOVERIES = 2
"""Attempts of one request to become small enough (RUNTIME.md, decision 1)."""


class RequestPath:
    """See the module. ``window`` keeps the conversation in shape, for whoever asks by hand as well."""

    def __init__(self, session: Session, redact: Redactor, dice: Callable[[], float] = random.random) -> None:
        self._session = session
        self._redact = redact
        self._dice = dice
        self._sender = Sender(session, redact)
        self._drafting = Drafting(session)
        self._recoveries = 0
        self.ports = SessionPorts(session, Auxiliary(session, self._drafting, self._sender, redact, dice))
        self.window = WindowManager(lambda: session.conversation, self.ports)

    async def prepare(self, wrap_up: str) -> Draft:
        """Everything before sending. ``wrap_up`` names the limit that makes this answer the last, or is empty.

        Raises `TurnEnd` when there is nothing that could be sent.
        """
        session = self._session
        self._recoveries = 0
        draft = await self._drafting.through_middleware(self._drafting.draft(wrap_up))
        if draft.original:
            await self.window.maintain(self.need(draft), session.id, session.turn_id)
            await check_cost(session)
            draft = self._drafting.refreshed(draft)
        while not fits(draft.context):
            if not await self._recovered(draft, "recovery"):
                raise TurnEnd(Ending.CONTEXT_EXHAUSTED, exhausted(draft.context))
            draft = self._drafting.refreshed(draft)
        if session.limits.cost_budget_micro and self._sender.worst(draft) is None:
            raise TurnEnd(
                Ending.MODEL_ACTION_REQUIRED,
                f"no price is known for {draft.request.model}, so the cost budget cannot be kept:"
                " set it to 0 or choose another model",
            )
        return draft

    def need(self, draft: Draft | None = None) -> Need:
        """What the next request, or ``draft``, may take."""
        session = self._session
        made = draft or self._drafting.draft("")
        budget = budget_of(session.route, made.context.output_reserve)
        return Need(session.route, budget, made.prefix, session.provider.simulated)

    # -- sending ------------------------------------------------------------------------------------------------------
    async def send(self, draft: Draft) -> Answered:
        """One round's model call. Raises `TurnEnd` when there will be no answer."""
        if draft.wrap_up:
            note = WrapUpStarted(draft.wrap_up, draft.request.max_tokens)
            await self._session.journal.write(lambda tx: tx.event(note))
        answered = await self._with_retries(draft)
        self._recoveries = 0
        read = answered.answer.usage.prompt_tokens
        if was_cut(self._session.route.provider, read, answered.least):
            raise TurnEnd(
                Ending.CONTEXT_EXHAUSTED,
                _cut_prompt(read, draft.context.used),
                error_type=ErrorKind.SILENT_OVERFLOW.value,
            )
        return answered

    async def _with_retries(self, draft: Draft) -> Answered:
        session = self._session
        call_id = uuid4().hex
        started = session.clock.monotonic()
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._sender.attempt(draft, call_id, attempt)
            except MiddlewareError as error:
                raise TurnEnd(Ending.MODEL_ACTION_REQUIRED, f"the request was not sent: {error}") from None
            except ProviderError as error:
                if (smaller := await self._smaller(draft, error)) is not None:
                    draft = smaller
                    await self._again(error, call_id, attempt, 0.0)
                    continue
                elapsed = session.clock.monotonic() - started
                await self._wait_or_stop(error, draft, call_id, attempt, elapsed)

    async def _smaller(self, draft: Draft, error: ProviderError) -> Draft | None:
        """``draft`` made to fit what the provider said, in its output or in its history; None where nothing can be."""
        session, asked = self._session, draft.request.max_tokens
        if (lower := smaller_output(error, asked)) is not None:
            session.output_limit = lower
            return self._drafting.with_output(draft, lower)
        own = draft.original and not error.visible
        if error.kind is ErrorKind.HISTORY_INVALID and own and session.conversation.forget_thinking():
            return self._drafting.refreshed(draft)
        if error.kind is not ErrorKind.CONTEXT_OVERFLOW or error.visible:
            return None
        await session.observe(error.limit, error.actual, draft.context.used)
        if (lower := output_instead(error, asked)) is not None:
            return self._drafting.with_output(draft, lower)
        if not await self._recovered(draft, "provider_overflow", error):
            return None
        return self._drafting.refreshed(draft)

    async def _recovered(self, draft: Draft, cause: str, error: ProviderError | None = None) -> bool:
        """One bounded attempt to make the conversation smaller; whether it is (RUNTIME.md 2.7)."""
        if not draft.original or self._recoveries >= RECOVERIES:
            return False
        self._recoveries += 1
        counted = None
        if error is not None and error.actual:
            counted = error.actual - (error.output or 0)
        trigger = "provider_overflow" if cause == "provider_overflow" else "recovery"
        smaller = await self.window.recover(self.need(draft), trigger, counted=counted)  # type: ignore[arg-type]
        await check_cost(self._session)
        return smaller

    async def _again(
        self, error: ProviderError, call_id: str, attempt: int, delay_s: float, most: int | None = None
    ) -> None:
        """Say that the request will be sent again."""
        at = self._session.clock.now() + delay_s
        retried = LlmCallRetried(call_id, attempt + 1, error.kind.value, round(delay_s, 3), at, most)
        await self._session.journal.write(lambda tx: tx.event(retried))

    async def _wait_or_stop(
        self, error: ProviderError, draft: Draft, call_id: str, attempt: int, elapsed: float
    ) -> None:
        session = self._session
        step = decide(error, attempt, elapsed, session.options.retry_for_s, self._dice())
        line = clean_line(self._redact(error.message), 300)
        if isinstance(step, Stop):
            detail = f"{error.kind.value}: {line}; {step.advice}"
            if step.ending is Ending.CONTEXT_EXHAUSTED:
                detail = f"{exhausted(draft.context, refused=True)} The provider said: {line}"
            raise TurnEnd(step.ending, detail, error_type=error.kind.value)
        await check_cost(session)
        limits, bound = session.limits, time_bound(session.limits, session.clocks())
        delay = step.delay_s if bound is None else min(step.delay_s, max(0.0, bound[0]))
        await self._again(error, call_id, attempt, delay, step.max_attempts)
        hurried = await session.countdown.wait(delay)
        if not hurried and bound is not None and step.delay_s >= bound[0] and session.limits == limits:
            raise TurnEnd(bound[1], f"the time was over while waiting to ask again ({error.kind.value}: {line})")


def fits(context: ContextFigures) -> bool:
    """The read-only fit check (RUNTIME.md 1.3): fires nothing, changes nothing. Against a window that is only assumed
    nothing fails: the provider's word decides.
    """
    return context.used <= context.budget or context.provenance == "unknown_fallback"


def _cut_prompt(read: int, sent: int) -> str:
    return (
        f"the server read {read} tokens of about {sent} and answered without the rest: give the model a larger context"
        " there, or tell geode-tui its size with context_window, and start a new session. Nothing was reset"
    )


def exhausted(context: ContextFigures, *, refused: bool = False) -> str:
    """The fixed notice of a conversation that no longer fits: no model writes it, and it claims no reset."""
    largest = max(context.parts, key=lambda name: context.parts[name], default="")
    fixed = context.parts.get("system", 0) + context.parts.get("tools", 0)
    why = f"the conversation needs about {context.used} tokens and {context.budget} fit (most of it {largest})"
    if fixed > context.budget:
        why = f"the system prompt and the tools alone take {fixed} tokens and {context.budget} fit"
    elif refused and context.used <= context.budget:
        why = f"the provider refuses the conversation, about {context.used} tokens, as too large"
    return (
        f"{why}, and the turn stopped. Start a new session, or run /compact; only /compact --prune leaves messages out"
        " without a summary. Nothing was reset."
    )
