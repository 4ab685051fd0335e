"""Rounds left, from the growth of late."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.events import ContextFigures
from geode_tui.view.forecast import forecast
from geode_tui.view.state import RoundFigures

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


def rounds(*used: int) -> list[RoundFigures]:
    return [RoundFigures(1, n, tokens, None) for n, tokens in enumerate(used, start=1)]


def test_nothing_is_said_with_fewer_than_three_steps_of_growth() -> None:
    assert forecast(rounds(10_000, 20_000, 30_000), FIGURES) is None
    assert forecast(rounds(10_000, 20_000, 15_000, 25_000), FIGURES) is None


def test_the_median_growth_decides() -> None:
    ahead = forecast(rounds(60_000, 61_000, 63_000, 99_000, 100_000), FIGURES)
    assert ahead is not None
    assert ahead.per_round == 1_500
    assert (ahead.to_warning, ahead.to_critical, ahead.to_full) == (12, 34, 45)


def test_only_the_newest_eight_steps_count() -> None:
    used = [0, *range(50_000, 90_000, 10_000), *range(91_000, 99_001, 1_000)]
    ahead = forecast(rounds(*used), FIGURES)
    assert ahead is not None
    assert ahead.per_round == 1_000


def test_a_limit_that_is_reached_is_zero_rounds_away() -> None:
    over = msgspec.structs.replace(FIGURES, used=160_000)
    ahead = forecast(rounds(1_000, 2_000, 3_000, 4_000), over)
    assert ahead is not None
    assert (ahead.to_warning, ahead.to_critical) == (0, 0)
    assert ahead.to_full == 8


def test_nothing_is_said_of_a_budget_that_is_not_known() -> None:
    grown = rounds(1_000, 2_000, 3_000, 4_000)
    assert forecast(grown, None) is None
    assert forecast(grown, msgspec.structs.replace(FIGURES, budget=0)) is None


@given(st.lists(st.integers(0, 10**7), max_size=40))
def test_limits_come_in_their_order_and_never_in_the_past(used: list[int]) -> None:
    ahead = forecast(rounds(*used), FIGURES)
    if ahead is not None:
        assert 0 <= ahead.to_warning <= ahead.to_critical <= ahead.to_full
        assert ahead.per_round >= 1
