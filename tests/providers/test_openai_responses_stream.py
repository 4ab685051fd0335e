"""Raw Responses events become blocks exactly as the provider wrote them."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.messages import (
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    decode_blocks,
    encode_blocks,
)
from geode_tui.core.usage import Usage
from geode_tui.providers.base import CacheMiss, Delta, Finished, Opened, Progress, Request, StreamEvent
from geode_tui.providers.errors import ErrorEvent, ErrorKind, MalformedEvent, ProviderError
from geode_tui.providers.openai_responses_request import encode_request
from geode_tui.providers.openai_responses_stream import Assembly

CREATED = {"type": "response.created", "response": {"id": "resp_1", "model": "gpt-6-sol", "usage": None}}
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 4},
}


def added(index: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(kind: str, index: int, piece: str, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": piece, **more}


def ended(status: str = "completed", **more: Any) -> dict[str, Any]:
    response = {"id": "resp_1", "model": "gpt-6-sol-2026-08-01", "status": status, "usage": USAGE, **more}
    return {"type": f"response.{status}", "response": response}


def message(*texts: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []} for text in texts]
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content, **more}


def call(arguments: str = "{}") -> dict[str, Any]:
    return {
        "id": "fc_1",
        "type": "function_call",
        "call_id": "c1",
        "name": "read_file",
        "arguments": arguments,
        "x": None,
    }


def run(*events: dict[str, Any], provider: str = "openai") -> tuple[list[StreamEvent], Finished]:
    assembly = Assembly(provider)
    out = [passed for event in events for passed in assembly.feed(event)]
    return out, assembly.finish()


def one(item: dict[str, Any]) -> Any:
    return run(CREATED, added(0, item), done(0, item), done(1, message("and more")), ended())[1].blocks[0]


def test_an_answer_is_opened_streamed_and_finished_with_its_usage() -> None:
    out, finished = run(
        CREATED,
        {"type": "response.in_progress", "response": {}},
        added(0, message()),
        delta("output_text", 0, "Hel", content_index=0),
        delta("output_text", 0, "lo", content_index=0),
        done(0, message("Hello")),
        ended(),
    )
    usage = Usage(10, 9, cache_read_tokens=60, cache_write_5m_tokens=30, reasoning_tokens=4)
    assert out == [
        Opened("resp_1", "gpt-6-sol"),
        Delta(0, "text", "Hel"),
        Delta(0, "text", "lo"),
        Progress(usage),
    ]
    assert (finished.usage, finished.stop_reason) == (usage, "end_turn")
    assert (finished.response_id, finished.model) == ("resp_1", "gpt-6-sol-2026-08-01")


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2), max_leaves=4
)


@given(st.dictionaries(st.sampled_from(["id", "status", "phase", "new", "생"]), JSON), st.text(min_size=1), st.text())
def test_what_goes_back_is_what_came(fields: dict[str, Any], words: str, arguments: str) -> None:
    """Every field of an item survives the store, known or not, null or not."""
    reasoning = {**fields, "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    said = {**fields, "id": "msg_1", "type": "message", "role": "assistant"}
    said["content"] = [{"type": "output_text", "text": words or "x", "annotations": []}]
    called = {
        **fields,
        "type": "function_call",
        "call_id": "c1",
        "name": "t",
        "arguments": json.dumps({"a": arguments}),
    }
    came = [reasoning, said, called]
    _, finished = run(CREATED, *(done(i, item) for i, item in enumerate(came)), ended())
    stored = decode_blocks(encode_blocks(finished.blocks))
    sent = encode_request(Request("m", (), (Message("assistant", stored),)))["input"]
    assert sent == (came if words.strip() else [came[0], came[2]])


def test_a_message_of_several_texts_is_as_many_blocks_and_one_again() -> None:
    _, finished = run(CREATED, done(0, message("One.", "Two.")), ended())
    assert [block.text for block in finished.blocks if isinstance(block, TextBlock)] == ["One.", "Two."]
    assert encode_request(Request("m", (), (Message("assistant", finished.blocks),)))["input"] == [
        message("One.", "Two.")
    ]


def test_reasoning_is_taken_from_the_event_that_closes_it() -> None:
    item = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gA"}
    summary = [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}]
    whole = {**item, "summary": summary, "encrypted_content": "gAAAA+/="}
    part = {"type": "response.reasoning_summary_part.added", "output_index": 0}
    out, finished = run(
        CREATED,
        added(0, item),
        {**part, "summary_index": 0},
        delta("reasoning_summary_text", 0, "First."),
        {**part, "summary_index": 1},
        delta("reasoning_summary_text", 0, "Then."),
        done(0, whole),
        done(1, message("x")),
        ended(),
    )
    thinking = finished.blocks[0]
    assert thinking == ThinkingBlock("First.\n\nThen.", "openai", json.dumps(whole, separators=(",", ":")))
    assert "".join(e.text for e in out if isinstance(e, Delta) and e.kind == "thinking") == "First.\n\nThen."


def test_reasoning_that_was_not_sealed_is_shown_and_never_sent_back() -> None:
    readable = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    assert one(readable) == ThinkingBlock("hm", "openai", None)


def test_the_name_of_a_tool_comes_with_the_first_piece_of_its_call() -> None:
    out, finished = run(
        CREATED, added(0, call("")), delta("function_call_arguments", 0, '{"a'), done(0, call('{"a')), ended()
    )
    assert [e for e in out if isinstance(e, Delta)] == [
        Delta(0, "tool_call", "", "read_file"),
        Delta(0, "tool_call", '{"a'),
    ]
    extra = '{"id":"fc_1","type":"function_call","x":null}'
    assert finished.blocks == (ToolCallBlock("c1", "read_file", '{"a', "openai", extra),)
    assert finished.stop_reason == "tool_use"


def test_items_of_other_kinds_are_kept_whole_and_marked_with_their_provider() -> None:
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x", "created_by": None}
    _, finished = run(CREATED, done(0, item), ended(), provider="codex")
    assert finished.blocks == (OpaqueBlock("codex", "compaction", json.dumps(item, separators=(",", ":"))),)


@pytest.mark.parametrize(
    ("event", "stop_reason"),
    [
        (ended("incomplete", incomplete_details={"reason": "max_output_tokens"}), "max_tokens"),
        (ended("incomplete", incomplete_details={"reason": "content_filter"}), "content_filter"),
        (ended("incomplete", incomplete_details={"reason": "steered"}), "steered"),
        (ended("incomplete", incomplete_details=None), "incomplete"),
    ],
)
def test_what_ended_an_incomplete_answer_is_told(event: dict[str, Any], stop_reason: str) -> None:
    assert run(CREATED, done(0, message("part")), event)[1].stop_reason == stop_reason


def test_b105_a_refusal_is_told_and_can_be_read() -> None:
    refusal = message()
    refusal["content"] = [{"type": "refusal", "refusal": "I will not."}]
    out, finished = run(
        CREATED, added(0, message()), delta("refusal", 0, "I will not.", content_index=0), done(0, refusal), ended()
    )
    assert finished.stop_reason == "refusal"
    assert [block.text for block in finished.blocks if isinstance(block, TextBlock)] == ["I will not."]
    assert Delta(0, "text", "I will not.") in out


def test_an_item_that_a_limit_cut_is_taken_from_the_last_event() -> None:
    event = ended("incomplete", incomplete_details={"reason": "max_output_tokens"}, output=[message("par")])
    assert run(CREATED, added(0, message()), event)[1].blocks[0].text == "par"  # type: ignore[union-attr]


def test_an_answer_is_incomplete_without_its_last_event_or_with_an_open_item() -> None:
    for events in ([added(0, call("")), done(0, call())], [added(0, call("")), ended()]):
        with pytest.raises(ProviderError) as caught:
            run(CREATED, *events)
        assert (caught.value.kind, caught.value.visible) == (ErrorKind.STREAM_INTERRUPTED, True)


@pytest.mark.parametrize(
    ("event", "body"),
    [
        (
            {
                "type": "response.failed",
                "response": {"status": "failed", "error": {"code": "server_error", "message": "no"}},
            },
            {"code": "server_error", "message": "no"},
        ),
        (
            {"type": "response.completed", "response": {"status": "failed", "error": {"code": "content_filter"}}},
            {"code": "content_filter"},
        ),
        ({"type": "response.failed", "response": {"id": "r"}}, {"id": "r"}),
        ({"type": "error", "code": "server_error", "message": "no"}, None),
        ({"type": "error", "error": {"code": "x"}}, {"code": "x"}),
    ],
)
def test_a_failure_inside_the_stream_is_handed_on(event: dict[str, Any], body: Any) -> None:
    with pytest.raises(ErrorEvent) as caught:
        run(CREATED, event)
    assert caught.value.body == (event if body is None else body)


def test_a_failed_answer_keeps_the_usage_it_reported() -> None:
    assembly = Assembly("openai")
    failed = {"type": "response.failed", "response": {"error": {"code": "server_error"}, "usage": USAGE}}
    with pytest.raises(ErrorEvent):
        assembly.feed(failed)
    assert assembly.usage is not None
    assert assembly.usage.prompt_tokens == 100


@pytest.mark.parametrize(
    ("diagnostics", "miss"),
    [
        (
            {"type": "cache_miss", "reason": "tools_changed", "cache_missed_tokens": 900},
            CacheMiss("tools_changed", 900),
        ),
        ({"type": "cache_hit"}, None),
        ({"type": "unavailable"}, None),
        (None, None),
    ],
)
def test_a_missed_cache_is_explained(diagnostics: Any, miss: CacheMiss | None) -> None:
    assert run(CREATED, done(0, message("x")), ended(prompt_cache_diagnostics=diagnostics))[1].cache_miss == miss


@pytest.mark.parametrize(
    "event",
    [
        [],
        {"type": "response.created"},
        {"type": "response.output_item.added", "output_index": 0},
        added(0, {"type": "function_call"}),
        {"type": "response.output_item.done", "item": {}},
        delta("output_text", 0, "a"),
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0},
        {"type": "response.completed"},
        done(0, {"type": "function_call", "call_id": "c1", "name": "x"}),
        done(0, {}),
    ],
)
def test_an_event_of_the_wrong_shape_is_named_as_such(event: object) -> None:
    with pytest.raises(MalformedEvent):
        Assembly("openai").feed(event)


def test_unknown_events_are_passed_over() -> None:
    assert Assembly("openai").feed({"type": "keepalive", "sequence_number": 3}) == []


FIELDS = ["type", "output_index", "content_index", "summary_index", "item", "delta", "response", "error", "usage"]
FIELDS += ["output", "content", "summary", "text", "refusal", "status", "incomplete_details", "call_id", "name"]
KINDS = st.sampled_from(
    [f"response.{kind}" for kind in ("created", "output_item.added", "output_item.done", "completed", "incomplete")]
    + ["message", "function_call", "reasoning", "output_text", "response.output_text.delta", "error"]
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | KINDS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=8,
)


@given(st.lists(st.fixed_dictionaries({"type": KINDS | ANY}, optional=dict.fromkeys(FIELDS[1:8], ANY)), max_size=4))
def test_no_event_whatever_breaks_more_than_its_stream(events: list[dict[str, Any]]) -> None:
    with contextlib.suppress(MalformedEvent, ErrorEvent, ProviderError):
        run(*events, ended())
