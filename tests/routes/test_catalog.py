"""What is known of a route, and where the figure is from."""

from __future__ import annotations

import genai_prices.data_snapshot
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.routes.catalog import UNKNOWN_WINDOW, Catalog, ListPrice

CATALOG = Catalog()

ANTHROPIC_1M = (
    "claude-fable-5-1", "claude-fable-5", "claude-opus-5-5", "claude-opus-5", "claude-opus-4-8", "claude-opus-4-7",
    "claude-opus-4-6", "claude-sonnet-5", "claude-sonnet-4-6",
)  # fmt: skip
CAPPED = ("gpt-6-astra", "gpt-6-sol", "gpt-6-luna", "gpt-5.6-sol", "gpt-5.6", "gpt-5.6-terra", "gpt-5.6-luna")
TABLE = [
    *[(m, "anthropic", 1_000_000, None, 128_000) for m in ANTHROPIC_1M],
    *[(m, "anthropic", 200_000, None, 64_000) for m in ("claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5")],
    *[(m, "openai", 1_050_000, 922_000, 128_000) for m in CAPPED],
    *[(m, "openai", 1_050_000, None, 128_000) for m in ("gpt-5.5", "gpt-5.4")],
    *[(m, "openai", 400_000, 272_000, 128_000) for m in ("gpt-5.4-mini", "gpt-5.4-nano", "gpt-5.3-codex")],
    *[(m, "openai", 400_000, None, 128_000) for m in ("gpt-5.2", "gpt-5-mini", "gpt-5-nano")],
    *[(m, "openai", 200_000, None, 100_000) for m in ("o3", "o4-mini")],
    *[(m, "glm", 1_000_000, None, 131_072) for m in ("glm-5.3", "glm-5.2", "glm-5.3-flash", "glm-5.3-flashx")],
    *[(m, "glm", 200_000, None, 131_072) for m in ("glm-5.1", "glm-5", "glm-4.7", "glm-4.7-flashx", "glm-4.7-flash")],
    ("glm-5-turbo", "glm", 202_752, None, 131_072),
]
"""RUNTIME.md 1.5."""


@pytest.mark.parametrize(("model", "provider", "window", "cap", "output"), TABLE)
def test_documented_figures(model: str, provider: str, window: int, cap: int | None, output: int) -> None:
    route = CATALOG.route(model, provider, "payg")
    assert (route.window, route.input_cap, route.max_output) == (window, cap, output)
    assert route.provenance == "catalog"
    assert route.sends_output


KNOWN_DISAGREEMENTS = {
    ("openai", "gpt-5.5"): "the list rounds 1,050,000 down",
    ("zhipuai", "GLM-5-Turbo"): "the list rounds 202,752 down",
}


def test_the_windows_of_the_price_list_are_the_same_save_for_reasons() -> None:
    """Every window that both know, compared; what differs is listed with its reason."""
    found = set()
    compared = 0
    for listed in genai_prices.data_snapshot.get_snapshot().providers:
        provider = {"anthropic": "anthropic", "openai": "openai", "zai": "glm", "zhipuai": "glm"}.get(listed.id)
        for model in listed.models if provider else ():
            route = CATALOG.route(model.id.lower(), provider or "", "payg")
            if route.provenance == "catalog" and model.context_window:
                compared += 1
                if model.context_window != route.window:
                    found.add((listed.id, model.id))
    assert found == set(KNOWN_DISAGREEMENTS)
    assert compared > 35


# -- routes -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("provider", "source"), [("glm", "payg"), ("anthropic", "subscription"), ("openrouter", "payg"), ("", "")]
)
def test_a_figure_is_never_inherited_by_another_provider_or_source(provider: str, source: str) -> None:
    """RUNTIME.md 1.4."""
    route = CATALOG.route("claude-opus-4-8", provider, source)
    assert (route.window, route.provenance) == (UNKNOWN_WINDOW, "unknown_fallback")
    assert route.stated_price is None
    assert route.thinking == "unknown"


def test_the_codex_subscription_has_figures_of_its_own() -> None:
    known = CATALOG.route("gpt-6-sol", "openai", "subscription")
    assert (known.window, known.input_cap, known.provenance) == (272_000, None, "client_default")
    assert not known.sends_output
    unknown = CATALOG.route("gpt-9", "openai", "subscription")
    assert (unknown.window, unknown.provenance) == (272_000, "unknown_fallback")
    assert not unknown.sends_output
    for model in ("gpt-6-sol", "gpt-9"):
        assert CATALOG.route(model, "openai", "subscription", window=2_000_000).window == 872_000
        assert CATALOG.route(model, "openai", "subscription", window=400_000).window == 400_000


def test_an_openrouter_id_is_a_model_of_its_own() -> None:
    """B004: never the direct model of the same name, and its date is part of its name."""
    routed = CATALOG.route("openrouter/anthropic/claude-opus-4.8", "openrouter", "payg")
    assert (routed.family, routed.provenance) == ("anthropic/claude-opus-4.8", "client_default")
    assert routed.model == "openrouter/anthropic/claude-opus-4.8"
    assert CATALOG.route("openrouter/claude-opus-4-8", "openrouter", "payg").provenance == "unknown_fallback"
    assert CATALOG.route("openrouter/openrouter/auto", "openrouter", "payg").family == "openrouter/auto"
    assert CATALOG.route("openrouter/x/y-20260101", "openrouter", "payg").family == "x/y-20260101"


