"""The prompt budget and its thresholds (RUNTIME.md 1.1 to 1.3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.routes.budget import (
    budget_of,
    keep_recent,
    max_summary,
    native_trigger,
    output_for,
    percent_of,
    planning_reserve,
    result_share,
    shrink_threshold,
    state_of,
    warning_percent,
)
from geode_tui.routes.catalog import Route


def route(window: int, *, input_cap: int | None = None, max_output: int = 128_000) -> Route:
    return Route("m", "p", "payg", "m", window, max_output, "catalog", input_cap)


TABLE = [
    (8_000, 8_000, 4_000, 7_200, 7_200, 160, 400, 2_000),
    (32_000, 12_000, 6_000, 10_800, 10_800, 240, 1_600, 2_000),
    (128_000, 108_000, 54_000, 97_200, 54_000, 2_160, 6_400, 6_400),
    (200_000, 180_000, 90_000, 162_000, 90_000, 3_600, 10_000, 10_000),
    (202_752, 182_752, 91_376, 164_476, 91_376, 3_655, 10_137, 10_137),
    (400_000, 380_000, 266_000, 342_000, 266_000, 7_600, 20_000, 12_000),
    (1_000_000, 980_000, 784_000, 882_000, 784_000, 19_600, 50_000, 12_000),
    (1_050_000, 1_030_000, 824_000, 927_000, 824_000, 20_600, 52_500, 12_000),
]
"""RUNTIME.md 1.2: window, B, warning, critical, native trigger (held below critical), threshold above which a result is
shrunk, 5 % of the window, longest summary."""


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_the_reference_table_with_the_planning_reserve(row: tuple[int, ...]) -> None:
    window = row[0]
    budget = budget_of(route(window), planning_reserve(window))
    made = (
        budget.window, budget.prompt, budget.warning, budget.critical,
        native_trigger(budget), shrink_threshold(budget), result_share(window), max_summary(window),
    )  # fmt: skip
    assert made == row


@pytest.mark.parametrize(
    ("reserve", "cap", "prompt", "warning", "trigger", "shrink"),
    [
        (20_000, 922_000, 922_000, 737_600, 737_600, 18_440),
        (128_000, 922_000, 922_000, 737_600, 737_600, 18_440),
        (300_000, 922_000, 750_000, 600_000, 600_000, 15_000),
        (0, None, 1_050_000, 840_000, 840_000, 21_000),
        (1_050_000, None, 1, 1, 2, 0),
    ],
)
def test_caps_and_the_reserve_of_a_request_move_all_that_follows_from_the_budget(
    reserve: int, cap: int | None, prompt: int, warning: int, trigger: int, shrink: int
) -> None:
    budget = budget_of(route(1_050_000, input_cap=cap), reserve)
    made = (budget.prompt, budget.warning, native_trigger(budget), shrink_threshold(budget))
    assert made == (prompt, warning, trigger, shrink)


@pytest.mark.parametrize(
    ("window", "kept"),
    [(8_000, 5), (256_000, 5), (256_001, 8), (512_000, 8), (512_001, 10), (2_000_000, 10)],
)
def test_fewer_messages_are_kept_recent_on_smaller_windows(window: int, kept: int) -> None:
    assert keep_recent(window, 10) == kept
    assert keep_recent(window, 3) == 3


@pytest.mark.parametrize(
    ("window", "percent"),
    [(1, 50), (255_999, 50), (256_000, 50), (256_001, 70), (512_000, 70), (512_001, 80), (2_000_000, 80)],
)
def test_the_bounds_of_the_tiers_belong_to_the_smaller_one(window: int, percent: int) -> None:
    assert warning_percent(window) == percent
    assert budget_of(route(window), 0).warning_percent == percent


def test_an_input_cap_limits_the_budget_and_never_the_tier() -> None:
    budget = budget_of(route(1_050_000, input_cap=922_000), 20_000)
    assert (budget.prompt, budget.warning, budget.input_cap) == (922_000, 737_600, 922_000)
    assert budget_of(route(1_050_000, input_cap=922_000), 300_000).prompt == 750_000
    assert budget_of(route(400_000, input_cap=272_000), 32_768).warning == 190_400


def test_the_reserve_is_what_this_request_asks_for() -> None:
    """A wrap-up with a short output has more room for its prompt."""
    assert budget_of(route(200_000), 32_768).prompt == 167_232
    assert budget_of(route(200_000), 4_096).prompt == 195_904


def test_less_output_is_asked_for_where_it_would_take_the_whole_window() -> None:
    assert output_for(route(200_000), 32_768) == 32_768
    assert output_for(route(1_000_000, max_output=64_000), 100_000) == 64_000
    assert output_for(route(40_000), 128_000) == 32_000
    assert output_for(route(8_000), 32_768) == 4_000
    assert budget_of(route(40_000), output_for(route(40_000), 128_000)).prompt == 8_000


@given(st.integers(1, 2_000_000), st.integers(0, 2_000_000), st.none() | st.integers(1, 2_000_000))
def test_thresholds_stand_in_order_and_the_budget_is_never_empty(window: int, reserve: int, cap: int | None) -> None:
    budget = budget_of(route(window, input_cap=cap), reserve)
    assert 1 <= budget.prompt <= window
    assert 1 <= budget.warning < budget.critical
    assert cap is None or budget.prompt <= cap
    assert native_trigger(budget) <= budget.critical
    assert 2_000 <= max_summary(window) <= 12_000


def test_the_gauge_changes_exactly_at_its_thresholds() -> None:
    words = [state_of(used, 180_000, 90_000, 162_000) for used in (89_999, 90_000, 161_999, 162_000, 180_000, 180_001)]
    assert words == ["ok", "warning", "warning", "critical", "critical", "over"]


def test_the_critical_threshold_has_the_same_base_as_the_percentage_that_is_shown() -> None:
    """B013: 90 % of the 258,400 that are usable of 272,000, however the rest is withheld; never 90 % of the window."""
    for usable in (budget_of(route(272_000), 13_600), budget_of(route(272_000, input_cap=258_400), 0)):
        assert (usable.prompt, usable.critical) == (258_400, 232_560)
        shown = [percent_of(used, usable.prompt) for used in (232_559, 232_560)]
        words = [state_of(used, usable.prompt, usable.warning, usable.critical) for used in (232_559, 232_560)]
        assert shown[0] < 90.0 <= shown[1]
        assert words == ["warning", "critical"]


def test_percentages_are_of_the_budget_and_not_capped() -> None:
    """B001, B002, B013."""
    assert round(percent_of(184_704, 272_000), 1) == 67.9
    assert round(percent_of(170_003, 180_000), 1) == 94.4
    assert percent_of(432_000, 180_000) == 240.0
    assert percent_of(5, 0) == 500.0
