"""The worker's own fold: it makes the snapshots, and says where a session stands."""

from __future__ import annotations

from geode_tui.core.events import EventRow
from geode_tui.runtime.session import ResumePoint
from geode_tui.runtime.tools.base import ProcessMark
from geode_tui.view.reduce import REDUCER_HASH, encode_state, fold
from geode_tui.view.selectors import session_elapsed
from geode_tui.view.state import OpenTool, RunState

SNAPSHOT_EVENTS = 20_000
"""Between two kept snapshots: reading and folding that many takes about 40 ms (ARCHITECTURE.md, "Snapshots")."""


class FoldObserver:
    """Folds what the worker commits. See `runtime.journal.Observer`."""

    def __init__(self, state: RunState) -> None:
        self.state = state
        self._kept_at = state.events

    def seen(self, rows: list[EventRow]) -> None:
        """Fold committed events."""
        fold(self.state, rows)

    def snapshot(self, *, turn_ended: bool) -> tuple[int, str, str, bytes] | None:
        """A snapshot every 20,000 events, and one at each turn's end that replaces the one before."""
        state = self.state
        if state.events - self._kept_at >= SNAPSHOT_EVENTS:
            self._kept_at = state.events
            return state.last_id, "kept", REDUCER_HASH, encode_state(state)
        if turn_ended:
            return state.last_id, "latest", REDUCER_HASH, encode_state(state)
        return None


def resume_point(state: RunState) -> ResumePoint:
    """Where the log says that the session stands."""
    running = [t for t in state.open_tools.values() if t.state == "running"]
    return ResumePoint(
        turn=state.turn,
        round=state.round,
        turn_open=state.turn_open,
        ending=state.termination_reason,
        spent_micro=state.money.cost_micro,
        session_s=session_elapsed(state, state.last_ts),
        cost_warned=state.cost_warned,
        cost_exceeded=state.cost_exceeded,
        handoff=state.handoff,
        cache_use=state.cache_use,
        cache_low=state.cache_low_turn > 0,
        open_llm_calls=tuple((c.call_id, c.attempt, c.purpose, c.model) for c in state.open_calls.values()),
        open_processes=tuple((t.call_id, _mark(t)) for t in running),
        open_approvals=tuple((a.approval_id, a.call_id, a.tool) for a in state.approvals.values()),
        open_maintenance=state.maintenance is not None,
        dream_micro=state.by_purpose["dream"].cost_micro if "dream" in state.by_purpose else 0,
    )


def _mark(tool: OpenTool) -> ProcessMark | None:
    if tool.group is None or tool.group_started is None:
        return None
    return ProcessMark(tool.group, tool.group_started)
