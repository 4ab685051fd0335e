"""The reducers: one event in, the state changed. No clock, no I/O; text that will be seen is cleaned here."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from geode_tui.core import events as ev
from geode_tui.core.text import clean_line
from geode_tui.view import reduce_window, servers, upkeep, upkeep_step
from geode_tui.view.state import (
    BESIDE,
    NEWEST,
    NOTES,
    CacheBreak,
    CacheLoss,
    Money,
    OpenApproval,
    OpenCall,
    OpenTool,
    Outcome,
    Retry,
    RoundFigures,
    RunState,
)

Reducer = Callable[[RunState, Any, ev.EventRow], None]


def _trim(rows: list[Any]) -> None:
    """Drop the oldest half once a list is twice its bound: amortised constant work, never an unbounded list."""
    if len(rows) >= 2 * NEWEST:
        del rows[:-NEWEST]


def paid(money: Money, p: ev.LlmCallEnded) -> Money:
    """``money`` with what an answer cost."""
    cost = p.cost_micro or 0
    return Money(
        money.cost_micro + cost,
        money.calls + 1,
        money.unpriced_calls + (p.cost_micro is None),
        money.usage.plus(p.usage if p.beside is None else p.usage.plus(p.beside)),
        money.failed_micro,
        money.failed_calls,
        money.equivalent_micro + _equivalent(p, cost),
    )


def failed(money: Money, p: ev.LlmCallFailed) -> Money:
    """``money`` with what a failed attempt cost at least."""
    cost = p.cost_micro or 0
    return msgspec.structs.replace(
        money,
        cost_micro=money.cost_micro + cost,
        usage=money.usage.plus(p.usage) if p.usage else money.usage,
        failed_micro=money.failed_micro + cost,
        failed_calls=money.failed_calls + 1,
        equivalent_micro=money.equivalent_micro + _equivalent(p, cost),
    )


def _equivalent(p: ev.LlmCall, cost: int) -> int:
    return cost if p.source == "subscription" else 0


def session_started(s: RunState, p: ev.SessionStarted, row: ev.EventRow) -> None:
    """A worker took the session; what a worker before it left open is closed by its own events."""
    s.session_id, s.epoch, s.pid, s.limits, s.seed = p.session_id, p.epoch, p.pid, p.limits, p.seed
    s.model, s.provider, s.source = clean_line(p.model), clean_line(p.provider), clean_line(p.source)
    s.simulated, s.approve = p.simulated, clean_line(p.approve)
    s.title = clean_line(p.title) or s.title
    s.session_started_at = s.session_started_at or row.ts
    if s.turn_open:
        s.turn_absorbed_s += max(0.0, row.ts - s.last_ts)
    s.worker_left = False
    s.servers = {}
    s.retry = None
    s.maintenance_paused = 0.0


def session_ended(s: RunState, p: ev.SessionEnded, row: ev.EventRow) -> None:
    """The worker left, and its servers with it."""
    s.worker_left = True
    s.servers = {name: msgspec.structs.replace(server, mood="ended") for name, server in s.servers.items()}


def user_input_received(s: RunState, p: ev.UserInputReceived, row: ev.EventRow) -> None:
    """A turn begins, or words join the one that is going on."""
    s.messages += 1
    s.chars += p.chars
    s.newest_seq = max(s.newest_seq, p.seq)
    if p.joins:
        return
    s.turn_open, s.turn_started_at, s.turn_absorbed_s = True, row.ts, 0.0
    s.termination_reason = s.ended_detail = s.wrap_up = ""
    s.forced = False
    s.turn_money = Money()
    s.plan = ()


def llm_call_started(s: RunState, p: ev.LlmCallStarted, row: ev.EventRow) -> None:
    """A request goes out: its figures are the gauge from now on."""
    model, purpose = clean_line(p.model), clean_line(p.purpose)
    s.open_calls[p.call_id] = OpenCall(p.call_id, model, purpose, row.ts, p.attempt, p.worst_micro)
    if p.purpose == BESIDE:
        return
    s.retry = None
    if p.purpose == "turn":
        s.context, s.prompt_upto = p.context, s.newest_seq
        if p.attempt == 1:
            s.rounds_total += 1


def llm_call_ended(s: RunState, p: ev.LlmCallEnded, row: ev.EventRow) -> None:
    """An answer: money, tokens, and the provider's own count of the prompt."""
    s.open_calls.pop(p.call_id, None)
    _account(s, p.model, p.purpose, lambda m: paid(m, p))
    if p.purpose == "summary":
        reduce_window.summary_paid(s, p.cost_micro, p.model)
        s.upkeep.paid(p.cost_micro)
    if p.purpose != "turn":
        return
    s.upkeep.answered(p, row)
    if not p.context.suspect:
        s.cache_use = s.cache_use.plus(p.usage)
    before = s.context
    if before is not None and before.measured == "estimated" and p.context.measured == "confirmed" and p.context.used:
        s.last_estimate_error = round(100 * (before.used - p.context.used) / p.context.used, 2)
    s.context = p.context
    s.rounds.append(RoundFigures(row.turn, row.round, p.context.used, p.cost_micro, row.ts, clean_line(p.model)))
    _trim(s.rounds)


