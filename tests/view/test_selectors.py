"""What a state means: its kind, its clocks, its limits, its words."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.endings import Ending
from geode_tui.core.limits import Limits
from geode_tui.core.strings import Strings
from geode_tui.core.usage import Usage
from geode_tui.log.rows import Liveness
from geode_tui.view.selectors import (
    GuardLine,
    cache_hit,
    context_level,
    doing,
    ending_line,
    ending_tone,
    first_to_stop,
    guards,
    needs_you,
    run_status,
    state_line,
    turn_elapsed,
)
from geode_tui.view.state import Money, OpenApproval, OpenCall, OpenTool, Retry, RoundFigures, RunState
from tests.view.test_forecast import FIGURES

NOW = 10_000.0
HELD = Liveness("held", pid=1)
EN = Strings("en")


def state(**changes: object) -> RunState:
    base = RunState(turn=2, round=5, turn_open=True, turn_started_at=NOW - 50, active_s=50.0, last_ts=NOW - 1)
    return msgspec.structs.replace(base, **changes)


ASKED = {"a": OpenApproval("a", "c", "run_shell", "execute", "ls", "", 1, NOW)}


@pytest.mark.parametrize(
    ("liveness", "changes", "kind"),
    [
        ("held", {}, "running"),
        ("held", {"approvals": ASKED}, "waiting"),
        ("held", {"turn_open": False}, "idle"),
        ("free", {"turn_open": False}, "ended"),
        ("free", {}, "dead"),
        ("free", {"approvals": ASKED}, "dead"),
        ("stale", {}, "not_answering"),
        ("stale", {"turn_open": False}, "not_answering"),
    ],
)
def test_the_kind_follows_from_the_turn_and_the_worker(liveness: str, changes: dict[str, object], kind: str) -> None:
    assert run_status(state(**changes), Liveness(liveness), NOW).kind == kind  # type: ignore[arg-type]


def test_clocks_of_a_run_that_stands_stay_where_its_last_event_left_them() -> None:
    ended = state(turn_open=False, turn_ended_at=NOW - 10, active_s=90.0, last_ts=NOW - 10)
    assert run_status(ended, Liveness("free"), NOW + 500).elapsed_s == 90
    assert turn_elapsed(ended, NOW + 500) == 40
    assert run_status(state(), HELD, NOW + 500).elapsed_s == 600


def test_what_the_machine_slept_does_not_count() -> None:
    assert run_status(state(turn_absorbed_s=30.0), HELD, NOW).elapsed_s == 70
    assert turn_elapsed(state(turn_absorbed_s=30.0), NOW) == 20


def test_a_countdown_is_part_of_the_state_and_never_negative() -> None:
    waiting = state(retry=Retry("rate_limit", 1, NOW + 22, "rate limit"))
    assert run_status(waiting, HELD, NOW).retry_in_s == 22
    assert run_status(waiting, HELD, NOW + 60).retry_in_s == 0
    assert run_status(waiting, Liveness("free"), NOW).retry_in_s is None


@pytest.mark.parametrize(
    ("ending", "resumable"), [("max_rounds", True), ("user_cancelled", True), ("natural", False), ("", False)]
)
def test_what_can_be_resumed(ending: str, resumable: bool) -> None:
    assert run_status(state(turn_open=False, termination_reason=ending), HELD, NOW).resumable is resumable


def test_a_dead_run_can_be_resumed_and_a_running_one_cannot() -> None:
    assert run_status(state(), Liveness("free"), NOW).resumable
    assert not run_status(state(), HELD, NOW).resumable


def test_what_it_is_doing() -> None:
    call = OpenCall("1", "m", "turn", NOW, 1, None)
    tool = OpenTool("c", "grep", "x", "running", NOW)
    assert doing(state(turn_open=False)) == "doing.nothing"
    assert doing(state(open_calls={"1": call})) == "doing.model"
    assert doing(state(open_calls={"1": msgspec.structs.replace(call, streaming=True)})) == "doing.answer"
    assert doing(state(open_tools={"c": tool})) == "doing.tool"
    assert doing(state(open_tools={"c": tool}, approvals=ASKED)) == "doing.approval"
    assert doing(state(retry=Retry("overloaded", 1, NOW, ""))) == "doing.retry"
    assert needs_you(state(approvals=ASKED)) == 1


def test_endings_are_said_in_words_with_the_limit_that_was_reached() -> None:
    cost = state(turn_open=False, termination_reason="cost_budget_exceeded", limits=Limits(cost_budget_micro=5_000_000))
    assert ending_line(cost, EN) == "stopped by the cost budget ($5.00)"
    assert ending_line(msgspec.structs.replace(cost, termination_reason="made_up\x1b[2J"), EN) == "ended: made_up\u241b"
    assert ending_line(state(), EN) == ""
    for ending in Ending:
        assert ending_line(msgspec.structs.replace(cost, termination_reason=str(ending)), EN)
        assert ending_tone(ending) in {"ok", "stopped", "failed"}


def test_one_line_says_state_round_and_time() -> None:
    line = state_line(state(), run_status(state(), HELD, NOW), EN)
    assert line == "running  waits for the model  round 5  0:01:40"
    dead = state_line(state(), run_status(state(), Liveness("free"), NOW), EN)
    assert dead.startswith("stopped working  round 5")


@pytest.mark.parametrize(
    ("used", "level"),
    [(0, "ok"), (117_061, "ok"), (117_062, "warning"), (150_508, "critical"), (167_232, "critical"), (167_233, "over")],
)
def test_the_gauge_state_changes_exactly_at_its_limits(used: int, level: str) -> None:
    assert context_level(msgspec.structs.replace(FIGURES, used=used)) == level


def test_guards_carry_their_figures() -> None:
    limits = Limits(max_rounds=40, time_budget_s=60, session_budget_s=7_200, cost_budget_micro=5_000_000)
    lines = guards(state(limits=limits, money=Money(1_840_000)), NOW)
    assert lines == (
        GuardLine("session", 100, 7_200, "seconds"),
        GuardLine("time", 50, 60, "seconds"),
        GuardLine("rounds", 5, 40, "rounds"),
        GuardLine("cost", 1_840_000, 5_000_000, "micro"),
    )


def test_simulated_money_has_a_line_only_where_the_run_limits_it() -> None:
    names = [line.name for line in guards(state(simulated=True), NOW)]
    assert names == ["session", "time", "rounds"]
    limited = state(simulated=True, limits=Limits(cost_budget_micro=10_000))
    assert [line.name for line in guards(limited, NOW)] == ["session", "time", "rounds", "cost"]


def lines(**limits: float) -> tuple[GuardLine, ...]:
    used = {"session": 100.0, "time": 50.0, "rounds": 5.0, "cost": 500_000.0}
    unit = {"session": "seconds", "time": "seconds", "rounds": "rounds", "cost": "micro"}
    return tuple(GuardLine(n, used[n], limits.get(n, 0), unit[n]) for n in used)  # type: ignore[arg-type]


def test_the_first_limit_is_the_one_reached_soonest_at_the_pace_so_far() -> None:
    priced = [RoundFigures(1, n, 1_000, 100_000) for n in range(1, 6)]
    # 10 s a round, 0.10 dollars a round.
    assert first_to_stop(lines(session=7_200, rounds=40), priced) == "rounds"
    assert first_to_stop(lines(session=200, rounds=40), priced) == "session"
    assert first_to_stop(lines(session=7_200, cost=1_000_000), priced) == "cost"
    assert first_to_stop(lines(session=120, cost=1_000_000), priced) == "session"
    assert first_to_stop(lines(time=50, session=7_200), priced) == "time"
    assert first_to_stop(lines(), priced) is None


def test_money_that_nothing_costs_never_comes_first() -> None:
    free = [RoundFigures(1, 1, 1_000, None)]
    assert first_to_stop(lines(session=7_200, cost=600_000), free) == "session"


@given(
    st.lists(st.floats(0, 1e9), min_size=4, max_size=4),
    st.lists(st.floats(0, 1e9), min_size=4, max_size=4),
    st.lists(st.integers(0, 10**8) | st.none(), max_size=5),
)
def test_some_limited_guard_is_named_whatever_the_figures(
    used: list[float], limit: list[float], cost: list[int | None]
) -> None:
    names = ("session", "time", "rounds", "cost")
    units = ("seconds", "seconds", "rounds", "micro")
    made = [GuardLine(n, u, m, k) for n, u, m, k in zip(names, used, limit, units, strict=True)]  # type: ignore[arg-type]
    first = first_to_stop(made, [RoundFigures(1, 1, 1, c) for c in cost])
    assert (first is None) == (not any(limit))
    assert first is None or next(line for line in made if line.name == first).limit > 0


def test_cache_hits_are_a_part_of_the_prompt_or_not_known() -> None:
    assert cache_hit(state(money=Money(usage=Usage(100, 5, 900)))) == 0.9
    assert cache_hit(state(money=Money(usage=Usage(100, 5)))) is None
    assert cache_hit(state()) is None
