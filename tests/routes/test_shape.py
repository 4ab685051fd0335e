"""What a request of a route asks for, and what its prompt budget keeps for the answer."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.routes.budget import budget_of
from geode_tui.routes.catalog import Catalog
from geode_tui.routes.shape import BadEffort, Shape, check_effort, shape

CATALOG = Catalog()
HAIKU = CATALOG.route("claude-haiku-4-5", "anthropic", "payg")
OPUS = CATALOG.route("claude-opus-5-5", "anthropic", "payg")
GPT = CATALOG.route("gpt-6-sol", "openai", "payg")
CODEX = CATALOG.route("gpt-6-sol", "openai", "subscription")
LOCAL = CATALOG.route("llama", "local", "adapter", discovered=8_192)
GLM = CATALOG.route("glm-5.3", "glm", "payg")


def test_adaptive_thinking_takes_an_effort_and_no_budget() -> None:
    assert shape(OPUS, 32_768) == Shape(32_768, 32_768, "adaptive", 0, "medium")
    assert shape(OPUS, 32_768, "max").effort == "max"


def test_a_thinking_budget_comes_on_top_of_the_answer_and_is_reserved() -> None:
    """RUNTIME.md 1.3."""
    assert shape(HAIKU, 32_768) == Shape(48_768, 48_768, "budgeted", 16_000)
    assert budget_of(HAIKU, shape(HAIKU, 32_768).reserve).prompt == 200_000 - 48_768


def test_an_effort_route_says_nothing_of_thinking() -> None:
    assert shape(GPT, 32_768) == Shape(32_768, 32_768, "default", 0, "high")
    assert shape(GLM, 32_768) == Shape(32_768, 32_768)


def test_a_route_without_an_output_parameter_keeps_the_planning_reserve() -> None:
    """RUNTIME.md 1.3: the Codex subscription."""
    assert shape(CODEX, 32_768).reserve == 20_000
    assert budget_of(CODEX, shape(CODEX, 32_768).reserve).prompt == 252_000


def test_a_closing_answer_thinks_as_little_as_the_model_allows() -> None:
    """RUNTIME.md 8.4."""
    assert shape(HAIKU, 4_096, closing=True) == Shape(4_096, 4_096)
    assert shape(OPUS, 4_096, "max", closing=True) == Shape(4_096, 4_096, "adaptive", 0, "low")
    assert shape(GPT, 4_096, closing=True).effort == "none"


def test_a_small_window_is_shared_by_prompt_and_answer() -> None:
    assert shape(LOCAL, 32_768).max_tokens == 4_096
    small = msgspec.structs.replace(HAIKU, window=9_000)
    assert shape(small, 32_768) == Shape(4_500, 4_500)


def test_an_effort_that_a_model_does_not_take_is_refused_and_never_lowered() -> None:
    """RUNTIME.md 3.1."""
    check_effort(OPUS, "xhigh")
    check_effort(OPUS, "")
    check_effort(LOCAL, "high")
    for route, effort in ((HAIKU, "high"), (GLM, "low"), (LOCAL, "enormous"), (OPUS, "none")):
        with pytest.raises(BadEffort, match="takes"):
            check_effort(route, effort)
    with pytest.raises(BadEffort, match="low, medium, high, max"):
        check_effort(CATALOG.route("claude-opus-4-6", "anthropic", "payg"), "xhigh")


@given(st.integers(1, 2_000_000), st.integers(1, 200_000), st.booleans())
def test_a_shape_always_leaves_room_for_a_prompt_and_an_answer(window: int, wanted: int, closing: bool) -> None:
    for route in (HAIKU, OPUS, GPT, CODEX, LOCAL):
        sized = msgspec.structs.replace(route, window=window)
        made = shape(sized, wanted, closing=closing)
        assert made.max_tokens - made.thinking_budget >= 1
        assert made.max_tokens <= route.max_output
        assert budget_of(sized, made.reserve).prompt >= min(8_000, window // 2)
