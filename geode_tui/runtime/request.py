"""The one request path: assemble, allow-list, budget, fit check, send; and the retries of one request.

Later stages have their place in between: middleware before the allow-list, maintenance before the fit check.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from uuid import uuid4

import msgspec

from geode_tui.context.estimate import Prefix, confirmed, plausible
from geode_tui.context.prompt import cache_marks
from geode_tui.core.endings import Ending
from geode_tui.core.events import (
    ContextFigures,
    LlmCallEnded,
    LlmCallFailed,
    LlmCallRetried,
    LlmCallStarted,
    WrapUpStarted,
)
from geode_tui.core.messages import Block, Message, ToolCallBlock
from geode_tui.core.text import Redactor, clean_line
from geode_tui.core.usage import Usage
from geode_tui.log.writer import Tx
from geode_tui.providers.base import Finished, Request
from geode_tui.providers.errors import ErrorKind, ProviderError
from geode_tui.routes.budget import budget_of
from geode_tui.routes.prices import bill, cost_micro, price_tiers, worst_micro
from geode_tui.routes.shape import MAX_TOKENS, shape
from geode_tui.runtime.answers import was_cut
from geode_tui.runtime.caching import cache_key
from geode_tui.runtime.guards import time_bound, wrap_up_output
from geode_tui.runtime.retries import Stop, decide, smaller_output
from geode_tui.runtime.session import Session, TurnEnd
from geode_tui.runtime.spending import check_cost
from geode_tui.runtime.streaming import AnswerStream

REFUSALS = {"refusal", "content_filter"}


class Draft(msgspec.Struct, frozen=True):
    """A request that is ready to go, and the gauge as of now."""

    request: Request
    context: ContextFigures
    prefix: Prefix
    wrap_up: str
    """The limit that makes this answer the last, or empty."""


class RequestPath:
    """See the module."""

    def __init__(self, session: Session, redact: Redactor, dice: Callable[[], float] = random.random) -> None:
        self._session = session
        self._redact = redact
        self._dice = dice

    def prepare(self, wrap_up: str) -> Draft:
        """Everything before sending: the request, its route's budget, the gauge, and the read-only fit check.

        ``wrap_up`` names the limit that makes this answer the last, or is empty. Raises `TurnEnd` when there is
        nothing that could be sent.
        """
        draft = self._draft(wrap_up)
        if not fits(draft.context):
            raise TurnEnd(Ending.CONTEXT_EXHAUSTED, _too_large(draft.context))
        if self._session.limits.cost_budget_micro and self._worst(draft) is None:
            raise TurnEnd(
                Ending.MODEL_ACTION_REQUIRED,
                f"no price is known for {draft.request.model}, so the cost budget cannot be kept:"
                " set it to 0 or choose another model",
            )
        return draft

    def _draft(self, wrap_up: str) -> Draft:
        """Steps 1 to 4 of RUNTIME.md 2.1."""
        session = self._session
        wanted = wrap_up_output(MAX_TOKENS, session.route.window) if wrap_up else MAX_TOKENS
        shaped = shape(session.route, wanted, session.options.effort, closing=bool(wrap_up), most=session.output_limit)
        messages = tuple(session.history)
        request = Request(
            model=session.route.model,
            system=session.system,
            messages=messages,
            tools=session.specs,
            tool_choice="none" if wrap_up else "auto",
            max_tokens=shaped.max_tokens,
            thinking=shaped.thinking,
            thinking_budget=shaped.thinking_budget,
            effort=shaped.effort,
            cache_key=cache_key(session.id, session.route, session.system, session.specs),
            cache_messages=cache_marks(messages),
            compare_with=session.cache.compare_with(session.route),
        )
        budget = budget_of(session.route, shaped.reserve)
        prefix = session.prefix
        context = session.meter.figures(session.route, budget, prefix, simulated=session.provider.simulated)
        context = msgspec.structs.replace(context, price_tiers=price_tiers(session.route, session.clock.now()))
        return Draft(request, context, prefix, wrap_up)

    async def send(self, draft: Draft) -> tuple[Finished, Message, int]:
        """One round's model call.

        Returns the answer, its committed message and that message's seq, 0 for a refusal, which has none. Raises
        `TurnEnd` when there will be no answer.
        """
        if draft.wrap_up:
            note = WrapUpStarted(draft.wrap_up, draft.request.max_tokens)
            await self._session.journal.write(lambda tx: tx.event(note))
        return await self._with_retries(draft)

    # -- attempts ---------------------------------------------------------------------------------------------------
    async def _with_retries(self, draft: Draft) -> tuple[Finished, Message, int]:
        session = self._session
        call_id = uuid4().hex
        started = session.clock.monotonic()
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._attempt(draft, call_id, attempt)
            except ProviderError as error:
                if (lower := smaller_output(error, draft.request.max_tokens)) is not None:
                    session.output_limit = lower
                    draft = self._draft(draft.wrap_up)
                    await self._again(error, call_id, attempt, 0.0)
                    continue
                elapsed = session.clock.monotonic() - started
                await self._wait_or_stop(error, call_id, attempt, elapsed)

    async def _again(
        self, error: ProviderError, call_id: str, attempt: int, delay_s: float, most: int | None = None
    ) -> None:
        """Say that the request will be sent again."""
        at = self._session.clock.now() + delay_s
        retried = LlmCallRetried(call_id, attempt + 1, error.kind.value, round(delay_s, 3), at, most)
        await self._session.journal.write(lambda tx: tx.event(retried))

    async def _wait_or_stop(self, error: ProviderError, call_id: str, attempt: int, elapsed: float) -> None:
        session = self._session
        step = decide(error, attempt, elapsed, session.options.retry_for_s, self._dice())
        line = clean_line(self._redact(error.message), 300)
        if isinstance(step, Stop):
            raise TurnEnd(step.ending, f"{error.kind.value}: {line}; {step.advice}", error_type=error.kind.value)
        await check_cost(session)
        limits, bound = session.limits, time_bound(session.limits, session.clocks())
        delay = step.delay_s if bound is None else min(step.delay_s, max(0.0, bound[0]))
        await self._again(error, call_id, attempt, delay, step.max_attempts)
        hurried = await session.countdown.wait(delay)
        if not hurried and bound is not None and step.delay_s >= bound[0] and session.limits == limits:
            raise TurnEnd(bound[1], f"the time was over while waiting to ask again ({error.kind.value}: {line})")

    async def _attempt(self, draft: Draft, call_id: str, attempt: int) -> tuple[Finished, Message, int]:
        session = self._session
        started = self._intent(draft, call_id, attempt)
        session.journal.probe("request: before intent")
        await session.journal.write(lambda tx: tx.event(started), durable=True)
        session.open.llm = started
        session.journal.probe("request: after intent")
        begun = session.clock.monotonic()
        stream = AnswerStream(session)
        try:
            answer = await stream.consume(session.provider, draft.request)
        except ProviderError as error:
            await self._failed(started, error, stream.usage)
            raise
        session.journal.probe("request: after effect")
        latency = int((session.clock.monotonic() - begun) * 1000)
        least = session.meter.least(session.route, draft.prefix)
        message, seq = await self._commit(draft, started, answer, latency)
        session.journal.probe("request: after row")
        if was_cut(session.route.provider, answer.usage.prompt_tokens, least):
            raise TurnEnd(
                Ending.CONTEXT_EXHAUSTED,
                _cut_prompt(answer.usage.prompt_tokens, draft.context.used),
                error_type=ErrorKind.SILENT_OVERFLOW.value,
            )
        return answer, message, seq

    def _intent(self, draft: Draft, call_id: str, attempt: int) -> LlmCallStarted:
        session = self._session
        return LlmCallStarted(
            call_id=call_id,
            attempt=attempt,
            purpose=draft.request.purpose,
            model=draft.request.model,
            provider=session.provider.name,
            source=session.provider.source,
            effort=draft.request.effort,
            max_tokens=draft.request.max_tokens,
            context=draft.context,
            worst_micro=self._worst(draft),
            forced=bool(draft.wrap_up),
        )

    def _worst(self, draft: Draft) -> int | None:
        session = self._session
        return worst_micro(session.route, draft.context.used, draft.request.max_tokens, session.clock.now())

    async def _commit(
        self, draft: Draft, started: LlmCallStarted, answer: Finished, latency_ms: int
    ) -> tuple[Message, int]:
        """The message row and its events, in one transaction; the message and its seq.

        A refusal leaves no message behind: sent again, it would make the model refuse again (RUNTIME.md 8.3).
        """
        session = self._session
        refused = answer.stop_reason in REFUSALS
        usage = answer.usage
        cost, beside = bill(session.route, usage, answer.extra_usage, session.clock.now(), answer.reported_micro)
        message = Message("assistant", _unique_calls(answer.blocks, session.calls), "agent")
        counted = self._counted(draft, usage)
        sent_at = session.clock.now() - latency_ms / 1000
        watched = session.cache.answered(started.call_id, draft.request, session.route, answer, sent_at)

        def work(tx: Tx) -> int:
            seq = 0
            if not refused:
                number, seq = session.open.message or tx.open_message()
                tx.complete_message(number, seq, message, answer.stop_reason, usage.output_tokens)
                tx.session(message_count=seq)
            elif session.open.message is not None:
                tx.interrupt_message(*session.open.message)
            ended = LlmCallEnded(
                call_id=started.call_id,
                attempt=started.attempt,
                purpose=started.purpose,
                model=started.model,
                provider=started.provider,
                source=started.source,
                latency_ms=latency_ms,
                usage=usage,
                cost_micro=cost,
                beside=beside,
                stop_reason=clean_line(answer.stop_reason, 60),
                context=counted,
                response_id=answer.response_id,
                response_model=clean_line(answer.model, 80),
                message_seq=seq or None,
                simulated=session.provider.simulated,
                prefix=draft.prefix.digest,
                layers=watched.sent.layers,
            )
            tx.event(ended)
            for event in watched.events:
                tx.event(event)
            tx.session(round_count=session.rounds)
            return seq

        session.journal.probe("request: before row")
        seq = await session.journal.write(work)
        session.open.message = session.open.llm = None
        session.confirm(usage, draft.prefix)
        session.cache.keep(watched.sent)
        if not refused:
            session.append(message, usage)
        session.pay(started.call_id, started.attempt, usage if beside is None else usage.plus(beside), cost)
        session.turn_output += usage.output_tokens
        session.turn_thinking += usage.reasoning_tokens or 0
        return message, seq

    def _counted(self, draft: Draft, usage: Usage) -> ContextFigures:
        """The gauge with the provider's own count; an impossible one (more than the window) is not believed."""
        context = draft.context
        if not plausible(usage.prompt_tokens, self._session.route):
            return msgspec.structs.replace(context, suspect=True)
        return confirmed(context, usage.prompt_tokens)

    async def _failed(self, started: LlmCallStarted, error: ProviderError, streamed: Usage) -> None:
        session = self._session
        usage = error.usage or (streamed if streamed != Usage() else None)
        cost = cost_micro(session.route, usage, session.clock.now()) if usage else None
        failed = failed_call(
            started,
            error.kind.value,
            clean_line(self._redact(error.message), 300),
            usage,
            cost,
            visible=error.visible,
            simulated=session.provider.simulated,
        )
        message = session.open.message

        def work(tx: Tx) -> None:
            if message is not None:
                tx.interrupt_message(*message)
            tx.event(failed)

        await session.journal.write(work)
        session.open.message = session.open.llm = None
        session.pay(started.call_id, started.attempt, usage, cost)


