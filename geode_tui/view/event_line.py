"""An event as one line, and how much it matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from geode_tui.core import format as fmt
from geode_tui.core.endings import SUCCESS
from geode_tui.core.events import LEGACY_NAMES, EventRow
from geode_tui.core.text import clean_line

EventLevel: TypeAlias = Literal["info", "warning", "error"]
LINE = 300
"""Most characters of a line: what is longer is cut."""

_ERRORS = frozenset({"llm_call_failed", "tool_exec_failed", "cost_limit_exceeded", "observer_failed"})
_TROUBLED = frozenset({"error", "timeout", "rejected"})
"""What may come of an extension that is worth a second look."""
_WARNINGS = frozenset(
    {
        "llm_call_retried",
        "cache_hit_low",
        "context_critical",
        "cost_warning",
        "handoff_triggered",
        "wrap_up_started",
        "execution_cancelled",
        "mcp_server_failed",
        "setting_ignored",
    }
)

_BY_CONTENT = frozenset(
    {
        "tool_exec_ended",
        "turn_completed",
        "command_finished",
        "maintenance_ended",
        "extension_invoked",
        "offloads_swept",
    }
)
"""Names whose level depends on what they say."""


def _with_legacy(names: frozenset[str]) -> frozenset[str]:
    return names | {old for old, new in LEGACY_NAMES.items() if new in names}


NAMES_FROM: dict[Literal["warning", "error"], frozenset[str]] = {
    "warning": _with_legacy(_WARNINGS | _ERRORS | _BY_CONTENT),
    "error": _with_legacy(_ERRORS),
}
"""The names an event of at least that level may have: for stores that know names only."""

Fields: TypeAlias = Mapping[str, Any]


def event_level(event: str, payload: str) -> EventLevel:
    """How much the event matters: by its name, and for results and endings by what they say."""
    name = LEGACY_NAMES.get(event, event)
    if name in _ERRORS:
        return "error"
    if name in _WARNINGS:
        return "warning"
    if name == "tool_exec_ended":
        fields = _fields(payload)
        return "warning" if fields.get("has_error") or fields.get("not_stored") else "info"
    if name == "turn_completed" and _fields(payload).get("termination_reason") not in SUCCESS:
        return "warning"
    if name == "command_finished" and _fields(payload).get("outcome") != "done":
        return "warning"
    if name == "maintenance_ended":
        fields = _fields(payload)
        return "warning" if fields.get("status") == "failed" or fields.get("paused") else "info"
    if name == "offloads_swept" and _fields(payload).get("damaged"):
        return "warning"
    if name == "extension_invoked" and _fields(payload).get("status") in _TROUBLED:
        return "warning"
    return "info"


class About(msgspec.Struct, frozen=True):
    """What an event says of the message it belongs to; 0 or empty where it says nothing."""

    message_id: int
    seq: int
    call_id: str
    turn: int
    round: int


def event_about(row: EventRow) -> About:
    """Where in the conversation the event belongs."""
    fields = _Lenient(_fields(row.payload))
    seq = fields.count("seq") or fields.count("message_seq")
    return About(fields.count("message_id"), seq, fields.text("call_id"), row.turn, row.round)


def event_line(event: str, payload: str) -> str:
    """One clean line for the event. An unknown event, or one whose payload is damaged, shows its JSON."""
    line = _LINES.get(LEGACY_NAMES.get(event, event))
    fields = _fields(payload)
    if line is None or not fields:
        return clean_line(payload, LINE)
    return clean_line(line(_Lenient(fields)), LINE)


def _fields(payload: str) -> dict[str, Any]:
    try:
        decoded = msgspec.json.decode(payload)
    except msgspec.DecodeError:
        return {}
    return decoded if isinstance(decoded, dict) else {}


class _Lenient(dict[str, Any]):
    """Fields of an event that may come from another version: what is missing or of another kind reads as nothing."""

    def text(self, name: str) -> str:
        value = self.get(name)
        return "" if value is None else str(value)

    def count(self, name: str) -> int:
        value = self.get(name)
        return int(value) if isinstance(value, int | float) else 0

    def inner(self, name: str) -> _Lenient:
        value = self.get(name)
        return _Lenient(value if isinstance(value, dict) else {})


def _join(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _cost(f: _Lenient) -> str:
    return "unpriced" if f.get("cost_micro") is None else fmt.money(f.count("cost_micro"))


def _call_started(f: _Lenient) -> str:
    used = f.inner("context").count("used")
    return _join(
        f.text("model"), f"{fmt.tokens(used)} in", f"attempt {f.count('attempt')}" if f.count("attempt") > 1 else ""
    )


def _call_ended(f: _Lenient) -> str:
    usage = f.inner("usage")
    seconds = fmt.elapsed(f.count("latency_ms") / 1000)
    return _join(f"{fmt.tokens(usage.count('output_tokens'))} out", _cost(f), seconds, f.text("stop_reason"))


def _tool_ended(f: _Lenient) -> str:
    word = f.text("summary") or ("failed" if f.get("has_error") else "ok")
    time = fmt.elapsed(f.count("duration_ms") / 1000) if f.get("executed", True) else "not run"
    return f"{f.text('tool_name')}  {_join(word, time, fmt.tokens(f.count('tokens')) + ' tok', f.text('not_stored'))}"


def _limits(f: _Lenient) -> str:
    limits = f.inner("limits")
    return _join(
        f"rounds {limits.count('max_rounds') or '-'}",
        f"time {fmt.duration(limits.count('time_budget_s'))}",
        f"session {fmt.duration(limits.count('session_budget_s'))}",
        f"cost {fmt.money(limits.count('cost_budget_micro'))}",
    )


def _spent(f: _Lenient) -> str:
    return f"{fmt.money(f.count('total_micro'))} of {fmt.money(f.count('limit_micro'))}"


def _sizes(f: _Lenient) -> str:
    return f"{fmt.tokens(f.count('tokens_before'))} -> {fmt.tokens(f.count('tokens_after'))}"


def _gauge(context: _Lenient) -> str:
    return f"{fmt.tokens(context.count('used'))} of {fmt.tokens(context.count('budget'))}"


def _upkeep_ended(f: _Lenient) -> str:
    changed = f.text("status") == "changed"
    return _join(
        f"{f.text('trigger')}: {f.text('action')} {f.text('status')}",
        _sizes(f) if changed else "",
        f"{f.count('original_count')} -> {f.count('new_count')} messages" if changed else "",
        f.text("detail") or f.text("error_type"),
        "paused" if f.get("paused") else "",
    )


def _swept(f: _Lenient) -> str:
    damaged = f.get("damaged") or ()
    return _join(
        f"{f.count('expired')} expired",
        f"{f.count('crowded')} made room" if f.count("crowded") else "",
        f"{f.count('receipts')} receipts" if f.count("receipts") else "",
        f"{f.count('freed')} bytes freed",
        f"damaged, set aside: {', '.join(map(str, damaged))}" if damaged else "",
    )


def _dream_ended(f: _Lenient) -> str:
    return _join(
        f"{f.text('status')}  messages #{f.count('first')} to #{f.count('upto')}",
        "by the program" if f.get("local") else "",
        f.text("why"),
        f"{f.count('marked')} lines without a source" if f.count("marked") else "",
        f"{f.count('dropped')} left out" if f.count("dropped") else "",
    )


def _view_changed(f: _Lenient) -> str:
    operations = ", ".join(f"{name} {f.inner('operations').count(name)}" for name in f.inner("operations"))
    back, lost = f.get("takes_back"), f.get("lost")
    taken = " ".join(map(str, back)) if isinstance(back, list) else ""
    return _join(
        f"version {f.count('version')} ({f.text('cause')})",
        operations,
        f"takes back {taken}" if taken else "",
        _sizes(f),
        "written here" if f.get("local") else "",
        f"{len(lost)} lost by the summary" if isinstance(lost, list) and lost else "",
        f"{f.count('unbound')} signed thoughts not sent" if f.count("unbound") else "",
    )


def _forked(f: _Lenient) -> str:
    at = f"turn {f.count('turn')} round {f.count('round')}" if f.count("turn") else ""
    return _join(f"from {f.text('parent')}", at, f"#{f.count('seq')}")


def _server_connected(f: _Lenient) -> str:
    tools = f.get("tools")
    count = len(tools) if isinstance(tools, list) else 0
    return _join(f.text("server_name"), f"{count} tools", "its tools changed" if f.get("changed") else "")


def _server_failed(f: _Lenient) -> str:
    again = "not tried again" if f.get("retry_in_s") is None else f"tried again in {f.count('retry_in_s')} s"
    return _join(f.text("server_name"), f.text("error"), again)


def _server_logged(f: _Lenient) -> str:
    more = f"{f.count('left_out')} more lines" if f.count("left_out") else ""
    return _join(f.text("server_name"), f.text("text"), more)


def _call_progress(f: _Lenient) -> str:
    of = "" if f.get("total") is None else f" of {f.count('total')}"
    return _join(f.text("tool_name"), f"{f.count('progress')}{of}", f.text("message"))


_LINES: dict[str, Callable[[_Lenient], str]] = {
    "mcp_server_connected": _server_connected,
    "mcp_server_failed": _server_failed,
    "mcp_server_logged": _server_logged,
    "mcp_call_progress": _call_progress,
    "session_started": lambda f: _join(f.text("model"), f.text("provider"), "resumed" if f.get("resumed") else ""),
    "session_ended": lambda f: _join(f.text("termination_reason"), f"{f.count('rounds')} rounds"),
    "shutdown_started": lambda f: f"{f.count('active_sessions')} active",
    "user_input_received": lambda f: _join(f"#{f.count('seq')}", f"{f.count('chars')} characters", f.text("origin")),
    "prompt_assembled": lambda f: _join(f.text("reason"), f"{f.count('prompt_len')} characters"),
    "llm_call_started": _call_started,
    "llm_call_ended": _call_ended,
    "llm_call_failed": lambda f: f"{f.text('error_type')}: {f.text('message')}",
    "cache_broken": lambda f: _join(
        f.text("cause"), f"{fmt.tokens(f.count('tokens'))} read again", _cost(f), f.text("said")
    ),
    "cache_hit_low": lambda f: (
        f"{fmt.tokens(f.count('read_tokens'))} read of {fmt.tokens(f.count('cacheable_tokens'))} cacheable"
    ),
    "llm_call_retried": lambda f: _join(f.text("error_type"), f"again in {fmt.elapsed(f.count('delay_s'))}"),
    "message_opened": lambda f: f"#{f.count('seq')}",
    "message_completed": lambda f: _join(
        f"#{f.count('seq')} {f.text('role')}",
        f"{f.count('chars')} characters",
        "" if f.text("status") == "complete" else f.text("status"),
    ),
    "tool_approval_requested": lambda f: f"{f.text('tool_name')}  {f.text('brief')}",
    "approval_transition": lambda f: f"{f.text('state')} by {f.text('by')}: {f.text('tool_name')}",
    "tool_exec_started": lambda f: f"{f.text('tool_name')}  {f.text('brief')}",
    "tool_exec_ended": _tool_ended,
    "tool_exec_failed": lambda f: f"{f.text('tool_name')}  {f.text('error')}",
    "plan_updated": lambda f: f"{len(f.get('steps') or ())} steps",
    "cost_warning": _spent,
    "cost_limit_exceeded": _spent,
    "handoff_triggered": lambda f: f"{fmt.duration(f.count('remaining_s'))} left",
    "wrap_up_started": lambda f: f"{f.text('guard')} is near",
    "limits_changed": _limits,
    "model_switched": lambda f: _join(
        f"{f.text('from_model')} -> {f.text('to_model')}", f"{f.text('provider')}/{f.text('source')}", f.text("effort")
    ),
    "approvals_changed": lambda f: f"approvals: {f.text('approve')}",
    "execution_cancelled": lambda f: f"by {f.text('by')}",
    "suspension_absorbed": lambda f: f"{fmt.duration(f.count('gap_s'))} not counted",
    "observer_failed": lambda f: f"{f.text('observer')}: {f.text('error')}",
    "setting_ignored": lambda f: f"{f.text('setting')}: {f.text('reason')}",
    "context_compacted": lambda f: _join(
        f.text("trigger"), f"{fmt.tokens(f.count('tokens_before'))} before" if f.count("tokens_before") else ""
    ),
    "provider_compacted": lambda f: _join(
        f"#{f.count('seq')}",
        f"{fmt.tokens(f.count('tokens_before'))} -> {fmt.tokens(f.count('tokens_after'))}"
        if f.count("tokens_after")
        else f"{fmt.tokens(f.count('tokens_before'))} before",
    ),
    "provider_cleared": lambda f: _join(
        f"{f.count('tool_uses')} results cleared by the provider", f"{fmt.tokens(f.count('tokens'))} tok"
    ),
    "context_critical": lambda f: _gauge(f.inner("metrics")),
    "context_overflow_action": lambda f: _join(f"{f.text('trigger')}: {f.text('action')}", _gauge(f.inner("metrics"))),
    "maintenance_started": lambda f: _join(
        f.text("trigger"), _gauge(f.inner("context")), "the run waits for it" if f.get("hard") else ""
    ),
    "maintenance_ended": _upkeep_ended,
    "view_changed": _view_changed,
    "window_observed": lambda f: _join(
        f"{fmt.tokens(f.count('limit'))} fit",
        f"{fmt.tokens(f.count('actual'))} counted" if f.count("actual") else "",
        f"{fmt.tokens(f.count('estimated'))} estimated" if f.count("estimated") else "",
    ),
    "tool_result_offloaded": lambda f: _join(
        f"{f.text('tool_name')}  {f.text('ref_id')}",
        f"{'~' if f.get('extrapolated') else ''}{fmt.tokens(f.count('original_tokens'))} tok",
    ),
    "tool_result_recalled": lambda f: _join(
        f"{f.text('ref_id')}", f"{f.count('chars')} characters from {f.count('offset')}", f"by {f.text('by')}"
    ),
    "offloads_swept": _swept,
    "dream_started": lambda f: _join(f"messages up to #{f.count('upto')}", f"{f.text('model')} is asked"),
    "dream_ended": _dream_ended,
    "artifact_forgotten": lambda f: _join(f"{f.text('kind')} {f.text('artifact_id')}", f.text("why")),
    "artifact_approved": lambda f: f"{f.text('kind')} {f.text('artifact_id')}",
    "extension_invoked": lambda f: _join(
        f"{f.text('surface')} {f.text('name')}  {f.text('extension')} {f.text('status')}", f.text("reason")
    ),
    "session_forked": _forked,
    "transcript_imported": lambda f: _join(
        f.text("format"), f"{f.count('rows')} rows", f"{f.count('skipped')} skipped" if f.count("skipped") else ""
    ),
    "command_finished": lambda f: f"{f.text('kind')} {f.text('outcome')}  {f.text('detail')}",
    "reasoning_metrics": lambda f: _join(f"{f.count('total_rounds')} rounds", f"{f.count('tool_calls_total')} calls"),
    "turn_completed": lambda f: _join(f.text("termination_reason"), f"{f.count('rounds')} rounds", _cost(f)),
}
