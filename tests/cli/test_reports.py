"""`sessions`, `status`, `context` and `cost`: the shapes of PRODUCT.md, and how a session is named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Here
from tests.cli.place import Place

SESSIONS = (
    "session_id title origin state model provider source turns rounds context cost_usd unpriced_calls started_at"
    " updated_at termination_reason"
)
STATUS = "session_id state worker_pid turn round doing waiting_on queued termination_reason ended_because last_events"
CONTEXT = (
    "session_id round route window output_reserve input_cap budget used percent state warning_percent critical_percent"
    " simulated provenance measured rows blocks forecast view"
)
COST = "session_id month usd unpriced_calls tokens by_model by_purpose"
TOKENS = {"input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning"}
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def assert_keys(value: dict[str, Any], names: str) -> None:
    """All of ``names`` are there; more may be."""
    assert set(names.split()) <= set(value)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One place for the module: two runs that have ended. Nothing here changes them."""
    made = Place(tmp_path_factory.mktemp("reports"))
    for word in ("one", "two"):
        done = made.cli("run", f"run `echo {word}`", "--provider", "offline", "--approve", "all")
        assert done.status == 0
    yield made
    made.close()


@pytest.fixture
def session(place: Place) -> str:
    return place.newest


def test_sessions_has_a_row_for_every_run_newest_first(place: Place, here: Here) -> None:
    rows = here("sessions", "--json").json
    assert [r["title"] for r in rows] == ["run `echo two`", "run `echo one`"]
    for row in rows:
        assert_keys(row, SESSIONS)
        assert set(row["context"]) == {"used", "budget", "percent", "state"}
        assert (row["origin"], row["state"], row["termination_reason"]) == ("own", "idle", "natural")
        assert (row["model"], row["provider"], row["turns"]) == ("offline-planner", "offline", 1)
        assert ISO.fullmatch(row["started_at"])
        assert ISO.fullmatch(row["updated_at"])
        assert float(row["cost_usd"]) > 0
        assert row["simulated"] is True


def test_status_says_where_a_session_stands(place: Place, here: Here, session: str) -> None:
    report = here("status", session, "--json").json
    assert_keys(report, STATUS)
    assert (report["session_id"], report["state"], report["turn"]) == (session, "idle", 1)
    assert report["worker_pid"] == place.worker(session).pid
    assert (report["waiting_on"], report["queued"], report["termination_reason"]) == (None, 0, "natural")
    assert report["last_events"][-1]["event"] == "turn_completed"
    assert {"id", "ts", "session_id", "turn", "round", "event", "payload"} == set(report["last_events"][-1])


def test_status_without_a_session_lists_the_workers(place: Place, here: Here, session: str) -> None:
    report = here("status", "--json").json
    assert_keys(report, "workers model mcp version")
    assert {"session_id": session, "pid": place.worker(session).pid} in report["workers"]
    assert len(report["workers"]) == 2


def test_context_adds_up_and_can_be_asked_for_an_earlier_round(place: Place, here: Here, session: str) -> None:
    now = here("context", session, "--json").json
    assert_keys(now, CONTEXT)
    assert set(now["route"]) == {"model", "provider", "source"}
    assert_keys(now["forecast"], "per_round rounds_to_warning rounds_to_critical rounds_to_full")
    assert set(now["view"]) == {"version", "cause", "mode"}
    assert sum(r["tokens"] for r in now["rows"]) == now["used"]
    assert sum(layer["tokens"] for layer in now["layers"]) == now["used"]
    assert [layer["layer"] for layer in now["layers"]] == ["tools", "static", "dynamic", "history"]
    for block in now["blocks"]:
        assert_keys(block, "seq round kind state tokens protected")
    assert sum(b["tokens"] for b in now["blocks"] if b["state"] != "unsent") == now["used"]
    assert {"user", "agent", "results", "system", "tools"} <= {b["kind"] for b in now["blocks"]}
    assert now["budget"] == now["window"] - now["output_reserve"]

    first = here("context", session, "--round", "1", "--json").json
    assert first["round"] == 1
    assert first["used"] < now["used"]
    assert sum(b["tokens"] for b in first["blocks"] if b["state"] != "unsent") == first["used"]
    assert len(first["blocks"]) < len(now["blocks"])
    assert "there is no round 99" in here("context", session, "--round", "99").line


