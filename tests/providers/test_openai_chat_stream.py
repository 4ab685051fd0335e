"""Whatever a server makes of the Chat Completions stream, the same blocks come out of it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.messages import TextBlock, ThinkingBlock, ToolCallBlock
from geode_tui.core.usage import Usage
from geode_tui.providers.base import Delta, Finished, Opened, Progress, StreamEvent
from geode_tui.providers.errors import ErrorEvent, ErrorKind, MalformedEvent, ProviderError
from geode_tui.providers.openai_chat_stream import Assembly

FIELDS = [
    "id", "index", "choices", "delta", "content", "reasoning", "reasoning_content", "reasoning_details", "tool_calls",
    "function", "name", "arguments", "refusal", "usage", "finish_reason", "text", "thinking", "type", "error",
]  # fmt: skip


def chunk(finish_reason: Any = None, *, index: int = 0, **delta: Any) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "finish_reason": finish_reason}
    return {"id": "gen-1", "model": "m", "choices": [choice], "usage": None}


def calling(index: Any, **fields: Any) -> dict[str, Any]:
    function = {name: fields.pop(name) for name in ("name", "arguments") if name in fields}
    given = {} if index is None else {"index": index}
    return chunk(tool_calls=[{**given, **fields, "function": function}])


def usage(**fields: Any) -> dict[str, Any]:
    return {"id": "gen-1", "model": "m", "choices": [], "usage": fields}


def run(*chunks: dict[str, Any], provider: str = "glm") -> tuple[list[StreamEvent], Finished]:
    assembly = Assembly(provider)
    out = [passed for event in chunks for passed in assembly.feed(event)]
    return out, assembly.finish()


def calls(*chunks: dict[str, Any]) -> tuple[list[Delta], tuple[Any, ...]]:
    out, finished = run(*chunks, chunk("tool_calls"))
    return [e for e in out if isinstance(e, Delta)], finished.blocks


def test_an_answer_is_opened_streamed_and_finished_with_its_usage() -> None:
    out, finished = run(
        chunk(role="assistant", content=""),
        chunk(content="Hel"),
        chunk(content="lo"),
        chunk("stop"),
        usage(prompt_tokens=10, completion_tokens=2),
    )
    assert out == [Opened("gen-1", "m"), Delta(0, "text", "Hel"), Delta(0, "text", "lo"), Progress(Usage(10, 2))]
    assert finished == Finished((TextBlock("Hello"),), "end_turn", Usage(10, 2), "gen-1", "m")


def test_usage_with_every_chunk_is_cumulative() -> None:
    reports = [chunk(content="a") | {"usage": {"prompt_tokens": 10, "completion_tokens": n}} for n in (1, 2)]
    assert run(*reports, chunk("stop"))[1].usage == Usage(10, 2)


def test_calls_are_told_apart_by_their_numbers() -> None:
    deltas, blocks = calls(
        calling(0, id="a", name="read_file", arguments=""),
        calling(1, id="b", name="list_files", arguments='{"x'),
        calling(0, arguments='{"p":'),
        calling(0, arguments="1}"),
        calling(1, arguments='":2}'),
    )
    assert blocks == (ToolCallBlock("a", "read_file", '{"p":1}'), ToolCallBlock("b", "list_files", '{"x":2}'))
    assert [d.name for d in deltas] == ["read_file", "list_files", "", "", ""]


def test_an_id_and_a_name_may_come_late_or_twice() -> None:
    deltas, blocks = calls(
        calling(0, arguments='{"p'),
        calling(0, id="a", arguments='":'),
        calling(0, name="read_file", arguments="1"),
        calling(0, id="a", name="read_file", arguments="}"),
    )
    assert blocks == (ToolCallBlock("a", "read_file", '{"p":1}'),)
    assert deltas == [Delta(0, "tool_call", '{"p":1', "read_file"), Delta(0, "tool_call", "}")]


def test_calls_without_numbers_are_told_apart_by_their_ids() -> None:
    for index in (None, 0):
        _, blocks = calls(
            calling(index, id="a", name="x", arguments="{}"),
            calling(index, id="b", name="y", arguments='{"q'),
            calling(index, arguments='":1}'),
        )
        assert blocks == (ToolCallBlock("a", "x", "{}"), ToolCallBlock("b", "y", '{"q":1}'))


def test_a_piece_with_another_id_still_belongs_to_its_call() -> None:
    _, blocks = calls(calling(0, id="a", name="x", arguments='{"q'), calling(0, id="b", arguments='":1}'))
    assert blocks == (ToolCallBlock("a", "x", '{"q":1}'),)


def test_arguments_given_as_an_object_are_written_out() -> None:
    assert calls(calling(0, id="a", name="x", arguments={"p": "생"}))[1] == (ToolCallBlock("a", "x", '{"p":"생"}'),)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_shown_and_kept_under_the_name_it_came_in(field: str) -> None:
    thoughts: list[dict[str, Any]] = [{field: "생"}, {field: "각"}]
    out, finished = run(*(chunk(**thought) for thought in thoughts), chunk(content="x"), chunk("stop"))
    assert finished.blocks == (ThinkingBlock("생각", "glm", f'{{"{field}":"생각"}}'), TextBlock("x"))
    assert [e for e in out if isinstance(e, Delta)][:2] == [Delta(0, "thinking", "생"), Delta(0, "thinking", "각")]


def test_reasoning_details_become_whole_again_with_every_field_they_had() -> None:
    base = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}
    pieces = [
        {**base, "text": "First ", "id": None},
        {**base, "text": "thought.", "new": {"a": None}},
        {**base, "signature": "Eq/+="},
        {"type": "reasoning.encrypted", "index": 0, "id": "rs_1", "data": "gAAA"},
        {"type": "reasoning.encrypted", "index": 0, "id": "rs_2", "data": "gBBB"},
        {"type": "reasoning.summary", "index": 1, "summary": "In "},
        {"type": "reasoning.summary", "index": 1, "summary": "short."},
    ]
    shown = [chunk(content="", reasoning=p.get("text", p.get("summary")), reasoning_details=[p]) for p in pieces]
    out, finished = run(*shown, chunk(content="x"), chunk("stop"), provider="openrouter")
    block = finished.blocks[0]
    assert isinstance(block, ThinkingBlock)
    assert block.text == "First thought.In short." == "".join(e.text for e in out if isinstance(e, Delta))[:-1]
    assert json.loads(str(block.raw)) == {
        "reasoning_details": [
            {**base, "text": "First thought.", "id": None, "new": {"a": None}, "signature": "Eq/+="},
            pieces[3],
            pieces[4],
            {"type": "reasoning.summary", "index": 1, "summary": "In short."},
        ]
    }


def test_reasoning_in_parts_of_the_content_is_reasoning() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    _, finished = run(chunk(content=[thinking]), chunk(content=[{"type": "text", "text": "x"}]), chunk("stop"))
    assert finished.blocks == (ThinkingBlock("hm", "glm", None), TextBlock("x"))


@pytest.mark.parametrize(
    ("word", "stop_reason"),
    [
        ("stop", "end_turn"),
        ("tool_calls", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "content_filter"),
        ("sensitive", "content_filter"),
        ("model_context_window_exceeded", "model_context_window_exceeded"),
        ("brand_new_reason", "brand_new_reason"),
    ],
)
def test_b106_what_ended_the_answer_is_told(word: str, stop_reason: str) -> None:
    assert run(chunk(content="a"), chunk(word))[1].stop_reason == stop_reason


@pytest.mark.parametrize("word", ["stop", "tool_calls", "function_call"])
def test_calls_are_made_whatever_word_ends_them(word: str) -> None:
    _, finished = run(calling(0, id="a", name="x", arguments="{}"), chunk(word))
    assert finished.stop_reason == "tool_use"


def test_b105_a_refusal_is_told_and_can_be_read() -> None:
    _, finished = run(chunk(refusal="I will "), chunk(refusal="not."), chunk("stop"))
    assert (finished.stop_reason, finished.blocks) == ("refusal", (TextBlock("I will not."),))


def test_b103_a_finish_reason_is_enough_without_the_very_last_event() -> None:
    assembly = Assembly("glm")
    assembly.feed(chunk(content="whole"))
    assert not assembly.complete
    assembly.feed(chunk("stop"))
    assert assembly.complete
    assert assembly.finish().blocks == (TextBlock("whole"),)


@pytest.mark.parametrize("word", [None, ""])
def test_an_answer_without_a_finish_reason_broke_off(word: Any) -> None:
    with pytest.raises(ProviderError) as caught:
        run(chunk(content="part"), chunk(word))
    assert (caught.value.kind, caught.value.visible) == (ErrorKind.STREAM_INTERRUPTED, True)


@pytest.mark.parametrize(
    "event",
    [
        {"error": {"code": 502, "message": "no"}, "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]},
        chunk("error"),
        chunk("network_error"),
    ],
)
def test_a_failure_inside_the_stream_is_handed_on(event: dict[str, Any]) -> None:
    with pytest.raises(ErrorEvent) as caught:
        run(chunk(content="a"), event)
    assert isinstance(caught.value.body, dict)


def test_other_choices_and_odd_chunks_are_passed_over() -> None:
    odd: list[dict[str, Any]] = [
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"index": 0, "delta": None}]},
        chunk(index=1, content="b"),
    ]
    assert run(chunk(content="a"), *odd, chunk("stop"))[1].blocks == (TextBlock("a"),)


@pytest.mark.parametrize("event", [[], "x", None, chunk(tool_calls=["x"])])
def test_an_event_of_the_wrong_shape_is_named_as_such(event: object) -> None:
    with pytest.raises(MalformedEvent):
        Assembly("glm").feed(event)


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_pieces_are_put_together_exactly(thoughts: list[str], words: list[str], arguments: list[str]) -> None:
    out, finished = run(
        *(chunk(reasoning_content=t) for t in thoughts),
        *(chunk(content=w) for w in words),
        calling(0, id="a", name="x"),
        *(calling(0, arguments=a) for a in arguments),
        chunk("tool_calls"),
    )
    expected: list[Any] = []
    if thought := "".join(thoughts):
        raw = json.dumps({"reasoning_content": thought}, ensure_ascii=False, separators=(",", ":"))
        expected.append(ThinkingBlock(thought, "glm", raw))
    if text := "".join(words):
        expected.append(TextBlock(text))
    assert finished.blocks == (*expected, ToolCallBlock("a", "x", "".join(arguments)))
    deltas = [e for e in out if isinstance(e, Delta)]
    assert "".join(d.text for d in deltas) == thought + text + "".join(arguments)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON), max_size=4))
def test_no_chunk_whatever_breaks_more_than_its_stream(chunks: list[dict[str, Any]]) -> None:
    with contextlib.suppress(MalformedEvent, ErrorEvent, ProviderError):
        run(*chunks, chunk("stop"))
