"""The figures of every wire's usage, as genai-prices' own reading of the same reports has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import genai_prices
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.usage import Usage
from geode_tui.providers.anthropic_usage import usage_of
from geode_tui.providers.openai_usage import chat_usage, reported_micro, responses_usage

RESPONSES = {
    "input_tokens": 666_127,
    "input_tokens_details": {"cached_tokens": 110_592, "cache_write_tokens": 2_000},
    "output_tokens": 9_729,
    "output_tokens_details": {"reasoning_tokens": 4_000},
    "total_tokens": 675_856,
}
CHAT = {
    "prompt_tokens": 12_000,
    "prompt_tokens_details": {"cached_tokens": 8_000, "cache_write_tokens": 1_000},
    "completion_tokens": 700,
    "completion_tokens_details": {"reasoning_tokens": 500},
}
GLM = {**CHAT, "prompt_tokens_details": {"cached_tokens": 8_000}}
ANTHROPIC = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 60_120,
    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 60_120},
    "cache_read_input_tokens": 193_483,
    "output_tokens": 1_200,
}
WIRES: list[Any] = [
    pytest.param(RESPONSES, responses_usage, "openai", "responses", "gpt-6-sol", id="responses"),
    pytest.param(RESPONSES, responses_usage, "openai", "responses", "gpt-5.5", id="responses without write prices"),
    pytest.param(CHAT, chat_usage, "openai", "chat", "gpt-5.4", id="chat"),
    pytest.param(CHAT, chat_usage, "openrouter", "chat", "anthropic/claude-sonnet-4.5", id="openrouter"),
    pytest.param(GLM, chat_usage, "zai", "chat", "glm-4.7", id="glm"),
    pytest.param(ANTHROPIC, usage_of, "anthropic", "default", "claude-opus-5", id="anthropic"),
]


@pytest.mark.parametrize(("report", "read", "provider", "flavor", "model"), WIRES)
def test_usage_and_price_are_those_of_the_price_library(
    report: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Usage], provider: str, flavor: str, model: str
) -> None:
    theirs = genai_prices.extract_usage(
        {"model": model, "usage": report}, provider_id=provider, api_flavor=flavor
    ).usage
    ours = read(report)
    written_1h = ours.cache_write_1h_tokens or 0
    priced = genai_prices.Usage(
        input_tokens=ours.prompt_tokens,
        cache_read_tokens=ours.cache_read_tokens or 0,
        cache_write_tokens=(ours.cache_write_5m_tokens or 0) + written_1h,
        output_tokens=ours.output_tokens,
        **({"cache_write_1h_tokens": written_1h} if written_1h else {}),
    )
    for name in ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"):
        assert getattr(priced, name) == getattr(theirs, name)
    price = genai_prices.calc_price(priced, model, provider_id=provider).total_price
    assert price == genai_prices.calc_price(theirs, model, provider_id=provider).total_price > 0


def test_b059_cached_input_is_part_of_the_prompt_and_counted_once() -> None:
    report = {"input_tokens": 666_127, "input_tokens_details": {"cached_tokens": 110_592}, "output_tokens": 9_729}
    usage = responses_usage(report)
    assert (usage.input_tokens, usage.cache_read_tokens, usage.prompt_tokens) == (555_535, 110_592, 666_127)
    spent = usage.input_tokens * 5 + (usage.cache_read_tokens or 0) * Decimal("0.5") + usage.output_tokens * 30
    assert spent / 1_000_000 == Decimal("3.124841")


@pytest.mark.parametrize("name", ["cached_tokens", "prompt_cache_hit_tokens"])
def test_a_cache_may_be_reported_beside_the_prompt(name: str) -> None:
    usage = chat_usage({"prompt_tokens": 100, "completion_tokens": 1, name: 60})
    assert (usage.input_tokens, usage.cache_read_tokens) == (40, 60)


def test_a_server_that_says_nothing_of_a_cache_is_not_made_to_say_zero() -> None:
    assert chat_usage({"prompt_tokens": 100, "completion_tokens": 1}) == Usage(100, 1)


COUNTS = st.none() | st.integers(-5, 500) | st.booleans() | st.text(max_size=2)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_parts_never_exceed_the_prompt(total: Any, read: Any, written: Any, output: Any) -> None:
    details = {"cached_tokens": read, "cache_write_tokens": written}
    usage = chat_usage({"prompt_tokens": total, "prompt_tokens_details": details, "completion_tokens": output})
    assert usage.input_tokens >= 0
    assert usage.output_tokens >= 0
    known = total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else 0
    assert usage.prompt_tokens == known


@pytest.mark.parametrize(
    ("report", "micro"),
    [
        ({"cost": 0.0123456}, 12_346),
        ({"cost": "0.5"}, 500_000),
        ({"cost": 0}, 0),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}, 210_000),
        ({"cost": 0.01, "is_byok": True, "cost_details": None}, 10_000),
        ({"cost": 0.01, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.2}}, 10_000),
        ({"cost": {"total": 1}}, None),
        ({"cost": -1}, None),
        ({"cost": float("nan")}, None),
        ({"cost": "free"}, None),
        ({"cost": True}, None),
        ({}, None),
    ],
)
def test_a_price_the_provider_reports_is_taken_where_it_is_one(report: dict[str, Any], micro: int | None) -> None:
    assert reported_micro(report) == micro
