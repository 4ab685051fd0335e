"""What a run cost, by round and in words."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from geode_tui.core import events as ev
from geode_tui.core import layers
from geode_tui.core.strings import Strings
from geode_tui.core.usage import Usage
from geode_tui.view.cost import (
    COST_EVENTS,
    added,
    amount,
    break_text,
    cost_lines,
    followed,
    largest_first,
    note_lines,
    priced,
    round_costs,
)
from geode_tui.view.reduce import fold
from geode_tui.view.state import CacheBreak, Money, RunState
from tests.view.runs import NOW, figures, row

EN = Strings("en")
ROUTE = ("turn", "m-1", "anthropic", "payg")


def ended(call: str, cost: int | None) -> ev.LlmCallEnded:
    return ev.LlmCallEnded(call, 1, *ROUTE, 900, Usage(10, 5, 90), cost, "end_turn", figures(100, "confirmed"))


def failed(call: str, cost: int | None) -> ev.LlmCallFailed:
    return ev.LlmCallFailed(call, 1, *ROUTE, "overloaded", "warning", "no", Usage(7), cost)


LOG = [
    row(1, failed("a", 20_000), 1, 1),
    row(2, ended("a", 100_000), 1, 1),
    row(3, ev.CacheBroken("b", "tools", 31_000, 90_000), 1, 2),
    row(4, ended("b", None), 1, 2),
    row(5, ended("c", 300_000), 2, 1),
]


def test_a_round_has_its_answer_its_failed_attempts_and_its_cache_breaks() -> None:
    first, second, third = round_costs(LOG)
    assert (first.turn, first.round, first.money.cost_micro, first.money.failed_calls) == (1, 1, 120_000, 1)
    assert (second.breaks, priced(second.money)) == (("tools",), None)
    assert (third.turn, third.money.cost_micro) == (2, 300_000)


def test_damaged_and_other_rows_are_passed_over() -> None:
    damaged = ev.EventRow(9, NOW, 1, 1, "llm_call_ended", '{"call_id": 1}')
    other = row(10, ev.PlanUpdated(()), 1, 1)
    assert round_costs([damaged, other]) == ()
    assert {"llm_call_ended", "llm_call_failed", "cache_broken", "llm_call_end"} <= COST_EVENTS


@given(st.integers(0, len(LOG)))
def test_a_log_that_is_read_in_two_parts_gives_the_same_rounds(cut: int) -> None:
    assert followed(round_costs(LOG[:cut]), round_costs(LOG[cut:])) == round_costs(LOG)


@given(st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 10**7)), st.booleans()), max_size=12))
@settings(deadline=None)
def test_the_rounds_add_up_to_the_run(calls: list[tuple[int | None, bool]]) -> None:
    rows = [
        row(n, failed(f"c{n}", cost) if fails else ended(f"c{n}", cost), 1, 1 + n // 3)
        for n, (cost, fails) in enumerate(calls)
    ]
    total = Money()
    for one in round_costs(rows):
        total = added(total, one.money)
    assert total == fold(RunState(), rows).money


def test_a_cost_without_any_price_is_unpriced_never_zero() -> None:
    assert amount(Money(0, 3, 1), EN) == "unpriced"
    assert amount(Money(20_000, 3, 1), EN) == "$0.02"
    assert amount(Money(0, 3), EN) == "$0.00"


def test_what_an_amount_does_not_hold_is_said() -> None:
    money = Money(500_000, 9, 2, failed_micro=20_000, failed_calls=3, equivalent_micro=400_000)
    assert note_lines(money, EN) == [
        "calls without a known price: 2",
        "$0.40 of it at list price, paid by a subscription",
        "failed attempts: 3, $0.02 of it at least",
    ]


def test_the_dearest_part_comes_first() -> None:
    parts = {"a": Money(1, 1), "b": Money(3, 1), "c": Money(0, 1, 1)}
    assert [name for name, _ in largest_first(parts)] == ["b", "a", "c"]


def test_a_break_says_why_and_which_message_or_the_providers_own_word() -> None:
    one = CacheBreak(1, 29, "message", 5_000, 1, position=12)
    assert break_text(one, EN) == "message 12 of the prompt changed"
    assert break_text(msgspec.structs.replace(one, cause="tools"), EN) == "tool list changed"
    unknown = msgspec.structs.replace(one, cause="unknown", said="shard_moved")
    assert break_text(unknown, EN) == "cause not known (shard_moved)"


def test_every_cause_has_words_in_both_languages() -> None:
    causes = layers.CacheCause.__args__  # type: ignore[attr-defined]
    for strings in (EN, Strings("ko")):
        assert all(strings.has(f"cache.{cause}") for cause in causes)


def test_the_lines_name_session_turn_parts_tokens_and_breaks() -> None:
    state = fold(RunState(), LOG)
    lines = cost_lines(state, EN)
    assert ("session", "$0.42") in lines
    assert ("  turn", "$0.42  3 calls") in lines
    assert ("  m-1", "$0.42  3 calls") in lines
    assert ("  cache read", "270") in lines
    assert ("", "cache break in round 2: tool list changed, 31.0k tok, $0.09") in lines
