"""Usage and money, endings, ids."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.endings import GUARDS, RESUMABLE, SUCCESS, Ending, exit_status
from geode_tui.core.events import CATALOGUE, LEGACY_NAMES
from geode_tui.core.ids import BadId, check_id, new_session_id
from geode_tui.core.usage import CacheUse, Usage, micro_usd, usd


@pytest.mark.parametrize(
    ("micro", "text"),
    [
        (0, "0.00"),
        (1_840_000, "1.84"),
        (727_957, "0.727957"),
        (5_000_000, "5.00"),
        (1_500_000, "1.50"),
        (-1, "-0.000001"),
    ],
)
def test_money_leaves_the_program_as_exact_decimal_text(micro: int, text: str) -> None:
    assert usd(micro) == text


@given(st.integers(-(10**15), 10**15))
def test_money_reads_back_exactly(micro: int) -> None:
    assert micro_usd(Decimal(usd(micro))) == micro


def test_half_a_micro_dollar_is_rounded_up() -> None:
    assert micro_usd(Decimal("0.7279565")) == 727_957
    assert micro_usd(Decimal("0.0000004")) == 0


def test_the_prompt_is_what_was_sent_cached_or_not() -> None:
    """B002: cache reads and writes take their place in the window."""
    assert Usage(3, 500, 150_000, 20_000).prompt_tokens == 170_003
    assert Usage(3, 500, 150_000, 20_000, 7).prompt_tokens == 170_010
    assert Usage(900, 80).prompt_tokens == 900


def use_of(*usages: Usage) -> CacheUse:
    made = CacheUse()
    for usage in usages:
        made = made.plus(usage)
    return made


@pytest.mark.parametrize(
    ("usages", "use", "low"),
    [
        ([Usage(0, 0, 14_999, 35_001)], CacheUse(14_999, 50_000), True),
        ([Usage(0, 0, 15_000, 35_000)], CacheUse(15_000, 50_000), False),
        ([Usage(9_000, 0, 0, 0, 49_999)], CacheUse(0, 49_999), False),
        ([Usage(9_000, 0, 0, 20_000, 20_000)] * 2, CacheUse(0, 80_000), True),
        ([Usage(60_000, 0, 1_024)], CacheUse(1_024, 61_024), True),
        ([Usage(1_023, 0, 0)] * 90, CacheUse(), False),
        ([Usage(90_000)], CacheUse(), False),
    ],
)
def test_use_of_a_cache_is_what_was_read_of_what_could_be(usages: list[Usage], use: CacheUse, *, low: bool) -> None:
    """RUNTIME.md 7: from 50,000 cacheable tokens, below 30 %; writes where they are told, else what was sent."""
    assert (use_of(*usages), use_of(*usages).low) == (use, low)


def test_what_a_provider_did_not_say_stays_unsaid_in_a_sum() -> None:
    said = Usage(1, 2, cache_read_tokens=5)
    assert Usage(10, 20).plus(said) == Usage(11, 22, cache_read_tokens=5)
    assert Usage(10, 20).plus(Usage(1, 1)).cache_read_tokens is None


@pytest.mark.parametrize(
    ("reasons", "status"),
    [
        ("natural forced_text actionable_partial", 0),
        ("input_blocked", 2),
        ("max_rounds time_budget_expired session_time_budget_expired session_time_budget_handoff", 3),
        ("cost_budget_exceeded convergence_detected repeated_success_no_progress", 3),
        ("model_action_required billing_error model_refusal llm_error", 4),
        ("user_clarification_needed tool_use_yield external_verification_required unknown", 4),
        ("context_exhausted", 5),
        ("user_cancelled", 130),
    ],
)
def test_exit_statuses(reasons: str, status: int) -> None:
    assert {exit_status(Ending(reason)) for reason in reasons.split()} == {status}


def test_there_are_21_endings_and_an_unknown_name_reads_as_unknown() -> None:
    """RUNTIME.md 8.5."""
    assert len(Ending) == 21
    assert Ending.of("from_a_newer_program") is Ending.UNKNOWN
    assert not SUCCESS & RESUMABLE
    assert GUARDS <= RESUMABLE


def test_older_names_stand_for_events_of_the_catalogue() -> None:
    assert set(LEGACY_NAMES.values()) <= CATALOGUE.keys()
    assert not LEGACY_NAMES.keys() & CATALOGUE.keys()


@pytest.mark.parametrize(
    "text",
    [
        "../../../etc/passwd",
        "/etc/passwd",
        "..%2f..%2fx",
        "a/../../b",
        "tr_1\u0000.txt",
        "C:\\Windows\\x",
        "a" * 5000,
        "．．／x",
        "",
        ".",
        "..",
        ".hidden",
        "a b",
        "a\n",
        "한글",
        "x\x1b[2J",
    ],
)
def test_what_is_no_id_is_refused_without_being_repeated(text: str) -> None:
    """B122: an id names files."""
    with pytest.raises(BadId) as refused:
        check_id(text)
    assert len(text) < 3 or text not in str(refused.value)


@pytest.mark.parametrize("text", ["20261130-152345-k7f3", "toolu_01A.b:c-d", "a" * 128, "CON"])
def test_ids_are_taken_as_they_are(text: str) -> None:
    assert check_id(text) == text


@given(st.binary(min_size=4, max_size=16))
def test_a_new_session_id_is_an_id_that_sorts_by_time(random_bytes: bytes) -> None:
    earlier = new_session_id(datetime(2026, 11, 30, 15, 23, 45, tzinfo=UTC), random_bytes)
    later = new_session_id(datetime(2026, 11, 30, 15, 23, 46, tzinfo=UTC), bytes(4))
    assert check_id(earlier) == earlier
    assert earlier < later
