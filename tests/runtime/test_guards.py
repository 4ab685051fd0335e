"""The guards: what ends a run, in which order, and the closing answer near a limit."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.endings import Ending
from geode_tui.core.limits import Limits, OnLimit
from geode_tui.core.messages import TextBlock
from geode_tui.core.usage import MICRO, Usage
from geode_tui.log.commands import Budget
from geode_tui.providers.base import Request
from geode_tui.routes.catalog import Catalog
from geode_tui.runtime.guards import (
    Clocks,
    Done,
    at_entry,
    converged,
    handoff_due,
    near_limits,
    repetition,
    time_bound,
    wrap_up_output,
)
from tests.runtime.harness import (
    Bench,
    FakeClock,
    ScriptedProvider,
    Step,
    asks,
    bench,
    call,
    calls,
    say,
    stub,
    toolbox,
)

LOOKS = toolbox(stub("look"))
NO_LIMIT = Limits(session_budget_s=0.0)
DOLLAR = Usage(input_tokens=333_334)
"""One dollar, and a little, at the offline route's stated price of $3 a million."""


def rounds(number: int) -> list[Step]:
    """Answers that each make another call."""
    return [call("look", at=i) for i in range(number)]


def clocks(rounds: int = 0, turn_s: float = 0.0, session_s: float = 0.0, cost: int = 0) -> Clocks:
    return Clocks(rounds, turn_s, session_s, cost)


# -- the pure decisions -----------------------------------------------------------------------------------------------
def test_the_first_guard_in_order_names_the_reason() -> None:
    limits = Limits(max_rounds=1, time_budget_s=1, session_budget_s=1, cost_budget_micro=1)
    order = [Ending.MAX_ROUNDS, Ending.TIME_BUDGET_EXPIRED, Ending.SESSION_TIME_BUDGET_EXPIRED]
    order.append(Ending.COST_BUDGET_EXCEEDED)
    spent = [clocks(1, 1, 1, 1), clocks(0, 1, 1, 1), clocks(0, 0, 1, 1), clocks(0, 0, 0, 1)]
    assert [at_entry(limits, c).stop for c in spent] == order
    assert at_entry(limits, clocks()).stop is None


@given(st.builds(clocks, *[st.integers(0, 10**9)] * 4))
def test_zero_is_no_limit(at: Clocks) -> None:
    verdict = at_entry(NO_LIMIT, at)
    assert (verdict.stop, verdict.wrap_up) == (None, "")
    assert time_bound(NO_LIMIT, at) is None
    assert not handoff_due(NO_LIMIT, at.session_s)


@pytest.mark.parametrize(("maximum", "headroom"), [(1, 0), (3, 0), (4, 1), (7, 1), (8, 2), (100, 2)])
def test_the_headroom_of_rounds_is_a_quarter_and_at_most_two(maximum: int, headroom: int) -> None:
    limits = msgspec.structs.replace(NO_LIMIT, max_rounds=maximum)
    closing = [n for n in range(maximum) if at_entry(limits, clocks(n)).wrap_up == "rounds"]
    assert closing == list(range(maximum - headroom, maximum))


@pytest.mark.parametrize(("budget", "begins"), [(40.0, 30.0), (1_000.0, 970.0)])
def test_the_headroom_of_time_is_a_quarter_and_at_most_half_a_minute(budget: float, begins: float) -> None:
    for name, limits in (("time", Limits(0, budget, 0)), ("session", Limits(0, 0, budget))):
        before, after = clocks(0, begins - 0.01, begins - 0.01), clocks(0, begins, begins)
        assert (at_entry(limits, before).wrap_up, at_entry(limits, after).wrap_up) == ("", name)


