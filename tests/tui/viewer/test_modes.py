"""Rows of bytes of any size: every byte is in one, and each is found from every other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.text import Redactor
from geode_tui.tui.cells import width_of
from geode_tui.tui.viewer import document, modes
from geode_tui.tui.viewer.document import Document
from geode_tui.tui.viewer.modes import Hex, Lines, Mode, Wrapped, moved, veiled
from tests.tui.viewer.held import Held

TEXTS = st.text(st.sampled_from("ab c\n\t가é😀\r\x1b"), max_size=120)
BYTES = st.binary(max_size=120) | TEXTS.map(str.encode)


def plain(text: str) -> str:
    return text


@contextmanager
def small() -> Iterator[None]:
    """Blocks and segments of a few bytes, so that short texts have many of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "BLOCK", 8)
        patch.setattr(modes, "SEGMENT", 16)
        patch.setattr(modes, "LONG", 24)
        patch.setattr(modes, "MARGIN", 8)
        yield


def indexed(data: bytes, *, index: bool = True, piece: int = 0) -> Document:
    made = Document(Held(data, piece))
    while index and not made.done:
        made.step()
    return made


def starts(mode: Mode) -> list[int]:
    found = [0]
    while (following := mode.after(found[-1])) is not None:
        assert following > found[-1]
        found.append(following)
    return found


@given(BYTES, st.booleans())
def test_lines_begin_after_every_newline(data: bytes, index: bool) -> None:
    with small():
        made = indexed(data, index=index)
        expected = [0] + [at + 1 for at, byte in enumerate(data) if byte == 10 and at + 1 < len(data)]
        mode = Lines(made, plain, 40)
        assert starts(mode) == expected
        for offset in range(len(data)):
            assert made.line_start(offset) == max(at for at in [0, *_after_newlines(data)] if at <= offset)
        if index and data:
            assert made.lines == len(expected)
            assert [made.number(at) for at in expected] == list(range(1, len(expected) + 1))
            assert [made.offset_of(number) for number in range(1, len(expected) + 1)] == expected


def _after_newlines(data: bytes) -> list[int]:
    return [at + 1 for at, byte in enumerate(data) if byte == 10]


@given(BYTES, st.integers(1, 12))
def test_wrapped_rows_hold_every_byte_and_no_row_is_too_wide(data: bytes, width: int) -> None:
    with small():
        mode = Wrapped(indexed(data), plain, width)
        found = starts(mode)
        for row in found:
            assert mode.start_of(row) == row
            assert width_of(mode.row(row).text) <= max(2, width)
        for offset in range(len(data)):
            assert mode.start_of(offset) == max(at for at in found if at <= offset)


@given(BYTES, st.integers(1, 12), st.sampled_from(["lines", "wrapped", "hex"]))
def test_a_row_before_is_the_row_whose_next_it_is(data: bytes, width: int, kind: str) -> None:
    with small():
        made = indexed(data)
        mode: Mode = {"lines": Lines, "wrapped": Wrapped, "hex": Hex}[kind](made, plain, width)
        found = starts(mode)
        assert mode.before(0) is None
        assert [mode.before(at) for at in found[1:]] == found[:-1]
        assert mode.last() == found[-1]
        assert moved(mode, 0, len(found) + 5) == found[-1]


@given(TEXTS, st.integers(2, 12))
def test_wrapping_shows_all_of_the_text(text: str, width: int) -> None:
    with small():
        mode = Wrapped(indexed(text.encode()), plain, width)
        shown = "".join(mode.row(at).text for at in starts(mode))
        kept = text.replace("\t", " ").replace("\x1b", "␛").replace("\n", "")
        assert shown.replace("␍", "") == kept.replace("\r", "")


def test_every_part_of_a_long_line_can_be_seen_sideways() -> None:
    data = ("가나다라" * 3_000).encode()
    made = indexed(data)
    seen = "".join(Lines(made, plain, 8, left).row(0).text for left in range(0, len(data), 12))
    assert seen == "가나다라" * 3_000


@given(st.integers(0, 30), st.integers(1, 20))
def test_a_window_on_a_short_line_is_as_wide_as_it_may_be(left: int, width: int) -> None:
    text = "ab가나\t다라abc"
    shown = Lines(indexed(text.encode()), plain, width, left).row(0).text
    assert width_of(shown) <= width


def test_a_long_line_is_read_by_windows() -> None:
    held = Held(b"x" * 10_000_000)
    made = Document(held)
    while not made.done:
        made.step()
    held.most_read = 0
    Lines(made, plain, 80, 5_000_000).row(0)
    Wrapped(made, plain, 80).row(Wrapped(made, plain, 80).start_of(9_000_000))
    assert held.most_read <= document.BLOCK


def test_hexadecimal_shows_bytes_as_they_are_but_for_secrets() -> None:
    secret = b"sk-ant-abcdefghijklmnop"
    mode = Hex(indexed(b"\x00\xffAB " + secret + b" end"), Redactor(), 80)
    assert mode.row(0).text == "00 ff 41 42 20 ** ** ** ** ** ** ** ** ** ** **  ..AB ***********"
    assert mode.row(16).label == "00000010"
    assert "73" not in mode.row(16).text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key=hunter2hunter2, more", "key=**************, more"),
        ("a \x1b[31mred", "a ␛[31mred"),
        ("x sk-ant-abcdefghij y", "x ***************** y"),
        ("plain", "plain"),
    ],
)
def test_what_is_hidden_keeps_its_length(text: str, shown: str) -> None:
    assert veiled(text, Redactor(("hunter2hunter2",))) == shown


def test_a_secret_across_a_window_s_edge_is_hidden_in_both() -> None:
    line = b"x" * 9_000 + b" sk-ant-abcdefghijklmnop " + b"y" * 9_000
    made = indexed(line)
    for left in range(8_995, 9_030):
        assert "abcdefgh" not in Lines(made, Redactor(), 12, left).row(0).text