def test_every_report_of_a_session_tells_the_same_context_and_cost(place: Place, here: Here, session: str) -> None:
    figures = here("context", session, "--json").json
    status = here("status", session, "--json").json
    listed = next(row for row in here("sessions", "--json").json if row["session_id"] == session)
    named = {name: figures[name] for name in ("used", "budget", "percent", "state")}
    assert named == status["context"] == listed["context"]
    said = here("context", session).out.splitlines()[0]
    assert f"Context: {said}" in here("status", session).out.splitlines()
    assert said.startswith(f"{int(figures['percent'])} %  {figures['state']}  ")
    cost = here("cost", session, "--json").json
    assert cost["usd"] == status["cost_usd"] == listed["cost_usd"]


def test_cost_of_a_session_adds_up(place: Place, here: Here, session: str) -> None:
    report = here("cost", session, "--json").json
    assert_keys(report, COST)
    assert (report["session_id"], report["month"], report["simulated"]) == (session, None, True)
    assert set(report["tokens"]) == TOKENS
    assert set(report["by_purpose"]) == {"turn", "summary", "dream", "subagent", "title"}
    assert report["by_model"]["offline-planner"]["usd"] == report["usd"] == report["by_purpose"]["turn"]["usd"]
    assert report["by_model"]["offline-planner"]["tokens"] == report["tokens"]
    ended = place.payloads(session, "turn_completed")[0]["cost_micro"]
    assert float(report["usd"]) == pytest.approx(ended / 1e6)
    assert report["upkeep"] == []
    assert (report["upkeep_total"]["steps"], report["upkeep_total"]["net_usd"]) == (0, "0.00")


def test_cost_tells_what_a_compaction_by_hand_saved(tmp_path: Path) -> None:
    own = Place(tmp_path)
    try:
        assert own.cli("run", "run `seq 2000`", "--provider", "offline", "--approve", "all").status == 0
        session = own.newest
        assert own.cli("compact", session, "--keep", "1").status == 0
        (step,) = json.loads(own.cli("cost", session, "--json").out)["upkeep"]
        assert (step["version"], step["cause"], step["own_usd"], step["state"]) == (1, "manual", "0.00", "not_yet")
        assert own.cli("run", "run `echo on`", "--session", session).status == 0
        (step,) = json.loads(own.cli("cost", session, "--json").out)["upkeep"]
        assert step["requests"] > 0
        assert step["saved_tokens"] == step["requests"] * step["tokens_per_round"]
        assert "Upkeep: 1 step" in own.cli("cost", session).out
    finally:
        own.close()


def test_simulated_money_is_in_no_month(place: Place, here: Here) -> None:
    report = here("cost", "--month", "2026-11", "--json").json
    assert_keys(report, COST)
    assert (report["month"], report["by_model"], float(report["usd"])) == ("2026-11", {}, 0.0)
    assert not (place.home / "own" / "data" / "usage").exists()


def test_a_session_and_a_month_exclude_each_other(here: Here, session: str) -> None:
    assert "not both" in here("cost", session, "--month", "2026-11").line


def test_a_session_is_found_by_either_end_of_its_id_and_two_are_not_guessed_between(
    place: Place, here: Here, session: str
) -> None:
    assert here("status", session[-4:], "--json").json["session_id"] == session
    done = here("status", session[:3])
    assert done.status == 2
    assert session in done.line
    assert "write more of it" in done.line


@pytest.mark.parametrize("command", ["sessions", "status", "context", "cost", "attach"])
def test_reports_for_people_are_plain_lines(place: Place, here: Here, session: str, command: str) -> None:
    arguments = (command,) if command == "sessions" else (command, session)
    done = here(*arguments, env={"TERM": "xterm-256color", "COLUMNS": "0"})
    assert done.status == 0
    assert done.err == ""
    assert session in done.out or command == "context"
    assert "\x1b" not in done.out


def test_a_project_is_the_same_through_a_link_and_from_a_folder_inside_it(
    place: Place, here: Here, session: str, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(place.root)
    assert here("status", session, "--json", cwd=link).json["session_id"] == session
    (place.root / "deep" / "er").mkdir(parents=True)
    assert here("status", session, "--json", cwd=place.root / "deep" / "er").json["session_id"] == session