def failed_call(
    started: LlmCallStarted,
    error_type: str,
    message: str,
    usage: Usage | None,
    cost: int | None,
    *,
    visible: bool = False,
    simulated: bool = False,
) -> LlmCallFailed:
    """The end of a request that has no answer."""
    return LlmCallFailed(
        call_id=started.call_id,
        attempt=started.attempt,
        purpose=started.purpose,
        model=started.model,
        provider=started.provider,
        source=started.source,
        error_type=error_type,
        severity="warning",
        message=message,
        usage=usage,
        cost_micro=cost,
        visible=visible,
        simulated=simulated,
    )


def fits(context: ContextFigures) -> bool:
    """The read-only fit check (RUNTIME.md 1.3): fires nothing, changes nothing."""
    return context.used <= context.budget


def _cut_prompt(read: int, sent: int) -> str:
    return (
        f"the server read {read} tokens of about {sent} and answered without the rest: give the model a larger context"
        " there, or tell geode-tui its size with context_window, and start a new session. Nothing was reset"
    )


def _too_large(context: ContextFigures) -> str:
    largest = max(context.parts, key=lambda name: context.parts[name], default="")
    return (
        f"the conversation needs about {context.used} tokens and {context.budget} fit (most of it {largest});"
        " start a new session. Nothing was reset"
    )


def _unique_calls(blocks: tuple[Block, ...], taken: Iterable[str]) -> tuple[Block, ...]:
    """``blocks`` with call ids that no other call of the session has: a result belongs to one call."""
    made: list[Block] = []
    used = set(taken)
    for block in blocks:
        if isinstance(block, ToolCallBlock) and (not block.call_id or block.call_id in used):
            stem, number = block.call_id or "call", 2
            while f"{stem}-{number}" in used:
                number += 1
            block = msgspec.structs.replace(block, call_id=f"{stem}-{number}")
        if isinstance(block, ToolCallBlock):
            used.add(block.call_id)
        made.append(block)
    return tuple(made)
