"""One attempt at a request: its intent, the stream, and how it ended, each a row before anything else happens.

Every call of a session goes this way, whatever it is for; only a turn's answer becomes a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from geode_tui.context.changed import view_changed
from geode_tui.context.conversation import Confirmed
from geode_tui.context.estimate import plausible
from geode_tui.context.figures import confirmed
from geode_tui.context.prefix import Prefix
from geode_tui.core.events import (
    ContextFigures,
    LlmCallEnded,
    LlmCallFailed,
    LlmCallStarted,
    Payload,
    ProviderCleared,
    ProviderCompacted,
)
from geode_tui.core.layers import PromptLayers
from geode_tui.core.messages import Block, Message, ToolCallBlock
from geode_tui.core.native import compacts, compacts_only
from geode_tui.core.text import Redactor, clean_line
from geode_tui.core.usage import Usage
from geode_tui.core.views import Replay, Version
from geode_tui.log.views import add_version
from geode_tui.log.writer import Tx
from geode_tui.providers.base import Finished, Request
from geode_tui.providers.errors import ErrorKind, ProviderError
from geode_tui.routes.catalog import Route
from geode_tui.routes.prices import bill, cost_micro, read_micro, worst_micro
from geode_tui.runtime.extending import Invocation
from geode_tui.runtime.middleware import MiddlewareError
from geode_tui.runtime.session import OpenItems, Session
from geode_tui.runtime.streaming import AnswerStream

REFUSALS = {"refusal", "content_filter"}


class Draft(msgspec.Struct, frozen=True):
    """A request that is ready to go, and the gauge as of now. ``original`` is whether its messages are the session's
    own conversation: only that one is kept in shape.
    """

    request: Request
    context: ContextFigures
    prefix: Prefix
    wrap_up: str
    """The limit that makes this answer the last, or empty."""
    original: bool = True


class Answered(msgspec.Struct, frozen=True):
    """A committed answer. ``message`` and ``seq`` are those of a turn's; ``seq`` is 0 where none was written."""

    answer: Finished
    message: Message
    seq: int
    least: int = 0
    """The fewest tokens that its prompt can have had."""


class _Billed(msgspec.Struct, frozen=True):
    """What an answer cost, and of it the provider's own work ``beside`` it; ``read`` is `routes.prices.read_micro`."""

    cost: int | None
    beside: Usage | None
    beside_cost: int | None
    read: int | None


