"""`dreams`: a run dreams by itself once its turn is over, and the command lists that, or has more dreamt."""

from __future__ import annotations

import json

import pytest

from geode_tui.core.settings import Layer, SettingsError, from_environment, resolve
from tests.cli.place import Place, until

FIELDS = {
    "artifact_id", "kind", "source_start_seq", "source_end_seq", "model", "local", "cost_usd", "token_count",
    "created_at", "content",
}  # fmt: skip
HEADINGS = (
    "Durable Facts", "Decisions", "Unresolved Tasks", "Stale Risks", "Useful Recall Queries", "Citations",
)  # fmt: skip


def test_a_run_returns_when_its_turn_is_complete_and_a_dream_follows_in_its_worker(place: Place) -> None:
    del place.environment["GEODE_DREAMS"]
    run = place.cli("run", "read notes.txt", "--approve", "all", "--json")
    assert run.status == 0
    assert run.events[-1]["event"] == "turn_completed"
    session = place.newest
    until(lambda: place.payloads(session, "dream_ended"), "the dream")

    shown = place.cli("dreams", session, "--json")
    assert shown.status == 0
    (dream,) = shown.json
    assert dream.keys() >= FIELDS
    assert (dream["kind"], dream["local"], dream["model"], dream["cost_usd"]) == ("dream", True, None, "0.00")
    assert [row[3:] for row in dream["content"].splitlines() if row.startswith("## ")] == list(HEADINGS)

    again = place.cli("dreams", session, "--now")
    assert again.status == 0
    assert "up to date" in again.err
    assert "by the program" in again.out.splitlines()[-1]
    assert len(place.cli("dreams", session, "--json").json) == 1


def test_dreaming_now_starts_a_worker_where_there_is_none(place: Place) -> None:
    place.cli("run", "read notes.txt", "--approve", "all")
    session = place.newest
    assert "no dream yet" in place.cli("dreams", session).out
    place.kill_worker(session)
    dreamt = place.cli("dreams", session, "--now", "--json")
    assert dreamt.status == 0
    assert len(dreamt.json) == 1


def test_it_is_refused_from_inside_a_run(place: Place) -> None:
    inside = place.cli("dreams", "s-1", "--now", env={"GEODE_INSIDE_RUN": "s-1"})
    assert inside.status != 0


def test_what_may_be_set() -> None:
    found = resolve((Layer("user", {"dreams": {"share": 0.2}}), from_environment({"GEODE_DREAMS": "off"})))
    assert json.dumps(found.origins) == '{"dreams.share": "user", "dreams.enabled": "environment"}'
    with pytest.raises(SettingsError, match="share"):
        resolve((Layer("user", {"dreams": {"share": 1.5}}),))
