"""Foreign transcripts in this project's log: the same rows and events, the same panes (PRODUCT.md, "Command line")."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from geode_tui.core.events import LlmCallEnded, LlmCallStarted, TurnCompleted, decode_payload
from geode_tui.core.messages import answered
from geode_tui.log.store import StoreFull, connect, fetch
from geode_tui.log.transcript import Transcript
from geode_tui.sources.mirror import Mirror
from geode_tui.view.follow import state_at
from tests.cli.conftest import Here
from tests.cli.place import Place
from tests.sources.records import answer, boundary, call, lines, real, result, row, said, text

USAGE = {"input_tokens": 3, "output_tokens": 40, "cache_read_input_tokens": 9_000, "cache_creation_input_tokens": 997}


def wrote(path: Path, *rows: dict[str, Any] | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines(*rows)))
    return path


def conversation() -> list[dict[str, Any]]:
    return [
        said("look around"),
        answer("m-1", text("Looking."), usage=USAGE),
        answer("m-1", call("c-1", "Bash", command="ls", description="List"), usage={**USAGE, "output_tokens": 90}),
        result("c-1", "a.py\nb.py"),
        answer("m-2", text("Two files."), usage={**USAGE, "cache_read_input_tokens": 9_200}),
        said("thank you"),
        answer("m-3", text("Any time."), usage={**USAGE, "cache_read_input_tokens": 9_300}),
    ]


def transcript(place: Place) -> Transcript:
    return Transcript(connect(place.root / ".geode" / "sessions.db"), place.root / ".geode")


def dump(place: Place) -> list[Any]:
    """Everything that a person could see of the store's sessions."""
    db = connect(place.root / ".geode" / "sessions.db")
    return [
        fetch(
            db, "SELECT session_id, title, origin, model, created_at, updated_at, round_count FROM sessions ORDER BY id"
        ),
        fetch(db, "SELECT session_id, seq, role, content, timestamp, turn, round, status FROM messages ORDER BY id"),
        fetch(db, "SELECT id, session, ts, turn, round, event, payload FROM events ORDER BY id"),
    ]


def test_a_transcript_becomes_a_run_with_turns_rounds_figures_and_money(place: Place, here: Here) -> None:
    path = wrote(place.root / "t.jsonl", *conversation())
    (entry,) = here("import", str(path), "--json").json["files"]
    assert entry["tokens"] == {
        "input": 9, "output": 170, "cache_read": 27_500, "cache_write_5m": 2_991, "cache_write_1h": 0, "reasoning": 0,
    }  # fmt: skip
    assert entry["cost_usd"] == "0.036738"
    assert {k: entry[k] for k in ("format", "session_id", "rows", "skipped", "unknown", "messages", "compactions")} == {
        "format": "claude-code", "session_id": "s-1", "rows": 7, "skipped": 0, "unknown": {}, "messages": 6,
        "compactions": 0,
    }  # fmt: skip
    (shown,) = here("sessions", "--json").json
    assert (shown["origin"], shown["state"], shown["turns"], shown["rounds"]) == ("claude-code", "ended", 2, 3)
    assert (shown["title"], shown["termination_reason"], shown["cost_usd"]) == ("look around", "natural", "0.036738")
    gauge = here("context", "s-1", "--json").json
    assert (gauge["used"], gauge["measured"], gauge["provenance"]) == (10_300, "confirmed", "unknown_fallback")
    assert sum(r["tokens"] for r in gauge["rows"]) == 10_300
    assert here("cost", "s-1", "--json").json["tokens"] == entry["tokens"]


def test_its_rows_are_the_messages_in_order_at_the_times_they_were_recorded(place: Place, here: Here) -> None:
    rows = conversation()
    here("import", str(wrote(place.root / "t.jsonl", *rows)))
    log = transcript(place)
    stored = log.messages("s-1")
    assert [(m.row.seq, m.row.turn, m.row.round, m.row.role) for m in stored] == [
        (1, 1, 0, "user"), (2, 1, 1, "assistant"), (3, 1, 1, "tool"), (4, 1, 2, "assistant"), (5, 2, 0, "user"),
        (6, 2, 1, "assistant"),
    ]  # fmt: skip
    assert answered(tuple(m.message for m in stored))
    row_ = log.session("s-1")
    assert row_ is not None
    events = log.events(row_.number)
    assert [e.ts for e in events] == sorted(e.ts for e in events)
    assert (row_.created_at, row_.updated_at) == (events[0].ts, events[-1].ts)
    counted = Counter(e.event for e in events)
    assert (counted["llm_call_started"], counted["llm_call_ended"], counted["turn_completed"]) == (3, 3, 2)
    assert (counted["tool_exec_started"], counted["tool_exec_ended"], counted["message_completed"]) == (1, 1, 3)
    payloads = [decode_payload(e.event, e.payload) for e in events]
    assert [p.context.measured for p in payloads if isinstance(p, LlmCallStarted)] == ["estimated"] * 3
    ended = [p for p in payloads if isinstance(p, LlmCallEnded)]
    assert [(p.context.used, p.message_seq, p.response_id) for p in ended] == [
        (10_000, 2, "m-1"), (10_200, 4, "m-2"), (10_300, 6, "m-3"),
    ]  # fmt: skip
    assert all(sum(p.context.parts.values()) == p.context.used for p in ended)
    assert [p.tool_calls for p in payloads if isinstance(p, TurnCompleted)] == [("Bash",), ()]


