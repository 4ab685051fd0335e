"""What is typed in the composer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.strings import Strings
from geode_tui.tui.slash import COMMANDS, Local, Order, Wrong, parse


@pytest.mark.parametrize(
    "text", ["hello", " /help", "/usr/bin/env is what?", "/etc/hosts", "/1", "a /quit", "//", "한글 /help"]
)
def test_words_go_to_the_agent_as_they_are(text: str) -> None:
    assert parse(text) == Order("submit", {"text": text, "later": False})


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/help", Local("help")),
        ("/HELP ", Local("help")),
        ("/quit", Local("quit")),
        ("/theme rose", Local("theme", "rose")),
        ("/deny not in this folder", Local("deny", "not in this folder")),
        ("/interrupt", Order("interrupt", {})),
        ("/later and the tests\nplease", Order("submit", {"text": "and the tests\nplease", "later": True})),
        ("/context", Local("context")),
        ("/context tiers", Local("context", "tiers")),
        ("/model", Local("model")),
        ("/model gpt-6-sol", Order("model", {"model": "gpt-6-sol", "provider": "", "effort": ""})),
        ("/model a/b codex effort low", Order("model", {"model": "a/b", "provider": "codex", "effort": "low"})),
        ("/model effort max", Order("model", {"model": "", "provider": "", "effort": "max"})),
        ("/budget rounds 40", Order("budget", {"limit": "rounds", "value": "40"})),
        ("/budget cost $5.50", Order("budget", {"limit": "cost", "value": "5.50"})),
        ("/budget session 3h", Order("budget", {"limit": "session", "value": "10800"})),
        ("/budget time 90", Order("budget", {"limit": "time", "value": "90"})),
        ("/budget time 1.5m", Order("budget", {"limit": "time", "value": "90"})),
        ("/budget session 1:30:00", Order("budget", {"limit": "session", "value": "5400"})),
        ("/budget time 2:05", Order("budget", {"limit": "time", "value": "125"})),
    ],
)
def test_commands(text: str, parsed: object) -> None:
    assert parse(text) == parsed


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("/", "slash.unknown"),
        ("/nope", "slash.unknown"),
        ("/later", "slash.later"),
        ("/context blocks", "slash.context"),
        ("/theme", "slash.theme"),
        ("/budget", "slash.budget"),
        ("/budget 5", "slash.budget"),
        ("/budget tokens 5", "slash.budget"),
        ("/budget rounds many", "slash.budget_rounds"),
        ("/budget rounds -1", "slash.budget_rounds"),
        ("/budget cost 5 dollars", "slash.budget"),
        ("/budget cost free", "slash.budget_cost"),
        ("/mcp stop git", "slash.mcp"),
        ("/budget session soon", "slash.budget_session"),
        ("/budget time 5x", "slash.budget_time"),
    ],
)
def test_what_is_not_understood_is_said_and_not_sent(text: str, key: str) -> None:
    wrong = parse(text)
    assert isinstance(wrong, Wrong)
    assert wrong.key == key
    assert Strings("en").t(wrong.key, **wrong.values)
    assert Strings("ko").t(wrong.key, **wrong.values)


def test_a_server_is_restarted_by_its_name() -> None:
    assert parse("/mcp") == Local("mcp", "")
    assert parse("/mcp restart my git") == Order("mcp", {"restart": "my git"})
    assert parse("/mcp restart") == Order("mcp", {"restart": ""})


def test_every_command_has_help() -> None:
    for name in COMMANDS:
        assert Strings("en").has(f"slash.help_{name}")


@given(st.text())
def test_anything_typed_is_either_sent_whole_or_answered(text: str) -> None:
    parsed = parse(text)
    if not text.startswith("/"):
        assert parsed == Order("submit", {"text": text, "later": False})
    if isinstance(parsed, Wrong):
        assert Strings("en").t(parsed.key, **parsed.values)