class Sender:
    """See the module. ``beside`` holds what is open of calls that go on while turns come and end."""

    def __init__(self, session: Session, redact: Redactor, beside: OpenItems | None = None) -> None:
        self._session = session
        self._redact = redact
        self._open = session.open if beside is None else beside

    async def attempt(self, draft: Draft, call_id: str, attempt: int) -> Answered:
        """Send ``draft`` once. Raises `ProviderError`, and `MiddlewareError` where one failed before it was sent."""
        session = self._session
        turn = draft.request.purpose == "turn"
        started = self._intent(draft, call_id, attempt)
        session.journal.probe("request: before intent")
        await session.journal.write(lambda tx: tx.event(started), durable=True)
        self._open.llm = started
        session.journal.probe("request: after intent")
        begun = session.clock.monotonic()
        stream = AnswerStream(session, rows=turn)
        invocations: list[Invocation] = []
        try:
            answer = await session.middleware.llm_execution(
                draft.request, lambda request: stream.consume(session.provider, request), invocations.append
            )
        except ProviderError as error:
            await self._failed(started, error, stream.usage)
            raise
        except MiddlewareError as error:
            await self._failed(started, ProviderError(ErrorKind.BAD_REQUEST, str(error)), stream.usage)
            raise
        finally:
            await session.audit(invocations)
        session.journal.probe("request: after effect")
        latency = int((session.clock.monotonic() - begun) * 1000)
        least = session.meter.least(session.route, draft.prefix) if draft.original else 0
        answered = await self._commit(draft, started, answer, latency)
        session.journal.probe("request: after row")
        return msgspec.structs.replace(answered, least=least)

    async def give_up(self, error_type: str, line: str) -> None:
        """Close the request that a cancelled attempt left open."""
        if (started := self._open.llm) is None:
            return
        simulated = self._session.provider.simulated
        failed = failed_call(started, error_type, line, None, None, simulated=simulated)
        await self._session.journal.write(lambda tx: tx.event(failed))
        self._open.llm = None

    def worst(self, draft: Draft) -> int | None:
        """What ``draft`` can cost at most, micro-dollars; None where no price is known."""
        session = self._session
        return worst_micro(session.route, draft.context.used, draft.request.max_tokens, session.clock.now())

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
            worst_micro=self.worst(draft),
            forced=bool(draft.wrap_up),
        )

    # -- answered -----------------------------------------------------------------------------------------------------
    async def _commit(self, draft: Draft, started: LlmCallStarted, answer: Finished, latency_ms: int) -> Answered:
        """The end of the request and, of a turn, its message, in one transaction.

        A refusal leaves no message behind: sent again, it would make the model refuse again (RUNTIME.md 8.3).
        """
        session = self._session
        turn = draft.request.purpose == "turn"
        kept = turn and answer.stop_reason not in REFUSALS
        usage = answer.usage
        billed = _billed(session.route, answer, session.clock.now())
        message = Message("assistant", _unique_calls(answer.blocks, session.calls), "agent")
        sent_at = session.clock.now() - latency_ms / 1000
        watched = (
            session.cache.answered(started.call_id, draft.request, session.route, answer, sent_at) if turn else None
        )
        layers = watched.sent.layers if watched is not None else None
        more = watched.events if watched is not None else ()

        replayed: list[Version] = []

        def work(tx: Tx) -> int:
            seq = 0
            if kept:
                number, seq = self._open.message or tx.open_message()
                tx.complete_message(number, seq, message, answer.stop_reason, usage.output_tokens)
                tx.session(message_count=seq)
            elif self._open.message is not None:
                tx.interrupt_message(*self._open.message)
            ended = self._ended(draft, started, answer, latency_ms, billed, seq, layers)
            for event in (ended, *_edited(draft, started.call_id, answer, message, seq), *more):
                tx.event(event)
            if seq and compacts(message):
                replayed.append(self._replay(tx, ended, draft.context.used, seq))
            tx.session(round_count=session.rounds)
            return seq

        session.journal.probe("request: before row")
        seq = await session.journal.write(work)
        self._open.message = self._open.llm = None
        if watched is not None:
            if draft.original:
                cleared = answer.cleared.tokens if answer.cleared is not None else 0
                session.conversation.confirm(message, Confirmed(usage, draft.prefix, cleared))
            session.cache.keep(watched.sent)
        if kept:
            session.append(message, seq, usage=usage, prefix=draft.prefix if draft.original else None)
            for version in replayed:
                session.conversation.take(version)
        paid = usage if billed.beside is None else usage.plus(billed.beside)
        session.pay(started.call_id, started.attempt, paid, billed.cost, started.purpose)
        if started.purpose != "dream":
            session.turn_output += usage.output_tokens
            session.turn_thinking += usage.reasoning_tokens or 0
        return Answered(answer, message, seq)

    def _replay(self, tx: Tx, ended: LlmCallEnded, before: int, seq: int) -> Version:
        """The version of the view that the provider's own compaction in the answer ``seq`` makes."""
        version = msgspec.structs.replace(
            self._session.conversation.version("provider", (Replay(seq),)),
            newest=seq,
            mode="threshold",
            tokens_before=before,
            tokens_after=ended.context.used,
            made_at=self._session.clock.now(),
        )
        add_version(tx, version)
        tx.event(view_changed(version, ended.context))
        return version

    def _ended(
        self,
        draft: Draft,
        started: LlmCallStarted,
        answer: Finished,
        latency_ms: int,
        billed: _Billed,
        seq: int,
        layers: PromptLayers | None,
    ) -> LlmCallEnded:
        return LlmCallEnded(
            call_id=started.call_id,
            attempt=started.attempt,
            purpose=started.purpose,
            model=started.model,
            provider=started.provider,
            source=started.source,
            latency_ms=latency_ms,
            usage=answer.usage,
            cost_micro=billed.cost,
            beside=billed.beside,
            beside_micro=billed.beside_cost,
            read_micro=billed.read,
            stop_reason=clean_line(answer.stop_reason, 60),
            context=_counted(draft, answer, self._session.route),
            response_id=answer.response_id,
            response_model=clean_line(answer.model, 80),
            message_seq=seq or None,
            simulated=self._session.provider.simulated,
            prefix=draft.prefix.digest,
            counted_prefix=(draft.prefix.system, draft.prefix.tools),
            original=draft.original,
            layers=layers,
        )

    # -- not answered -------------------------------------------------------------------------------------------------
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
        message = self._open.message

        def work(tx: Tx) -> None:
            if message is not None:
                tx.interrupt_message(*message)
            tx.event(failed)

        await session.journal.write(work)
        self._open.message = self._open.llm = None
        session.pay(started.call_id, started.attempt, usage, cost, started.purpose)


def _billed(route: Route, answer: Finished, ts: float) -> _Billed:
    cost, beside = bill(route, answer.usage, answer.extra_usage, ts, answer.reported_micro)
    apart = beside is not None and cost is not None and answer.reported_micro is None
    alone = cost_micro(route, answer.usage, ts) if apart else None
    beside_cost = None if cost is None or alone is None else cost - alone
    return _Billed(cost, beside, beside_cost, read_micro(route, answer.usage, ts))


def _counted(draft: Draft, answer: Finished, route: Route) -> ContextFigures:
    """The gauge with the provider's own count; an impossible one (more than the window) is not believed.

    After a compaction the prompt held that in place of the conversation. Where nothing was written on it yet, the gauge
    is that of what was sent.
    """
    shown, tokens = draft.context, answer.usage.prompt_tokens
    message = Message("assistant", answer.blocks)
    if not tokens and compacts_only(message):
        return shown
    if not plausible(tokens, route):
        return msgspec.structs.replace(shown, suspect=True)
    parts = dict(shown.parts)
    if compacts(message):
        parts = {name: parts.get(name, 0) for name in ("system", "tools")}
        parts["native"] = max(0, tokens - sum(parts.values()))
    elif answer.cleared is not None:
        parts["results"] = max(0, parts.get("results", 0) - answer.cleared.tokens)
    return confirmed(msgspec.structs.replace(shown, parts=parts), tokens)


def _edited(draft: Draft, call_id: str, answer: Finished, message: Message, seq: int) -> Iterator[Payload]:
    """What the provider says that it took off the prompt by itself. ``seq`` is that of ``message``, 0 where the answer
    became none.
    """
    if seq and compacts(message):
        yield ProviderCompacted(call_id, seq, draft.context.used, answer.usage.prompt_tokens)
    if answer.cleared is not None:
        yield ProviderCleared(call_id, answer.cleared.tool_uses, answer.cleared.tokens)


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