def cache_broken(s: RunState, p: ev.CacheBroken, row: ev.EventRow) -> None:
    """A part of a prompt was paid for again."""
    found = CacheBreak(row.turn, row.round, p.cause, p.tokens, p.cost_micro, clean_line(p.said, 60), p.position)
    s.cache_breaks.append(found)
    _trim(s.cache_breaks)
    loss = s.cache_loss
    s.cache_loss = CacheLoss(loss.breaks + 1, loss.tokens + p.tokens, loss.cost_micro + (p.cost_micro or 0))
    s.upkeep.cache_broken(p)


def cache_hit_low(s: RunState, p: ev.CacheHitLow, row: ev.EventRow) -> None:
    """Too little of what a cache could hold is read from it."""
    s.cache_low_turn = row.turn
    s.warnings += 1


def llm_call_failed(s: RunState, p: ev.LlmCallFailed, row: ev.EventRow) -> None:
    """An attempt failed; what it cost at least is counted."""
    s.open_calls.pop(p.call_id, None)
    s.warnings += 1
    if p.purpose != BESIDE:
        s.last_error = clean_line(p.message)
    _account(s, p.model, p.purpose, lambda m: failed(m, p))
    if p.purpose == "summary":
        reduce_window.summary_paid(s, p.cost_micro or 0)
        s.upkeep.paid(p.cost_micro or 0)


def llm_call_retried(s: RunState, p: ev.LlmCallRetried, row: ev.EventRow) -> None:
    """A countdown to the next attempt began."""
    s.retry = Retry(clean_line(p.error_type), p.attempt, p.at, s.last_error)


def _account(s: RunState, model: str, purpose: str, change: Callable[[Money], Money]) -> None:
    name, purpose = clean_line(model), clean_line(purpose)
    s.money = change(s.money)
    if purpose != BESIDE:
        s.turn_money = change(s.turn_money)
    s.by_model[name] = change(s.by_model.get(name, Money()))
    s.by_purpose[purpose] = change(s.by_purpose.get(purpose, Money()))


def message_opened(s: RunState, p: ev.MessageOpened, row: ev.EventRow) -> None:
    """An answer streams."""
    s.open_message = p.message_id
    for call_id, call in s.open_calls.items():
        if call.purpose != BESIDE:
            s.open_calls[call_id] = msgspec.structs.replace(call, streaming=True)


def message_completed(s: RunState, p: ev.MessageCompleted, row: ev.EventRow) -> None:
    """An answer is whole, or will never be."""
    s.open_message = 0
    s.messages += 1
    s.chars += p.chars
    s.newest_seq = max(s.newest_seq, p.seq)


def tool_approval_requested(s: RunState, p: ev.ToolApprovalRequested, row: ev.EventRow) -> None:
    """The run waits for the person."""
    tool, safety, brief = clean_line(p.tool_name, 60), clean_line(p.safety_level), clean_line(p.brief)
    s.approvals[p.approval_id] = OpenApproval(
        p.approval_id, p.call_id, tool, safety, brief, clean_line(p.why), p.message_seq, row.ts
    )
    s.open_tools[p.call_id] = OpenTool(p.call_id, tool, brief, "waiting", row.ts, safety)


