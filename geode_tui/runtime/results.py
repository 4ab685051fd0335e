"""From what a tool gave to its row: what the model is told beside it, and where what is too large goes.

Receipt, projection, offload, guard (RUNTIME.md 4.8): the transcript has the whole text, the view a stub; only what
cannot be stored is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import msgspec

from geode_tui.context.changed import view_changed
from geode_tui.context.offload import (
    EXEMPT,
    LEAST_CHARS,
    RECALL,
    Counter,
    gauge_counter,
    is_over,
    should_offload,
    stub_text,
    tokens_of,
)
from geode_tui.context.projection import ends, project, result_limit
from geode_tui.context.view import Item
from geode_tui.core.events import BlobRef, ContextFigures, ToolExecEnded, ToolResultOffloaded, ToolResultRecalled
from geode_tui.core.messages import Message, ToolCallBlock, tool_text
from geode_tui.core.text import clean_line, scrub
from geode_tui.core.tokens import text_tokens
from geode_tui.core.views import Offload, Stub, Version
from geode_tui.log import offloads, views
from geode_tui.log.rows import ResultMeta
from geode_tui.log.store import INLINE_LIMIT, StoreError
from geode_tui.log.writer import Tx
from geode_tui.routes.budget import budget_of
from geode_tui.routes.shape import MAX_TOKENS, shape
from geode_tui.runtime.guards import REPEAT_NOTE, REPEAT_STOP, near_limits, repetition
from geode_tui.runtime.offloading import ResultStore, is_large
from geode_tui.runtime.session import Session
from geode_tui.runtime.tools.base import ToolOutcome

Facts: TypeAlias = dict[str, str | int | float | bool]
T = TypeVar("T")


class Ended(msgspec.Struct, frozen=True):
    """How one call ended, before its row is written."""

    outcome: ToolOutcome
    executed: bool
    denied: bool = False
    duration_ms: int = 0


class _Raw(msgspec.Struct, frozen=True):
    """A result as the tool gave it. ``receipt`` is the whole of it where ``text`` is only a part, or is large."""

    text: str
    receipt: BlobRef | None = None
    partial: bool = False

    @property
    def result(self) -> offloads.Result:
        """What is stored."""
        return self.receipt if self.partial and self.receipt is not None else self.text


class _Form(msgspec.Struct, frozen=True):
    """A result as it goes into the log. ``stored`` is its file and ``stub`` what is sent for it, where it was too
    large; ``not_stored`` is why it has no file although it is.
    """

    text: str
    tokens: int
    facts: Facts
    receipt: BlobRef | None = None
    stored: offloads.Offloaded | None = None
    stub: str = ""
    not_stored: str = ""


class _Entry(msgspec.Struct, frozen=True):
    """A result's row, and what its events say."""

    call: ToolCallBlock
    message: Message
    meta: ResultMeta
    form: _Form


