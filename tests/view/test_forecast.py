"""Rounds left, from the growth of late."""

from __future__ import annotations

from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.events import ContextFigures
from geode_tui.core.limits import Limits
from geode_tui.view.forecast import Forecast, Span, forecast, forecast_of
from geode_tui.view.reduce import decode_state, encode_state, fold
from geode_tui.view.state import Money, RoundFigures, RunState
from tests.view.runs import plausible

FIGURES = ContextFigures(
    used=100_000,
    window=200_000,
    output_reserve=32_768,
    budget=167_232,
    warning=117_062,
    critical=150_508,
    warning_percent=70,
    critical_percent=90,
    provenance="catalog",
    measured="confirmed",
    parts={},
)


REACHED = Span(0, 0, 0)


def rounds(*used: int) -> list[RoundFigures]:
    return [RoundFigures(1, n, tokens, None) for n, tokens in enumerate(used, start=1)]


def test_nothing_is_said_with_fewer_than_three_steps_of_growth() -> None:
    assert forecast(rounds(10_000, 20_000, 30_000), FIGURES) is None
    assert forecast(rounds(10_000, 20_000, 15_000, 25_000), FIGURES) is None


def test_the_median_growth_decides() -> None:
    ahead = forecast(rounds(60_000, 61_000, 63_000, 99_000, 100_000), FIGURES)
    assert ahead is not None
    assert ahead.per_round == 1_500
    assert (ahead.warning.likely, ahead.critical.likely, ahead.full.likely) == (12, 34, 45)


def test_only_the_newest_eight_steps_count() -> None:
    used = [0, *range(50_000, 90_000, 10_000), *range(91_000, 99_001, 1_000)]
    ahead = forecast(rounds(*used), FIGURES)
    assert ahead is not None
    assert ahead.per_round == 1_000


def test_a_limit_that_is_reached_is_zero_rounds_away() -> None:
    over = msgspec.structs.replace(FIGURES, used=160_000)
    ahead = forecast(rounds(1_000, 2_000, 3_000, 4_000), over)
    assert ahead is not None
    assert (ahead.warning, ahead.critical) == (REACHED, REACHED)
    assert ahead.full == Span(8, 8, 8)


def test_nothing_is_said_of_a_budget_that_is_not_known() -> None:
    grown = rounds(1_000, 2_000, 3_000, 4_000)
    assert forecast(grown, None) is None
    assert forecast(grown, msgspec.structs.replace(FIGURES, budget=0)) is None


def paced(*rounds: tuple[int, int, float, int | None]) -> list[RoundFigures]:
    """Rounds of (turn, tokens, when, micro-dollars)."""
    return [RoundFigures(turn, n, used, cost, at) for n, (turn, used, at, cost) in enumerate(rounds, start=1)]


STEADY = paced(*((1, 90_000 + n * 1_000, 1_000.0 + n * 20, 50_000) for n in range(8)))


def made(rounds: list[RoundFigures], limit_micro: int = 0, spent_micro: int = 0) -> Forecast:
    ahead = forecast(rounds, FIGURES, limit_micro, spent_micro)
    assert ahead is not None
    return ahead


def test_the_range_is_that_of_the_quartiles_of_growth() -> None:
    """Growth of 1,000, 1,000, 2,000, 3,000 and 4,000: quartiles 1,000 and 3,000."""
    ahead = made(rounds(50_000, 51_000, 52_000, 54_000, 57_000, 61_000))
    assert ahead.warning == Span(6, 9, 18)


def test_a_steady_pace_has_no_range() -> None:
    ahead = made(STEADY)
    assert (ahead.warning, ahead.round_s) == (Span(18, 18, 18), Span(20, 20, 20))
    assert ahead.seconds(ahead.warning) == Span(360, 360, 360)


def test_few_fast_rounds_are_the_least_time_and_many_slow_ones_the_most() -> None:
    ahead = Forecast(1, REACHED, REACHED, REACHED, round_s=Span(10, 20, 60))
    assert ahead.seconds(Span(2, 3, 5)) == Span(20, 60, 300)