def test_importing_twice_changes_nothing(place: Place, here: Here) -> None:
    path = wrote(place.root / "t.jsonl", *conversation())
    assert here("import", str(path), "--json").json["files"][0]["changed"] is True
    before = dump(place)
    again = here("import", str(path), "--json").json["files"][0]
    assert again["changed"] is False
    assert again["tokens"]["output"] == 170
    assert dump(place) == before


def test_a_file_that_has_grown_is_read_anew(place: Place, here: Here) -> None:
    rows = conversation()
    path = wrote(place.root / "t.jsonl", *rows[:4], b'{"type":"assist')
    assert here("import", str(path), "--json").json["files"][0]["skipped"] == 1
    (early,) = here("sessions", "--json").json
    assert (early["rounds"], early["termination_reason"]) == (1, "unfinished")
    highest = dump(place)[2][-1][0]
    wrote(path, *rows)
    assert here("import", str(path), "--json").json["files"][0]["changed"] is True
    log = transcript(place)
    (session,) = log.sessions()
    assert len(log.messages("s-1")) == 6
    assert log.events(session.number)[0].id > highest
    assert state_at(log, session.number).rounds_total == 3


def test_the_state_that_was_kept_is_the_one_that_folds_from_zero(place: Place, here: Here) -> None:
    here("import", str(wrote(place.root / "t.jsonl", *conversation())))
    log = transcript(place)
    (session,) = log.sessions()
    kept = state_at(log, session.number)
    log.db.execute("DELETE FROM state_snapshots")
    assert state_at(log, session.number) == kept


def test_a_turn_goes_on_over_notes_and_compactions_and_ends_where_the_person_stopped_it(
    place: Place, here: Here
) -> None:
    rows = [
        said("go"),
        answer("m-1", call("c-1"), usage=USAGE),
        result("c-1"),
        boundary(trigger="auto", preTokens=90_000),
        said("what was", isCompactSummary=True),
        answer("m-2", call("c-2"), usage=USAGE),
        result("c-2", "The user doesn't want to proceed", is_error=True),
        said([text("[Request interrupted by user for tool use]")]),
        said("do something else"),
        answer("m-3", text("Fine."), usage=USAGE),
    ]
    here("import", str(wrote(place.root / "t.jsonl", *rows)))
    log = transcript(place)
    (session,) = log.sessions()
    payloads = [decode_payload(e.event, e.payload) for e in log.events(session.number)]
    turns = [(p.rounds, p.termination_reason) for p in payloads if isinstance(p, TurnCompleted)]
    assert turns == [(2, "user_cancelled"), (1, "natural")]