class Results:
    """Records the results of a session's calls."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._batch: list[Message] = []
        """What is sent of the results that are rows already and join the conversation with the rest of their batch."""
        self._told = (0, 0)
        """Turn and round in which the model was last told what is left of a limit."""

    def begin(self) -> None:
        """The calls of another answer come."""
        self._batch = []

    async def record(self, call: ToolCallBlock, ended: Ended, message_seq: int) -> Item:
        """Commit the result of ``call``, which message ``message_seq`` made."""
        session, outcome = self._session, ended.outcome
        notes = self._note(call, ended) + self._limits_note()
        raw = await self._raw(outcome)
        form = await self._form(call, raw, notes, message_seq)
        meta = ResultMeta(
            summary=clean_line(outcome.summary, 80),
            duration_ms=ended.duration_ms,
            tokens=form.tokens,
            is_error=outcome.is_error,
            executed=ended.executed,
            denied=ended.denied,
            facts={**outcome.facts, **form.facts},
        )
        message = tool_text(call, form.text, is_error=outcome.is_error, images=outcome.images)
        entry = _Entry(call, message, meta, form)
        session.journal.probe("tool: before row")
        if form.stored is None:
            seq = await session.journal.write(lambda tx: _add(tx, entry))
            self._batch.append(entry.message)
        else:
            seq = await self._write_offloaded(entry, form.stored)
        session.open.calls.pop(call.call_id, None)
        session.journal.probe("tool: after row")
        session.turn_calls.append(call.name)
        return Item(seq, session.journal.turn, session.journal.round, entry.message, meta)

    # -- the form -----------------------------------------------------------------------------------------------------
    async def _raw(self, outcome: ToolOutcome) -> _Raw:
        """The untouched result, with its receipt where it needs one."""
        text, whole = scrub(outcome.text), outcome.whole
        if outcome.untouched is not None:
            return _Raw(text, outcome.untouched)
        if whole is not None:
            # What only says that the output is binary is short.
            return _Raw(text, whole, partial=whole.bytes > INLINE_LIMIT and len(text) > LEAST_CHARS)
        if is_large(text):
            return _Raw(text, await self._aside(lambda: self._store.receipt(text)))
        return _Raw(text)

    async def _form(self, call: ToolCallBlock, raw: _Raw, notes: str, message_seq: int) -> _Form:
        session = self._session
        count = gauge_counter(session.meter, session.route)
        limit = result_limit(session.route.window, session.bounds.most)
        not_stored = ""
        if self._is_offloaded(call, raw, limit, count):
            try:
                tokens = await self._tokens(raw, count)
                stored = await self._keep(call, raw, tokens, message_seq)
            except (offloads.OffloadFailed, StoreError, OSError) as failed:
                not_stored = clean_line(str(failed))
            else:
                stub = stub_text(stored.ref_id, clean_line(call.name, 60), tokens, raw.text, notes)
                facts = self._facts(raw.receipt) | {"ref": stored.ref_id}
                text = ends(raw.text, stored.ref_id) if raw.receipt is not None else raw.text
                return _Form(text + notes, tokens, facts, raw.receipt, stored, stub)
        return await self._guarded(call, raw, notes, limit, not_stored)

    async def _guarded(self, call: ToolCallBlock, raw: _Raw, notes: str, limit: int | None, not_stored: str) -> _Form:
        """The result in the context, cut where it is too large for that."""
        receipt, facts = raw.receipt, self._facts(raw.receipt)
        if limit is None or not (raw.partial or is_over(raw.text, limit, text_tokens)):
            return _Form(raw.text + notes, text_tokens(raw.text + notes), facts, receipt, not_stored=not_stored)
        if receipt is None:
            receipt = await self._aside(lambda: self._store.receipt(raw.text))
            facts = self._facts(receipt)
        said = ""
        if not_stored:
            facts["not_stored"] = not_stored
            said = f"\n[{not_stored}]"
        elif receipt is not None and self._recalls_receipts(call):
            ref = facts["whole"] = offloads.ref_of(call.call_id)
            said = f'\n[the whole result is kept: {RECALL}(ref_id="{ref}") brings it back, page by page]'
        text = project(raw.text, limit - text_tokens(said)) + said + notes
        return _Form(text, text_tokens(text), facts, receipt, not_stored=not_stored)

    def _recalls_receipts(self, call: ToolCallBlock) -> bool:
        """Whether what is cut can be brought back from its receipt: where nothing is put into files."""
        session = self._session
        return not session.bounds.offload and RECALL in session.tools and call.name not in EXEMPT

    def _facts(self, receipt: BlobRef | None) -> Facts:
        return {} if receipt is None else {"receipt": receipt.path}

    def _is_offloaded(self, call: ToolCallBlock, raw: _Raw, limit: int | None, count: Counter) -> bool:
        """Whether the result is too large to stand in the context, and can be brought back if it does not."""
        session = self._session
        if not session.bounds.offload or RECALL not in session.tools or call.name in EXEMPT:
            return False
        if raw.partial or (limit is not None and is_over(raw.text, limit, text_tokens)):
            return True
        return len(raw.text) >= LEAST_CHARS and should_offload(raw.text, session.bounds.offload, count)

    async def _tokens(self, raw: _Raw, count: Counter) -> int:
        """The result's size. Raises `StoreError`, ``OSError``."""
        if raw.receipt is None or not raw.partial:
            return tokens_of(raw.text, count)
        receipt = raw.receipt
        return await self._aside(lambda: self._store.sampled(receipt, count))

    async def _keep(self, call: ToolCallBlock, raw: _Raw, tokens: int, message_seq: int) -> offloads.Offloaded:
        """Put the result into its file. Raises `OffloadFailed`."""
        session = self._session
        turn_id = session.turn_id
        session.journal.probe("offload: before file")
        stored = await self._aside(
            lambda: self._store.keep(
                call.call_id,
                raw.result,
                tool_name=call.name,
                tokens=tokens,
                turn_id=turn_id,
                call_seq=message_seq,
            )
        )
        session.journal.probe("offload: after file")
        return stored

    async def _aside(self, work: Callable[[], T]) -> T:
        return await self._session.journal.aside(work)

    @property
    def _store(self) -> ResultStore:
        return self._session.stored

    # -- the row ------------------------------------------------------------------------------------------------------
    async def _write_offloaded(self, entry: _Entry, stored: offloads.Offloaded) -> int:
        """Commit row, view and events together. The view has the stub before the message joins the conversation, so
        that its text is never counted.
        """
        session, call = self._session, entry.call
        sent = tool_text(call, entry.form.stub, is_error=entry.meta.is_error)
        async with session.view_lock:
            planned, gauge = self._version(sent, entry.form)
            told = ToolResultOffloaded(
                ref_id=stored.ref_id,
                original_tokens=entry.form.tokens,
                block_id=call.call_id,
                tool_name=clean_line(call.name, 60),
                session_id=session.id,
                turn_id=session.turn_id,
                tool_call_id=call.call_id,
                path=offloads.path_of(session.id, stored.ref_id),
                extrapolated=stored.extrapolated,
            )

            def work(tx: Tx) -> Version:
                seq = _add(tx, entry)
                stub = Stub(seq, entry.form.stub, stored.ref_id, entry.form.tokens)
                version = msgspec.structs.replace(planned, operations=(Offload((stub,)),), newest=seq)
                views.add_version(tx, version)
                tx.event(told)
                tx.event(view_changed(version, gauge))
                return version

            version = await session.journal.write(work)
            session.conversation.take(version)
        self._batch.append(sent)
        return version.newest

    def _version(self, sent: Message, form: _Form) -> tuple[Version, ContextFigures]:
        """The next version, without the row that it is about, and the gauge with ``sent``, which holds its stub."""
        session = self._session
        meter = session.meter.copy()
        for message in (*self._batch, sent):
            meter.append(message, route=session.route)
        budget = budget_of(session.route, shape(session.route, MAX_TOKENS, session.options.effort).reserve)
        gauge = meter.figures(session.route, budget, session.prefix, simulated=session.provider.simulated)
        planned = msgspec.structs.replace(
            session.conversation.version("arrival", ()),
            tokens_before=gauge.used - gauge_counter(session.meter, session.route)(form.stub) + form.tokens,
            tokens_after=gauge.used,
            made_at=session.clock.now(),
        )
        return planned, gauge

    # -- what the model is told beside it -----------------------------------------------------------------------------
    def _note(self, call: ToolCallBlock, ended: Ended) -> str:
        """What the model is told when the same call succeeds again and again. An error has its own words."""
        session = self._session
        done = session.finished(call, ended.outcome.text, session.journal.round, is_error=ended.outcome.is_error)
        if done.error or repetition([*session.done, done]) != REPEAT_NOTE:
            return ""
        return f"\n[this call was made {REPEAT_NOTE} times with the same arguments; the turn ends at {REPEAT_STOP}]"

    def _limits_note(self) -> str:
        """What is left of a limit that is near, once a round. It stands in a result since the system prompt stays as it
        is within a turn: any change of it loses the cached messages behind it (RUNTIME.md 7).
        """
        session = self._session
        round_ = (session.journal.turn, session.journal.round)
        left = near_limits(session.limits, session.clocks())
        if not left or self._told == round_:
            return ""
        self._told = round_
        return f"\n[left of this run's limits: {left}]"


def _add(tx: Tx, entry: _Entry) -> int:
    """Write a result's row and its event; returns its seq."""
    call, meta, form = entry.call, entry.meta, entry.form
    number, seq = tx.add_message(entry.message, meta, meta.tokens)
    ended = ToolExecEnded(
        call_id=call.call_id,
        tool_name=clean_line(call.name, 60),
        duration_ms=meta.duration_ms,
        has_error=meta.is_error,
        executed=meta.executed,
        summary=meta.summary,
        tokens=meta.tokens,
        chars=len(form.text),
        message_id=number,
        seq=seq,
        not_stored=form.not_stored,
        receipt=form.receipt,
    )
    tx.event(ended)
    if (recalled := meta.facts.get("recalled")) is not None:
        tx.event(ToolResultRecalled(str(recalled), int(meta.facts["offset"]), int(meta.facts["chars"])))
    return seq
