"""The block table: what it holds, and that it adds up to the gauge."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.figures import CATEGORIES
from geode_tui.core.events import ContextFigures
from geode_tui.view.blocks import ORDERS, BlockEntry, arranged, block_table, table_of
from geode_tui.view.state import RunState
from tests.view.runs import figures


def gauge(**parts: int) -> ContextFigures:
    return msgspec.structs.replace(figures(sum(parts.values())), parts=parts)


def entry(seq: int, kind: str = "results", weight: int = 100, **more: object) -> BlockEntry:
    return BlockEntry(seq, seq, 1, seq, kind, weight, **more)  # type: ignore[arg-type]


def test_each_kind_adds_up_to_its_part_and_the_largest_block_comes_first() -> None:
    table = table_of(
        [entry(1, "user", 3), entry(2, weight=100), entry(3, weight=300)],
        gauge(system=50, tools=70, user=9, results=1_001),
        start=0,
        end=3,
        newest=3,
    )
    assert [(row.kind, row.tokens, row.state) for row in table.rows] == [
        ("results", 751, "verbatim"),
        ("results", 250, "verbatim"),
        ("tools", 70, "fixed"),
        ("system", 50, "fixed"),
        ("user", 9, "verbatim"),
    ]
    assert table.top(2) == 1_001


def test_what_came_after_the_request_joins_the_next_one_and_is_in_no_sum() -> None:
    table = table_of([entry(1), entry(2, weight=40)], gauge(results=500), start=0, end=1, newest=2)
    assert [(row.tokens, row.state) for row in table.rows] == [(500, "verbatim"), (40, "unsent")]
    assert table.top(9) == 500


def test_an_earlier_state_knows_nothing_of_later_messages() -> None:
    state = RunState(context=gauge(results=500), prompt_upto=1, newest_seq=1)
    assert len(block_table([entry(1), entry(2)], state).rows) == 1


def test_what_gave_way_to_a_summary_is_gone_and_the_summary_is_called_one() -> None:
    entries = [entry(1, "user"), entry(2), entry(3, "user", 60), entry(4, "user", 20), entry(5)]
    table = table_of(entries, gauge(summaries=80, user=20, results=10), start=2, end=5, newest=5)
    assert [(row.kind, row.entry.seq if row.entry else 0) for row in table.rows] == [
        ("summaries", 3),
        ("user", 4),
        ("results", 5),
    ]


def test_before_the_first_request_every_block_waits_for_it() -> None:
    table = table_of([entry(1, "user", 7)], None, start=0, end=0, newest=1)
    assert [(row.tokens, row.state) for row in table.rows] == [(7, "unsent")]


entries_ = st.lists(
    st.tuples(st.sampled_from([c for c in CATEGORIES if c not in {"system", "tools"}]), st.integers(0, 10**6)),
    max_size=30,
)
parts_ = st.dictionaries(st.sampled_from(CATEGORIES), st.integers(0, 10**6))


@given(entries_, parts_, st.integers(0, 31), st.integers(0, 31))
def test_the_table_adds_up_to_what_is_used(
    blocks: list[tuple[str, int]], parts: dict[str, int], start: int, end: int
) -> None:
    entries = [entry(n, kind, weight) for n, (kind, weight) in enumerate(blocks, 1)]
    table = table_of(entries, gauge(**parts), start=start, end=end, newest=31)
    sent = [row for row in table.rows if row.state != "unsent"]
    assert sum(row.tokens for row in sent) == sum(parts.values())
    assert all(row.tokens >= 0 for row in sent)
    assert [row.tokens for row in table.rows] == sorted((row.tokens for row in table.rows), reverse=True)


@pytest.mark.parametrize("order", ORDERS)
def test_another_order_loses_nothing(order: str) -> None:
    table = table_of(
        [entry(n, weight=n % 3) for n in range(1, 9)], gauge(results=90, tools=5), start=0, end=8, newest=8
    )
    rows = arranged(table.rows, order)  # type: ignore[arg-type]
    assert sorted(rows, key=id) == sorted(table.rows, key=id)
    places = [row.place for row in rows]
    if order in {"newest", "oldest"}:
        assert places == sorted(places, reverse=order == "newest")
