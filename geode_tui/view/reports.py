"""The command line's JSON shapes (PRODUCT.md), made from the same state as the screen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from geode_tui.core.events import ContextFigures
from geode_tui.core.usage import Usage, usd
from geode_tui.log.rows import Liveness, PendingCommand, SessionRow
from geode_tui.view.blocks import BlockRow, BlockTable
from geode_tui.view.cost import priced
from geode_tui.view.forecast import Forecast, Span, forecast_of
from geode_tui.view.gauge import known, layers_of, limits_ahead, parts_of, percent
from geode_tui.view.selectors import Status, cache_hit_of, context_level, doing, run_status
from geode_tui.view.state import BESIDE, CacheBreak, Money, RunState
from geode_tui.view.upkeep import Upkeep, total_of, verdict_of
from geode_tui.view.upkeep_step import Step

PURPOSES = ("turn", "summary", "dream", "subagent", "title")


def iso(ts: float) -> str | None:
    """ISO 8601 in UTC, or None for a time that never was."""
    if not ts:
        return None
    return datetime.fromtimestamp(ts, tz=UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def session_report(row: SessionRow, state: RunState, liveness: Liveness, now: float) -> dict[str, Any]:
    """One row of ``sessions``."""
    status = run_status(state, liveness, now)
    return {
        "session_id": row.session_id,
        "title": row.title,
        "origin": row.origin,
        "state": status.kind,
        "model": state.model or row.model,
        "provider": state.provider or row.provider,
        "source": state.source or row.source,
        "turns": state.turn,
        "rounds": state.rounds_total,
        "context": _context_line(state.context),
        "cost_usd": _cost(state.money),
        "unpriced_calls": state.money.unpriced_calls,
        "simulated": state.simulated,
        "started_at": iso(row.created_at),
        "updated_at": iso(state.last_ts or row.updated_at),
        "termination_reason": state.termination_reason or None,
    }


def _context_line(figures: ContextFigures | None) -> dict[str, Any] | None:
    if figures is None:
        return None
    return {
        "used": figures.used,
        "budget": figures.budget if known(figures) else None,
        "percent": percent(figures) if known(figures) else None,
        "state": context_level(figures) if known(figures) else None,
    }


def _cost(money: Money) -> str | None:
    """Dollars, or None where nothing that was called has a price."""
    return _dollars(priced(money))


def status_report(
    state: RunState,
    status: Status,
    liveness: Liveness,
    pending: list[PendingCommand],
    now: float,
    safe_events: list[Any],
) -> dict[str, Any]:
    """``status SESSION``."""
    return {
        "session_id": state.session_id,
        "title": state.title,
        "state": status.kind,
        "worker_pid": liveness.pid or None,
        "turn": state.turn,
        "round": state.round,
        "doing": doing(state).removeprefix("doing."),
        "waiting_on": _waiting_on(state, now),
        "queued": sum(p.kind == "submit" for p in pending),
        "termination_reason": state.termination_reason or None,
        "forced": state.forced,
        "ended_because": state.ended_detail or None,
        "trouble": liveness.trouble or None,
        "context": _context_line(state.context),
        "cost_usd": _cost(state.money),
        "simulated": state.simulated,
        "last_events": safe_events,
    }


def _waiting_on(state: RunState, now: float) -> dict[str, Any] | None:
    if (upkeep := state.maintenance) is not None:
        return {"kind": "compaction", "name": upkeep.trigger, "seconds": round(now - upkeep.since, 1)}
    if not state.turn_open:
        return None
    if state.approvals:
        approval = next(iter(state.approvals.values()))
        return {"kind": "approval", "name": approval.tool, "seconds": round(now - approval.since, 1)}
    if state.retry is not None:
        return {"kind": "retry", "name": state.retry.error_type, "seconds": round(state.retry.at - now, 1)}
    if state.open_tools:
        tool = next(iter(state.open_tools.values()))
        return {"kind": "tool", "name": tool.name, "seconds": round(now - tool.since, 1)}
    call = next((call for call in state.open_calls.values() if call.purpose != BESIDE), None)
    if call is not None:
        return {"kind": "model", "name": call.model, "seconds": round(now - call.started_at, 1)}
    return None


def context_report(state: RunState, table: BlockTable) -> dict[str, Any]:
    """``context SESSION``: the gauge's figures and the block table."""
    figures = state.context
    ahead = forecast_of(state)
    return {
        "session_id": state.session_id,
        "turn": state.turn,
        "round": state.round,
        "route": {"model": state.model, "provider": state.provider, "source": state.source},
        **_gauge(figures),
        "rows": [{"category": kind, "tokens": tokens} for kind, tokens in parts_of(figures)],
        "layers": [{"layer": name, "tokens": tokens} for name, tokens in layers_of(figures)] if figures else [],
        "blocks": [_block(row) for row in table.rows],
        "forecast": {
            "per_round": ahead.per_round if ahead else None,
            "rounds_to_warning": ahead.warning.likely if ahead else None,
            "rounds_to_critical": ahead.critical.likely if ahead else None,
            "rounds_to_full": ahead.full.likely if ahead else None,
            "rounds_to_cost_limit": ahead.cost.likely if ahead and ahead.cost else None,
            "ranges": {name: _range(ahead, left) for name, left in limits_ahead(ahead)} if ahead else {},
        },
        "view": {"version": state.view_version, "cause": state.view_cause or "original", "mode": state.view_mode},
    }


def _range(ahead: Forecast, left: Span) -> dict[str, Any]:
    """The rounds to a limit that is not reached, and the seconds that they take, where that is known."""
    time = ahead.seconds(left)
    return {"rounds": [left.low, left.high], "seconds": None if time is None else [time.low, time.high]}


