"""Arguments of a call: every character is seen, none is obeyed."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.tui.arguments import readable, visible


def test_strings_keep_their_line_breaks_and_others_are_json() -> None:
    raw = msgspec.json.encode({"path": "a.md", "content": "# T\n\nx", "n": 3, "deep": {"a": [1]}}).decode()
    assert readable(raw) == 'path: a.md\ncontent:\n  # T\n  \n  x\nn: 3\ndeep: {"a":[1]}'


@pytest.mark.parametrize("raw", ["", "{", "[1, 2]", '"text"', "nul", '{"a": 1', "[" * 100_000])
def test_anything_but_an_object_is_shown_as_it_was_sent(raw: str) -> None:
    assert readable(raw) == raw


def test_direction_marks_and_invisible_characters_are_written_out() -> None:
    raw = msgspec.json.encode({"command": "rm \u202etxt.exe\u200b\u2066x\u3164"}).decode()
    assert readable(raw) == "command: rm \\u202etxt.exe\\u200b\\u2066x\\u3164"


def test_escapes_are_seen() -> None:
    raw = msgspec.json.encode({"command": "echo \x1b[2J\x07"}).decode()
    assert readable(raw) == "command: echo \u241b\u2407"


@given(st.dictionaries(st.text(), st.text() | st.lists(st.text()), max_size=4))
def test_nothing_a_terminal_obeys_gets_through(arguments: dict[str, object]) -> None:
    raw = msgspec.json.encode(arguments).decode()
    shown = readable(raw)
    assert not any((ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F for c in shown)


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "P", "S"])))
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    kept = "".join(c for c in text if c not in "\u115f\u1160\u3164\uffa0")
    assert visible(kept) == kept
