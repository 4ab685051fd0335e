"""The agentic loop: rounds of one turn, from a person's input until there is nothing more to do or a guard says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from geode_tui.core.endings import Ending
from geode_tui.core.events import (
    HandoffTriggered,
    PromptAssembled,
    ReasoningMetrics,
    TurnCompleted,
)
from geode_tui.core.messages import Message
from geode_tui.core.native import compacts_only
from geode_tui.log.writer import Tx
from geode_tui.runtime import guards
from geode_tui.runtime.answers import NUDGE, ends_in_written_call
from geode_tui.runtime.executor import Executor
from geode_tui.runtime.request import RequestPath
from geode_tui.runtime.sending import REFUSALS
from geode_tui.runtime.session import Session, TurnEnd
from geode_tui.runtime.spending import check_cost

COMPLETE = {"end_turn", "stop_sequence", "stop", "tool_use"}
PAUSED = frozenset({"pause_turn", "compaction"})
"""The provider stopped in the middle, and goes on when it is asked again."""
OVERFLOWED = "model_context_window_exceeded"
MAX_PAUSES = 20
TakeInputs = Callable[[], Awaitable[bool]]
"""Takes what was typed meanwhile into the conversation; says whether there was anything."""


class TurnLoop:
    """Runs rounds until the turn ends. The caller closes the turn with what `run` returns."""

    def __init__(self, session: Session, request: RequestPath, executor: Executor, take_inputs: TakeInputs) -> None:
        self._session = session
        self._request = request
        self._executor = executor
        self._take_inputs = take_inputs
        self._pauses = 0
        self._nudged = False

    async def run(self) -> TurnEnd:
        """The turn's end. Cancelling it is the caller's business."""
        await self._session.look_for_tools(tell=True)
        await self._assembled()
        try:
            await self._answered_before()
            while True:
                await self._round()
        except TurnEnd as end:
            return end

    async def _assembled(self) -> None:
        session = self._session
        length = sum(len(p.text) for p in session.system)
        event = PromptAssembled(session.route.model, session.provider.name, "turn", length)
        await session.journal.write(lambda tx: tx.event(event))

    async def _answered_before(self) -> None:
        """A worker that died between a turn's last answer and its end: that answer ends the turn, nothing is asked."""
        session = self._session
        last = session.history[-1]
        if last.role == "assistant" and not last.calls:
            stop_reason = await session.journal.read(lambda t: t.stop_reason(session.id))
            await self._after_answer(stop_reason)
            await self._maybe_done(stop_reason, last)

    async def _round(self) -> None:
        session = self._session
        await self._take_inputs()
        await session.look_for_tools()
        verdict = guards.at_entry(session.limits, session.clocks())
        if verdict.stop is Ending.COST_BUDGET_EXCEEDED:
            await check_cost(session)
        elif verdict.stop is not None:
            raise TurnEnd(verdict.stop, verdict.detail)
        await self._handoff()
        wrap_up = verdict.wrap_up if session.options.on_limit != "stop" else ""
        draft = await self._request.prepare(wrap_up)
        session.rounds += 1
        session.journal.round += 1
        answered = await self._request.send(draft)
        answer, message, seq = answered.answer, answered.message, answered.seq
        await self._after_answer(answer.stop_reason)
        if wrap_up:
            raise TurnEnd(
                guards.WRAP_UP_ENDINGS[wrap_up], "the last answer was asked for because the limit was near", forced=True
            )
        if message.calls:
            await self._executor.run(message.calls, seq)
            self._after_tools()
        else:
            await self._maybe_done(answer.stop_reason, message)

    # -- after an answer ----------------------------------------------------------------------------------------------
    async def _after_answer(self, stop_reason: str) -> None:
        await check_cost(self._session)
        if stop_reason in REFUSALS:
            raise TurnEnd(
                Ending.MODEL_REFUSAL,
                "the model declined to answer; change the request or choose another model, then send it again",
            )
        if stop_reason == OVERFLOWED:
            raise TurnEnd(
                Ending.CONTEXT_EXHAUSTED,
                "the answer ran into the end of the context window and was cut; start a new session. Nothing was reset",
            )

    async def _maybe_done(self, stop_reason: str, message: Message) -> None:
        session = self._session
        if not message.text.strip():
            session.empty_rounds += 1
        if stop_reason in PAUSED or compacts_only(message):
            self._pauses += 1
            if self._pauses > MAX_PAUSES:
                raise TurnEnd(Ending.ACTIONABLE_PARTIAL, f"the provider paused the answer {self._pauses} times")
            return
        if await self._take_inputs():
            return
        if not self._nudged and self._session.specs and ends_in_written_call(message):
            self._nudged = True
            await self._session.note(NUDGE)
            return
        if stop_reason in COMPLETE:
            raise TurnEnd(Ending.NATURAL)
        detail = (
            "the answer was cut at its output limit; ask it to go on"
            if stop_reason == "max_tokens"
            else f"the provider stopped with {stop_reason or 'no reason'}; the answer may be incomplete"
        )
        raise TurnEnd(Ending.ACTIONABLE_PARTIAL, detail)

    def _after_tools(self) -> None:
        done = self._session.done
        if guards.converged(done):
            raise TurnEnd(
                Ending.CONVERGENCE_DETECTED,
                f"{done[-1].tool} failed {guards.CONVERGENCE} times in the same way: {done[-1].error}",
            )
        if guards.repetition(done) >= guards.REPEAT_STOP:
            raise TurnEnd(
                Ending.REPEATED_SUCCESS_NO_PROGRESS,
                f"{done[-1].tool} was called again and again with the same arguments",
            )

    async def _handoff(self) -> None:
        session = self._session
        session_s = session.clocks().session_s
        if session.handed_over or not guards.handoff_due(session.limits, session_s):
            return
        session.handed_over = True
        total = session.limits.session_budget_s
        event = HandoffTriggered(session.id, total - session_s, total, min(guards.HANDOFF_S, total / 2))

        def work(tx: Tx) -> None:
            tx.event(event)
            tx.session(handoff_state="pending", handoff_triggered_at=tx.now)

        await session.journal.write(work)


def completed(session: Session, end: TurnEnd) -> TurnCompleted:
    """The turn's last event."""
    return TurnCompleted(
        session_id=session.id,
        turn_id=session.turn_id,
        model=session.route.model,
        provider=session.provider.name,
        rounds=session.rounds,
        tool_calls=tuple(session.turn_calls[-200:]),
        termination_reason=end.ending.value,
        forced=end.forced,
        detail=end.detail,
        cost_micro=session.turn_spent_micro,
        error_type=end.error_type,
    )


def metrics(session: Session) -> ReasoningMetrics:
    """The turn's figures for the record."""
    return ReasoningMetrics(
        total_rounds=session.rounds,
        thinking_tokens=session.turn_thinking,
        output_tokens=session.turn_output,
        tool_calls_total=len(session.turn_calls),
        empty_rounds=session.empty_rounds,
        cost_micro=session.turn_spent_micro,
    )
