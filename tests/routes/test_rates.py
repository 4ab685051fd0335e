"""Prices of many calls are the prices of each of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.usage import Usage
from geode_tui.routes import rates
from geode_tui.routes.catalog import Catalog
from geode_tui.routes.prices import cost_micro
from geode_tui.routes.rates import Rates

CATALOG = Catalog()
AT = 1_770_800_000.0
MODELS = (
    "claude-opus-4-6",
    "claude-haiku-4-5-20251001",
    "claude-sonnet-4-5-20250929",
    "claude-opus-4-1",
    "no-such-model",
)
tokens = st.integers(0, 150_000)
usages = st.builds(Usage, tokens, tokens, st.none() | tokens, st.none() | tokens, st.none() | tokens)


@given(st.sampled_from(MODELS), usages)
def test_a_sum_of_rates_is_the_price(model: str, usage: Usage) -> None:
    route = CATALOG.route(model, "anthropic", "subscription")
    assert Rates().cost_micro(route, usage, AT) == cost_micro(route, usage, AT)


def test_what_lies_above_the_first_tier_is_priced_by_the_list() -> None:
    route = CATALOG.route("gpt-6-sol", "openai", "payg")
    for size in (272_000, 272_001, 900_000):
        assert Rates().cost_micro(route, Usage(size, 500), AT) == cost_micro(route, Usage(size, 500), AT)


def test_the_list_is_asked_once_a_model_and_day(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    real = cost_micro

    def counting(*arguments: object) -> int | None:
        nonlocal asked
        asked += 1
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(rates, "cost_micro", counting)
    route = CATALOG.route("claude-opus-4-6", "anthropic", "subscription")
    made = Rates()
    for number in range(100):
        made.cost_micro(route, Usage(number, 10), AT)
    once = asked
    made.cost_micro(route, Usage(5, 10), AT + 86_400)
    assert (once, asked) == (5, 10)
