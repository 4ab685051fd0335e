"""How many tokens a prompt takes before its provider counted it (RUNTIME.md 1.6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context import estimate
from geode_tui.context.estimate import CATEGORIES, PromptMeter, balanced, message_parts, text_tokens, tools_tokens
from geode_tui.core.messages import (
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    tool_text,
    user_text,
)
from geode_tui.core.tools import ToolSpec
from geode_tui.routes.budget import budget_of
from geode_tui.routes.catalog import Route

ROUTE = Route("m", "p", "payg", "m", 200_000, 64_000, "catalog")
BUDGET = budget_of(ROUTE, 32_768)
FIXED = (500, 1_500)
CALL = ToolCallBlock("c-1", "grep", '{"pattern":"x"}')


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("abcd", 1), ("abcde", 2), ("한글", 2), ("한글 abc", 3), ("漢字かな", 4), ("é" * 8, 2), ("𠀀", 1)],
)
def test_each_script_counts_by_its_density(text: str, tokens: int) -> None:
    assert text_tokens(text) == tokens


def test_hangul_is_not_taken_for_latin() -> None:
    assert text_tokens("압" * 100_000) >= 50_000
    assert sum(message_parts(user_text("압" * 100_000)).values()) < 110_000


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_an_image_is_bounded_whatever_its_size(size: int) -> None:
    """B009."""
    message = Message("user", (ImageBlock("image/png", "A" * size), TextBlock("what is this?")))
    assert 0 < sum(message_parts(message).values()) <= 5_000
    shown = ToolResultBlock("c-1", "read_file", (ImageBlock("image/png", "A" * size),))
    assert 0 < message_parts(Message("tool", (shown,)))["images"] <= 5_000


def test_every_kind_of_block_counts_in_its_category() -> None:
    """B014: replayed thinking and encrypted content take their room."""
    raw = "x" * 60_000
    blocks = (TextBlock("a" * 40), ThinkingBlock("t" * 40), ThinkingBlock("t", "anthropic", raw), CALL)
    parts = message_parts(Message("assistant", (*blocks, OpaqueBlock("openai", "reasoning", "A" * 40_000))))
    assert parts == {"agent": 10 + 1 + 4 + 4, "thinking": 10 + 15_000, "native": 10_000}
    assert message_parts(tool_text(CALL, "x" * 400)) == {"results": 104}
    assert message_parts(user_text("x" * 400)) == {"user": 104}


def test_arguments_of_calls_are_not_forgotten() -> None:
    call = ToolCallBlock("c-1", "write_file", "x" * 40_000)
    assert message_parts(Message("assistant", (call,)))["agent"] >= 10_000


def test_tools_count_as_they_are_sent() -> None:
    small = ToolSpec("grep", "Search.", {"type": "object"})
    large = ToolSpec("grep", "Search. " * 100, {"type": "object"})
    assert tools_tokens(()) == 0
    assert tools_tokens((small,)) < tools_tokens((large,)) < tools_tokens((large, small))


texts = st.text(max_size=200)
messages = st.one_of(
    texts.map(user_text),
    texts.map(lambda t: Message("assistant", (TextBlock(t), ThinkingBlock(t), CALL, OpaqueBlock("p", "k", t)))),
    texts.map(lambda t: tool_text(CALL, t)),
    st.just(Message("user", (ImageBlock("image/png", "AAAA"),))),
)


@given(st.lists(messages, max_size=12), st.none() | st.integers(-5, 300_000), st.data())
def test_the_parts_of_a_gauge_always_add_up(history: list[Message], confirmed: int | None, data: st.DataObject) -> None:
    """B006."""
    meter = PromptMeter()
    for message in history:
        meter.append(message)
    if confirmed is not None:
        meter.confirm(confirmed, data.draw(st.integers(0, len(history))), ROUTE, FIXED)
    gauge = meter.figures(ROUTE, BUDGET, FIXED, simulated=False)
    assert sum(gauge.parts.values()) == gauge.used
    assert min(gauge.parts.values(), default=0) >= 0
    assert gauge.parts.keys() <= set(CATEGORIES)


@given(st.dictionaries(st.sampled_from(CATEGORIES[:-1]), st.integers(0, 10**6)), st.integers(0, 10**7))
def test_parts_are_made_to_add_up_to_any_total(parts: dict[str, int], used: int) -> None:
    assert sum(balanced(parts, used).values()) == used


def test_what_the_provider_counted_more_is_shown_as_unattributed() -> None:
    """B006."""
    parts = {"system": 2_600, "tools": 15_800, "user": 103_700, "native": 8_000}
    assert balanced(parts, 162_000) == {**parts, "unattributed": 31_900}


def counted(meter: PromptMeter, tokens: int, count: int) -> None:
    meter.confirm(tokens, count, ROUTE, FIXED)


def test_a_confirmed_figure_anchors_the_estimate_and_only_what_was_appended_is_estimated() -> None:
    meter = PromptMeter()
    meter.append(user_text("x" * 4_000))
    first = meter.figures(ROUTE, BUDGET, FIXED, simulated=False)
    assert (first.measured, first.used) == ("estimated", 2_000 + 1_004)
    counted(meter, 5_000, 1)
    assert (meter.figures(ROUTE, BUDGET, FIXED, simulated=False).measured, first.budget) == ("confirmed", 167_232)
    added = meter.append(user_text("y" * 400))
    later = meter.figures(ROUTE, BUDGET, FIXED, simulated=False)
    assert (later.measured, later.used) == ("estimated", 5_000 + added)


def test_an_anchor_holds_for_its_own_route_and_prefix_only() -> None:
    meter = PromptMeter()
    meter.append(user_text("x" * 4_000))
    counted(meter, 5_000, 1)
    other = Route("m", "p", "subscription", "m", 200_000, 64_000, "catalog")
    assert meter.figures(other, BUDGET, FIXED, simulated=False).used == 3_004
    assert meter.figures(ROUTE, BUDGET, (500, 1_600), simulated=False).used == 3_104


@pytest.mark.parametrize("tokens", [0, -1, 200_001, 41_000_900])
def test_a_count_that_cannot_be_is_not_believed(tokens: int) -> None:
    """B003: more than the window, on a call that was accepted."""
    meter = PromptMeter()
    meter.append(user_text("hi"))
    counted(meter, tokens, 1)
    assert meter.anchor is None
    assert meter.figures(ROUTE, BUDGET, FIXED, simulated=False).measured == "estimated"


def test_an_estimate_costs_what_was_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    real = estimate.text_tokens

    def counting(text: str) -> int:
        nonlocal seen
        seen += 1
        return real(text)

    monkeypatch.setattr(estimate, "text_tokens", counting)
    meter = PromptMeter()
    for _ in range(500):
        meter.append(user_text("hello"))
        meter.figures(ROUTE, BUDGET, FIXED, simulated=False)
    assert seen == 500
