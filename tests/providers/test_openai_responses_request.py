"""How a neutral conversation looks on the Responses wire."""

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
from geode_tui.providers.openai_responses_request import encode_request

GO = user_text("go")
SEALED = '{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA+/=","weight":null}'
REASONING = ThinkingBlock("", "openai", SEALED)


def request(*messages: Message, **more: Any) -> Request:
    return Request(**{"model": "gpt-6-sol", "system": (), "messages": messages or (GO,), **more})


def items(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = encode_request(request(*messages, **more))["input"]
    return encoded


def assistant(*blocks: Any) -> Message:
    return Message("assistant", blocks)


def call(call_id: str, arguments: str = "{}") -> ToolCallBlock:
    extra = json.dumps({"type": "function_call", "id": f"fc_{call_id}", "status": "completed"})
    return ToolCallBlock(call_id, "read_file", arguments, "openai", extra)


def text(words: str, item: str, **part: Any) -> TextBlock:
    extra = {"item": {"id": item, "type": "message", "phase": "commentary"}, "part": {"type": "output_text", **part}}
    return TextBlock(words, "openai", json.dumps(extra))


def test_nothing_is_stored_nothing_is_truncated_and_reasoning_is_asked_for_sealed() -> None:
    body = encode_request(request(max_tokens=9_000, cache_key="run-1"))
    assert (body["store"], body["stream"], body["truncation"]) == (False, True, "disabled")
    assert body["include"] == ["reasoning.encrypted_content"]
    assert (body["max_output_tokens"], body["prompt_cache_key"]) == (9_000, "run-1")
    assert "tools" not in body
    assert "tool_choice" not in body


def test_the_codex_backend_is_not_told_what_it_refuses_to_hear() -> None:
    body = encode_request(request(system=(SystemPart("Be brief."),), compare_with="resp_1"), codex=True)
    assert body["instructions"] == "Be brief."
    assert body["store"] is False
    assert not {"max_output_tokens", "truncation", "prompt_cache_options"} & set(body)


def test_what_changes_between_sessions_stands_after_what_does_not() -> None:
    parts = (SystemPart("Rules.", "1h"), SystemPart(" "), SystemPart("Today is Monday."), SystemPart("Project."))
    body = encode_request(request(system=parts))
    assert body["instructions"] == "Rules."
    assert body["input"][0] == {
        "type": "message",
        "role": "developer",
        "content": [{"type": "input_text", "text": "Today is Monday.\n\nProject."}],
    }
    unmarked = encode_request(request(system=(SystemPart("Rules."), SystemPart("More."))))
    assert (unmarked["instructions"], len(unmarked["input"])) == ("Rules.\n\nMore.", 1)


def test_items_go_back_as_they_came_and_in_their_order() -> None:
    answer = assistant(
        REASONING,
        text("One.", "msg_1", annotations=[]),
        text("Two.", "msg_1"),
        REASONING,
        call("a"),
        text("x", "msg_2"),
    )
    sent = items(GO, answer, tool_text(call("a"), "A"))
    assert [item["type"] for item in sent] == [
        "message", "reasoning", "message", "reasoning", "function_call", "message", "function_call_output",
    ]  # fmt: skip
    assert json.dumps(sent[1], separators=(",", ":")) == SEALED
    assert sent[2] == {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "phase": "commentary",
        "content": [
            {"type": "output_text", "annotations": [], "text": "One."},
            {"type": "output_text", "text": "Two."},
        ],
    }
    assert sent[4] == {
        "type": "function_call",
        "id": "fc_a",
        "status": "completed",
        "call_id": "a",
        "name": "read_file",
        "arguments": "{}",
    }


def test_reasoning_that_led_to_nothing_is_left_out() -> None:
    sent = items(GO, assistant(text("One.", "msg_1"), REASONING), user_text("on"), assistant(REASONING))
    assert [item["type"] for item in sent] == ["message", "message", "message"]


def test_a_refusal_goes_back_as_one() -> None:
    extra = json.dumps({"item": {"id": "msg_1", "type": "message"}, "part": {"type": "refusal"}})
    assert items(assistant(TextBlock("no", "openai", extra)))[0]["content"] == [{"type": "refusal", "refusal": "no"}]


def test_only_the_provider_that_wrote_a_block_gets_it_back() -> None:
    opaque = OpaqueBlock("openai", "compaction", '{"type":"compaction","encrypted_content":"x"}')
    answer = assistant(REASONING, opaque, text("One.", "msg_1"))
    assert [item["type"] for item in items(answer)] == ["reasoning", "compaction", "message"]
    codex = encode_request(request(answer), codex=True)["input"]
    assert codex == [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One."}]}]


def test_results_follow_in_the_order_of_their_calls_with_their_images() -> None:
    image = ImageBlock("image/png", "aGk=")
    seen = Message("tool", (ToolResultBlock("b", "t", (TextBlock("seen"), image)),))
    sent = items(GO, assistant(call("a"), call("b")), seen, Message("tool", (ToolResultBlock("a", "t", ()),)))
    assert [item["call_id"] for item in sent[3:]] == ["a", "b"]
    assert sent[3]["output"] == "(no output)"
    assert sent[4]["output"] == [
        {"type": "input_text", "text": "seen"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
    ]


def test_an_image_of_the_user_is_sent() -> None:
    sent = items(Message("user", (TextBlock("look"), ImageBlock("image/png", "aGk="))), Message("user", ()))
    assert [part["type"] for part in sent[0]["content"]] == ["input_text", "input_image"]
    assert len(sent) == 1


def test_tools_are_functions_and_at_most_as_many_as_the_vendor_takes() -> None:
    tools = tuple(ToolSpec(f"t{i}", "Does it.", {"type": "object"}) for i in range(MAX_FUNCTIONS + 2))
    body = encode_request(request(tools=tools, tool_choice="none"))
    assert len(body["tools"]) == MAX_FUNCTIONS
    assert body["tools"][0] == {
        "type": "function",
        "name": "t0",
        "description": "Does it.",
        "parameters": {"type": "object"},
        "strict": False,
    }
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("none", True)


@pytest.mark.parametrize(
    ("thinking", "effort", "sent"),
    [
        ("default", None, None),
        ("default", "high", {"effort": "high", "summary": "auto"}),
        ("adaptive", None, {"summary": "auto"}),
        ("budgeted", "low", {"effort": "low", "summary": "auto"}),
        ("off", None, {"effort": "none"}),
        ("off", "low", {"effort": "low"}),
    ],
)
def test_thinking_is_asked_for_with_a_summary_to_read(thinking: Any, effort: str | None, sent: Any) -> None:
    assert encode_request(request(thinking=thinking, effort=effort)).get("reasoning") == sent


def test_a_comparison_is_asked_for_only_where_there_is_something_to_compare_with() -> None:
    assert encode_request(request(compare_with="resp_1"))["prompt_cache_options"] == {
        "comparison_response_id": "resp_1"
    }
    assert "prompt_cache_options" not in encode_request(request(compare_with=""))


def test_a_cache_key_is_never_longer_than_the_vendor_takes() -> None:
    assert encode_request(request(cache_key="k" * 100))["prompt_cache_key"] == "k" * 64


def test_a_damaged_stored_block_is_told() -> None:
    with pytest.raises(ValueError):
        items(assistant(ThinkingBlock("", "openai", '{"type":'), TextBlock("x")))


@given(st.text())
def test_no_arguments_whatever_make_a_request_that_cannot_be_sent(arguments: str) -> None:
    sent = items(GO, assistant(call("a", arguments)), tool_text(call("a"), "bad"))[1]["arguments"]
    assert isinstance(json.loads(sent), dict)
    sent.encode()
