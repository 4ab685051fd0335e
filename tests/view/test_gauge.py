"""The gauge's figures and words, the same for every surface."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.strings import Language, Strings
from geode_tui.view.forecast import Span
from geode_tui.view.gauge import (
    context_line,
    context_lines,
    layers_of,
    level_of,
    parts_of,
    percent,
    percent_text,
    span_text,
    uncertain,
)
from geode_tui.view.state import RunState
from tests.view.runs import figures

EN = Strings("en")


def test_a_percentage_is_rounded_down_so_that_no_threshold_shows_before_it_is_met() -> None:
    almost = msgspec.structs.replace(figures(89_999), budget=100_000)
    assert (percent(almost), percent_text(almost)) == (89.9, "~89 %")


def test_the_layers_stand_in_the_order_they_are_sent_and_add_up() -> None:
    one = msgspec.structs.replace(
        figures(1_000, "confirmed"), parts={"system": 100, "tools": 300, "user": 500, "unattributed": 100}, dynamic=30
    )
    assert layers_of(one) == (
        ("tools", 300),
        ("static", 70),
        ("dynamic", 30),
        ("history", 500),
        ("unattributed", 100),
    )


def test_without_a_known_dynamic_part_the_system_prompt_is_one_layer() -> None:
    assert layers_of(figures(1_000))[:2] == (("tools", 100), ("system", 100))


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 100))
def test_layers_add_up_to_what_is_used(system: int, tools: int, user: int, share: int) -> None:
    parts = {"system": system, "tools": tools, "user": user}
    one = msgspec.structs.replace(figures(sum(parts.values())), parts=parts, dynamic=system * share // 100)
    assert sum(tokens for _, tokens in layers_of(one)) == one.used == sum(tokens for _, tokens in parts_of(one))


def test_nothing_is_known_before_the_first_request() -> None:
    assert (percent_text(None), level_of(None), parts_of(None)) == ("- %", None, ())
    assert context_lines(RunState(), EN) == [("", "Starts with the first round.")]


def test_the_lines_begin_with_what_the_gauge_says() -> None:
    one = msgspec.structs.replace(figures(100_000, "confirmed"), dynamic=2_000)
    lines = context_lines(RunState(context=one), EN)
    assert lines[0] == ("", context_line(one, EN)) == ("", "59 %  warning  100.0k of 167.2k")
    assert ("  dynamic, once a turn", "2.0k") in lines
    assert ("  history", "80.0k") in lines


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "~5 %  ok  9.0k of an assumed 180.0k"), ("ko", "~5 %  여유  9.0k / 가정한 180.0k")],
)
def test_a_share_of_a_window_that_is_only_assumed_says_so(language: Language, said: str) -> None:
    """B016: the count is the provider's own, and still no share of anything real."""
    known = msgspec.structs.replace(figures(9_000, "confirmed"), budget=180_000)
    assumed = msgspec.structs.replace(known, provenance="unknown_fallback")
    assert not uncertain(known)
    assert uncertain(assumed)
    assert context_line(assumed, Strings(language)) == said


def test_a_range_is_one_figure_where_its_ends_are_the_same() -> None:
    assert (span_text(Span(18, 21, 25)), span_text(Span(2, 2, 2))) == ("18-25", "2")
