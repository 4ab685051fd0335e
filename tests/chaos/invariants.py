"""What holds of a session however often its workers were killed."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

from geode_tui.context.protect import latest_input
from geode_tui.context.rendering import Renderer
from geode_tui.context.view import fold as folded
from geode_tui.core.messages import answered
from geode_tui.core.views import Native, Summarise, Version
from geode_tui.log import views
from geode_tui.log.store import fetch_one
from geode_tui.log.transcript import Transcript
from geode_tui.runtime.stored import Stored, read_stored
from geode_tui.view.follow import state_at
from geode_tui.view.reduce import encode_state, fold
from geode_tui.view.state import RunState
from tests.cli.place import Place


def check(place: Place, session_id: str) -> None:
    """Everything below, of a session whose turns have all ended."""
    assert place.read(lambda t: fetch_one(t.db, "PRAGMA integrity_check")) == ("ok",)
    check_messages(place, session_id)
    check_pairs(place, session_id)
    check_commands(place, session_id)
    check_fold(place, session_id)
    check_view(place, session_id)


def check_messages(place: Place, session_id: str) -> None:
    """Every call of every answer has one result; no answer is left open; whole answers left no pieces behind."""
    messages = place.read(lambda t: t.messages(session_id))
    calls = [c.call_id for m in messages for c in m.message.calls]
    results = [m.row.call_id for m in messages if m.row.role == "tool"]
    assert len(set(calls)) == len(calls)
    assert sorted(results) == sorted(calls)
    assert place.read(lambda t: t.open_message(session_id)) is None
    left = "SELECT count(*) FROM chunks WHERE message_id NOT IN (SELECT id FROM messages WHERE status='interrupted')"
    assert place.query(left) == [(0,)]
    shown = {r.id for r in place.read(lambda t: t.index(session_id))}
    told = [p["message_id"] for n in MESSAGE_EVENTS for p in place.payloads(session_id, n)]
    assert sorted(told) == sorted(shown)


MESSAGE_EVENTS = ("user_input_received", "message_completed", "tool_exec_ended")


def check_pairs(place: Place, session_id: str) -> None:
    """What was begun has ended, once: requests, calls, approvals, the context's upkeep, turns."""
    started = Counter(_attempts(place.payloads(session_id, "llm_call_started")))
    ended = _attempts(place.payloads(session_id, "llm_call_ended"))
    failed = _attempts(place.payloads(session_id, "llm_call_failed"))
    assert Counter(ended + failed) == started
    assert set(started.values()) <= {1}

    begun = Counter(p["call_id"] for p in place.payloads(session_id, "tool_exec_started"))
    closed = Counter(p["call_id"] for p in place.payloads(session_id, "tool_exec_ended"))
    assert set(begun.values()) | set(closed.values()) <= {1}
    assert set(begun) <= set(closed)

    moves = place.payloads(session_id, "approval_transition")
    asked = Counter(p["approval_id"] for p in moves if p["state"] == "requested")
    answered = Counter(p["approval_id"] for p in moves if p["state"] != "requested")
    assert asked == answered
    assert set(asked.values()) <= {1}

    upkeep = [r.event for r in place.events(session_id) if r.event in {"maintenance_started", "maintenance_ended"}]
    following = itertools.pairwise([*upkeep, ""])
    assert all(after == "maintenance_ended" for now, after in following if now == "maintenance_started")

    opened = [p["turn_id"] for p in place.payloads(session_id, "user_input_received") if not p["joins"]]
    assert [p["turn_id"] for p in place.payloads(session_id, "turn_completed")] == opened


def _attempts(payloads: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(p["call_id"], p["attempt"]) for p in payloads]


def check_commands(place: Place, session_id: str) -> None:
    """Every command has one outcome, and one event says so."""
    rows = place.query("SELECT id, outcome FROM commands WHERE session_id=?", session_id)
    assert all(outcome for _, outcome in rows)
    told = {p["command_id"]: p["outcome"] for p in place.payloads(session_id, "command_finished")}
    assert len(place.payloads(session_id, "command_finished")) == len(rows)
    assert told == dict(rows)


def check_fold(place: Place, session_id: str) -> None:
    """What the newest snapshot and the rest give is what the whole log gives."""

    def both(transcript: Transcript) -> tuple[RunState, RunState]:
        row = transcript.session(session_id)
        assert row is not None
        return state_at(transcript, row.number), fold(RunState(), transcript.events(row.number, 0, 1_000_000))

    quick, whole = place.read(both)
    assert encode_state(quick) == encode_state(whole)
    assert not whole.turn_open
    assert not whole.open_calls
    assert not whole.open_tools
    assert whole.maintenance is None
    assert not whole.damaged_events


def check_view(place: Place, session_id: str) -> None:
    """The active view is one whole version, told of once, and what it sends is a conversation that a provider takes and
    that holds what was typed last, as it was typed and once. A summary is applied where a version names it, and only
    there.
    """

    def read(transcript: Transcript) -> Stored:
        row = transcript.session(session_id)
        assert row is not None
        return read_stored(transcript, session_id, row.number)

    stored = place.read(read)
    numbers = [version.number for version in stored.versions]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [version.parent for version in stored.versions] == list(range(len(numbers)))
    assert [p["version"] for p in place.payloads(session_id, "view_changed")] == numbers

    sent = Renderer().render(stored.items, folded(stored.versions))
    assert answered(tuple(each.message for each in sent))
    latest = latest_input(stored.items)
    assert latest is None or [each.message for each in sent if each.seq == latest.seq] == [latest.message]

    kept = place.read(lambda t: views.artifacts(t.db, session_id, "compaction_summary"))
    named = {op.artifact_id for v in stored.versions for op in v.operations if isinstance(op, Summarise | Native)}
    assert {a.artifact_id for a in kept if a.metadata["applied"]} == named
    assert all(a.metadata["applied"] or a.metadata["reason"] for a in kept)


def versions(place: Place, session_id: str) -> list[Version]:
    """The versions of the session's view, oldest first."""
    row = place.row(session_id)
    return [] if row is None else place.read(lambda t: views.versions(t, row.number))


def seen(place: Place, session_id: str) -> dict[int, tuple[str, str]]:
    """Every event that a reader can see now: what it has seen may never be taken back."""
    return {r.id: (r.event, r.payload) for r in place.events(session_id)}