_OF_THE_WINDOW = ("window", "output_reserve", "budget")
"""Null where the window is not known, as a run of another program may have it."""
_FIGURES = (
    "window",
    "output_reserve",
    "input_cap",
    "budget",
    "used",
    "warning_percent",
    "critical_percent",
    "simulated",
    "provenance",
    "measured",
    "margin_percent",
    "suspect",
    "price_tiers",
)


def _gauge(figures: ContextFigures | None) -> dict[str, Any]:
    """The gauge's figures; all null before the first request."""
    if figures is None:
        return dict.fromkeys((*_FIGURES, "percent", "state"))
    named = {name: getattr(figures, name) for name in _FIGURES}
    if known(figures) is None:
        return {**named, **dict.fromkeys((*_OF_THE_WINDOW, "percent", "state"))}
    return {**named, "percent": percent(figures), "state": context_level(figures)}


def _block(row: BlockRow) -> dict[str, Any]:
    """One block of the active view; what stands before the conversation has seq 0."""
    entry = row.entry
    return {
        "seq": entry.seq if entry else 0,
        "turn": entry.turn if entry else 0,
        "round": entry.round if entry else 0,
        "kind": row.kind,
        "name": entry.name if entry else "",
        "state": row.state,
        "tokens": row.tokens,
        "protected": (entry.protected or None) if entry else None,
        "hidden": msgspec.to_builtins(entry.hidden) if entry else None,
    }


def cost_report(
    *,
    session_id: str | None,
    month: str | None,
    money: Money,
    by_model: dict[str, Money],
    by_purpose: dict[str, Money],
    simulated: bool,
    breaks: Sequence[CacheBreak] = (),
    upkeep: Upkeep | None = None,
    place: tuple[int, int] = (0, 0),
) -> dict[str, Any]:
    """``cost``: the meter's figures, of a session or of a month. ``breaks`` are the newest, oldest first; ``upkeep`` is
    told as of ``place``, a turn and a round.
    """
    upkeep = upkeep or Upkeep()
    hit = cache_hit_of(money.usage)
    return {
        "session_id": session_id,
        "month": month,
        "usd": _cost(money),
        "simulated": simulated,
        "unpriced_calls": money.unpriced_calls,
        "equivalent_usd": usd(money.equivalent_micro),
        "failed": {"usd": usd(money.failed_micro), "calls": money.failed_calls},
        "tokens": _tokens(money.usage),
        "by_model": {name: _part(m) for name, m in by_model.items()},
        "by_purpose": {name: _part(by_purpose.get(name, Money())) for name in PURPOSES},
        "cache_hit_percent": None if hit is None else round(100 * hit, 1),
        "cache_breaks": [_break(one) for one in breaks],
        "upkeep": [_step(step, upkeep, place) for step in upkeep.steps],
        "upkeep_total": _upkeep_total(upkeep),
    }


def _step(step: Step, upkeep: Upkeep, place: tuple[int, int]) -> dict[str, Any]:
    """A step of the window's upkeep. Money is null where a price is not known; `view.upkeep` says what it means."""
    verdict, saved = verdict_of(step, upkeep, place), step.saved_by(upkeep.now)
    turn, round_ = verdict.place or (None, None)
    return {
        "version": step.version or None,
        "cause": step.cause,
        "kind": step.kind,
        "turn": step.turn,
        "round": step.round,
        "own_usd": _dollars(step.own_micro),
        "break_tokens": step.break_tokens,
        "break_usd": _dollars(step.break_micro),
        "tokens_per_round": step.per_round,
        "requests": saved.requests,
        "saved_tokens": saved.tokens,
        "saved_usd": _dollars(step.saved_micro(upkeep.now)),
        "net_usd": _dollars(step.net_micro(upkeep.now)),
        "pays_back_turn": turn,
        "pays_back_round": round_,
        "rounds_left": verdict.rounds or None,
        "state": verdict.standing,
    }


def _upkeep_total(upkeep: Upkeep) -> dict[str, Any]:
    """All steps, also those too old to be listed; money of the parts that have a price, null where no step has all."""
    total = total_of(upkeep)
    money = {
        "own_usd": total.own_micro,
        "break_usd": total.break_micro,
        "saved_usd": total.saved_micro,
        "net_usd": total.net_micro,
    }
    return {
        "steps": total.steps,
        "tokens_per_round": total.per_round,
        "break_tokens": total.break_tokens,
        "saved_tokens": total.saved_tokens,
        **{name: usd(micro) if total.priced else None for name, micro in money.items()},
        "unpriced_steps": total.unpriced,
        "fruitless": {"passes": upkeep.wasted, "usd": usd(upkeep.wasted_micro)},
    }


def _dollars(micro: int | None) -> str | None:
    return None if micro is None else usd(micro)


def _break(one: CacheBreak) -> dict[str, Any]:
    return {
        "turn": one.turn,
        "round": one.round,
        "cause": one.cause,
        "tokens": one.tokens,
        "usd": _dollars(one.cost_micro),
    }


def _part(money: Money) -> dict[str, Any]:
    return {
        "usd": _cost(money),
        "calls": money.calls,
        "unpriced_calls": money.unpriced_calls,
        "tokens": _tokens(money.usage),
    }


def _tokens(usage: Usage) -> dict[str, int]:
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cache_read": usage.cache_read_tokens or 0,
        "cache_write_5m": usage.cache_write_5m_tokens or 0,
        "cache_write_1h": usage.cache_write_1h_tokens or 0,
        "reasoning": usage.reasoning_tokens or 0,
    }