def test_the_time_between_turns_is_no_part_of_the_pace() -> None:
    turns = paced(*((1 + n // 4, 90_000 + n * 1_000, n * 20.0 + (n // 4) * 50_000, None) for n in range(1, 12)))
    assert made(turns).round_s == Span(20, 20, 20)


def test_without_times_there_is_no_pace() -> None:
    ahead = made(rounds(1_000, 2_000, 3_000, 4_000))
    assert ahead.round_s is None
    assert ahead.seconds(ahead.warning) is None


def test_another_model_counts_otherwise_so_a_switch_is_no_growth() -> None:
    before = [msgspec.structs.replace(r, model="a") for r in STEADY[:4]]
    behind = [msgspec.structs.replace(r, model="b", used=r.used + 40_000) for r in STEADY[4:]]
    assert made([*before, *behind]).warning == Span(18, 18, 18)


def test_the_cost_limit_is_forecast_from_what_rounds_cost_lately() -> None:
    assert made(STEADY, 1_000_000, 400_000).cost == Span(12, 12, 12)
    assert made(STEADY, 1_000_000, 1_200_000).cost == REACHED
    dearer = [*STEADY[:4], *(msgspec.structs.replace(r, cost_micro=200_000) for r in STEADY[4:])]
    assert made(dearer, 1_000_000, 400_000).cost == Span(3, 5, 12)


def test_nothing_is_said_of_a_cost_limit_without_a_limit_or_a_price() -> None:
    assert made(STEADY).cost is None
    unpriced = [*STEADY[:-1], msgspec.structs.replace(STEADY[-1], cost_micro=None)]
    assert made(unpriced, 1_000_000, 0).cost is None
    free = [msgspec.structs.replace(r, cost_micro=0) for r in STEADY]
    assert made(free, 1_000_000, 0).cost is None


def test_a_runs_forecast_takes_its_own_limit() -> None:
    state = RunState(
        rounds=STEADY, context=FIGURES, limits=Limits(cost_budget_micro=1_000_000), money=Money(cost_micro=400_000)
    )
    assert forecast_of(state) == forecast(STEADY, FIGURES, 1_000_000, 400_000)
    assert forecast_of(RunState()) is None


@given(st.integers(0, 2**16), st.integers(0, 60))
def test_a_resumed_run_has_the_forecast_that_it_had(seed: int, count: int) -> None:
    state = fold(RunState(), plausible(Random(seed), count))
    assert forecast_of(decode_state(encode_state(state))) == forecast_of(state)


seen = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 10**7), st.floats(0, 10**9), st.none() | st.integers(0, 10**8)),
    max_size=40,
).map(lambda rows: paced(*sorted(rows, key=lambda row: (row[0], row[2]))))


@given(seen, st.integers(0, 10**9), st.integers(0, 10**9))
def test_every_range_is_in_order_and_never_in_the_past(rows: list[RoundFigures], limit: int, spent: int) -> None:
    ahead = forecast(rows, FIGURES, limit, spent)
    if ahead is None:
        return
    spans = [ahead.warning, ahead.critical, ahead.full, *filter(None, (ahead.cost, ahead.round_s))]
    for span in spans:
        assert 0 <= span.low <= span.likely <= span.high
    for nearer, further in ((ahead.warning, ahead.critical), (ahead.critical, ahead.full)):
        assert (nearer.low, nearer.likely, nearer.high) <= (further.low, further.likely, further.high)
    took = ahead.seconds(ahead.full)
    assert took is None or took.low <= took.likely <= took.high


@given(st.lists(st.integers(0, 10**7), max_size=40))
def test_limits_come_in_their_order_and_never_in_the_past(used: list[int]) -> None:
    ahead = forecast(rounds(*used), FIGURES)
    if ahead is not None:
        assert 0 <= ahead.warning.likely <= ahead.critical.likely <= ahead.full.likely
        assert ahead.per_round >= 1