def approval_transition(s: RunState, p: ev.ApprovalTransition, row: ev.EventRow) -> None:
    """A question was answered, or fell away."""
    if p.state == "requested":
        return
    s.approvals.pop(p.approval_id, None)
    waiting = s.open_tools.get(p.call_id)
    if waiting is not None and waiting.state == "waiting":
        del s.open_tools[p.call_id]


def tool_exec_started(s: RunState, p: ev.ToolExecStarted, row: ev.EventRow) -> None:
    """A call runs."""
    tool, safety, brief = clean_line(p.tool_name, 60), clean_line(p.safety_level), clean_line(p.brief)
    s.open_tools[p.call_id] = OpenTool(p.call_id, tool, brief, "running", row.ts, safety, p.group, p.started)


def tool_exec_ended(s: RunState, p: ev.ToolExecEnded, row: ev.EventRow) -> None:
    """A call has its result."""
    s.open_tools.pop(p.call_id, None)
    s.messages += 1
    s.chars += p.chars
    s.newest_seq = max(s.newest_seq, p.seq)
    if p.not_stored:
        s.warnings += 1
    if p.has_error:
        s.tools_failed += 1
    else:
        s.tools_ok += 1


def tool_exec_failed(s: RunState, p: ev.ToolExecFailed, row: ev.EventRow) -> None:
    """A tool broke."""
    s.errors += 1


def mcp_server_connected(s: RunState, p: ev.McpServerConnected, row: ev.EventRow) -> None:
    """A server answers, or its tools changed."""
    name = clean_line(p.server_name)
    if name in s.servers or len(s.servers) < servers.MAX_SERVERS:
        s.servers[name] = servers.connected(s.servers.get(name), p, row)


def mcp_server_failed(s: RunState, p: ev.McpServerFailed, row: ev.EventRow) -> None:
    """A server is gone, and its tools with it."""
    s.warnings += 1
    name = clean_line(p.server_name)
    if name in s.servers or len(s.servers) < servers.MAX_SERVERS:
        s.servers[name] = servers.failed(s.servers.get(name), p, row)


def plan_updated(s: RunState, p: ev.PlanUpdated, row: ev.EventRow) -> None:
    """The task list changed."""
    s.plan = tuple((clean_line(step), clean_line(status)) for step, status in p.steps)


def cost_warning(s: RunState, p: ev.CostWarning, row: ev.EventRow) -> None:
    """80 % of the budget is spent."""
    s.cost_warned = True
    s.warnings += 1


def cost_limit_exceeded(s: RunState, p: ev.CostLimitExceeded, row: ev.EventRow) -> None:
    """The budget is spent."""
    s.cost_exceeded = True
    s.warnings += 1


def handoff_triggered(s: RunState, p: ev.HandoffTriggered, row: ev.EventRow) -> None:
    """The session's time is nearly over."""
    s.handoff = True
    s.warnings += 1


def wrap_up_started(s: RunState, p: ev.WrapUpStarted, row: ev.EventRow) -> None:
    """A limit is near: the agent is asked to finish."""
    s.wrap_up = clean_line(p.guard)


def limits_changed(s: RunState, p: ev.LimitsChanged, row: ev.EventRow) -> None:
    """The person changed a limit; what was said of the old one no longer holds."""
    if p.limits.cost_budget_micro != s.limits.cost_budget_micro:
        s.cost_warned = s.cost_exceeded = False
    s.limits = p.limits


def model_switched(s: RunState, p: ev.ModelSwitched, row: ev.EventRow) -> None:
    """Another model answers: its gauge holds from now on, and what the last estimate was off by says nothing of it."""
    s.model, s.provider, s.source = clean_line(p.to_model), clean_line(p.provider), clean_line(p.source)
    s.simulated, s.context, s.last_estimate_error = p.simulated, p.context, None
    s.prompt_upto = s.newest_seq
    s.window_observed = 0
    s.maintenance_paused = 0.0


