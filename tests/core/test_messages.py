"""Messages: stored and read back exactly, and when every call is answered."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.messages import (
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    answered,
    decode_blocks,
    encode_blocks,
    tool_text,
    user_text,
)

texts = st.text(st.characters(codec="utf-8"))
blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, texts),
    st.builds(ThinkingBlock, texts, texts, st.none() | texts),
    st.builds(ToolCallBlock, texts, texts, texts),
    st.builds(ImageBlock, texts, texts),
    st.builds(OpaqueBlock, texts, texts, texts),
    st.builds(
        ToolResultBlock,
        texts,
        texts,
        st.lists(st.builds(TextBlock, texts) | st.builds(ImageBlock, texts, texts)).map(tuple),
        st.booleans(),
    ),
)


@given(st.lists(blocks).map(tuple))
def test_blocks_read_back_as_they_were_stored(stored: tuple[Block, ...]) -> None:
    assert decode_blocks(encode_blocks(stored)) == stored


@pytest.mark.parametrize(
    "raw", ['{"type":"x", "data":"\\u00e9 é"}', ' { "b" : 1,\t"a" : 1.0e2 }', '{"signature":"a/b+c=="}', "not json", ""]
)
def test_an_opaque_block_keeps_the_text_it_came_in_byte_for_byte(raw: str) -> None:
    stored = encode_blocks((OpaqueBlock("anthropic", "redacted_thinking", raw), ThinkingBlock("t", "anthropic", raw)))
    opaque, thinking = decode_blocks(stored)
    assert isinstance(opaque, OpaqueBlock)
    assert isinstance(thinking, ThinkingBlock)
    assert opaque.raw == raw
    assert thinking.raw == raw


def test_text_outside_ascii_is_stored_as_it_is() -> None:
    assert "한글" in encode_blocks((TextBlock("한글"),))


@pytest.mark.parametrize("text", ["", "{}", '[{"type":"text"}]', '[{"type":"no_such_kind","text":"x"}]', "[1]"])
def test_anything_else_than_blocks_is_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_blocks(text)


def test_a_message_shows_its_text_and_its_calls() -> None:
    call = ToolCallBlock("c1", "grep", "{}")
    message = Message("assistant", (TextBlock("one"), ThinkingBlock("hidden"), call, TextBlock("two")))
    assert message.text == "one\n\ntwo"
    assert message.calls == (call,)


def test_an_empty_result_says_so() -> None:
    block = tool_text(ToolCallBlock("c1", "grep", "{}"), " \n").blocks[0]
    assert isinstance(block, ToolResultBlock)
    assert block.text == "(no output)"


def asks(*ids: str) -> Message:
    return Message("assistant", tuple(ToolCallBlock(i, "grep", "{}") for i in ids))


def answers(*ids: str) -> list[Message]:
    return [tool_text(ToolCallBlock(i, "grep", "{}"), "found") for i in ids]


@pytest.mark.parametrize(
    ("messages", "whole"),
    [
        ([], True),
        ([user_text("hi"), asks()], True),
        ([user_text("hi"), asks("a", "b"), *answers("b", "a"), user_text("more")], True),
        ([asks("a"), *answers("a"), asks("a"), *answers("a")], True),
        ([asks("a")], False),
        ([asks("a"), asks()], False),
        ([asks("a"), user_text("and?"), *answers("a")], False),
        ([asks("a"), *answers("a", "a")], False),
        ([asks("a"), *answers("b")], False),
        ([*answers("a"), asks("a")], False),
        ([asks("a", "a"), *answers("a")], False),
    ],
)
def test_every_call_has_exactly_one_result_before_anything_else_is_said(messages: list[Message], whole: bool) -> None:
    assert answered(tuple(messages)) is whole
