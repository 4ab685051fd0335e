"""Streamed usage is cumulative: the latest figure wins and nothing is counted twice."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.usage import Usage
from geode_tui.providers.anthropic_usage import by_iteration, usage_of
from geode_tui.providers.usage_report import merge_usage


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


def iteration(kind: str, size: int) -> dict[str, Any]:
    return {"type": kind, "input_tokens": size, "output_tokens": 1}


def test_the_last_call_of_its_kind_has_the_size_of_the_conversation() -> None:
    entries = [
        iteration("message", 10),
        iteration("compaction", 90),
        iteration("message", 20),
        iteration("advisor_message", 5),
    ]
    usage, others = by_iteration({"input_tokens": 30, "output_tokens": 2, "iterations": entries})
    assert usage == Usage(20, 1)
    assert others == (Usage(10, 1), Usage(90, 1), Usage(5, 1))


def test_one_call_is_what_the_report_says_of_it() -> None:
    details = {"thinking_tokens": 4}
    report = {"input_tokens": 10, "output_tokens": 9, "output_tokens_details": details}
    for entries in ([iteration("message", 10)], [], None, "none", [None]):
        assert by_iteration({**report, "iterations": entries}) == (Usage(10, 9, reasoning_tokens=4), ())


def test_a_compaction_alone_leaves_the_report_as_it_is() -> None:
    usage, others = by_iteration({"input_tokens": 0, "output_tokens": 0, "iterations": [iteration("compaction", 90)]})
    assert (usage, others) == (Usage(), (Usage(90, 1),))


FIELDS = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]


@given(
    st.lists(st.dictionaries(st.sampled_from(FIELDS), st.none() | st.integers(0, 9)), max_size=6),
    st.dictionaries(st.sampled_from(FIELDS), st.integers(1, 99), min_size=4),
)
def test_a_full_last_report_is_the_whole_truth(earlier: list[dict[str, int | None]], last: dict[str, int]) -> None:
    assert merged(*earlier, last) == merged(last) == merged(*earlier, last, last)
