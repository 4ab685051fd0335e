"""The command line's JSON shapes: exactly the keys of the contract, more only where listed here."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from geode_tui.core.usage import Usage
from geode_tui.log.rows import Liveness, PendingCommand, SessionRow
from geode_tui.view import reports
from geode_tui.view.blocks import BlockEntry, BlockTable, block_table
from geode_tui.view.cost import added
from geode_tui.view.gauge import percent
from geode_tui.view.selectors import run_status
from geode_tui.view.state import Money, OpenApproval, OpenCall, OpenTool, Retry, RunState
from tests.view.runs import NOW, figures
from tests.view.test_forecast import rounds

FREE = Liveness("free")
PRICED = Money(1_840_000, 37, 2, Usage(120, 18, 1_090, 7, 8, 9), 40_000, 1)
UNPRICED = Money(0, 3, 3, Usage(120, 18))
STATE = RunState(
    session_id="s-1",
    model="m",
    provider="p",
    source="payg",
    turn=3,
    round=5,
    rounds_total=37,
    turn_open=True,
    money=PRICED,
    context=figures(100_000),
    newest_seq=4,
    prompt_upto=4,
    rounds=rounds(10_000, 20_000, 30_000, 40_000),
    last_ts=NOW,
)


def keys(shape: str) -> set[str]:
    return set(shape.split())


def test_sessions() -> None:
    row = SessionRow(1, "s-1", "a title", "", "", "", "own", NOW - 60, NOW, "{}")
    report = reports.session_report(row, STATE, FREE, NOW)
    assert report.keys() == keys(
        "session_id title origin state model provider source turns rounds context cost_usd unpriced_calls started_at"
        " updated_at termination_reason simulated"
    )
    assert report["context"] == {"used": 100_000, "budget": 167_232, "percent": 59.7, "state": "warning"}
    assert (report["cost_usd"], report["state"], report["origin"]) == ("1.84", "dead", "own")
    assert report["started_at"] == "2026-09-21T14:12:20Z"
    empty = reports.session_report(row, RunState(), FREE, NOW)
    assert (empty["context"], empty["termination_reason"], empty["cost_usd"]) == (None, None, "0.00")
    assert empty.keys() == report.keys()


def test_money_without_a_known_price_is_null_never_zero() -> None:
    row = SessionRow(1, "s-1", "", "", "", "", "own", NOW, NOW, "{}")
    state = msgspec.structs.replace(STATE, money=UNPRICED)
    report = reports.session_report(row, state, FREE, NOW)
    assert (report["cost_usd"], report["unpriced_calls"]) == (None, 3)


def test_status() -> None:
    waiting = [PendingCommand(1, "k", "submit", "x", NOW, False), PendingCommand(2, "j", "interrupt", "", NOW, False)]
    held = Liveness("held", pid=4711, trouble="the disk is full")
    report = reports.status_report(STATE, run_status(STATE, held, NOW), held, waiting, NOW, [{"id": 1}])
    assert report.keys() == keys(
        "session_id state worker_pid turn round doing waiting_on queued termination_reason ended_because last_events"
        " title forced trouble context cost_usd simulated"
    )
    assert (report["state"], report["worker_pid"], report["queued"], report["doing"]) == ("running", 4711, 1, "model")
    assert (report["waiting_on"], report["trouble"]) == (None, "the disk is full")


CALL = {"c": OpenCall("c", "m", "turn", NOW - 3, 1, None)}
TOOL = {"c": OpenTool("c", "grep", "x", "running", NOW - 2)}
APPROVAL = {"a": OpenApproval("a", "c", "run_shell", "execute", "ls", "", 1, NOW - 90)}


@pytest.mark.parametrize(
    ("open_items", "on"),
    [
        ({"open_calls": CALL}, {"kind": "model", "name": "m", "seconds": 3.0}),
        ({"open_calls": CALL, "open_tools": TOOL}, {"kind": "tool", "name": "grep", "seconds": 2.0}),
        ({"retry": Retry("overloaded", 1, NOW + 9, "")}, {"kind": "retry", "name": "overloaded", "seconds": 9.0}),
        ({"open_tools": TOOL, "approvals": APPROVAL}, {"kind": "approval", "name": "run_shell", "seconds": 90.0}),
        ({"open_calls": CALL, "turn_open": False}, None),
    ],
)
def test_what_a_run_waits_on(open_items: dict[str, Any], on: dict[str, Any] | None) -> None:
    state = msgspec.structs.replace(STATE, **open_items)
    held = Liveness("held", pid=1)
    report = reports.status_report(state, run_status(state, held, NOW), held, [], NOW, [])
    assert report["waiting_on"] == on


def test_context() -> None:
    entry = BlockEntry(1, 4, 1, 2, "user", 12)
    report = reports.context_report(STATE, block_table([entry], STATE))
    assert report.keys() == keys(
        "session_id turn round route window output_reserve input_cap budget used percent state warning_percent"
        " critical_percent simulated provenance measured margin_percent suspect price_tiers rows layers"
        " blocks forecast view"
    )
    assert report["route"].keys() == keys("model provider source")
    assert report["blocks"][0].keys() == keys("seq turn round kind name state tokens protected hidden")
    assert report["forecast"].keys() == keys(
        "per_round rounds_to_warning rounds_to_critical rounds_to_full rounds_to_cost_limit ranges"
    )
    assert report["view"].keys() == keys("version cause mode")
    assert sum(r["tokens"] for r in report["rows"]) == report["used"] == 100_000
    assert [r["category"] for r in report["rows"]] == ["user", "system", "tools"]
    assert (report["percent"], report["state"], report["forecast"]["per_round"]) == (59.7, "warning", 10_000)


def test_context_has_the_same_keys_before_the_first_request() -> None:
    empty = reports.context_report(RunState(session_id="s-1"), BlockTable())
    assert empty.keys() == reports.context_report(STATE, BlockTable()).keys()
    assert (empty["used"], empty["percent"], empty["rows"], empty["forecast"]["per_round"]) == (None, None, [], None)


def test_a_percentage_is_never_capped() -> None:
    """RUNTIME.md 1.3."""
    assert percent(figures(401_357)) == 240.0


def test_cost() -> None:
    report = reports.cost_report(
        session_id="s-1",
        month=None,
        money=PRICED,
        by_model={"m": PRICED, "new": UNPRICED},
        by_purpose={"turn": PRICED},
        simulated=False,
    )
    assert report.keys() == keys(
        "session_id month usd unpriced_calls tokens by_model by_purpose simulated failed equivalent_usd"
        " cache_hit_percent cache_breaks upkeep upkeep_total"
    )
    assert report["tokens"] == {
        "input": 120,
        "output": 18,
        "cache_read": 1_090,
        "cache_write_5m": 7,
        "cache_write_1h": 8,
        "reasoning": 9,
    }
    assert report["by_purpose"].keys() == keys("turn summary dream subagent title")
    assert (report["usd"], report["by_model"]["m"]["usd"], report["by_model"]["new"]["usd"]) == ("1.84", "1.84", None)
    assert report["failed"] == {"usd": "0.04", "calls": 1}


def test_parts_add_up() -> None:
    total = added(PRICED, UNPRICED)
    assert (total.cost_micro, total.calls, total.unpriced_calls) == (1_840_000, 40, 5)
    assert (total.usage.input_tokens, total.failed_micro, total.failed_calls) == (240, 40_000, 1)
