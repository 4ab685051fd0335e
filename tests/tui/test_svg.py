"""The SVG of a screen: every character in its own cell, nothing from the text that a reader would obey."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from geode_tui.core.text import clean_line
from geode_tui.tui.svg import CELL_HEIGHT, CELL_WIDTH, Run, runs, svg
from tests.tui.pictures import Picture

MIXED = st.text(st.sampled_from("ab  <&\"'한글漢字⠋⚑❖é\u0301🎉") | st.characters(codec="utf-8"), max_size=40)


def invisible(text: str) -> bool:
    return cell_len(text.replace(" ", "")) == 0


def picture(*lines: list[Segment], width: int = 40) -> Picture:
    return Picture(svg(lines, width, ink="#eeeeee", ground="#101010"))


def styled(text: str, style: str) -> Segment:
    return Segment(text, Style.parse(style))


def test_a_run_is_cut_where_the_width_of_its_characters_changes() -> None:
    assert list(runs("  ab cd 한글 ok")) == [
        Run(2, 5, "ab cd"),
        Run(8, 4, "한글", "wide"),
        Run(13, 2, "ok"),
    ]
    assert list(runs("⠋⚑1", x=5)) == [Run(5, 1, "⠋", "other"), Run(6, 1, "⚑", "other"), Run(7, 1, "1")]
    assert list(runs("e\u0301!")) == [Run(0, 1, "e\u0301", "other"), Run(1, 1, "!")]
    assert [*runs(""), *runs("   ")] == []


@given(MIXED, st.integers(0, 9))
def test_every_run_stands_where_its_text_begins(text: str, x: int) -> None:
    line = clean_line(text)
    place = 0
    for run in runs(line, x):
        at = line.index(run.text, place)
        assert invisible(line[place:at])
        assert run.width == cell_len(run.text) > 0
        assert run.x == x + cell_len(line[:at])
        place = at + len(run.text)
    assert invisible(line[place:])


@given(MIXED)
def test_whatever_the_text_the_picture_is_well_formed_and_holds_nothing_but_text(text: str) -> None:
    made = Picture(svg([[Segment(text)]], 40, title=text))
    assert made.names <= {"svg", "title", "g", "rect", "text"}


def test_the_only_address_in_a_picture_is_the_name_of_its_format() -> None:
    assert picture([Segment("text")]).source.count("//") == 1


def test_characters_that_no_xml_may_hold_are_replaced() -> None:
    made = picture([Segment("a\x1b[31mb\ud800")])
    assert made.rows()[0].startswith("a")
    assert "\x1b" not in made.source
    assert "\ufffd" in made.source


def test_markup_in_a_text_stays_text() -> None:
    hostile = "</text><script>alert(1)</script>&amp;"
    made = picture([Segment(hostile)])
    assert made.rows()[0] == hostile
    assert "script" not in made.names


def test_spaces_within_a_run_are_kept_and_wide_text_fills_two_cells_a_character() -> None:
    made = picture([Segment("a  b"), Segment("한글"), Segment("c")])
    assert made.rows()[0] == "a  b한글c"
    assert [(p.x, p.width) for p in made.pieces] == [(0, 4), (4, 4), (8, 1)]
    assert 'xml:space="preserve">a  b' in made.source


def test_styles_become_attributes_and_reverse_swaps_the_colours() -> None:
    made = picture(
        [
            styled("one", "bold italic #ff0000 on #00ff00"),
            styled("two", "reverse #123456 on #abcdef"),
            styled("three", "dim"),
        ]
    )
    assert 'fill="#ff0000" font-weight="bold" font-style="italic">one' in made.source
    assert 'fill="#abcdef">two' in made.source
    assert 'fill="#eeeeee" fill-opacity="0.6">three' in made.source
    grounds = [(r["fill"], int(r["x"]) // CELL_WIDTH, int(r["width"]) // CELL_WIDTH) for r in made.rects[1:]]
    assert grounds == [("#00ff00", 0, 3), ("#123456", 3, 3)]


def test_without_colours_reverse_still_shows() -> None:
    made = picture([styled("chip", "reverse"), Segment(" text")])
    assert made.pieces[0].fill == made.ground == "#101010"
    assert [r["fill"] for r in made.rects[1:]] == ["#eeeeee"]


def test_a_plane_over_several_lines_is_one_box() -> None:
    made = picture([styled("    ", "on #222222")], [styled("ab", "on #222222"), styled("cd", "bold on #222222")], [])
    assert [(r["y"], r["width"], r["height"]) for r in made.rects[1:]] == [
        ("0", str(4 * CELL_WIDTH), str(2 * CELL_HEIGHT))
    ]


def test_a_line_under_text_runs_under_its_spaces_too() -> None:
    made = picture([styled("a  한", "underline #ff0000")])
    (line,) = made.rects[1:]
    assert (line["x"], line["width"], line["height"], line["fill"]) == ("0", str(5 * CELL_WIDTH), "1", "#ff0000")


def test_control_segments_draw_nothing() -> None:
    assert picture([Segment("gone", None, [(1,)]), Segment("here")]).rows()[0] == "here"  # type: ignore[list-item]
