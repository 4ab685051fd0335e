"""What a call costs, against the table of RUNTIME.md 1.5 and against genai-prices' own reading of raw answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import genai_prices
import pytest
from genai_prices.data_snapshot import get_snapshot

from geode_tui.core.usage import Usage, micro_usd
from geode_tui.routes.catalog import Catalog, Route
from geode_tui.routes.prices import bill, cost_micro, money_of, price_tiers, read_micro, worst_micro

CATALOG = Catalog()
WHEN = datetime(2026, 10, 1, tzinfo=UTC)
TS = WHEN.timestamp()
OPUS = CATALOG.route("claude-opus-4-8", "anthropic", "payg")
GPT = CATALOG.route("gpt-6-sol", "openai", "payg")

LIST: list[tuple[str, str, float, float, float]] = [
    ("claude-fable-5-1", "anthropic", 10, 50, 0.25),
    ("claude-fable-5", "anthropic", 10, 50, 1.00),
    ("claude-opus-5-5", "anthropic", 4, 20, 0.20),
    ("claude-opus-5", "anthropic", 5, 25, 0.50),
    ("claude-opus-4-8", "anthropic", 5, 25, 0.50),
    ("claude-sonnet-5", "anthropic", 2, 10, 0.20),
    ("claude-sonnet-4-6", "anthropic", 3, 15, 0.30),
    ("claude-haiku-4-5", "anthropic", 1, 5, 0.10),
    ("gpt-6-astra", "openai", 10, 50, 1.00),
    ("gpt-6-sol", "openai", 2, 10, 0.20),
    ("gpt-6-luna", "openai", 0.10, 0.50, 0.01),
    ("gpt-5.6", "openai", 4, 20, 0.40),
    ("gpt-5.6-terra", "openai", 2, 12, 0.20),
    ("gpt-5.6-luna", "openai", 0.20, 1.20, 0.02),
    ("gpt-5.5", "openai", 5, 30, 0.50),
    ("gpt-5.4", "openai", 2.5, 15, 0.25),
    ("gpt-5.4-mini", "openai", 0.75, 4.5, 0.075),
    ("gpt-5.4-nano", "openai", 0.20, 1.25, 0.02),
    ("gpt-5.3-codex", "openai", 1.75, 14, 0.175),
    ("gpt-5.2", "openai", 1.75, 14, 0.175),
    ("gpt-5-mini", "openai", 0.25, 2, 0.025),
    ("gpt-5-nano", "openai", 0.05, 0.40, 0.005),
    ("o3", "openai", 2, 8, 0.50),
    ("o4-mini", "openai", 1.10, 4.40, 0.275),
    ("glm-5.3", "glm", 1.40, 4.40, 0.26),
    ("glm-5.3-flash", "glm", 0.15, 0.50, 0.03),
    ("glm-5.3-flashx", "glm", 0.37, 1.25, 0.075),
    ("glm-5.1", "glm", 1.40, 4.40, 0.26),
    ("glm-5", "glm", 1.00, 3.20, 0.20),
    ("glm-4.7", "glm", 0.60, 2.20, 0.11),
    ("glm-4.7-flashx", "glm", 0.07, 0.40, 0.01),
    ("glm-4.7-flash", "glm", 0, 0, 0),
    ("glm-5-turbo", "glm", 1.20, 4.00, 0.24),
]


@pytest.mark.parametrize(("model", "provider", "in_", "out", "read"), LIST)
def test_list_prices(model: str, provider: str, in_: float, out: float, read: float) -> None:
    """RUNTIME.md 1.5, USD per million: micro-dollars of a hundred thousand tokens of each kind."""
    route = CATALOG.route(model, provider, "payg")
    usages = (Usage(100_000), Usage(0, 100_000), Usage(0, 0, 100_000))
    assert [cost_micro(route, usage, TS) for usage in usages] == [round(rate * 100_000) for rate in (in_, out, read)]


def test_cache_writes_cost_by_how_long_they_are_kept() -> None:
    """B057: $5 in, $25 out; an hour's write costs twice the input, five minutes' 1.25 times."""
    assert cost_micro(OPUS, Usage(3, 1_200, 193_483, 0, 60_120), TS) == 727_957
    assert cost_micro(OPUS, Usage(3, 1_200, 193_483, 60_120, 0), TS) == 502_507


def test_cached_input_is_billed_once_and_at_its_own_rate() -> None:
    """B059 with its rates, which are gpt-5.5's below the long-context tier, taken piece by piece."""
    route = CATALOG.route("gpt-5.5", "openai", "payg")
    parts = [Usage(185_000, 0, 0), Usage(0, 9_729, 110_592)]
    assert sum(cost_micro(route, part, TS) or 0 for part in parts) == 185_000 * 5 + 9_729 * 30 + 110_592 // 2
    tiered = cost_micro(route, Usage(555_535, 9_729, 110_592), TS)
    assert tiered == 555_535 * 10 + 110_592 + 9_729 * 45


