"""Which provider answers, what it lacks, and which adapter serves it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from geode_tui.providers.access import Access, CodexLogin, NoProvider, codex_file, codex_login
from geode_tui.providers.registry import SERVICES, Choice, build, choose, endpoint, heir, is_loopback, missing

NOW = 1_790_000_000.0


def access(codex_login: Any = "ask", local_url: str = "", **environment: str) -> Access:
    return Access({"HOME": "/nowhere", **environment}, local_url, codex_login)


def jwt(**claims: Any) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{body}.c2ln"


@pytest.mark.parametrize(
    ("model", "route"),
    [
        ("claude-opus-4-8", ("anthropic", "claude-opus-4-8", "payg")),
        ("claude-opus-4-8[1m]", ("anthropic", "claude-opus-4-8[1m]", "payg")),
        ("gpt-6-sol", ("openai", "gpt-6-sol", "payg")),
        ("o3", ("openai", "o3", "payg")),
        ("o4-mini", ("openai", "o4-mini", "payg")),
        ("glm-5.3", ("glm", "glm-5.3", "payg")),
        ("openrouter/anthropic/claude-opus-5.5", ("openrouter", "openrouter/anthropic/claude-opus-5.5", "payg")),
        ("local/llama-3:8b", ("local", "llama-3:8b", "adapter")),
        ("offline-planner", ("offline", "offline-planner", "adapter")),
    ],
)
def test_a_models_name_says_who_serves_it(model: str, route: tuple[str, str, str]) -> None:
    choice = choose("", model, access())
    assert (choice.provider, choice.model, choice.source) == route


@pytest.mark.parametrize(
    ("provider", "route"),
    [
        ("codex", ("openai", "gpt-6-sol", "subscription")),
        ("openai-codex", ("openai", "gpt-6-sol", "subscription")),
        ("openai", ("openai", "gpt-6-sol", "payg")),
        ("zhipuai", ("glm", "glm-5.3", "payg")),
        ("anthropic", ("anthropic", "claude-opus-5-5", "payg")),
        ("offline", ("offline", "offline-planner", "adapter")),
    ],
)
def test_a_provider_has_its_default_model_and_its_other_names(provider: str, route: tuple[str, str, str]) -> None:
    choice = choose(provider, "", access())
    assert (choice.provider, choice.model, choice.source) == route
    assert choose(choice.service, choice.model, access()) == choice, "a session is served by the same route again"


def test_an_openrouter_id_keeps_one_prefix() -> None:
    for given in ("z-ai/glm-5.3", "openrouter/z-ai/glm-5.3"):
        assert choose("openrouter", given, access()).model == "openrouter/z-ai/glm-5.3"


@pytest.mark.parametrize(
    ("provider", "model", "words"),
    [
        ("", "mystery-9", "--provider"),
        ("", "gpt-oss-120b", "--provider"),
        ("", "glm-4.7-flash:q4", "--provider"),
        ("nobody", "", "choose one of"),
        ("offline", "gpt-6-sol", "offline-planner"),
        ("openrouter", "", "--model"),
        ("local", "", "--model"),
        ("glm-coding", "", "coding plan"),
        ("claude-cli", "", "subscription"),
    ],
)
def test_what_cannot_be_chosen_is_refused_with_what_to_do(provider: str, model: str, words: str) -> None:
    with pytest.raises(NoProvider, match=words) as refused:
        choose(provider, model, access())
    assert "\n" not in str(refused.value)


def test_without_a_wish_the_first_key_decides_and_a_subscription_never_does() -> None:
    assert choose("", "", access()).provider == "offline"
    assert choose("", "", access(GEODE_CODEX_TOKEN="t", OPENROUTER_API_KEY="k")).provider == "offline"
    assert choose("", "", access(OPENAI_API_KEY="k")).provider == "openai"
    assert choose("", "", access(OPENAI_API_KEY="k", ANTHROPIC_API_KEY="k")).provider == "anthropic"
    assert choose("", "", access(ANTHROPIC_API_KEY=" ")).provider == "offline"


@pytest.mark.parametrize(
    ("model", "before", "after"),
    [
        ("gpt-6-luna", "codex", "codex"),
        ("gpt-6-luna", "openai-codex", "openai-codex"),
        ("claude-opus-4-8", "codex", "anthropic"),
        ("gpt-6-luna", "anthropic", "openai"),
        ("gpt-oss:20b", "local", "local"),
        ("mystery-9", "openrouter", "openrouter"),
        ("", "codex", "codex"),
        ("claude-opus-4-8", "nobody", "nobody"),
    ],
)
def test_a_model_stays_with_the_service_that_may_serve_it(model: str, before: str, after: str) -> None:
    assert heir(model, before) == after


def test_a_chosen_subscription_never_falls_back_to_a_key() -> None:
    """RUNTIME.md 1.4."""
    with_key = access(OPENAI_API_KEY="k")
    choice = choose("codex", "gpt-6-sol", with_key)
    assert choice.source == "subscription"
    with pytest.raises(NoProvider, match="GEODE_CODEX_TOKEN"):
        build(choice, with_key, now=NOW)


@pytest.mark.parametrize(
    ("service", "variable"),
    [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("openrouter", "OPENROUTER_API_KEY"),
        ("glm", "ZAI_API_KEY"),
        ("glm", "GLM_API_KEY"),
        ("codex", "GEODE_CODEX_TOKEN"),
    ],
)
def test_what_is_missing_names_its_variable(service: str, variable: str) -> None:
    assert variable in missing(service, access(), NOW)
    assert missing(service, access(**{variable: "k"}), NOW) == ""


def test_the_endpoint_is_the_services_own_unless_one_is_named() -> None:
    assert endpoint("openai", access()) == ""
    assert endpoint("openai", access(OPENAI_BASE_URL="http://127.0.0.1:1/v1")) == "http://127.0.0.1:1/v1"
    assert endpoint("local", access(local_url="http://10.0.0.2:8000/v1")) == "http://10.0.0.2:8000/v1"


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://127.0.0.1:9/v1", True),
        ("http://localhost", True),
        ("http://[::1]:8", True),
        ("https://api.openai.com/v1", False),
        ("http://127.0.0.1.example.com", False),
        ("http://[::1", False),
        ("", False),
    ],
)
def test_loopback(url: str, own: bool) -> None:
    assert is_loopback(url) is own


# -- the Codex CLI's login --------------------------------------------------------------------------------------------
def login_file(folder: Path, body: Any) -> Access:
    (folder / "auth.json").write_text(body if isinstance(body, str) else json.dumps(body), encoding="utf-8")
    return access("yes", CODEX_HOME=str(folder))


def test_the_clis_login_is_read_only_once_that_was_allowed(tmp_path: Path) -> None:
    allowed = login_file(tmp_path, {"tokens": {"access_token": "t", "account_id": "a"}})
    before = (tmp_path / "auth.json").stat()
    assert codex_login(allowed, NOW) == CodexLogin("t", "a")
    after = (tmp_path / "auth.json").stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
    for consent in ("ask", "no"):
        with pytest.raises(NoProvider, match="config set codex_login yes"):
            codex_login(access(consent, CODEX_HOME=str(tmp_path)), NOW)


def test_a_token_in_the_environment_comes_first_and_says_whose_it_is(tmp_path: Path) -> None:
    login_file(tmp_path, {"tokens": {"access_token": "file", "account_id": "a"}})
    token = jwt(exp=NOW + 60, **{"https://api.openai.com/auth": {"chatgpt_account_id": "acc"}})
    found = codex_login(access("yes", CODEX_HOME=str(tmp_path), GEODE_CODEX_TOKEN=token), NOW)
    assert found == CodexLogin(token, "acc", NOW + 60)


def test_the_account_of_a_bare_token_can_be_named() -> None:
    assert codex_login(access(GEODE_CODEX_TOKEN="t", GEODE_CODEX_ACCOUNT="acc"), NOW) == CodexLogin("t", "acc")


def test_an_expired_token_is_one_clear_line(tmp_path: Path) -> None:
    allowed = login_file(tmp_path, {"tokens": {"access_token": jwt(exp=NOW)}})
    with pytest.raises(NoProvider, match=r"expired at 2026-09-21 .* UTC: .*codex login") as refused:
        codex_login(allowed, NOW)
    assert str(tmp_path) in str(refused.value)
    assert "expired" in missing("codex", access(GEODE_CODEX_TOKEN=jwt(exp=1)), NOW)


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "null", {"tokens": None}, {"tokens": {"access_token": 5}}, {"OPENAI_API_KEY": "k"}]
)
def test_a_file_without_a_login_is_told(tmp_path: Path, body: Any) -> None:
    with pytest.raises(NoProvider, match="codex login"):
        codex_login(login_file(tmp_path, body), NOW)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoProvider, match="cannot be read"):
        codex_login(access("yes", CODEX_HOME=str(tmp_path)), NOW)
    assert codex_file(access()) == Path("/nowhere/.codex/auth.json")


@pytest.mark.parametrize("token", ["plain", "a.b.c", "a.bm90IGpzb24.c", jwt(exp="soon"), jwt(exp=None)])
def test_a_token_that_says_nothing_of_itself_is_taken_as_it_is(token: str) -> None:
    assert codex_login(access(GEODE_CODEX_TOKEN=token), NOW).token == token


# -- adapters ---------------------------------------------------------------------------------------------------------
KEYS: Mapping[str, str] = {
    "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "OPENROUTER_API_KEY": "k", "ZAI_API_KEY": "k",
    "GEODE_CODEX_TOKEN": "k",
}  # fmt: skip


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_every_route_has_an_adapter_that_says_who_it_is(service: str) -> None:
    choice = choose(service, "m" if service in {"openrouter", "local"} else "", access(**KEYS))
    provider = build(choice, access(**KEYS), url="http://10.0.0.2/v1" if service == "local" else "", now=NOW)
    assert (provider.name, provider.source) == (choice.provider, choice.source)
    assert provider.simulated is (service == "offline")


def test_money_at_a_provider_on_this_machine_is_simulated_and_a_local_models_is_none() -> None:
    own = access(**KEYS, OPENAI_BASE_URL="http://127.0.0.1:9/v1", ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    for service in ("openai", "anthropic"):
        assert build(choose(service, "", own), own, now=NOW).simulated
    local = build(choose("local", "m", own), own, url="http://127.0.0.1:9/v1", now=NOW)
    assert not local.simulated


def test_a_local_model_needs_an_endpoint() -> None:
    with pytest.raises(NoProvider, match="GEODE_LOCAL_URL"):
        build(Choice("local", "m", "adapter", "local"), access(), now=NOW)
