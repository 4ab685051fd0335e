"""Which route a run takes, and whether its provider is asked why its cache missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from geode_tui.cli.env import Env
from geode_tui.cli.routing import open_route

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-x", "OPENAI_API_KEY": "sk-x", "ZAI_API_KEY": "x", "GEODE_CODEX_TOKEN": "t"}
PROXY = {"ANTHROPIC_BASE_URL": "https://proxy.example", "OPENAI_BASE_URL": "https://proxy.example/v1"}


@pytest.mark.parametrize(
    ("service", "model", "wanted", "environment", "asked"),
    [
        ("anthropic", "claude-opus-5-5", "auto", {}, True),
        ("anthropic", "claude-opus-5-5", "off", {}, False),
        ("anthropic", "claude-opus-5-5", "auto", PROXY, False),
        ("anthropic", "claude-opus-5-5", "on", PROXY, True),
        ("anthropic", "claude-nobody-9", "auto", {}, False),
        ("openai", "gpt-6-sol", "auto", {}, True),
        ("openai", "gpt-5.4", "auto", {}, False),
        ("openai", "gpt-5.4", "on", {}, True),
        ("codex", "gpt-6-sol", "on", {}, False),
        ("glm", "glm-5.3", "on", {}, False),
        ("offline", "", "on", {}, False),
    ],
)
def test_a_provider_is_asked_why_its_cache_missed_where_it_is_known_to_say(
    tmp_path: Path, service: str, model: str, wanted: str, environment: dict[str, str], asked: bool
) -> None:
    env = Env(tmp_path, {"GEODE_TUI_HOME": str(tmp_path), **KEYS, **environment}, {"cache_diagnosis": wanted})
    assert open_route(env, service, model, "", 0).diagnosed is asked
