import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from geode_tui.tui.cells import chop_starts, line_starts, width_of
from geode_tui.tui.conversation.blocks import Parser
from geode_tui.tui.conversation.items import PieceItem
from geode_tui.tui.conversation.matching import Matcher, Stretch
from tests.tui.conversation.kit import hostile_text

words = st.lists(st.sampled_from(["one", "Two", "한글", "日本語", "é", "longerword"]), min_size=1, max_size=30)


def test_case_and_composition_do_not_matter() -> None:
    assert Matcher("CAFÉ").count("a cafe\u0301, a Café") == 2
    assert Matcher(unicodedata.normalize("NFD", "한글")).count("한글 한글") == 2


def test_a_space_stands_for_any_space_between_words() -> None:
    assert Matcher("two  words").count("two words, two\nwords, twowords") == 2


def test_signs_of_patterns_are_text() -> None:
    assert Matcher("a.b[").count("a.b[ axb[ a.b") == 1


@given(words, st.integers(1, 20), st.integers(0, 25), st.integers(1, 4))
def test_a_match_that_is_wrapped_is_found_in_the_lines_it_takes(
    parts: list[str], width: int, start: int, length: int
) -> None:
    text = " ".join(parts)
    query = " ".join(parts[start % len(parts) :][:length])
    starts = line_starts(text, width)
    lines = [(2, text[a:b].rstrip()) for a, b in zip(starts, [*starts[1:], None], strict=True)]
    found = Matcher(query).in_lines(lines)
    assert len(found) == Matcher(query).count(text)
    for match in found:
        shown = [line_text[:0] + _cells(line_text, part) for part in match for _, line_text in [lines[part.line]]]
        assert "".join("".join(shown).split()).casefold() == "".join(query.split()).casefold()


def _cells(text: str, part: Stretch) -> str:
    """The characters of a line that begins at cell 2 in the cells of ``part``."""
    shown, column = "", 2
    for char in text:
        if part.start <= column < part.stop:
            shown += char
        column += width_of(char)
    return shown


def test_what_was_composed_on_screen_is_marked_where_it_is() -> None:
    line = unicodedata.normalize("NFD", "ab 한글 é end")
    (match,) = Matcher("한글 é").in_lines([(0, line)])
    assert match == (Stretch(0, 3, 9),)


def test_code_that_is_broken_anywhere_is_found() -> None:
    text = "x" * 30 + "needle" + "y" * 30
    starts = chop_starts(text, 7)
    lines = [(0, text[a:b]) for a, b in zip(starts, [*starts[1:], None], strict=True)]
    (match,) = Matcher("Needle").in_lines(lines)
    assert sum(part.stop - part.start for part in match) == 6


@given(hostile_text, st.data())
def test_the_quick_look_never_misses_what_the_text_shows(text: str, data: st.DataObject) -> None:
    from geode_tui.core.text import clean

    text = clean(text)
    shown = "\n".join(PieceItem(piece).words for piece in Parser().parse(text))
    visible = [line for line in shown.split("\n") if line.strip()]
    if not visible:
        return
    line = data.draw(st.sampled_from(visible)).strip()
    begin = data.draw(st.integers(0, len(line) - 1))
    query = line[begin : begin + 6]
    if query.strip() and Matcher(query).count(shown):
        assert Matcher(query).may_stand_in(text)
