"""How a neutral conversation looks on the Chat Completions wire, to each of those who speak it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.messages import (
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    tool_text,
    user_text,
)
from geode_tui.core.tools import ToolSpec
from geode_tui.providers.base import Request, SystemPart
from geode_tui.providers.codec import MAX_FUNCTIONS
from geode_tui.providers.openai_chat_request import encode_request

GO = user_text("go")
IMAGE = ImageBlock("image/png", "aGk=")
URL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}


def request(*messages: Message, **more: Any) -> Request:
    return Request(**{"model": "glm-5.3", "system": (), "messages": messages or (GO,), **more})


def body(*messages: Message, provider: str = "glm", **more: Any) -> dict[str, Any]:
    return encode_request(request(*messages, **more), provider)


def assistant(*blocks: Any) -> Message:
    return Message("assistant", blocks)


def call(call_id: str, arguments: str = "{}") -> ToolCallBlock:
    return ToolCallBlock(call_id, "read_file", arguments)


def result(call_id: str, *content: Any) -> Message:
    return Message("tool", (ToolResultBlock(call_id, "read_file", content),))


def test_usage_is_asked_for_and_the_output_limit_has_the_name_the_provider_knows() -> None:
    assert body()["stream_options"] == {"include_usage": True}
    assert body(max_tokens=99)["max_tokens"] == 99
    own = body(provider="openai", max_tokens=99, cache_key="run-1")
    assert (own["max_completion_tokens"], own["prompt_cache_key"]) == (99, "run-1")
    assert "max_tokens" not in own
    assert "prompt_cache_key" not in body(cache_key="run-1")


def test_the_routers_own_prefix_is_taken_off_once() -> None:
    assert body(provider="openrouter", model="openrouter/openrouter/auto")["model"] == "openrouter/auto"
    assert body(provider="openrouter", model="anthropic/claude-sonnet-5")["model"] == "anthropic/claude-sonnet-5"
    assert body(provider="local", model="openrouter/x")["model"] == "openrouter/x"


def test_the_system_is_one_message_before_all_others() -> None:
    parts = (SystemPart("Rules.", "1h"), SystemPart(" "), SystemPart("Today is Monday."))
    assert body(system=parts)["messages"][0] == {"role": "system", "content": "Rules.\n\nToday is Monday."}
    assert body()["messages"] == [{"role": "user", "content": "go"}]


def test_results_follow_in_the_order_of_their_calls_and_images_come_after_them_all() -> None:
    sent = body(
        GO,
        assistant(TextBlock("Reading."), call("a"), call("b")),
        result("b", TextBlock("B"), IMAGE),
        result("a", IMAGE),
        user_text("also"),
    )["messages"]
    assert sent[1] == {
        "role": "assistant",
        "content": "Reading.",
        "tool_calls": [
            {"id": i, "type": "function", "function": {"name": "read_file", "arguments": "{}"}} for i in ("a", "b")
        ],
    }
    assert sent[2:4] == [
        {"role": "tool", "tool_call_id": "a", "content": "(an image, which follows)"},
        {"role": "tool", "tool_call_id": "b", "content": "B"},
    ]
    assert sent[4]["role"] == "user"
    notes = [part.get("text") for part in sent[4]["content"]]
    assert notes == ["Returned by read_file (a):", None, "Returned by read_file (b):", None]
    assert [part for part in sent[4]["content"] if part["type"] == "image_url"] == [URL, URL]
    assert sent[5] == {"role": "user", "content": "also"}


def test_images_of_the_last_results_are_not_forgotten() -> None:
    sent = body(GO, assistant(call("a")), result("a", IMAGE))["messages"]
    assert sent[-1]["content"][-1] == URL


def test_text_of_a_user_is_a_plain_string_unless_there_is_an_image() -> None:
    both = Message("user", (TextBlock("look"), IMAGE))
    two = Message("user", (TextBlock("one"), TextBlock("two")))
    sent = body(both, two, Message("user", (TextBlock(" "),)))["messages"]
    assert [m["content"] for m in sent] == [[{"type": "text", "text": "look"}, URL], "one\n\ntwo"]


def test_a_result_without_content_and_an_answer_without_any_are_no_empty_messages() -> None:
    sent = body(GO, assistant(ThinkingBlock("hm", "glm", None)), assistant(call("a")), result("a"))["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool"]
    assert sent[1]["content"] is None
    assert sent[2]["content"] == "(no output)"


def test_reasoning_goes_back_in_the_fields_it_came_in_and_only_to_its_provider() -> None:
    details = [{"type": "reasoning.text", "text": "hm", "signature": "E+/=", "index": 0, "format": None}]
    raw = json.dumps({"reasoning_details": details})
    answer = assistant(ThinkingBlock("hm", "openrouter", raw), OpaqueBlock("openai", "x", "{}"), TextBlock("ok"))
    sent = body(GO, answer, provider="openrouter")["messages"][1]
    assert sent == {"role": "assistant", "content": "ok", "reasoning_details": details}
    assert body(GO, answer)["messages"][1] == {"role": "assistant", "content": "ok"}


def test_reasoning_of_openais_other_wire_does_not_become_fields_of_a_message() -> None:
    raw = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}'
    answer = assistant(ThinkingBlock("", "openai", raw), TextBlock("ok"))
    assert body(GO, answer, provider="openai")["messages"][1] == {"role": "assistant", "content": "ok"}


def test_tools_are_functions_and_at_most_as_many_as_the_vendor_takes() -> None:
    tools = tuple(ToolSpec(f"t{i}", "Does it.", {"type": "object"}) for i in range(MAX_FUNCTIONS + 2))
    sent = body(tools=tools, tool_choice="none")
    assert (len(sent["tools"]), sent["tool_choice"]) == (MAX_FUNCTIONS, "none")
    function = {"name": "t0", "description": "Does it.", "parameters": {"type": "object"}}
    assert sent["tools"][0] == {"type": "function", "function": function}
    assert not {"tools", "tool_choice"} & set(body())


@pytest.mark.parametrize(
    ("provider", "asked", "sent"),
    [
        (
            "glm",
            {"thinking": "adaptive", "effort": "high"},
            {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
        ),
        ("glm", {"thinking": "off"}, {"thinking": {"type": "disabled"}}),
        ("glm", {"effort": "max"}, {"reasoning_effort": "max"}),
        ("glm", {}, {}),
        ("openrouter", {"thinking": "budgeted", "thinking_budget": 2_000}, {"reasoning": {"max_tokens": 2_000}}),
        ("openrouter", {"thinking": "adaptive", "effort": "low"}, {"reasoning": {"effort": "low"}}),
        ("openrouter", {"thinking": "adaptive"}, {"reasoning": {"enabled": True}}),
        ("openrouter", {"thinking": "off"}, {"reasoning": {"effort": "none"}}),
        ("openrouter", {}, {}),
        ("local", {"thinking": "adaptive", "effort": "low"}, {"reasoning_effort": "low"}),
        ("local", {"thinking": "off"}, {}),
    ],
)
def test_thinking_is_asked_for_in_the_providers_words(provider: str, asked: Any, sent: dict[str, Any]) -> None:
    made = body(provider=provider, **asked)
    assert {name: made[name] for name in ("thinking", "reasoning", "reasoning_effort") if name in made} == sent


def test_claude_behind_the_router_gets_its_cache_marks() -> None:
    parts = (SystemPart("Rules.", "1h"), SystemPart("Today."))
    history = (user_text("one"), assistant(call("a")), tool_text(call("a"), "A"), user_text("two"))
    given: dict[str, Any] = {"system": parts, "cache_messages": (0, 1, 2, 3), "provider": "openrouter"}
    sent = body(*history, model="openrouter/anthropic/claude-sonnet-5", **given)["messages"]
    assert sent[0]["content"] == [
        {"type": "text", "text": "Rules.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"type": "text", "text": "Today."},
    ]
    short = {"type": "ephemeral"}
    assert [m["content"][0].get("cache_control") if m["content"] else None for m in sent[1:]] == [
        short, None, short, short,
    ]  # fmt: skip
    plain = body(*history, model="openrouter/openai/gpt-6-sol", **given)["messages"]
    assert "cache_control" not in json.dumps(plain)


@given(st.text())
def test_no_arguments_whatever_make_a_request_that_cannot_be_sent(arguments: str) -> None:
    sent = body(GO, assistant(call("a", arguments)), result("a", TextBlock("bad")))["messages"]
    text = sent[1]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(text), dict)
    text.encode()
