"""What endpoints on this machine serve, asked over real sockets, and the list of what is ready."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

import pytest

from geode_tui.providers.access import Access
from geode_tui.providers.local import Endpoint, LocalModel, ask, candidates, find
from geode_tui.providers.ready import readiness
from tests.cli.endpoints import serving

NOW = 1_790_000_000.0


def models(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"object": "list", "data": list(entries)}


def asked(answers: Mapping[str, Any]) -> tuple[LocalModel, ...]:
    with serving(answers) as root:
        endpoint = ask(f"{root}/v1", timeout_s=5)
    assert endpoint is not None
    assert endpoint.url == f"{root}/v1"
    return endpoint.models


# -- windows ----------------------------------------------------------------------------------------------------------
def test_vllm_says_it_in_its_list() -> None:
    assert asked({"/v1/models": models({"id": "qwen", "max_model_len": 32_768})}) == (LocalModel("qwen", 32_768),)


def test_llama_cpp_says_what_it_runs_and_what_it_was_trained_with_is_not_it() -> None:
    listed = models({"id": "llama", "meta": {"n_ctx_train": 131_072}})
    assert asked({"/v1/models": listed}) == (LocalModel("llama"),)
    props = {"default_generation_settings": {"n_ctx": 8_192}}
    assert asked({"/v1/models": listed, "/props": props}) == (LocalModel("llama", 8_192),)
    newer = models({"id": "llama", "meta": {"n_ctx_train": 131_072, "n_ctx": 4_096}})
    assert asked({"/v1/models": newer}) == (LocalModel("llama", 4_096),)


def test_lm_studio_says_what_is_loaded() -> None:
    answers = {
        "/v1/models": models({"id": "gemma"}, {"id": "phi"}),
        "/api/v0/models": {
            "data": [
                {"id": "gemma", "max_context_length": 131_072, "loaded_context_length": 16_384},
                {"id": "phi", "max_context_length": 8_192},
            ]
        },
    }
    assert asked(answers) == (LocalModel("gemma", 16_384), LocalModel("phi"))


def test_ollama_says_what_is_loaded_and_what_is_set_in_a_model() -> None:
    shown = {
        "set": {"parameters": "stop  x\nnum_ctx    24576\n"},
        "plain": {"model_info": {"x.context_length": 131_072}},
    }
    answers = {
        "/v1/models": models({"id": "on:8b"}, {"id": "set"}, {"id": "plain"}),
        "/api/ps": {"models": [{"model": "on:8b", "context_length": 4_096}]},
        "/api/show": lambda body: shown[body["model"]],
    }
    assert asked(answers) == (LocalModel("on:8b", 4_096), LocalModel("set", 24_576), LocalModel("plain"))


@pytest.mark.parametrize("size", [0, -1, True, "8192", 8192.5, None])
def test_only_a_real_positive_number_is_a_window(size: Any) -> None:
    assert asked({"/v1/models": models({"id": "m", "max_model_len": size})}) == (LocalModel("m"),)


# -- what does not answer ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "answer", [b"<html>", b"\xff\xfe", [], {}, {"data": None}, None, "http://127.0.0.1:1/v1/models"]
)
def test_what_is_no_such_endpoint_is_passed_over(answer: Any) -> None:
    with serving({"/v1/models": answer}) as root:
        assert ask(f"{root}/v1", timeout_s=5) is None


@pytest.mark.parametrize("url", ["", "nonsense", "file:///etc/passwd", "http://[::1", "http://127.0.0.1:1/v1"])
def test_a_url_that_cannot_be_asked_is_passed_over(url: str) -> None:
    assert ask(url) is None


def test_entries_that_are_none_are_passed_over() -> None:
    assert asked({"/v1/models": models({"id": "m"}, {"name": "x"}, 5, {"id": 7})}) == (LocalModel("m"),)  # type: ignore[arg-type]


def test_endpoints_are_asked_at_once_and_a_silent_one_holds_nobody_up() -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    try:
        with serving({"/v1/models": models({"id": "m", "max_model_len": 9})}) as root:
            quiet = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
            found = find((quiet, f"{root}/v1", quiet), timeout_s=0.2)
        assert [e.models for e in found] == [(LocalModel("m", 9),)]
        assert found[0].window_of("m") == 9
        assert found[0].window_of("n") is None
    finally:
        silent.close()
    assert find(()) == ()


def test_a_named_endpoint_is_the_only_one_that_is_asked() -> None:
    assert candidates("http://10.0.0.2:8000/v1/") == ("http://10.0.0.2:8000/v1",)
    assert [url.rpartition(":")[2] for url in candidates()] == ["11434/v1", "8000/v1", "8080/v1", "1234/v1"]


# -- what is ready ----------------------------------------------------------------------------------------------------
def test_what_can_be_asked_comes_first_and_the_rest_says_what_it_needs() -> None:
    ready = readiness(Access({"HOME": "/nowhere", "ZAI_API_KEY": "k"}), NOW)
    assert [r.service for r in ready if r.ok] == ["glm", "offline"]
    assert [r.service for r in ready[:2]] == ["glm", "offline"]
    lacking = {r.service: r.lacks for r in ready if not r.ok}
    assert lacking == {
        "anthropic": "ANTHROPIC_API_KEY",
        "openai": "OPENAI_API_KEY",
        "codex": "GEODE_CODEX_TOKEN",
        "openrouter": "OPENROUTER_API_KEY",
    }
    assert all(r.why and "\n" not in r.why for r in ready if not r.ok)


def test_local_models_are_told_once_they_were_looked_for() -> None:
    access = Access({"HOME": "/nowhere"})
    assert "local" not in {r.service for r in readiness(access, NOW)}
    (none,) = [r for r in readiness(access, NOW, ()) if r.service == "local"]
    assert (none.ok, none.lacks) == (False, "GEODE_LOCAL_URL")
    two = (Endpoint("a", (LocalModel("m", 5), LocalModel("b"))), Endpoint("b", (LocalModel("m", 9),)))
    (local,) = [r for r in readiness(access, NOW, two) if r.service == "local"]
    assert (local.ok, local.models) == (True, (("b", None), ("m", 5)))
