"""Figures as SCREENS.md 4 writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core import format as fmt


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (214, "214"),
        (999, "999"),
        (1_000, "1.0k"),
        (18_300, "18.3k"),
        (999_949, "999.9k"),
        (999_950, "1.00M"),
        (1_310_000, "1.31M"),
    ],
)
def test_tokens(count: int, text: str) -> None:
    assert fmt.tokens(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(200_000, "200k"), (32_768, "32.8k"), (1_000_000, "1M"), (1_048_576, "1.05M"), (500, "500"), (100, "100")],
)
def test_sizes_have_no_empty_decimals(count: int, text: str) -> None:
    assert fmt.size(count) == text


@pytest.mark.parametrize(
    ("micro", "text"),
    [
        (0, "$0.00"),
        (1, "<$0.01"),
        (9_999, "<$0.01"),
        (10_000, "$0.01"),
        (60_000, "$0.06"),
        (1_840_000, "$1.84"),
        (999_990_000, "$999.99"),
        (1_204_000_000, "$1,204"),
    ],
)
def test_money(micro: int, text: str) -> None:
    assert fmt.money(micro) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (0.2, "0.2 s"),
        (8.44, "8.4 s"),
        (9.94, "9.9 s"),
        (9.96, "0:09"),
        (48, "0:48"),
        (3_723, "1:02:03"),
    ],
)
def test_what_something_took(seconds: float, text: str) -> None:
    assert fmt.elapsed(seconds) == text


def test_durations_and_hours() -> None:
    assert fmt.duration(2_530) == "0:42:10"
    assert fmt.hours(2_530) == "0:42"
    assert fmt.duration(-1) == "0:00:00"


def test_percent_never_shows_a_threshold_before_it_is_met_and_is_not_capped() -> None:
    assert fmt.percent(69_999, 100_000) == "69 %"
    assert fmt.percent(118, 100) == "118 %"
    assert fmt.percent(1, 0) == "- %"
    assert fmt.percent_column(159, 1_000) == "15.9%"


@pytest.mark.parametrize(
    ("count", "text"), [(412, "412 B"), (71_000, "71 KB"), (5_200_000, "5.2 MB"), (1_400_000_000, "1.4 GB")]
)
def test_bytes(count: int, text: str) -> None:
    assert fmt.size_bytes(count) == text


@given(st.integers(0, 10**13))
def test_figures_stay_short(value: int) -> None:
    assert len(fmt.tokens(value)) <= 12
    assert len(fmt.money(value)) <= 12
