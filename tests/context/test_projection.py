"""What of a result the model is shown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.projection import NOTE_TOKENS, project, result_limit
from geode_tui.core.tokens import text_tokens

NOTE = re.compile(
    r"\n\[\.\.\. about (\d+) of (\d+) tokens left out here: ask for a smaller range to see them \.\.\.]\n"
)


@pytest.mark.parametrize(
    ("window", "limit"),
    [(8_000, 400), (32_000, 1_600), (200_000, 10_000), (256_000, 12_800), (256_001, 25_000), (1_000_000, 25_000)],
)
def test_one_result_may_take_5_percent_of_a_small_window_and_25k_of_others(window: int, limit: int) -> None:
    """RUNTIME.md 1.1, 4.8."""
    assert result_limit(window) == limit


@pytest.mark.parametrize(
    ("window", "most", "limit"),
    [(1_000_000, 0, None), (1_000_000, 40_000, 40_000), (200_000, 0, 10_000), (200_000, 3_000, 3_000)],
)
def test_the_bound_can_be_set_but_for_a_small_windows_share(window: int, most: int, limit: int | None) -> None:
    assert result_limit(window, most) == limit


mixed = st.lists(st.tuples(st.sampled_from(["x", "한", "a b\n", "漢字\n", "\n"]), st.integers(1, 400)), max_size=8).map(
    lambda runs: "".join(text * count for text, count in runs)
)


@given(mixed, st.integers(NOTE_TOKENS, 300))
def test_what_is_shown_is_within_the_limit_whatever_the_scripts(text: str, limit: int) -> None:
    shown = project(text, limit)
    assert text_tokens(shown) <= limit
    assert (shown == text) == (text_tokens(text) <= limit)


@given(mixed, st.integers(NOTE_TOKENS, 300))
def test_it_is_head_and_tail_with_a_note_of_what_is_left_out(text: str, limit: int) -> None:
    shown = project(text, limit)
    if shown == text:
        return
    note = NOTE.search(shown)
    assert note is not None
    head, tail = shown[: note.start()], shown[note.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    left_out = text[len(head) : len(text) - len(tail)]
    assert (int(note[1]), int(note[2])) == (text_tokens(left_out), text_tokens(text))


def test_dense_text_at_one_end_does_not_break_the_limit() -> None:
    for text in ("한" * 50_000 + "x" * 500_000, "x" * 500_000 + "한" * 50_000):
        shown = project(text, 25_000)
        assert 20_000 < text_tokens(shown) <= 25_000


def test_lines_stay_whole_where_there_are_lines() -> None:
    text = "".join(f"line {n} of the file\n" for n in range(5_000))
    shown = project(text, 1_000)
    head, tail = NOTE.sub("\0", shown).split("\0")
    lines = set(text.splitlines())
    assert set(head.splitlines()) <= lines
    assert set(tail.splitlines()) <= lines
    assert len(head) > len(tail) > 500


def test_a_limit_without_room_leaves_the_note() -> None:
    assert NOTE.fullmatch(project("x" * 1_000, 1))
