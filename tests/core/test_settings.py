"""Settings: layers, where each value came from, and what an untrusted project may not say."""

from __future__ import annotations

import math
from typing import Any

import pytest

from geode_tui.core.limits import ResultBounds
from geode_tui.core.settings import (
    ENVIRONMENT,
    GUARDED,
    Layer,
    Resolved,
    Settings,
    SettingsError,
    from_environment,
    guarded_hash,
    resolve,
)

PROJECT = "project/config.toml"


def resolved(user: dict[str, Any], project: dict[str, Any], **environment: str) -> Resolved:
    layers = (Layer("user/config.toml", user), Layer(PROJECT, project), from_environment(environment))
    return resolve(layers)


def test_without_layers_the_defaults_are_in_force() -> None:
    assert resolve(()) == Resolved(Settings(), {}, ())
    assert Settings().approve == "ask"
    assert Settings().run_limits().session_budget_s == 7_200


def test_a_later_layer_wins_key_by_key_and_is_named() -> None:
    found = resolved(
        {"model": "a", "theme": "rose", "limits": {"rounds": 3, "cost_usd": 1.5}},
        {"model": "b", "limits": {"rounds": 5}},
        GEODE_MODEL="c",
    )
    assert (found.settings.model, found.settings.theme) == ("c", "rose")
    assert (found.settings.limits.rounds, found.settings.limits.cost_usd) == (5, 1.5)
    assert found.origins == {
        "model": "environment",
        "theme": "user/config.toml",
        "limits.rounds": PROJECT,
        "limits.cost_usd": "user/config.toml",
    }


def test_limits_reach_a_run_in_its_units() -> None:
    limits = resolved(
        {"limits": {"rounds": 7, "time_s": 60, "session_s": 0, "cost_usd": 0.35}}, {}
    ).settings.run_limits()
    assert (limits.max_rounds, limits.time_budget_s, limits.session_budget_s, limits.cost_budget_micro) == (
        7,
        60.0,
        0.0,
        350_000,
    )


GUARDED_VALUES: dict[str, Any] = {
    "approve": "all",
    "tools": {"allow": ["run_shell"]},
    "limits": {"cost_usd": 1_000.0},
    "context_window": 1_000_000,
    "local_url": "http://10.0.0.1/v1",
    "mcp": {"evil": {"command": "sh"}},
    "dreams": {"share": 1.0},
}


def test_every_guarded_setting_of_an_untrusted_project_is_ignored_and_told() -> None:
    assert GUARDED_VALUES.keys() == set(GUARDED)
    found = resolve((Layer("user", {}), Layer(PROJECT, {"model": "x", **GUARDED_VALUES})), untrusted=PROJECT)
    assert found.settings == Settings(model="x")
    assert len(found.ignored) == len(GUARDED)
    assert all("geode-tui trust" in line and PROJECT in line for line in found.ignored)


def test_guarded_settings_count_in_a_trusted_project_and_in_the_persons_own_layers() -> None:
    assert resolve((Layer(PROJECT, GUARDED_VALUES),)).settings.approve == "all"
    own = resolve((Layer("user", {"approve": "reads"}), Layer(PROJECT, {"approve": "all"})), untrusted=PROJECT)
    assert own.settings.approve == "reads"


def test_trust_is_given_to_the_guarded_settings_as_they_are() -> None:
    trusted = guarded_hash({"model": "a", "approve": "all"})
    assert guarded_hash({"approve": "all", "model": "b", "theme": "rose"}) == trusted
    assert guarded_hash({"approve": "reads"}) != trusted
    assert guarded_hash({"approve": "all", "limits": {"rounds": 1}}) != trusted
    assert guarded_hash({"limits": {"rounds": 1, "time_s": 2}}) == guarded_hash({"limits": {"time_s": 2, "rounds": 1}})
    assert guarded_hash({"model": "a"}) == ""


@pytest.mark.parametrize(
    "values",
    [
        {"approve": "everything"},
        {"no_such_setting": 1},
        {"limits": {"no_such_limit": 1}},
        {"limits": 5},
        {"limits": {"rounds": "many"}},
        {"limits": {"rounds": -1}},
        {"limits": {"cost_usd": math.nan}},
        {"limits": {"session_s": math.inf}},
        {"model": {"name": "x"}},
        {"context_window": -5},
    ],
)
def test_a_bad_value_names_its_layer(values: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"^user/config\.toml: ") as bad:
        resolve((Layer("user/config.toml", values),))
    assert "\n" not in str(bad.value)


def test_variables_are_read_as_the_settings_type() -> None:
    layer = from_environment(
        {"GEODE_ASCII": "1", "GEODE_CONTEXT_WINDOW": "32000", "GEODE_SESSION_TIME_BUDGET_S": "0.5", "GEODE_LANG": ""}
    )
    assert layer.values == {"ascii": True, "context_window": 32_000, "limits.session_s": 0.5}
    assert from_environment({"GEODE_ASCII": "no"}).values == {"ascii": False}
    assert resolve((from_environment(dict.fromkeys(ENVIRONMENT, "") | {"OTHER": "x"}),)).settings == Settings()


def test_a_bad_variable_is_an_error_that_says_environment() -> None:
    with pytest.raises(SettingsError, match=r"^environment: "):
        resolve((from_environment({"GEODE_CONTEXT_WINDOW": "large"}),))


@pytest.mark.parametrize(("text", "on"), [("1", True), ("yes", True), ("0", False), ("no", False), ("false", False)])
def test_switches_of_the_screen_come_from_the_environment(text: str, on: bool) -> None:
    found = resolve((from_environment({"GEODE_MOTION": text, "GEODE_BELL": text, "GEODE_NOTIFY": text}),)).settings
    assert (found.motion, found.bell, found.notify) == (on, on, on)
    assert (Settings().motion, Settings().bell, Settings().notify) == (True, False, False)


@pytest.mark.parametrize(
    "values", [{"tool_offload_threshold": 5_000}, {"tool_offload": {"threshold": 5_000}}], ids=["flat", "table"]
)
def test_the_offload_threshold_has_two_names(values: dict[str, Any]) -> None:
    """RUNTIME.md 4.1."""
    found = resolve((Layer("user", {"tool_offload": {"threshold": 1}}), Layer(PROJECT, values)))
    assert found.settings.result_bounds() == ResultBounds(offload=5_000, most=25_000)
    assert found.origins == {"tool_offload.threshold": PROJECT}


def test_both_names_in_one_file_are_an_error_that_names_them() -> None:
    values = {"tool_offload_threshold": 5_000, "tool_offload": {"threshold": 6_000}}
    with pytest.raises(
        SettingsError, match=r"^user: tool_offload_threshold and tool_offload\.threshold are one setting"
    ):
        resolve((Layer("user", values),))


def test_results_are_bounded_unless_the_person_says_otherwise() -> None:
    assert Settings().result_bounds() == ResultBounds(offload=15_000, most=25_000)
    free = resolve((Layer("user", {"tool_offload_threshold": 0, "max_tool_result_tokens": 0}),)).settings
    assert free.result_bounds() == ResultBounds(offload=0, most=0)