def approvals_changed(s: RunState, p: ev.ApprovalsChanged, row: ev.EventRow) -> None:
    """The person changed what is asked for."""
    s.approve = clean_line(p.approve)


def suspension_absorbed(s: RunState, p: ev.SuspensionAbsorbed, row: ev.EventRow) -> None:
    """Time that counts for no budget."""
    if s.turn_open:
        s.turn_absorbed_s += p.gap_s


def observer_failed(s: RunState, p: ev.ObserverFailed, row: ev.EventRow) -> None:
    """Something that only watches raised."""
    s.warnings += 1


def command_finished(s: RunState, p: ev.CommandFinished, row: ev.EventRow) -> None:
    """A command got its outcome."""
    s.outcomes.append(Outcome(p.command_id, p.key, clean_line(p.kind), p.outcome, clean_line(p.detail)))
    _trim(s.outcomes)


def turn_completed(s: RunState, p: ev.TurnCompleted, row: ev.EventRow) -> None:
    """The turn is over: nothing stays open."""
    s.turn_open, s.turn_ended_at = False, row.ts
    s.active_s += max(0.0, row.ts - s.turn_started_at - s.turn_absorbed_s)
    s.termination_reason, s.forced, s.ended_detail = clean_line(p.termination_reason), p.forced, clean_line(p.detail)
    s.open_calls = {name: call for name, call in s.open_calls.items() if call.purpose == BESIDE}
    s.open_tools.clear()
    s.approvals.clear()
    s.retry = s.maintenance = None
    s.wrap_up = ""
    if p.error_type:
        s.errors += 1


def _reducers() -> dict[str, Reducer]:
    here = {**vars(reduce_window), **vars(sys.modules[__name__])}
    return {name: here[name] for name in ev.CATALOGUE if name in here}


_REDUCERS = _reducers()


class _Decoders(dict[str, Callable[[str], Any]]):
    """Each is made when the first event of its name is folded: a start folds few kinds."""

    def __missing__(self, name: str) -> Callable[[str], Any]:
        self[name] = decode = msgspec.json.Decoder(ev.CATALOGUE[name]).decode
        return decode


_DECODERS = _Decoders()
_SOURCES = (sys.modules[__name__], reduce_window, servers, upkeep, upkeep_step, sys.modules[RunState.__module__])
REDUCER_HASH = hashlib.sha256("".join(map(inspect.getsource, _SOURCES)).encode()).hexdigest()[:16]
"""Changes with this code: a snapshot of another reducer is ignored and rebuilt."""


def fold(state: RunState, rows: Iterable[ev.EventRow]) -> RunState:
    """Apply ``rows`` to ``state`` in place and return it. A damaged or unknown row is counted, never fatal."""
    reducers, decoders, feed = _REDUCERS, _DECODERS, state.feed
    for row in rows:
        name = ev.LEGACY_NAMES.get(row.event, row.event)
        reducer = reducers.get(name)
        if reducer is not None:
            try:
                payload = decoders[name](row.payload)
            except msgspec.DecodeError:
                state.damaged_events += 1
            else:
                reducer(state, payload, row)
        elif name not in ev.CATALOGUE:
            state.unknown_events += 1
        feed.append(row)
        if len(feed) >= 2 * NEWEST:
            del feed[:-NEWEST]
        state.events += 1
        state.last_id, state.last_ts, state.turn, state.round = row.id, row.ts, row.turn, row.round
    return state


def encode_state(state: RunState) -> bytes:
    """A snapshot of ``state`` (JSON), lists cut to their bound. Without the feed, whose rows stand in the log."""
    bounded = msgspec.structs.replace(
        state,
        rounds=state.rounds[-NEWEST:],
        cache_breaks=state.cache_breaks[-NEWEST:],
        outcomes=state.outcomes[-NEWEST:],
        window_notes=state.window_notes[-NOTES:],
        feed=[],
    )
    return msgspec.json.encode(bounded)


_STATE = msgspec.json.Decoder(RunState)


def decode_state(data: bytes) -> RunState:
    """Inverse of `encode_state`, with an empty feed. Raises ``msgspec.DecodeError``."""
    return _STATE.decode(data)
