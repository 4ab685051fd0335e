"""Streamed usage is cumulative: the latest figure wins and nothing is counted twice."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.usage import Usage
from geode_tui.providers.anthropic_usage import merge_usage, usage_of


def merged(*reports: object) -> Usage:
    known: dict[str, Any] = {}
    for report in reports:
        known = merge_usage(known, report)
    return usage_of(known)


def test_b010_the_latest_figure_that_is_not_null_wins() -> None:
    usage = merged(
        {"input_tokens": 0, "output_tokens": 1},
        {"output_tokens": 12},
        {"input_tokens": 10_682, "cache_read_input_tokens": None, "output_tokens": 15},
    )
    assert usage == Usage(input_tokens=10_682, output_tokens=15)


def test_a_later_null_or_zero_takes_nothing_back() -> None:
    usage = merged(
        {"input_tokens": 9, "cache_read_input_tokens": 7, "output_tokens": 1},
        {"input_tokens": 0, "cache_read_input_tokens": None, "output_tokens": 5},
    )
    assert usage == Usage(input_tokens=9, output_tokens=5, cache_read_tokens=7)


def test_cache_writes_are_split_by_lifetime_where_the_provider_says_so() -> None:
    split = {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 70}
    start = {"input_tokens": 1, "cache_creation_input_tokens": 100, "cache_creation": split}
    usage = merged(start, {"cache_creation_input_tokens": 100, "output_tokens": 2})
    assert (usage.cache_write_5m_tokens, usage.cache_write_1h_tokens) == (30, 70)
    assert usage.prompt_tokens == 101


def test_unsplit_cache_writes_are_the_five_minute_ones() -> None:
    usage = merged({"input_tokens": 9, "cache_creation_input_tokens": 150_000})
    assert (usage.cache_write_5m_tokens, usage.cache_write_1h_tokens) == (150_000, None)
    assert usage.prompt_tokens == 150_009


def test_a_total_that_grows_past_its_split_is_not_lost() -> None:
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
    usage = merged({"cache_creation": split}, {"cache_creation_input_tokens": 500})
    assert usage.prompt_tokens == 500


def test_reasoning_is_part_of_the_output() -> None:
    usage = merged({"output_tokens": 50, "output_tokens_details": {"thinking_tokens": 40}})
    assert (usage.output_tokens, usage.reasoning_tokens) == (50, 40)


def test_nonsense_is_not_counted() -> None:
    assert merged(None, [1], {"input_tokens": "12", "output_tokens": True, "cache_creation": 7}) == Usage()


FIELDS = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]


@given(
    st.lists(st.dictionaries(st.sampled_from(FIELDS), st.none() | st.integers(0, 9)), max_size=6),
    st.dictionaries(st.sampled_from(FIELDS), st.integers(1, 99), min_size=4),
)
def test_a_full_last_report_is_the_whole_truth(earlier: list[dict[str, int | None]], last: dict[str, int]) -> None:
    assert merged(*earlier, last) == merged(last) == merged(*earlier, last, last)
