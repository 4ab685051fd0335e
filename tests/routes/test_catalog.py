"""What is known of a route, where the figure is from, and what a call costs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from geode_tui.core.usage import Usage
from geode_tui.routes.catalog import UNKNOWN_WINDOW, Catalog, ListPrice, Route
from geode_tui.routes.prices import cost_micro, worst_micro

CATALOG = Catalog()
TS = datetime(2026, 10, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("model", "window", "max_output"),
    [
        ("claude-opus-4-8", 1_000_000, 128_000),
        ("claude-opus-5-5", 1_000_000, 128_000),
        ("claude-sonnet-4-6", 1_000_000, 128_000),
        ("claude-opus-4-5", 200_000, 64_000),
        ("claude-haiku-4-5", 200_000, 64_000),
    ],
)
def test_documented_windows(model: str, window: int, max_output: int) -> None:
    """RUNTIME.md 1.5."""
    route = CATALOG.route(model, "anthropic", "payg")
    assert (route.window, route.max_output, route.provenance) == (window, max_output, "catalog")


@pytest.mark.parametrize(
    ("provider", "source"), [("glm", "payg"), ("anthropic", "subscription"), ("openrouter", "payg"), ("", "")]
)
def test_a_figure_is_never_inherited_by_another_provider_or_source(provider: str, source: str) -> None:
    """RUNTIME.md 1.4."""
    route = CATALOG.route("claude-opus-4-8", provider, source)
    assert (route.window, route.provenance) == (UNKNOWN_WINDOW, "unknown_fallback")
    assert route.simulated_price is None


@pytest.mark.parametrize("suffix", ["-20260801", "-latest"])
def test_a_dated_id_has_its_familys_window_and_price(suffix: str) -> None:
    plain, dated = (CATALOG.route(m, "anthropic", "payg") for m in ("claude-opus-4-8", "claude-opus-4-8" + suffix))
    assert (dated.model, dated.family) == ("claude-opus-4-8" + suffix, "claude-opus-4-8")
    assert (dated.window, dated.provenance) == (plain.window, "catalog")
    assert cost_micro(dated, Usage(10_000, 1_000), TS) == cost_micro(plain, Usage(10_000, 1_000), TS)


@pytest.mark.parametrize(
    "model", ["claude-opus-4-8-20260801-x", "claude-opus-4", "claude-opus-4-8[1m]", "local/foo-13b"]
)
def test_a_model_that_is_not_listed_is_planned_as_200k_and_says_so(model: str) -> None:
    """B004, B016."""
    route = CATALOG.route(model, "anthropic", "payg")
    assert (route.window, route.provenance) == (200_000, "unknown_fallback")


def test_the_person_can_override_a_window() -> None:
    assert CATALOG.route("m", "p", "payg", window=32_000).provenance == "override"
    assert CATALOG.route("claude-opus-4-8", "anthropic", "payg", window=32_000).window == 32_000
    for nothing in (None, 0, -5):
        assert CATALOG.route("claude-opus-4-8", "anthropic", "payg", window=nothing).provenance == "catalog"


def test_a_catalogue_is_data() -> None:
    made = Catalog(
        '[[route]]\nprovider = "p"\nsource = "payg"\nmodels = ["m"]\nwindow = 50_000\nmax_output = 9\ninput_cap = 7'
    ).route("m", "p", "payg")
    assert (made.window, made.max_output, made.input_cap) == (50_000, 9, 7)


# -- prices -----------------------------------------------------------------------------------------------------------
OPUS = CATALOG.route("claude-opus-4-8", "anthropic", "payg")


def test_cache_writes_cost_by_how_long_they_are_kept() -> None:
    """B057: $5 in, $25 out; an hour's write costs twice the input, five minutes' 1.25 times."""
    hour = Usage(3, 1_200, 193_483, 0, 60_120)
    assert cost_micro(OPUS, hour, TS) == 727_957
    assert cost_micro(OPUS, Usage(3, 1_200, 193_483, 60_120, 0), TS) == 502_507


@pytest.mark.parametrize(
    ("model", "micro"),
    [
        ("claude-opus-5-5", 24_000),
        ("claude-opus-4-8", 30_000),
        ("claude-sonnet-4-6", 18_000),
        ("claude-haiku-4-5", 6_000),
    ],
)
def test_list_prices(model: str, micro: int) -> None:
    """RUNTIME.md 1.5: a thousand tokens in and a thousand out."""
    assert cost_micro(CATALOG.route(model, "anthropic", "payg"), Usage(1_000, 1_000), TS) == micro


def test_what_has_no_known_price_has_none_and_is_never_zero() -> None:
    assert cost_micro(CATALOG.route("claude-nobody-9", "anthropic", "payg"), Usage(1_000, 1_000), TS) is None
    assert cost_micro(CATALOG.route("m", "nobody", "payg"), Usage(1_000, 1_000), TS) is None
    assert cost_micro(CATALOG.route("claude-opus-4-8", "glm", "payg"), Usage(1_000, 1_000), TS) is None
    assert worst_micro(CATALOG.route("m", "nobody", "payg"), 1_000, 1_000, TS) is None


def test_the_worst_case_is_never_below_what_a_call_costs() -> None:
    worst = worst_micro(OPUS, 100_000, 32_768, TS)
    assert worst == 100_000 * 10 + 32_768 * 25
    for usage in (Usage(100_000, 32_768), Usage(0, 32_768, 0, 100_000), Usage(0, 32_768, 0, 0, 100_000)):
        cost = cost_micro(OPUS, usage, TS)
        assert cost is not None
        assert cost <= worst


def test_simulated_money_uses_the_price_it_states() -> None:
    offline = CATALOG.route("offline-planner", "offline", "adapter")
    assert offline.simulated_price == ListPrice(3.0, 15.0, 0.3, 3.75)
    usage = Usage(1_000, 1_000, 10_000, 2_000, 1_000)
    assert cost_micro(offline, usage, TS) == 3_000 + 15_000 + 3_000 + 11_250
    assert worst_micro(offline, 1_000, 1_000, TS) == 3_750 + 15_000


def test_a_subscription_has_no_price_a_call() -> None:
    route = Route("claude-opus-4-8", "anthropic", "subscription", "claude-opus-4-8", 1, 1, "client_default")
    assert cost_micro(route, Usage(1_000, 1_000), TS) is None
