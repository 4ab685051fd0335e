"""Texts that are read piece by piece."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.text import scrub
from geode_tui.log import pieces
from geode_tui.log.pieces import JsonString, into_json, of_bytes, of_text

texts = st.lists(st.sampled_from(["x", "한", "\n", '"', "\\", "\\u", "🙂", "\x1b", "é", "\ud83c"])).map("".join)


class Dripping(io.BytesIO):
    """Gives a few bytes at a time, whatever is asked."""

    size = 3

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self.size)


@given(texts, st.booleans(), st.integers(1, 9))
def test_a_json_string_is_read_as_it_is_whatever_its_pieces(text: str, ascii_only: bool, size: int) -> None:
    text = text if ascii_only else scrub(text)
    file = Dripping(json.dumps(text, ensure_ascii=ascii_only).encode()[1:] + b"}")
    file.size = size
    string = JsonString(file)
    assert "".join(string.pieces()) == scrub(text)
    assert (string.rest + file.getvalue()[file.tell() :]).strip() == b"}"


@given(texts.map(scrub))
def test_what_is_written_piece_by_piece_is_one_string(text: str) -> None:
    cut = (text[at : at + 2] for at in range(0, len(text), 2))
    assert json.loads(b'"' + b"".join(into_json(cut)) + b'"') == text


@given(st.binary(max_size=60), st.integers(1, 5))
def test_bytes_that_are_no_text_are_replaced(data: bytes, size: int) -> None:
    file = Dripping(data)
    file.size = size
    assert "".join(of_bytes(file)) == data.decode("utf-8", "replace")


@pytest.mark.parametrize("damage", [b"no end", b"\\x", b"\\u12", b"half \\", b'bad \\u12G4 escape"', b'\xff"', b""])
def test_what_is_no_string_is_an_error(damage: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        list(JsonString(io.BytesIO(damage)).pieces())


def test_pieces_are_bounded() -> None:
    assert [len(p) for p in of_text("x" * (pieces.PIECE + 1))] == [pieces.PIECE, 1]
