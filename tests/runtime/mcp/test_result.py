from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.messages import ImageBlock
from geode_tui.runtime.mcp.result import MAX_IMAGE, shown

PIXEL = base64.b64encode(b"\x89PNG pixel").decode()


def texts(*said: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in said]


def test_structured_and_text_are_one_representation() -> None:
    result = {"content": texts('{"body":"MARK"}'), "structuredContent": {"body": "MARK"}, "isError": False}
    assert shown(result).text.count("MARK") == 1
    assert json.loads(shown(result).text) == {"body": "MARK"}


@pytest.mark.parametrize("structured", [[{"id": 1}], "words", 7, 10**30, [10**30], 0, False, True, 1.5])
def test_a_structured_value_of_any_kind_is_preferred(structured: Any) -> None:
    text = shown({"content": texts("other words"), "structuredContent": structured}).text
    assert text == structured if isinstance(structured, str) else json.loads(text) == structured


@pytest.mark.parametrize("structured", [None, {}, [], ""])
def test_an_empty_structured_value_does_not_hide_the_text(structured: Any) -> None:
    assert shown({"content": texts("the text"), "structuredContent": structured}).text == "the text"


def test_an_empty_structured_value_alone_is_what_there_is() -> None:
    assert shown({"content": [], "structuredContent": {}}).text == "{}"
    assert shown({"content": []}).text == ""


def test_images_stand_beside_structured_data() -> None:
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    seen = shown({"content": [image, *texts("words")], "structuredContent": {"a": 1}})
    assert seen.images == (ImageBlock("image/png", PIXEL),)
    assert seen.text == '{"a":1}'


def test_unknown_keys_change_nothing() -> None:
    result = {"content": texts("x"), "structuredContent": {"a": 1}, "resultType": "complete", "_meta": {}, "extra": 1}
    assert shown(result).text == '{"a":1}'


@pytest.mark.parametrize("key", ["isError", "is_error"])
def test_an_error_stays_an_error(key: str) -> None:
    assert shown({"content": texts("boom"), key: True}).is_error
    assert shown({"content": [], key: True}).is_error


def test_what_cannot_be_sent_has_a_line_and_no_base64() -> None:
    blocks = [
        {"type": "image", "data": "QUJD" * 700_000 * 2, "mimeType": "image/png"},
        {"type": "image", "data": PIXEL, "mimeType": "image/svg+xml"},
        {"type": "image", "data": "not base64!", "mimeType": "image/png"},
        {"type": "audio", "data": PIXEL, "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///x", "name": "x"},
        {"type": "resource", "resource": {"uri": "a://b", "blob": "AAAA", "mimeType": "application/pdf"}},
        {"type": "resource", "resource": {"uri": "a://t", "text": "the file"}},
        {"type": "hologram", "v": 1},
        "a bare string",
    ]
    seen = shown({"content": blocks})
    lines = seen.text.splitlines()
    assert len(blocks[0]["data"]) > MAX_IMAGE  # type: ignore[index]
    assert seen.images == ()
    assert len(seen.text) < 1_000
    assert lines[4] == "[link to x: file:///x]"
    assert lines[5] == "[resource a://b application/pdf, 3 bytes: not shown]"
    assert lines[6:8] == ["[resource a://t]", "the file"]
    assert lines[8:] == ["[unsupported block: hologram]", "[unsupported block]"]


def test_a_lone_surrogate_does_not_travel() -> None:
    shown({"content": texts("a\ud800b")}).text.encode()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
blocks = st.dictionaries(st.sampled_from(["type", "text", "data", "mimeType", "resource", "uri", "name"]), json_values)


@given(
    st.fixed_dictionaries({}, optional={"content": json_values | st.lists(blocks), "structuredContent": json_values})
)
def test_any_result_has_a_text_that_can_be_sent(result: dict[str, Any]) -> None:
    seen = shown(result)
    seen.text.encode()
