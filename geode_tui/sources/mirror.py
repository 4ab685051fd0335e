"""A foreign conversation written into the log as a session of its own, so that every pane shows it like a run.

What the foreign program recorded becomes the same rows and events that a worker writes, at the times it recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from geode_tui.core.events import (
    ContextCompacted,
    ContextFigures,
    EventRow,
    LlmCallEnded,
    LlmCallStarted,
    Payload,
    SessionEnded,
    SessionStarted,
    ToolExecEnded,
    ToolExecStarted,
    TranscriptImported,
    TurnCompleted,
    UserInputReceived,
)
from geode_tui.core.limits import Limits
from geode_tui.core.messages import Message, ToolCallBlock, ToolResultBlock
from geode_tui.core.text import clean_line
from geode_tui.core.usage import Usage
from geode_tui.log.rows import ResultMeta
from geode_tui.log.writer import Tx, Writer, body_chars
from geode_tui.routes.catalog import Route
from geode_tui.sources.base import Answer, Compacted, Item, Said, Thread

SLICE_S = 0.03
"""How long one transaction writes before the next begins: none may hold the lock over 50 ms (ARCHITECTURE.md)."""
FORGET_ROWS = 1_000
_NO_LIMITS = Limits(session_budget_s=0.0)
_ARGUMENT_CHARS, _BRIEF_CHARS, _SUMMARY_CHARS = 4_000, 120, 80
_TELLING = ("command", "file_path", "path", "notebook_path", "pattern", "query", "url", "description", "skill")
"""Arguments that say what a call is about, the first that there is."""
NATURAL, INTERRUPTED, UNFINISHED = "natural", "user_cancelled", "unfinished"


class Gauge(Protocol):
    """Measures the conversation while it is written."""

    def add(self, message: Message, *, summary: bool) -> int:
        """A message that is no answer joins; its tokens."""
        ...

    def asked(self, route: Route) -> ContextFigures:
        """The gauge as the next request goes out."""
        ...

    def answered(self, route: Route, answer: Answer) -> ContextFigures:
        """The answer to what was asked last joins; the gauge with the provider's own count."""
        ...

    def compacted(self) -> None:
        """What was added so far is not sent any more."""
        ...


class _Turn(msgspec.Struct):
    """The turn that is open."""

    number: int
    rounds: int = 0
    calls: list[str] = []
    open_calls: dict[str, float] = {}
    cost_micro: int = 0
    ending: str = UNFINISHED
    """How it ends if nothing more comes."""


