import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.segment import Segment

from geode_tui.tui.cells import (
    chop_starts,
    cut_end,
    cut_front,
    cut_segments,
    expand_tabs,
    line_starts,
    pad,
    segments_width,
    spread,
    take,
    width_of,
)

words = st.text(alphabet="ab c한中語👍é⚠\ufe0f\u200d", max_size=60)
widths = st.integers(0, 30)


@given(words, widths)
def test_a_cut_text_fits_and_keeps_its_beginning_or_its_end(text: str, width: int) -> None:
    begin, end = cut_end(text, width, "⋯"), cut_front(text, width, "⋯")
    assert width_of(begin) <= width
    assert width_of(end) <= max(width, 0)
    if width_of(text) <= width:
        assert begin == end == text
    else:
        assert text.startswith(begin.removesuffix("⋯"))
        assert text.endswith(end.removeprefix("⋯"))


def test_a_wide_character_is_never_split() -> None:
    assert take("한글", 3) == "한"
    assert cut_end("한글中文日本語ABC", 8, "⋯") == "한글中⋯"
    assert cut_front("src/파서/core.py", 11, "⋯") == "⋯서/core.py"
    assert width_of("한글中文日本語ABC") == 17


def test_a_path_loses_its_front() -> None:
    assert cut_front("src/geode/parser/core.py", 16, "⋯") == "⋯/parser/core.py"
    assert cut_front("src/geode/parser/core.py", 15, "..") == "..arser/core.py"


@example("aa \u200d", 2)
@given(words, st.integers(0, 30))
def test_wrapped_lines_fit_and_lose_only_spaces(text: str, width: int) -> None:
    for starts in (line_starts(text, width), chop_starts(text, width)):
        lines = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
        assert "".join(lines) == text
        assert starts[0] == 0
        if width >= 2:
            assert all(width_of(line.rstrip(" ")) <= width for line in lines[: len(line_starts(text, width))])


def test_hangul_breaks_at_spaces_and_ideographs_anywhere() -> None:
    korean = "파서를 스트리밍으로"
    assert line_starts(korean, 12) == [0, korean.index("스")]
    assert line_starts("ab 中文中文", 7) == [0, 5]


@given(st.lists(words, max_size=6), st.integers(2, 20))
def test_wrapping_may_go_on_from_the_last_line(parts: list[str], width: int) -> None:
    whole = "".join(parts)
    starts, done = [0], ""
    for part in parts:
        done += part
        last = starts.pop()
        starts += [last + start for start in line_starts(done[last:], width)]
    assert [whole[a:b].rstrip(" ") for a, b in zip(starts, [*starts[1:], len(whole)], strict=True)] == [
        whole[a:b].rstrip(" ")
        for a, b in zip(line_starts(whole, width), [*line_starts(whole, width)[1:], len(whole)], strict=True)
    ]


def test_tabs_end_at_their_stops_by_cells() -> None:
    assert expand_tabs("\ta") == "    a"
    assert expand_tabs("한\ta") == "한  a"
    assert expand_tabs("a\tb", 2) == "a b"


def test_padding_counts_cells() -> None:
    assert pad("한", 4) == "한  "
    assert pad("한", 4, right=True) == "  한"
    assert pad("abcdef", 4) == "abcdef"


@given(st.lists(words, min_size=1, max_size=4), st.lists(words, max_size=2), st.integers(0, 40))
def test_a_row_is_exactly_as_wide_as_it_must_be(left: list[str], right: list[str], width: int) -> None:
    row = spread([Segment(text) for text in left], [Segment(text) for text in right], width, "⋯")
    assert segments_width(row) == width


@pytest.mark.parametrize("width", [0, 1, 2, 5])
def test_cut_segments_fit(width: int) -> None:
    assert segments_width(cut_segments([Segment("한글"), Segment("abc")], width, "..")) <= width


def test_the_right_part_stands_at_the_end_and_the_left_gives_way() -> None:
    row = spread([Segment("a long left part")], [Segment("12 tok")], 16, "⋯")
    assert "".join(segment.text for segment in row) == "a long l⋯ 12 tok"