def test_a_file_whose_import_was_cut_off_is_read_anew(
    place: Place, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = wrote(place.root / "t.jsonl", *conversation())
    with monkeypatch.context() as patch:
        patch.setattr(Mirror, "_finish", lambda *_: (_ for _ in ()).throw(StoreFull("the disk is full")))
        cut = here("import", str(path), "--json")
    assert (cut.status, "the disk is full" in cut.err) == (1, True)
    (half,) = here("sessions", "--json").json
    assert half["origin"] == "claude-code"
    assert here("import", str(path), "--json").json["files"][0]["changed"] is True
    (whole,) = here("sessions", "--json").json
    assert (whole["rounds"], whole["termination_reason"]) == (3, "natural")
    assert len(transcript(place).messages("s-1")) == 6


def test_a_compaction_is_one_marker_and_the_gauge_starts_anew(place: Place, here: Here) -> None:
    rows = conversation()
    more = [
        boundary(trigger="auto", preTokens=167_094),
        said("This session is being continued. " * 40, isCompactSummary=True),
        answer("m-4", text("Going on."), usage={**USAGE, "cache_read_input_tokens": 4_000}),
    ]
    entry = here("import", str(wrote(place.root / "t.jsonl", *rows, *more)), "--json").json["files"][0]
    assert entry["compactions"] == 1
    log = transcript(place)
    (session,) = log.sessions()
    events = log.events(session.number)
    assert [e.event for e in events].count("context_compacted") == 1
    gauge = here("context", "s-1", "--json").json
    by_category = {r["category"]: r["tokens"] for r in gauge["rows"]}
    assert gauge["used"] == 5_000
    assert by_category["summaries"] > 300
    assert "results" not in by_category


def test_sub_agents_are_sessions_of_their_own_unless_they_have_a_file(place: Place, here: Here) -> None:
    inner = [said("look there"), answer("m-9", text("Found."), usage=USAGE)]
    rows = [row("progress", data={"type": "agent_progress", "agentId": "a1", "message": r}) for r in inner]
    path = wrote(place.root / "s-1.jsonl", *conversation(), *rows)
    own = place.root / "s-1" / "subagents" / "agent-a1.jsonl"
    entry = here("import", str(path), "--json").json["files"][0]
    assert (entry["agents"], entry["tokens"]["output"]) == (["s-1.a1"], 170)
    side = [{**r, "isSidechain": True, "agentId": "a1"} for r in (*inner, answer("m-10", text("More."), usage=USAGE))]
    wrote(own, *side)
    assert here("import", str(own), "--json").json["files"][0]["session_id"] == "s-1.a1"
    wrote(path, *conversation(), *rows, said("one more thing"))
    assert here("import", str(path), "--json").json["files"][0]["agents"] == []
    by_id = {s["session_id"]: s["rounds"] for s in here("sessions", "--json").json}
    assert by_id == {"s-1": 3, "s-1.a1": 2}


def test_two_files_with_one_id_are_two_sessions(place: Place, here: Here) -> None:
    first = wrote(place.root / "a" / "s-1.jsonl", *conversation())
    other = wrote(place.root / "b" / "s-1.jsonl", said("something else"), answer("m-1", text("Yes."), usage=USAGE))
    moved = wrote(place.root / "c" / "s-1.jsonl", *conversation(), said("and on"))
    (place.root / "c" / "s-1.jsonl").write_bytes(first.read_bytes() + b"".join(lines(said("and on"))))
    entries = here("import", str(first), str(other), str(moved), "--json").json["files"]
    ids = [e["session_id"] for e in entries]
    assert ids[0] == ids[2] == "s-1"
    assert ids[1].startswith("s-1.")


def test_what_is_no_transcript_is_refused_in_one_line_and_costs_no_other_file(place: Place, here: Here) -> None:
    good = wrote(place.root / "in" / "t.jsonl", *conversation())
    other = place.root / "in" / "notes.jsonl"
    other.write_text('{"role":"user"}\n', encoding="utf-8")
    done = here("import", str(other), str(good), "--json")
    assert done.status == 2
    assert "notes.jsonl is no transcript that geode-tui reads" in done.err
    assert [e["session_id"] for e in done.json["files"]] == ["s-1"]
    assert here("import", str(good.parent)).status == 0
    missing = here("import", str(place.root / "none.jsonl"))
    assert (missing.status, "cannot be read" in missing.err) == (2, True)
    assert "there is no transcript there" in here("import").err


def test_a_foreign_run_is_read_and_not_continued(place: Place, here: Here) -> None:
    here("import", str(wrote(place.root / "t.jsonl", *conversation())))
    refused = here("run", "go on", "--session", "s-1", "--provider", "offline", "--json")
    assert refused.status == 2
    assert "was recorded by claude-code" in refused.err
    assert fetch(transcript(place).db, "SELECT count(*) FROM commands") == [(0,)]


def test_answers_without_figures_have_no_price_and_no_gauge_of_their_own(place: Place, here: Here) -> None:
    rows = [said("go"), row("assistant", message={"role": "assistant", "content": "Sure."})]
    entry = here("import", str(wrote(place.root / "t.jsonl", *rows)), "--json").json["files"][0]
    assert entry["cost_usd"] is None
    (shown,) = here("sessions", "--json").json
    assert (shown["cost_usd"], shown["unpriced_calls"]) == (None, 1)
    assert here("context", "s-1", "--json").json["measured"] == "estimated"


def test_what_a_transcript_says_cannot_drive_a_terminal(place: Place, here: Here) -> None:
    rows = [said("\x1b]0;owned\x07\x1b[31m title"), answer("m-1", text("\x1b[2J"), usage=USAGE)]
    done = here("import", str(wrote(place.root / "t.jsonl", *rows)))
    assert "\x1b" not in done.out + here("sessions").out


@pytest.mark.parametrize(
    ("name", "usd"),
    [
        ("cc-spotter-258c7280.jsonl", 11.85),
        ("cc-spotter-4d5611e5.jsonl", 9.53),
        ("cc-spotter-ae4a77f8.jsonl", 5.32),
    ],
)
def test_real_transcripts_to_the_cent(place: Place, here: Here, name: str, usd: float) -> None:
    """B011, B057: at list price, one-hour writes at twice the input price."""
    entry = here("import", str(real(name)), "--json").json["files"][0]
    assert round(float(entry["cost_usd"]), 2) == usd
    session = entry["session_id"]
    assert here("cost", session, "--json").json["tokens"] == entry["tokens"]
    log = transcript(place)
    row_ = log.session(session)
    assert row_ is not None
    ended = (decode_payload(e.event, e.payload) for e in log.newest_named(row_.number, "llm_call_ended", 1_000))
    figures = [p.context for p in ended if isinstance(p, LlmCallEnded)]
    assert {(f.window, f.budget) for f in figures} == {(0, 0)}, "no percentage of a window that nobody knows"
    shown = here("context", session, "--json").json
    assert (shown["window"], shown["budget"], shown["percent"], shown["state"]) == (None, None, None, None)
    assert shown["used"] == figures[-1].used
    times = [at for (at,) in fetch(log.db, "SELECT ts FROM events WHERE session=? ORDER BY id", (row_.number,))]
    assert times == sorted(times)
    assert all(sum(f.parts.values()) == f.used for f in figures)