class Mirror:
    """Writes one thread. The writer must own the session."""

    def __init__(
        self,
        writer: Writer,
        thread: Thread,
        gauge: Gauge,
        route: Callable[[str], Route],
        price: Callable[[Answer], int | None],
    ) -> None:
        """``route`` finds a model's route, ``price`` an answer's micro-dollars."""
        self._writer = writer
        self._thread = thread
        self._gauge = gauge
        self._route, self._price = route, price
        self._turn: _Turn | None = None
        self._turns = self._rounds = self._messages = 0
        self._answered: set[str] = set()
        self._summary_next = False
        self._before = 0.0
        """When what stands before the next item was done: a result may be recorded before the end of its answer."""
        self._model = next((i.model for i in thread.items if isinstance(i, Answer) and i.usage), "")
        self._first = route(self._model)
        self._start = thread.items[0].at if thread.items else 0.0
        self._end = _last_time(thread)

    def write(
        self, title: str, origin: str, imported: TranscriptImported, seen: Callable[[list[EventRow]], None]
    ) -> None:
        """Replace whatever the session holds by the thread. ``seen`` is told of every committed event, in order.

        The last event is ``imported``: a session without it was not read to its end.
        """
        first, rows = self._writer.write(lambda tx: self._begin(tx, title, origin), now=self._start, turn=0, round_=0)
        while self._writer.write(lambda tx: tx.forget(first, FORGET_ROWS), now=self._start, turn=0, round_=0)[0]:
            pass
        seen(rows)
        items = iter(self._thread.items)
        more = True
        while more:
            more, rows = self._writer.write(lambda tx: self._slice(tx, items), now=self._start, turn=0, round_=0)
            seen(rows)
        seen(self._writer.write(lambda tx: self._finish(tx, imported), now=self._end, turn=0, round_=0)[1])

    def _begin(self, tx: Tx, title: str, origin: str) -> int:
        """The session's first event; a run of another program from its first row on."""
        tx.session(
            origin=origin,
            title=title,
            created_at=self._start,
            model=self._model,
            provider=self._first.provider,
            source=self._first.source,
        )
        started = SessionStarted(
            session_id=self._writer.session_id,
            model=self._model,
            provider=self._first.provider,
            source=self._first.source,
            resumed=False,
            epoch=self._writer.epoch,
            pid=0,
            approve="all",
            limits=_NO_LIMITS,
            title=title,
        )
        return tx.event(started)

    def _slice(self, tx: Tx, items: Iterator[Item]) -> bool:
        """Write items until the time of a transaction is over; false when there are no more."""
        until = time.perf_counter() + SLICE_S
        for item in items:
            self._item(tx, item)
            if time.perf_counter() > until:
                return True
        return False

    def _finish(self, tx: Tx, imported: TranscriptImported) -> None:
        self._close_turn(tx)
        tx.event(SessionEnded(self._writer.session_id, NATURAL, self._rounds))
        tx.event(imported)
        tx.session(round_count=self._rounds, message_count=self._messages)

    # -- items --------------------------------------------------------------------------------------------------------
    def _item(self, tx: Tx, item: Item) -> None:
        tx.now = max(item.at, self._before)
        tx.turn, tx.round = (self._turn.number, self._turn.rounds) if self._turn else (self._turns, 0)
        match item:
            case Said() if item.message.role == "tool":
                self._result(tx, item.message)
            case Said():
                self._words(tx, item.message)
            case Answer():
                self._answer(tx, item)
            case Compacted():
                tx.event(ContextCompacted(item.trigger, item.tokens_before, item.tokens_after))
                self._gauge.compacted()
                self._summary_next = True
        self._before = tx.now

    def _words(self, tx: Tx, message: Message) -> None:
        turn = self._turn
        joins = turn is not None and turn.ending == UNFINISHED
        if turn is None or not joins:
            turn = self._open_turn(tx)
        elif message.origin == "runtime" and message.text.startswith("[Request interrupted"):
            turn.ending = INTERRUPTED
        tokens = self._gauge.add(message, summary=self._summary_next)
        self._summary_next = False
        number, seq = tx.add_message(message, None, tokens)
        self._messages += 1
        session = self._writer.session_id
        turn_id = f"{session}:{turn.number}"
        tx.event(
            UserInputReceived(session, turn_id, seq, number, body_chars(message), message.origin, joins=joins)
        )  # fmt: skip

    def _result(self, tx: Tx, message: Message) -> None:
        block = message.blocks[0]
        assert isinstance(block, ToolResultBlock)
        if block.call_id in self._answered:
            return
        self._answered.add(block.call_id)
        turn = self._turn or self._open_turn(tx)
        asked_at = turn.open_calls.pop(block.call_id, tx.now)
        tokens = self._gauge.add(message, summary=False)
        meta = ResultMeta(
            summary=clean_line(block.text.lstrip(), _SUMMARY_CHARS),
            duration_ms=max(0, int((tx.now - asked_at) * 1000)),
            tokens=tokens,
            is_error=block.is_error,
        )
        number, seq = tx.add_message(message, meta, tokens)
        self._messages += 1
        tx.event(
            ToolExecEnded(
                block.call_id, clean_line(block.name, 60), meta.duration_ms, block.is_error, True, meta.summary, tokens,
                len(block.text), number, seq,
            )
        )  # fmt: skip

    def _answer(self, tx: Tx, answer: Answer) -> None:
        turn = self._turn or self._open_turn(tx)
        self._rounds += 1
        turn.rounds += 1
        tx.round = turn.rounds
        route = self._route(answer.model or self._model)
        tx.now = asked_at = self._before or answer.at
        tx.event(self._call_started(answer, route))
        tx.now = max(tx.now, answer.ended_at)
        output = answer.usage.output_tokens if answer.usage else None
        _, seq = tx.add_answer(answer.message, answer.stop_reason, output)
        self._messages += 1
        ended = self._call_ended(answer, route, seq, tx.now - asked_at)
        tx.event(ended)
        turn.cost_micro += ended.cost_micro or 0
        turn.ending = UNFINISHED if answer.message.calls else NATURAL
        turn.open_calls = {call.call_id: tx.now for call in answer.message.calls}
        for call in answer.message.calls:
            turn.calls.append(clean_line(call.name, 60))
            tx.event(_exec_started(call))

    def _call_started(self, answer: Answer, route: Route) -> Payload:
        return LlmCallStarted(
            answer.answer_id, 1, "turn", answer.model, route.provider, route.source, None, 0, self._gauge.asked(route)
        )  # fmt: skip

    def _call_ended(self, answer: Answer, route: Route, seq: int, took_s: float) -> LlmCallEnded:
        usage = answer.usage
        return LlmCallEnded(
            call_id=answer.answer_id,
            attempt=1,
            purpose="turn",
            model=answer.model,
            provider=route.provider,
            source=route.source,
            latency_ms=max(0, int(took_s * 1000)),
            usage=usage or Usage(),
            cost_micro=self._price(answer),
            stop_reason=clean_line(answer.stop_reason, 60),
            context=self._gauge.answered(route, answer),
            response_id=answer.answer_id,
            response_model=clean_line(answer.model, 80),
            message_seq=seq,
        )

    # -- turns --------------------------------------------------------------------------------------------------------
    def _open_turn(self, tx: Tx) -> _Turn:
        self._close_turn(tx)
        self._turns += 1
        self._turn = _Turn(self._turns)
        tx.turn, tx.round = self._turns, 0
        return self._turn

    def _close_turn(self, tx: Tx) -> None:
        turn = self._turn
        if turn is None:
            return
        session = self._writer.session_id
        tx.turn, tx.round = turn.number, turn.rounds
        now, tx.now = tx.now, self._before
        tx.event(
            TurnCompleted(
                session_id=session,
                turn_id=f"{session}:{turn.number}",
                model=self._model,
                provider=self._first.provider,
                rounds=turn.rounds,
                tool_calls=tuple(turn.calls),
                termination_reason=turn.ending,
                cost_micro=turn.cost_micro,
            )
        )
        tx.now = now
        self._turn = None


def _last_time(thread: Thread) -> float:
    if not thread.items:
        return 0.0
    last = thread.items[-1]
    return max(last.at, last.ended_at) if isinstance(last, Answer) else last.at


def _exec_started(call: ToolCallBlock) -> ToolExecStarted:
    name = clean_line(call.name, 60)
    return ToolExecStarted(call.call_id, name, "", _brief(call), clean_line(call.arguments, _ARGUMENT_CHARS))


def _brief(call: ToolCallBlock) -> str:
    try:
        arguments = msgspec.json.decode(call.arguments, type=dict[str, object])
    except msgspec.DecodeError:
        return clean_line(call.arguments, _BRIEF_CHARS)
    told = next((arguments[name] for name in _TELLING if isinstance(arguments.get(name), str)), "")
    return clean_line(str(told), _BRIEF_CHARS)
