"""Raw events become blocks exactly as the provider wrote them, however they were cut into pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.messages import OpaqueBlock, TextBlock, ThinkingBlock, ToolCallBlock, decode_blocks, encode_blocks
from geode_tui.providers.anthropic_stream import Assembly
from geode_tui.providers.base import Delta, Finished, StreamEvent
from geode_tui.providers.errors import ErrorKind, MalformedEvent, ProviderError

END = (
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
)
START = {"type": "message_start", "message": {"id": "msg_1", "model": "claude-x", "usage": {"input_tokens": 3}}}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *pieces: str) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": p} for p in pieces))


def call(index: int, *pieces: str, given_input: Any = None) -> list[dict[str, Any]]:
    start = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": given_input or {}}
    return block(index, start, *({"type": "input_json_delta", "partial_json": p} for p in pieces))


def run(*events: dict[str, Any]) -> tuple[list[StreamEvent], Finished]:
    assembly = Assembly()
    out = [passed for event in (START, *events, *END) for passed in assembly.feed(event)]
    return out, assembly.finish()


def one(*events: dict[str, Any]) -> Any:
    return run(*events, *text(9, "and more"))[1].blocks[0]


@given(st.lists(st.text(), max_size=5), st.lists(st.text(), max_size=5))
def test_pieces_are_put_together_exactly(words: list[str], arguments: list[str]) -> None:
    out, finished = run(*text(0, *words), *call(1, *arguments))
    expected_text = (TextBlock("".join(words)),) if "".join(words) else ()
    assert finished.blocks == (*expected_text, ToolCallBlock("toolu_1", "read_file", "".join(arguments)))
    deltas = [e for e in out if isinstance(e, Delta)]
    assert "".join(d.text for d in deltas if d.kind == "text") == "".join(words)
    assert "".join(d.text for d in deltas if d.kind == "tool_call") == "".join(arguments)
    assert decode_blocks(encode_blocks(finished.blocks)) == finished.blocks


def test_arguments_given_in_the_opening_event_are_used() -> None:
    assert json.loads(one(*call(0, given_input={"path": "b.txt", "생": None})).arguments) == {
        "path": "b.txt",
        "생": None,
    }
    assert one(*call(0)).arguments == ""


def test_the_name_of_a_tool_comes_with_the_first_piece_of_its_call() -> None:
    deltas = [e for e in run(*call(0, "{}"))[0] if isinstance(e, Delta)]
    assert deltas == [Delta(0, "tool_call", "", "read_file"), Delta(0, "tool_call", "{}")]


def test_signed_thinking_keeps_every_field_and_unsigned_has_nothing_to_replay() -> None:
    start = {"type": "thinking", "thinking": "", "signature": "", "note": None, "new": {"깊이": 1}}
    pieces = ({"type": "thinking_delta", "thinking": "생"}, {"type": "thinking_delta", "thinking": "각"})
    signed = one(*block(0, start, *pieces, {"type": "signature_delta", "signature": "Eq/+="}))
    assert signed.text == "생각"
    assert signed.raw == '{"type":"thinking","thinking":"생각","signature":"Eq/+=","note":null,"new":{"깊이":1}}'
    assert one(*block(0, start, *pieces)) == ThinkingBlock("생각", "anthropic", None)


def test_signed_thinking_without_readable_text_is_kept() -> None:
    start = {"type": "thinking", "thinking": "", "signature": "sig"}
    assert one(*block(0, start)) == ThinkingBlock("", "anthropic", json.dumps(start, separators=(",", ":")))


@pytest.mark.parametrize(
    ("start", "deltas", "raw"),
    [
        ({"type": "redacted_thinking", "data": "Zm9v"}, (), {"type": "redacted_thinking", "data": "Zm9v"}),
        (
            {"type": "compaction", "content": None, "signature": None},
            ({"type": "compaction_delta", "content": "요약", "encrypted_content": "x"},),
            {"type": "compaction", "content": "요약", "signature": None, "encrypted_content": "x"},
        ),
        (
            {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
            (
                {"type": "input_json_delta", "partial_json": '{"q": '},
                {"type": "input_json_delta", "partial_json": '"a"}'},
            ),
            {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"q": "a"}},
        ),
        ({"type": "brand_new", "value": [1, None]}, (), {"type": "brand_new", "value": [1, None]}),
    ],
)
def test_blocks_of_other_kinds_are_kept_whole(start: Any, deltas: Any, raw: Any) -> None:
    kept = one(*block(0, dict(start), *deltas))
    assert isinstance(kept, OpaqueBlock)
    assert (kept.provider, kept.kind, json.loads(kept.raw)) == ("anthropic", start["type"], raw)


def test_half_characters_are_joined_or_replaced_but_never_lost_from_a_signed_block() -> None:
    assert one(*text(0, "a\ud83d", "\ude00b")) == TextBlock("a\U0001f600b")
    assert one(*text(0, "a\ud83d")) == TextBlock("a\ufffd")
    signed = one(*block(0, {"type": "thinking", "thinking": "a\ud83d", "signature": "s"}))
    assert json.loads(signed.raw)["thinking"] == "a\ud83d"
    assert signed.raw.isascii()


def test_interleaved_blocks_end_up_in_the_order_of_their_numbers() -> None:
    first, second = text(0, "a", "b"), text(1, "c")
    _, finished = run(first[0], second[0], first[1], second[1], second[2], first[2], first[3])
    assert finished.blocks == (TextBlock("ab"), TextBlock("c"))


def test_a_stop_reason_is_passed_on_in_the_providers_word() -> None:
    assembly = Assembly()
    for event in (START, *text(0, "a"), {"type": "message_delta", "delta": {"stop_reason": "brand_new_reason"}}):
        assembly.feed(event)
    assert assembly.finish().stop_reason == "brand_new_reason"


def test_an_answer_is_incomplete_without_its_stop_reason_or_with_an_open_block() -> None:
    assembly = Assembly()
    for event in (START, *call(0, '{"path":')[:2], *END):
        assembly.feed(event)
    with pytest.raises(ProviderError) as caught:
        assembly.finish()
    assert (caught.value.kind, caught.value.visible) == (ErrorKind.STREAM_INTERRUPTED, True)
    assert caught.value.usage is not None
    assert (caught.value.usage.input_tokens, caught.value.usage.output_tokens) == (3, 5)


@pytest.mark.parametrize(
    "event",
    [
        [],
        {"type": "message_start"},
        {"type": "content_block_start", "index": 0},
        {"type": "content_block_start", "index": "0", "content_block": {"type": "text"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a"}},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "content_block_stop", "index": 7},
        {"type": "message_delta"},
    ],
)
def test_an_event_of_the_wrong_shape_is_named_as_such(event: object) -> None:
    with pytest.raises(MalformedEvent):
        Assembly().feed(event)


def test_unknown_events_are_passed_over() -> None:
    assert Assembly().feed({"type": "ping"}) == []
    assert Assembly().feed({"type": "something_new", "value": 1}) == []
