"""Every state and width of the gauge, as SCREENS.md 5 asks for them."""

from __future__ import annotations

import pytest

from tests.tui.gauge_sheet import BAR, STATES, WIDTH, WIDTHS, look_of, sheet

FORMS = [(False, False), (True, False), (False, True), (True, True)]


def states(*, ascii_: bool = False, korean: bool = False) -> list[list[str]]:
    """The four lines of each state: head, marks, bar, labels."""
    lines = [strip.text[2 : 2 + BAR] for strip in sheet(look_of(ascii_=ascii_, korean=korean))]
    return [lines[6 * n + 1 : 6 * n + 5] for n in range(len(STATES))]


def widths(*, ascii_: bool = False) -> dict[int, tuple[str, str]]:
    """Bar and labels by width."""
    lines = [strip.text[2:] for strip in sheet(look_of(ascii_=ascii_))][6 * len(STATES) :]
    return {width: (lines[2 * n], lines[2 * n + 1].rstrip()) for n, width in enumerate(WIDTHS)}


@pytest.mark.parametrize(("ascii_", "korean"), FORMS)
def test_every_line_of_the_sheet_is_whole(ascii_: bool, korean: bool) -> None:
    for strip in sheet(look_of(ascii_=ascii_, korean=korean)):
        assert strip.cell_length == WIDTH
        assert strip.text.isascii() or not ascii_ or korean


def test_heads_say_percent_state_and_amount() -> None:
    heads = [" ".join(state[0].split()) for state in states()]
    assert heads == [
        "21 % ✓ ok 212.1k of 967.2k",
        "72 % ▴ warning 264.9k of 367.2k",
        "96 % !! critical 161.9k of 167.2k",
        "117 % ✕ over 196.9k of 167.2k",
        "143 % ✕ over 240.0k of 167.2k",
        "~47 % ✓ ok 80.0k of 167.2k",
        "~47 % ✓ ok 80.0k of an assumed 167.2k",
        "- % not known",
        "32 % ✓ ok 300.0k of 922.0k",
    ]


def test_the_warning_of_each_tier_is_the_stressed_label() -> None:
    labels = [state[3].split() for state in states()]
    assert labels[0] == ["▵50", "▵70", "▴80", "!!90"]
    assert labels[1] == ["▵50", "▴70", "▵80", "!!90"]
    assert labels[2] == ["▴50", "▵70", "▵80", "!!90"]


def test_over_the_budget_the_bar_eats_the_reserve_and_beyond_the_window_it_says_so() -> None:
    over, beyond = states(ascii_=True)[3][2], states(ascii_=True)[4][2]
    assert over.count("/") == 1
    assert beyond.endswith("R>")


def test_marks_stand_only_inside_a_larger_window() -> None:
    marks = [state[1].strip() for state in states()]
    assert marks[0] == marks[1] == "▾200k soft limit"
    assert marks[2] == marks[5] == ""
    assert marks[8] == "▾   ▾272k price step"


def test_a_bar_loses_labels_then_letters_then_itself_as_it_gets_narrower() -> None:
    found = widths(ascii_=True)
    assert found[38][1].split() == ["'50", "!70", "'80", "!!90"]
    assert found[33][1].split() == found[24][1].split() == ["!70", "!!90"]
    assert found[18][1].split() == ["!!90"]
    assert found[17][1] == ""
    letters = {width: any(c.isalpha() for c in bar[:width]) for width, (bar, _) in widths().items()}
    assert letters == {38: True, 34: True, 33: True, 24: True, 18: True} | dict.fromkeys((17, 13, 9, 8, 6), False)
    assert found[6][0].startswith("====--  72 %  !")


def test_korean_says_the_same_figures() -> None:
    for english, korean in zip(states(), states(korean=True), strict=True):
        figures = [word for word in english[0].split() if word.strip("~k").replace(".", "").isdigit()]
        assert all(word in korean[0] for word in figures)