@given(st.integers(1, 10**9), st.integers(1, 200_000))
def test_a_closing_answer_is_never_above_the_callers_own_ceiling(window: int, ceiling: int) -> None:
    asked = wrap_up_output(ceiling, window)
    assert asked == min(ceiling, max(4_096, window // 200))


def test_the_nearest_time_limit_is_the_one_that_is_named() -> None:
    limits = Limits(0, 100.0, 50.0)
    assert time_bound(limits, clocks(0, 90, 45)) == (5.0, Ending.SESSION_TIME_BUDGET_EXPIRED)
    assert time_bound(limits, clocks(0, 99, 45)) == (1.0, Ending.TIME_BUDGET_EXPIRED)


def test_the_handoff_is_due_in_the_last_ten_minutes_or_the_last_half() -> None:
    assert not handoff_due(Limits(session_budget_s=7_200), 6_599)
    assert handoff_due(Limits(session_budget_s=7_200), 6_600)
    assert handoff_due(Limits(session_budget_s=100), 50)
    assert not handoff_due(Limits(session_budget_s=100), 49)
    assert not handoff_due(Limits(session_budget_s=100), 100)


def made(*history: tuple[int, str, str, str]) -> list[Done]:
    """(round, tool, arguments, error) each."""
    return [Done(*facts) for facts in history]


def test_b116_both_patterns_of_going_round_in_circles() -> None:
    same = made(*[(n, "bash", "date", "") for n in range(1, 6)])
    assert [repetition(same[:n]) for n in range(1, 6)] == [1, 2, 3, 4, 5]
    turns = made(*[(n, "grep" if n % 2 else "ls", "x", "") for n in range(1, 7)])
    assert [repetition(turns[:n]) >= 5 for n in range(1, 7)] == [False] * 5 + [True]


def test_progress_and_waiting_are_no_circle() -> None:
    wrote = [*made(*[(n, "bash", "t", "") for n in range(1, 5)]), Done(5, "write", "f", wrote=True)]
    assert repetition([*wrote, *made((6, "bash", "t", ""))]) == 1
    assert repetition([Done(n, "status", "7", polls=True) for n in range(1, 30)]) == 0
    errors = made(*[(n, "bash", "t", f"error {n}") for n in range(1, 9)])
    assert repetition(errors) == 1
    assert not converged(errors)


def test_what_one_answer_repeats_counts_once() -> None:
    assert repetition(made(*[(1, "read", "a", "")] * 7)) == 1
    assert not converged(made(*[(1, "read", "a", "no such file")] * 3))
    assert converged(made(*[(n, "read", "a", "no such file") for n in (1, 2, 3) for _ in range(2)]))


def test_convergence_needs_three_equal_errors_in_a_row() -> None:
    same = made(*[(n, "read", str(n), "gone") for n in (1, 2, 3)])
    assert converged(same)
    assert not converged(same[:2])
    assert not converged([*same[:2], Done(3, "read", "3")])
    assert not converged([*same, Done(4, "grep", "3", "gone")])


# -- rounds -----------------------------------------------------------------------------------------------------------
async def test_a_short_limit_has_no_closing_answer() -> None:
    with bench(ScriptedProvider(*rounds(9)), tools=LOOKS, limits=Limits(max_rounds=3)) as run:
        await run.turn()
        assert (run.ending, run.end["forced"], run.end["rounds"]) == ("max_rounds", False, 3)
        assert run.end["detail"] == "3 of 3 rounds"
        assert [r.tool_choice for r in run.provider.requests] == ["auto"] * 3
        assert run.events("wrap_up_started") == []


async def test_near_the_limit_the_last_answer_is_text() -> None:
    provider = ScriptedProvider(*rounds(6), say("what I have"))
    with bench(provider, tools=LOOKS, limits=Limits(max_rounds=8)) as run:
        await run.turn()
        assert (run.ending, run.end["forced"], run.end["rounds"]) == ("max_rounds", True, 7)
        assert [r.tool_choice for r in provider.requests] == ["auto"] * 6 + ["none"]
        assert run.named("wrap_up_started") == {"guard": "rounds", "max_tokens": 4_096}
        assert run.messages()[-1].text == "what I have"
        assert run.payloads("llm_call_started")[-1]["forced"]


async def test_a_call_in_a_closing_answer_is_not_run() -> None:
    with bench(ScriptedProvider(*rounds(9)), tools=LOOKS, limits=Limits(max_rounds=8)) as run:
        await run.turn()
        assert run.ending == "max_rounds"
        assert [text for _, text, _ in run.results()] == ["ok"] * 6 + ["cancelled: not started"]


@pytest.mark.parametrize(("on_limit", "requests"), [("wrap-up", 7), ("stop", 8)])
async def test_a_closing_answer_can_be_declined(on_limit: OnLimit, requests: int) -> None:
    provider = ScriptedProvider(*rounds(9))
    with bench(provider, tools=LOOKS, limits=Limits(max_rounds=8), on_limit=on_limit) as run:
        await run.turn()
        assert (run.ending, len(provider.requests)) == ("max_rounds", requests)


async def test_b120_rounds_of_nothing_but_errors_count() -> None:
    broken = toolbox(*(stub(f"t{n}", f"error {n}", is_error=True) for n in range(9)))
    with bench(ScriptedProvider(*(call(f"t{n}") for n in range(9))), tools=broken, limits=Limits(max_rounds=5)) as run:
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("max_rounds", 5)


@pytest.mark.parametrize(("window", "max_tokens"), [(200_000, 4_096), (1_000_000, 5_000)])
async def test_b121_the_closing_answer_of_each_window(window: int, max_tokens: int) -> None:
    provider = ScriptedProvider(*rounds(3), say("cut sho", stop_reason="max_tokens"))
    with bench(provider, tools=LOOKS, limits=Limits(max_rounds=4)) as run:
        run.route = Catalog().route("offline-planner", "offline", "adapter", window=window)
        run.route = msgspec.structs.replace(run.route, max_output=128_000)
        await run.turn()
        asked = provider.requests[-1]
        assert (asked.max_tokens, asked.tool_choice, asked.thinking) == (max_tokens, "none", "default")
        assert [r.max_tokens for r in provider.requests[:-1]] == [32_768] * 3
        assert (run.ending, run.end["forced"]) == ("max_rounds", True)
        assert run.payloads("llm_call_ended")[-1]["stop_reason"] == "max_tokens"


# -- what the model is told -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("limits", "clocks", "words"),
    [
        (Limits(10, 600, 7_200, 5 * MICRO), Clocks(7, 400, 5_000, 3 * MICRO), ""),
        (Limits(10), Clocks(8, 0, 0, 0), "2 of 10 rounds"),
        (Limits(0, 600), Clocks(0, 480, 480, 0), "120 of 600 s for this task"),
        (Limits(0, 0, 7_200), Clocks(0, 1, 7_000, 0), "200 of 7200 s in all"),
        (Limits(cost_budget_micro=5 * MICRO), Clocks(0, 0, 0, 4_500_000), "$0.50 of $5.00"),
        (Limits(10, 600), Clocks(9, 590, 590, 0), "1 of 10 rounds, 10 of 600 s for this task"),
        (Limits(0, 0, 0, 0), Clocks(99, 99_999, 99_999, 99 * MICRO), ""),
    ],
)
def test_what_is_left_of_limits_that_are_mostly_used_up(limits: Limits, clocks: Clocks, words: str) -> None:
    assert near_limits(limits, clocks) == words


async def test_a_limit_that_is_near_is_told_once_a_round_in_a_result() -> None:
    """The system prompt stays as it is within a turn (RUNTIME.md 7)."""
    steps = [calls(*(asks("look", at=(n, k)) for k in range(2))) for n in range(8)]
    with bench(ScriptedProvider(*steps), tools=LOOKS, limits=Limits(max_rounds=8)) as run:
        await run.turn()
        notes = [text.partition("\n")[2] for _, text, _ in run.results()]
        assert [note for note in notes if note] == []
        assert len({request.system for request in run.provider.requests}) == 1
    with bench(ScriptedProvider(*steps), tools=LOOKS, limits=Limits(max_rounds=10)) as run:
        await run.turn()
        notes = [text.partition("\n")[2] for _, text, _ in run.results()]
        assert notes[:14] == [""] * 14
        assert notes[14:] == ["[left of this run's limits: 2 of 10 rounds]", ""]


# -- time -------------------------------------------------------------------------------------------------------------
def slow(clock: FakeClock, seconds: float) -> Step:
    """A step that takes ``seconds`` to answer and then makes another call."""

    def step(_request: Request) -> Step:
        clock.advance(seconds)
        return call("look", at=clock.mono)

    return step


async def test_the_time_of_a_turn_ends_it() -> None:
    with bench(ScriptedProvider(), tools=LOOKS, limits=Limits(time_budget_s=60), on_limit="stop") as run:
        run.provider.steps = [slow(run.clock, 25)] * 9
        await run.turn()
        assert (run.ending, run.end["rounds"], run.end["detail"]) == ("time_budget_expired", 3, "75 of 60 s")


async def test_near_the_end_of_the_time_the_last_answer_is_text() -> None:
    with bench(ScriptedProvider(), tools=LOOKS, limits=Limits(time_budget_s=60)) as run:
        run.provider.steps = [slow(run.clock, 25)] * 2
        await run.turn()
        assert (run.ending, run.end["forced"]) == ("time_budget_expired", True)
        assert run.named("wrap_up_started")["guard"] == "time"


async def test_the_time_of_a_turn_begins_anew_with_the_next() -> None:
    with bench(ScriptedProvider(), tools=LOOKS, limits=Limits(time_budget_s=60)) as run:
        for _ in range(3):
            run.provider.steps = [slow(run.clock, 40)]
            await run.turn()
            assert run.ending == "natural"


async def test_the_sessions_time_runs_over_turns_workers_and_hands_over_once() -> None:
    with bench(ScriptedProvider(), tools=LOOKS, limits=Limits(session_budget_s=7_200), on_limit="stop") as run:
        run.provider.steps = [slow(run.clock, 6_500)]
        await run.turn()
        assert run.events("handoff_triggered") == []
        run.provider.steps = [slow(run.clock, 150), slow(run.clock, 1)]
        await run.turn()
        handoff = run.named("handoff_triggered")
        assert (handoff["remaining_s"], handoff["handoff_threshold_s"]) == (pytest.approx(550), 600)
        assert run.ending == "natural"
        run.clock.advance(100_000)
        run.provider.steps = [slow(run.clock, 500)]
        await run.turn()
        assert run.ending == "natural", "idle time is not in it"
        run.provider.steps = [slow(run.clock, 100)]
        await run.turn()
        assert (run.ending, len(run.payloads("handoff_triggered"))) == ("session_time_budget_expired", 1)
        assert run.db.execute("SELECT handoff_state FROM sessions").get == "pending"


# -- cost -------------------------------------------------------------------------------------------------------------
def paid(number: int) -> list[Step]:
    """Calls of a little more than a dollar each."""
    return [calls(asks("look", at=n), usage=DOLLAR) for n in range(number)]


def budget(dollars: float) -> Limits:
    return Limits(cost_budget_micro=int(dollars * MICRO))


async def test_the_cost_is_warned_of_once_and_stops_after_the_answer_that_reached_it() -> None:
    with bench(ScriptedProvider(*paid(9)), tools=LOOKS, limits=budget(5)) as run:
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("cost_budget_exceeded", 5)
        assert run.named("cost_warning") == {"total_micro": 4_000_008, "limit_micro": 5_000_000}
        assert run.named("cost_limit_exceeded")["total_micro"] == 5_000_010
        assert run.end["detail"] == "$5.00001 of $5.00 spent"
        assert run.results()[-1][1] == "cancelled: not started"


async def test_the_cost_guard_of_an_entry_sends_nothing() -> None:
    with bench(ScriptedProvider(*paid(9)), tools=LOOKS, limits=budget(2)) as run:
        await run.turn()
        sent = len(run.provider.requests)
        await run.turn("more")
        assert (run.ending, len(run.provider.requests)) == ("cost_budget_exceeded", sent)
        assert len(run.payloads("cost_limit_exceeded")) == 1


async def test_b120_the_warning_is_told_once_even_over_a_restart() -> None:
    with bench(ScriptedProvider(*paid(4), say("enough")), tools=LOOKS, limits=budget(5)) as run:
        await run.turn()
        assert (run.ending, len(run.payloads("cost_warning"))) == ("natural", 1)
        await run.turn("again")
        assert len(run.payloads("cost_warning")) == 1


async def test_a_raised_budget_is_warned_of_anew_and_goes_on() -> None:
    with bench(ScriptedProvider(*paid(9)), tools=LOOKS, limits=budget(2)) as run:
        await run.turn()
        await _set(run, "cost", "4")
        await run.turn("go on")
        assert [p["limit_micro"] for p in run.payloads("cost_warning")] == [2_000_000, 4_000_000]
        assert (run.ending, run.end["rounds"]) == ("cost_budget_exceeded", 2)


async def test_a_budget_set_below_what_is_spent_stops_at_the_next_entry_and_says_so() -> None:
    with bench(ScriptedProvider(*paid(2)), tools=LOOKS) as run:
        await run.turn()
        await _set(run, "cost", "0.50")
        await run.turn("go on")
        assert (run.ending, run.end["rounds"]) == ("cost_budget_exceeded", 0)
        assert run.named("cost_limit_exceeded")["limit_micro"] == 500_000


async def _set(run: Bench, limit: str, value: str) -> None:
    key = run.send(Budget(limit, value))
    await run.serve()
    assert run.outcome(key) == "done"


async def test_a_budget_that_cannot_be_kept_is_refused_before_anything_is_sent() -> None:
    """B060."""
    provider = ScriptedProvider(name="anthropic", source="payg")
    with bench(provider, tools=LOOKS, limits=budget(5), model="claude-unheard-of") as run:
        await run.turn()
        assert (run.ending, provider.requests) == ("model_action_required", [])
        assert "no price is known for claude-unheard-of" in run.end["detail"]
        await run.turn("without", msgspec.structs.replace(run.options, limits=Limits()))
        assert run.ending == "natural"
        assert run.payloads("llm_call_ended")[-1]["cost_micro"] is None


async def test_what_an_answer_said_before_the_budget_ended_it_is_kept() -> None:
    answer = calls(TextBlock("found it"), asks("look"), usage=DOLLAR)
    with bench(ScriptedProvider(answer), tools=LOOKS, limits=budget(1)) as run:
        await run.turn()
        assert (run.ending, run.messages()[1].text) == ("cost_budget_exceeded", "found it")
