"""Closing what is open: every call gets its one result, every request its end, whatever interrupted them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from geode_tui.core.endings import Ending
from geode_tui.core.events import (
    ApprovalTransition,
    LlmCallFailed,
    MaintenanceEnded,
    ToolExecEnded,
    ToolExecFailed,
)
from geode_tui.core.messages import ToolCallBlock, tool_text
from geode_tui.log.rows import Fate, ResultMeta
from geode_tui.log.views import mark_not_applied
from geode_tui.log.writer import Tx

TEXTS: dict[Fate, str] = {
    "not_started": "cancelled: not started",
    "unknown": "interrupted: outcome unknown. It was begun and not seen to end; check before doing it again",
    "interrupted": "interrupted by the person: its processes were ended. What it had done until then stands",
}
_SUMMARIES: dict[Fate, str] = {"not_started": "not started", "unknown": "outcome unknown", "interrupted": "interrupted"}


class Loose(msgspec.Struct, frozen=True):
    """What is to be closed. ``begun`` holds ids of the calls whose intent was committed, ``artifacts`` those of
    summaries of which nothing came.
    """

    message: tuple[int, int] | None
    llm: tuple[LlmCallFailed, ...]
    calls: Sequence[ToolCallBlock]
    begun: Collection[str]
    approvals: Sequence[tuple[str, str, str]]
    maintenance: MaintenanceEnded | None = None
    artifacts: Sequence[str] = ()


def close(tx: Tx, loose: Loose, why: str) -> None:
    """Write every end that is missing. What has its end already is passed over: the log is asked, not memory."""
    if loose.message is not None and tx.is_open(loose.message[0]):
        tx.interrupt_message(*loose.message)
    for failed in loose.llm:
        tx.event(failed)
    for approval_id, call_id, tool in loose.approvals:
        tx.event(ApprovalTransition(approval_id, call_id, tool, "dropped", why))
    for call in loose.calls:
        if not tx.has_result(call.call_id):
            _close_call(tx, call, begun=call.call_id in loose.begun, why=why)
    for artifact_id in loose.artifacts:
        mark_not_applied(tx, artifact_id, why)
    if loose.maintenance is not None:
        tx.event(loose.maintenance)


def _close_call(tx: Tx, call: ToolCallBlock, *, begun: bool, why: str) -> None:
    fate: Fate = "not_started"
    if begun:
        fate = "interrupted" if why == Ending.USER_CANCELLED.value else "unknown"
        tx.event(ToolExecFailed(call.call_id, call.name, TEXTS[fate], why, recoverable=True))
    text = TEXTS[fate]
    meta = ResultMeta(summary=_SUMMARIES[fate], is_error=True, executed=begun, fate=fate)
    number, seq = tx.add_message(tool_text(call, text, is_error=True), meta)
    ended = ToolExecEnded(
        call_id=call.call_id,
        tool_name=call.name,
        duration_ms=0,
        has_error=True,
        executed=begun,
        summary=meta.summary,
        tokens=0,
        chars=len(text),
        message_id=number,
        seq=seq,
    )
    tx.event(ended)