@pytest.mark.parametrize(("route", "limit", "times"), [(GPT, 272_000, 2)])
def test_above_its_tier_the_whole_request_costs_more(route: Route, limit: int, times: int) -> None:
    """B061: strictly above, cache included; output by half as much again."""
    at = cost_micro(route, Usage(limit - 100_000, 1_000, 90_000, 10_000), TS)
    above = cost_micro(route, Usage(limit - 100_000 + 1, 1_000, 90_000, 10_000), TS)
    rates = (172_000 * 2) + (90_000 * 2 // 10) + (10_000 * 25 // 10)
    assert at == rates + 1_000 * 10
    assert above == (rates + 2) * times + 1_000 * 15


def test_b061_the_tier_of_a_request_is_that_of_its_whole_prompt() -> None:
    """$3 in and $15 out up to 200,000 tokens, $6 and $22.50 above, whatever of them was cached."""
    route = CATALOG.route("claude-sonnet-4-5", "anthropic", "payg")
    assert cost_micro(route, Usage(199_999, 1_000), TS) == 614_997
    assert cost_micro(route, Usage(200_001, 1_000), TS) == 1_222_506
    cached = Usage(1, 1_000, 150_000, 25_000, 25_000)
    assert cost_micro(route, cached, TS) == 6 + 90_000 + 187_500 + 300_000 + 22_500


@pytest.mark.parametrize(
    ("model", "provider", "window", "tiers"),
    [
        ("gpt-6-sol", "openai", None, (272_000,)),
        ("gpt-5.4", "openai", None, (272_000,)),
        ("gpt-5.4", "openai", 272_000, ()),
        ("gpt-5.4-mini", "openai", None, ()),
        ("claude-haiku-5-5", "anthropic", None, (100_000,)),
        ("claude-sonnet-4-5", "anthropic", None, ()),
        ("claude-sonnet-4-5", "anthropic", 1_000_000, (200_000,)),
        ("claude-opus-5-5", "anthropic", None, ()),
        ("glm-5.3", "glm", None, ()),
        ("acme/new-model", "openrouter", None, ()),
        ("offline-planner", "offline", None, ()),
    ],
)
def test_the_price_tiers_inside_a_window(model: str, provider: str, window: int | None, tiers: tuple[int, ...]) -> None:
    source = "adapter" if provider == "offline" else "payg"
    assert price_tiers(CATALOG.route(model, provider, source, window=window), TS) == tiers


def test_a_subscription_has_the_tiers_of_its_list_price() -> None:
    assert price_tiers(CATALOG.route("gpt-6-sol", "openai", "subscription", window=872_000), TS) == (272_000,)


@pytest.mark.parametrize(("model", "at", "above"), [("gpt-6-sol", 690_000, 1_375_005), ("gpt-5.4", 695_000, 1_382_505)])
def test_the_worst_case_uses_the_tier_of_the_prompt(model: str, at: int, above: int) -> None:
    """272,000 tokens of prompt still cost the lower rate; with one more both rates of the whole request are higher."""
    route = CATALOG.route(model, "openai", "payg")
    assert [worst_micro(route, prompt, 1_000, TS) for prompt in (272_000, 272_001)] == [at, above]


@pytest.mark.parametrize(
    ("model", "provider", "source"),
    [
        ("claude-nobody-9", "anthropic", "payg"),
        ("claude-opus-4.1", "anthropic", "payg"),
        ("claude-opus-4-8-turbo", "anthropic", "payg"),
        ("gpt-6-sol-mini", "openai", "payg"),
        ("acme/new-model", "openrouter", "payg"),
        ("m", "nobody", "payg"),
        ("claude-opus-4-8", "glm", "payg"),
        ("claude-opus-4-8", "anthropic", "adapter"),
    ],
)
def test_what_has_no_known_price_has_none_and_is_never_zero(model: str, provider: str, source: str) -> None:
    """B060: and never another model's price, however alike the names are."""
    route = CATALOG.route(model, provider, source)
    assert cost_micro(route, Usage(1_000, 1_000), TS) is None
    assert worst_micro(route, 1_000, 1_000, TS) is None


def test_every_listed_model_has_a_price() -> None:
    """Each family matches one model of the price list by its whole name."""
    for provider in ("anthropic", "openai", "glm", "openrouter"):
        for model in CATALOG.models(provider, "payg"):
            assert cost_micro(CATALOG.route(model, provider, "payg"), Usage(1_000, 1_000), TS) is not None, model


def test_what_the_provider_reports_beats_the_list() -> None:
    assert cost_micro(GPT, Usage(1_000, 1_000), TS, reported=1_234) == 1_234
    assert cost_micro(GPT, Usage(1_000, 1_000), TS, reported=-1) == 12_000
    unknown = CATALOG.route("openrouter/acme/new-model", "openrouter", "payg")
    assert cost_micro(unknown, Usage(1_000, 1_000), TS, reported=77) == 77


def test_a_subscription_is_shown_at_its_list_price_and_is_no_money_spent() -> None:
    route = CATALOG.route("gpt-6-sol", "openai", "subscription")
    assert cost_micro(route, Usage(1_000, 1_000), TS) == cost_micro(GPT, Usage(1_000, 1_000), TS) == 12_000
    assert money_of("subscription", simulated=False) == "equivalent"
    assert money_of("payg", simulated=False) == "billed"
    assert {money_of(source, simulated=True) for source in ("payg", "subscription")} == {"simulated"}


def test_an_endpoint_of_ones_own_costs_nothing() -> None:
    local = CATALOG.route("llama-3", "local", "adapter")
    assert cost_micro(local, Usage(100_000, 100_000, 5_000), TS) == 0
    assert worst_micro(local, 100_000, 100_000, TS) == 0


def test_the_worst_case_is_never_below_what_a_call_costs() -> None:
    for route in (OPUS, GPT, CATALOG.route("glm-5.3", "glm", "payg")):
        worst = worst_micro(route, 100_000, 32_768, TS)
        assert worst is not None
        for usage in (Usage(100_000, 32_768), Usage(0, 32_768, 0, 100_000), Usage(0, 32_768, 0, 0, 100_000)):
            cost = cost_micro(route, usage, TS)
            assert cost is not None
            assert cost <= worst


def test_simulated_money_uses_the_price_it_states() -> None:
    offline = CATALOG.route("offline-planner", "offline", "adapter")
    usage = Usage(1_000, 1_000, 10_000, 2_000, 1_000)
    assert cost_micro(offline, usage, TS) == 3_000 + 15_000 + 3_000 + 11_250
    assert worst_micro(offline, 1_000, 1_000, TS) == 3_750 + 15_000


# -- raw answers ------------------------------------------------------------------------------------------------------
ANSWERS: list[tuple[str, str, str, dict[str, Any], Usage]] = [
    (
        "anthropic",
        "anthropic",
        "default",
        {
            "model": "claude-opus-4-8",
            "usage": {
                "input_tokens": 3,
                "cache_creation_input_tokens": 60_120,
                "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 60_100},
                "cache_read_input_tokens": 193_483,
                "output_tokens": 1_200,
            },
        },
        Usage(3, 1_200, 193_483, 20, 60_100),
    ),
    (
        "openai",
        "openai",
        "responses",
        {
            "model": "gpt-6-sol",
            "usage": {
                "input_tokens": 10_000,
                "input_tokens_details": {"cached_tokens": 6_000, "cache_write_tokens": 1_500},
                "output_tokens": 900,
                "output_tokens_details": {"reasoning_tokens": 400},
                "total_tokens": 10_900,
            },
        },
        Usage(2_500, 900, 6_000, 1_500, None, 400),
    ),
    (
        "glm",
        "zai",
        "chat",
        {
            "model": "glm-5.3",
            "usage": {
                "prompt_tokens": 10_000,
                "prompt_tokens_details": {"cached_tokens": 7_000},
                "completion_tokens": 500,
                "total_tokens": 10_500,
            },
        },
        Usage(3_000, 500, 7_000),
    ),
    (
        "openrouter",
        "openrouter",
        "chat",
        {
            "model": "anthropic/claude-opus-5.5",
            "usage": {
                "prompt_tokens": 10_000,
                "prompt_tokens_details": {"cached_tokens": 7_000, "cache_write_tokens": 1_000},
                "completion_tokens": 500,
                "total_tokens": 10_500,
            },
        },
        Usage(2_000, 500, 7_000, 1_000),
    ),
]


@pytest.mark.parametrize(
    ("provider", "listed", "flavour", "answer", "usage"), ANSWERS, ids=[answer[0] for answer in ANSWERS]
)
def test_a_raw_answer_costs_what_the_price_list_itself_makes_of_it(
    provider: str, listed: str, flavour: str, answer: dict[str, Any], usage: Usage
) -> None:
    source = next(p for p in get_snapshot().providers if p.id == listed)
    model, theirs = source.extract_usage(answer, api_flavor=flavour)
    price = genai_prices.calc_price(theirs, str(model), provider_id=listed, genai_request_timestamp=WHEN)
    assert theirs.input_tokens == usage.prompt_tokens
    assert theirs.output_tokens == usage.output_tokens
    route = CATALOG.route(answer["model"], provider, "payg")
    assert cost_micro(route, usage, TS) == micro_usd(price.total_price)


def test_work_beside_an_answer_is_billed_by_its_own_size() -> None:
    answer, work = Usage(200_000, 1_000), (Usage(150_000, 2_000), Usage(100_000, 500))
    apart = [cost_micro(GPT, usage, TS) for usage in (answer, *work)]
    total, beside = bill(GPT, answer, work, TS)
    assert total == sum(cost or 0 for cost in apart)
    assert beside == Usage(250_000, 2_500)
    assert total != cost_micro(GPT, answer.plus(beside), TS), "together they would be one prompt of a dearer tier"
    assert bill(GPT, answer, (), TS) == (apart[0], None)
    assert bill(GPT, answer, work, TS, 77) == (77, beside)
    assert bill(CATALOG.route("nobody-knows", "openai", "payg"), answer, work, TS) == (None, beside)


def test_a_million_tokens_of_a_prompt_that_was_sent_before_are_priced_as_read_at_the_requests_size() -> None:
    sonnet = CATALOG.route("claude-sonnet-4-5", "anthropic", "payg")
    small, large = Usage(10, 500, 100_000), Usage(10, 500, 300_000)
    assert read_micro(sonnet, small, TS) == 300_000
    read = Usage(cache_read_tokens=300_010)
    assert read_micro(sonnet, large, TS) == round((cost_micro(sonnet, read, TS) or 0) * 1_000_000 / 300_010)
    assert read_micro(sonnet, Usage(100_000), TS) == 3_000_000, "nothing is said of a cache: it would be sent again"
    assert read_micro(sonnet, Usage(0, 0, 0), TS) == 300_000


def test_a_stated_price_of_reading_needs_no_list_and_without_any_there_is_none() -> None:
    offline = CATALOG.route("offline-planner", "offline", "adapter")
    assert (read_micro(offline, Usage(1, 1, 1), TS), read_micro(offline, Usage(1), TS)) == (300_000, 3_000_000)
    assert read_micro(CATALOG.route("nobody-knows", "openai", "payg"), Usage(1, 1, 1), TS) is None