def test_a_local_endpoint_is_planned_with_what_it_reports() -> None:
    assert CATALOG.route("llama", "local", "adapter").provenance == "unknown_fallback"
    route = CATALOG.route("llama", "local", "adapter", discovered=16_384)
    assert (route.window, route.provenance) == (16_384, "discovered")
    assert CATALOG.route("llama", "local", "adapter", discovered=0).provenance == "unknown_fallback"
    mine = CATALOG.route("llama", "local", "adapter", window=8_192, discovered=16_384)
    assert (mine.window, mine.provenance) == (8_192, "override")


# -- names ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("suffix", ["-20260801", "-latest", "[1m]", "-20260801[1m]"])
def test_a_dated_or_bracketed_id_has_its_familys_figures(suffix: str) -> None:
    """B004."""
    plain, dated = (CATALOG.route(m, "anthropic", "payg") for m in ("claude-opus-4-8", "claude-opus-4-8" + suffix))
    assert dated.family == "claude-opus-4-8"
    assert (dated.window, dated.provenance) == (plain.window, "catalog")
    assert dated.model == ("claude-opus-4-8" + suffix).removesuffix("[1m]")


def test_an_alias_has_the_cap_of_what_it_stands_for() -> None:
    alias = CATALOG.route("gpt-5.6", "openai", "payg")
    assert (alias.model, alias.family, alias.input_cap) == ("gpt-5.6", "gpt-5.6-sol", 922_000)
    assert CATALOG.route("gpt-5.6-2026-07-01", "openai", "payg").family == "gpt-5.6-sol"
    assert CATALOG.route("gpt-5.6", "openai", "subscription").provenance == "client_default"
    assert CATALOG.route("gpt-5.6", "glm", "payg").family == "gpt-5.6"


@pytest.mark.parametrize(
    "model", ["claude-opus-4-8-20260801-x", "claude-opus-4-8@20260601", "claude-opus-4.8", "local/foo-13b"]
)
def test_a_model_that_is_not_listed_is_planned_as_200k_and_says_so(model: str) -> None:
    """B004, B016."""
    route = CATALOG.route(model, "anthropic", "payg")
    assert (route.window, route.provenance) == (200_000, "unknown_fallback")


@given(st.text(max_size=40), st.sampled_from(["anthropic", "openai", "glm", "openrouter", "local", "x"]))
def test_any_name_has_a_route_that_can_be_planned_with(model: str, provider: str) -> None:
    route = CATALOG.route(model, provider, "payg")
    assert route.window >= 200_000
    assert route.provenance in {"catalog", "client_default", "unknown_fallback"}


def test_the_person_can_override_a_window() -> None:
    assert CATALOG.route("m", "p", "payg", window=32_000).provenance == "override"
    assert CATALOG.route("claude-opus-4-8", "anthropic", "payg", window=32_000).window == 32_000
    for nothing in (None, 0, -5):
        assert CATALOG.route("claude-opus-4-8", "anthropic", "payg", window=nothing).provenance == "catalog"


def test_retired_pairs_name_what_took_their_place() -> None:
    """RUNTIME.md 1.4: by route, so the Platform still has what the subscription lost."""
    for model in ("gpt-5.4", "gpt-5.2", "gpt-5.3-codex", "gpt-5.4-mini"):
        assert CATALOG.replacement(model, "openai", "subscription").startswith("gpt-6-")
        assert CATALOG.replacement(model, "openai", "payg") == ""
    for model in ("claude-opus-4-1-20250805", "claude-sonnet-4-20250514", "claude-3-5-sonnet-latest"):
        replacement = CATALOG.replacement(model, "anthropic", "payg")
        assert CATALOG.route(replacement, "anthropic", "payg").provenance == "catalog"
        assert CATALOG.replacement(replacement, "anthropic", "payg") == ""
    assert CATALOG.replacement("claude-opus-4-8", "anthropic", "payg") == ""


def test_the_models_of_a_route_are_those_that_can_be_had() -> None:
    models = CATALOG.models("anthropic", "payg")
    assert set(ANTHROPIC_1M) <= set(models)
    assert "claude-opus-4-1" not in models
    assert CATALOG.models("openai", "subscription") == CAPPED[:4] + CAPPED[5:]


def test_a_catalogue_is_data() -> None:
    made = Catalog(
        '[[route]]\nprovider = "p"\nsource = "payg"\nmodels = ["m"]\nwindow = 50_000\nmax_output = 9\ninput_cap = 7'
    ).route("m", "p", "payg")
    assert (made.window, made.max_output, made.input_cap) == (50_000, 9, 7)


def test_the_simulation_states_its_price() -> None:
    assert CATALOG.route("offline-planner", "offline", "adapter").stated_price == ListPrice(3.0, 15.0, 0.3, 3.75)
