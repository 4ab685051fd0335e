"""How a neutral conversation looks on the wire."""

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
from geode_tui.providers.anthropic_request import encode_request
from geode_tui.providers.base import Request, SystemPart

SIGNED = '{"type":"thinking","thinking":"hm, 생각","signature":"EqQB+/=","note":null,"weight":1.50}'


def request(*messages: Message, **more: Any) -> Request:
    return Request(**{"model": "claude-sonnet-5", "system": (), "messages": messages, **more})


def wire(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = encode_request(request(*messages, **more))["messages"]
    return encoded


def assistant(*blocks: Any) -> Message:
    return Message("assistant", blocks)


def call(call_id: str, arguments: str = "{}") -> ToolCallBlock:
    return ToolCallBlock(call_id, "read_file", arguments)


def marked(messages: list[dict[str, Any]]) -> list[str]:
    return [b["text"] for m in messages for b in m["content"] if "cache_control" in b]


def test_results_of_a_batch_and_what_the_user_adds_are_one_message_in_call_order() -> None:
    a, b = call("a"), call("b")
    messages = wire(user_text("go"), assistant(a, b), tool_text(b, "B"), tool_text(a, "A"), user_text("also"))
    assert [m["role"] for m in messages] == ["user", "assistant", "user"]
    content = messages[2]["content"]
    assert [block.get("tool_use_id") for block in content] == ["a", "b", None]
    assert content[2] == {"type": "text", "text": "also"}


def test_user_messages_without_results_stay_apart() -> None:
    assert len(wire(user_text("one"), user_text("two"))) == 2


def test_a_result_keeps_its_error_flag_and_is_never_empty() -> None:
    image = ImageBlock("image/png", "aGk=")
    results = (
        ToolResultBlock("a", "t", (TextBlock(""),), is_error=True),
        ToolResultBlock("b", "t", (TextBlock("seen"), image)),
    )
    sent = wire(user_text("go"), assistant(call("a"), call("b")), *(Message("tool", (r,)) for r in results))[2][
        "content"
    ]
    assert sent[0]["is_error"] is True
    assert sent[0]["content"] == [{"type": "text", "text": "(no output)"}]
    assert "is_error" not in sent[1]
    assert sent[1]["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "aGk="}


def test_signed_and_opaque_blocks_are_sent_back_as_they_came() -> None:
    redacted = '{"type":"redacted_thinking","data":"Zm9v","extra":null}'
    content = wire(
        user_text("go"),
        assistant(
            ThinkingBlock("hm", "anthropic", SIGNED), OpaqueBlock("anthropic", "redacted_thinking", redacted), call("a")
        ),
        tool_text(call("a"), "ok"),
    )[1]["content"]
    assert json.dumps(content[0], ensure_ascii=False, separators=(",", ":")) == SIGNED.replace("1.50", "1.5")
    assert content[1] == json.loads(redacted)


def test_what_may_not_be_sent_is_left_out_and_leaves_no_empty_message() -> None:
    unsigned = ThinkingBlock("hm", "anthropic", None)
    foreign = OpaqueBlock("openai", "reasoning", "{}")
    messages = wire(user_text("go"), assistant(unsigned, foreign, TextBlock(" ")), Message("user", ()), user_text("on"))
    assert [m["content"][0]["text"] for m in messages] == ["go", "on"]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ("", {}),
        ('{"a": 1}', {"a": 1}),
        *(
            (text, {"_malformed_arguments": text})
            for text in ('{"city": "Par', '{"a":1}{"a":2}', '"{}"', "[1]", "null")
        ),
        *((text, {"_malformed_arguments": text}) for text in ('{"a": NaN}', '{"a": 1e999}', r'{"a": "\ud83d"}')),
        ("[" * 100_000, {"_malformed_arguments": "[" * 100_000}),
    ],
)
def test_b104_arguments_are_always_sent_as_an_object(arguments: str, sent: dict[str, Any]) -> None:
    messages = wire(user_text("go"), assistant(call("a", arguments)), tool_text(call("a"), "bad arguments"))
    assert messages[1]["content"][0]["input"] == sent


@given(st.text())
def test_no_arguments_whatever_make_a_request_that_cannot_be_sent(arguments: str) -> None:
    messages = wire(user_text("go"), assistant(call("a", arguments)))
    json.dumps(messages, ensure_ascii=False, allow_nan=False).encode()
    assert isinstance(messages[1]["content"][0]["input"], dict)


def test_system_parts_are_marked_and_an_hour_never_follows_five_minutes() -> None:
    parts = (SystemPart("rules", "1h"), SystemPart("   "), SystemPart("date", "5m"), SystemPart("late", "1h"))
    system = encode_request(request(user_text("go"), system=parts))["system"]
    assert [(p["text"], p["cache_control"].get("ttl", "5m")) for p in system] == [
        ("rules", "1h"),
        ("date", "5m"),
        ("late", "5m"),
    ]


def test_message_marks_go_to_the_newest_that_fit_into_four() -> None:
    conversation = tuple(user_text(c) for c in "abcde")
    one = wire(*conversation, system=(SystemPart("rules", "1h"),), cache_messages=(0, 1, 3, 4))
    assert marked(one) == ["b", "d", "e"]
    full = tuple(SystemPart(c, "5m") for c in "wxyz")
    assert marked(wire(*conversation, system=full, cache_messages=(4,))) == []
    crowded = encode_request(request(*conversation, system=(SystemPart("v", "1h"), *full)))["system"]
    assert [p["text"] for p in crowded if "cache_control" in p] == list("wxyz")


def test_a_mark_stands_on_the_last_block_that_may_carry_one() -> None:
    thinking = ThinkingBlock("hm", "anthropic", SIGNED)
    content = wire(user_text("go"), assistant(TextBlock("so"), thinking, TextBlock("")), cache_messages=(1, 7))[1][
        "content"
    ]
    assert content[0]["cache_control"] == {"type": "ephemeral"}
    assert content[1] == json.loads(SIGNED)
    assert len(wire(user_text("go"), assistant(thinking), cache_messages=(1,))[1]["content"][0]) == 5


def test_a_mark_inside_a_merged_message_stays_with_its_own_part() -> None:
    a = call("a")
    content = wire(user_text("go"), assistant(a), tool_text(a, "A"), user_text("on"), cache_messages=(2,))[2]["content"]
    assert ["cache_control" in block for block in content] == [True, False]


def test_parameters_are_sent_only_where_they_are_wanted() -> None:
    plain = encode_request(request(user_text("go"), tool_choice="none"))
    assert set(plain) == {"model", "max_tokens", "stream", "messages"}
    tool = ToolSpec("read_file", "Reads.", {"type": "object"})
    full = encode_request(
        request(
            user_text("go"),
            tools=(tool,),
            tool_choice="none",
            thinking="budgeted",
            thinking_budget=2_048,
            effort="high",
        )
    )
    assert full["tools"] == [{"name": "read_file", "description": "Reads.", "input_schema": {"type": "object"}}]
    assert full["tool_choice"] == {"type": "none"}
    assert full["thinking"] == {"type": "enabled", "budget_tokens": 2_048}
    assert full["output_config"] == {"effort": "high"}


def test_a_longer_conversation_begins_with_the_bytes_of_the_shorter() -> None:
    a = call("a", '{"path": "x"}')
    conversation = (user_text("go"), assistant(TextBlock("so"), a), tool_text(a, "A"), assistant(TextBlock("done")))
    longer = wire(*conversation, user_text("more"))
    assert json.dumps(longer[: len(wire(*conversation))]) == json.dumps(wire(*conversation))
