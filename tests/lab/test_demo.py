"""The model to look at: it does the same over every wire, with the program's own tools."""

from __future__ import annotations

from typing import Any

import pytest

from geode_tui.providers.access import Access, CodexLogin, codex_login
from geode_tui.providers.anthropic import AnthropicProvider
from geode_tui.providers.openai_chat import ChatProvider
from geode_tui.providers.openai_responses import Codex, ResponsesProvider
from geode_tui.providers.registry import SERVICES, missing
from tests.lab import Chaos, Lab
from tests.lab.__main__ import arguments, token, variables
from tests.lab.asked import Asked, asked
from tests.lab.demo import demo
from tests.runtime.harness import bench

WIRES: dict[str, tuple[str, Any]] = {
    "anthropic": ("claude-sonnet-5", lambda lab: AnthropicProvider("k", lab.base_url)),
    "responses": ("gpt-6-sol", lambda lab: ResponsesProvider("k", lab.openai_url)),
    "codex": ("gpt-6-sol", lambda lab: ResponsesProvider("k", lab.codex_url, codex=Codex("a"))),
    "glm": ("glm-5.3", lambda lab: ChatProvider("glm", "k", lab.chat_url("glm"), source="payg")),
    "openrouter": (
        "openrouter/anthropic/claude-sonnet-5",
        lambda lab: ChatProvider("openrouter", "k", lab.chat_url("openrouter"), source="payg"),
    ),
    "local": ("qwen3", lambda lab: ChatProvider("local", "k", lab.chat_url("ollama"), source="adapter")),
}
ANTHROPIC = [
    {"role": "user", "content": [{"type": "text", "text": "before"}]},
    {"role": "user", "content": "look"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "seen"}]},
]
ITEMS = [
    {"role": "user", "content": "before"},
    {"role": "user", "content": [{"type": "input_text", "text": "look"}]},
    {"type": "function_call", "call_id": "1", "name": "t", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "1", "output": "seen"},
]
CHAT = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "look"},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "tool", "tool_call_id": "1", "content": "seen"},
]


@pytest.mark.parametrize(
    "body",
    [
        {"messages": ANTHROPIC, "tools": [{"name": "t"}]},
        {"input": ITEMS, "tools": [{"type": "function", "name": "t"}]},
        {"messages": CHAT, "tools": [{"type": "function", "function": {"name": "t"}}]},
    ],
)
def test_a_request_is_read_alike_on_every_wire(body: dict[str, Any]) -> None:
    assert asked(body) == Asked("look", ("t",), ("seen",))


@pytest.mark.parametrize(
    "wire", [w if w in {"anthropic", "responses", "local"} else pytest.param(w, marks=pytest.mark.long) for w in WIRES]
)
async def test_it_reads_the_project_and_answers(wire: str) -> None:
    model, make = WIRES[wire]
    async with Lab(otherwise=demo) as lab:
        provider = make(lab)
        with bench(provider, model=model) as run:
            for name in ("a.md", "b.py", "c.toml", "d.txt"):
                (run.root / name).write_text(f"I am {name}\n")
            await run.turn("what is here?")
            assert (run.ending, len(lab.requests)) == ("natural", 3)
            assert [event["tool_name"] for event in run.payloads("tool_exec_started")] == [
                "list_dir",
                *["read_file"] * 3,
            ]
            assert run.messages()[-1].text.endswith("You asked: *what is here?*")
            assert "| `a.md` |" in run.messages()[-1].text
        await provider.aclose()


async def test_it_says_what_to_set_and_takes_its_options() -> None:
    options = arguments(["--chaos", "7", "--port", "0"])
    assert (options.chaos, options.rate, options.script) == (7, 0.2, "demo")
    async with Lab(chaos=Chaos(7)) as lab:
        found = dict(variables(lab))
    assert f"{found['ANTHROPIC_BASE_URL']}/v1" == found["OPENAI_BASE_URL"]
    access = Access(found)
    assert codex_login(access, now=1_790_000_000.0) == CodexLogin(token(), "lab", 4_102_444_800)
    assert [missing(name, access, 1_790_000_000.0) for name in SERVICES] == [""] * len(SERVICES)
