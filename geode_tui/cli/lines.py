"""Events as lines: JSON objects for programs, short lines for people."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from geode_tui.core.events import EventRow
from geode_tui.core.usage import usd
from geode_tui.log.rows import MessageRow
from geode_tui.log.transcript import Transcript


def event_object(row: EventRow, session_id: str, safe: Callable[[Any], Any]) -> str:
    """One event as PRODUCT.md's JSON object, on one line. A payload that is damaged stands in it as text."""
    ts = datetime.fromtimestamp(row.ts, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    body = {
        "id": row.id,
        "ts": ts,
        "session_id": session_id,
        "turn": row.turn,
        "round": row.round,
        "event": row.event,
        "payload": safe(_decoded(row.payload)),
    }
    return msgspec.json.encode(body).decode()


def _decoded(payload: str) -> Any:
    try:
        return msgspec.json.decode(payload)
    except msgspec.DecodeError:
        return payload


class HumanLines:
    """Events as lines for a person: what the agent says, what it does, how it ends."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def lines(self, row: EventRow) -> list[str]:
        """The lines of one event; most events have none."""
        make = _LINES.get(row.event)
        return [] if make is None else make(self, row, msgspec.json.decode(row.payload))

    def message(self, row: EventRow, payload: dict[str, Any]) -> list[str]:
        """What the agent said, and the calls it makes."""
        found: MessageRow | None = self._transcript.row(int(payload["message_id"]))
        if found is None:
            return []
        text = self._transcript.message(found.id).message.text.strip()
        cut = ["  (the answer broke off here)"] if payload.get("status") == "interrupted" else []
        return [f"round {row.round}", *text.splitlines(), *cut] if text or cut else [f"round {row.round}"]


def _tool_started(_lines: HumanLines, _row: EventRow, p: dict[str, Any]) -> list[str]:
    return [f"  > {p['tool_name']}  {p['brief']}"]


def _tool_ended(_lines: HumanLines, _row: EventRow, p: dict[str, Any]) -> list[str]:
    sign = "x" if p["has_error"] else "+"
    return [f"  {sign} {p['tool_name']}  {p['summary']}  {p['duration_ms'] / 1000:.1f} s  {p['tokens']} tok"]


def _approval(_lines: HumanLines, _row: EventRow, p: dict[str, Any]) -> list[str]:
    return [f"  ? {p['tool_name']}  {p['brief']}  waits for you: geode-tui approve, or deny"]


def _failed(_lines: HumanLines, _row: EventRow, p: dict[str, Any]) -> list[str]:
    return [f"  ! {p['error_type']}: {p['message']}"]


def _retried(_lines: HumanLines, _row: EventRow, p: dict[str, Any]) -> list[str]:
    return [f"  ! asks again in {p['delay_s']:.1f} s (attempt {p['attempt']})"]


def _completed(_lines: HumanLines, _row: EventRow, p: dict[str, Any]) -> list[str]:
    detail = f": {p['detail']}" if p["detail"] else ""
    return [f"ended after {p['rounds']} rounds, ${usd(p['cost_micro'])}: {p['termination_reason']}{detail}"]


def _ignored(_lines: HumanLines, _row: EventRow, p: dict[str, Any]) -> list[str]:
    return [f"  ! {p['reason']}"]


_LINES: dict[str, Callable[[HumanLines, EventRow, dict[str, Any]], list[str]]] = {
    "message_completed": HumanLines.message,
    "tool_exec_started": _tool_started,
    "tool_exec_ended": _tool_ended,
    "tool_approval_requested": _approval,
    "llm_call_failed": _failed,
    "llm_call_retried": _retried,
    "turn_completed": _completed,
    "setting_ignored": _ignored,
}
