"""What the next assembly is told of dreams and summaries."""

from __future__ import annotations

import unicodedata
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.injection import CHARS, chosen, cut, injection
from geode_tui.log.views import Artifact


def kept(content: str, kind: str = "dream", **meta: Any) -> Artifact:
    return Artifact(f"art_{content[:5]}", kind, content, 1, 9, meta)


def test_the_newest_three_are_joined_in_one_line() -> None:
    found = [kept("a\nb"), kept("s", "compaction_summary", applied=True), kept("c"), kept("d")]
    assert injection(found) == "dream seq=1-9: a b | compaction_summary seq=1-9: s | dream seq=1-9: c"


def test_forgotten_texts_and_summaries_that_were_not_applied_are_left_out() -> None:
    found = [kept(""), kept("x", "compaction_summary", applied=False), kept("y", "note"), kept("a")]
    assert [one.content for one in chosen(found)] == ["a"]
    assert injection([kept("")]) == ""


def test_each_is_cut_to_its_length() -> None:
    assert injection([kept("가" * 900)]) == f"dream seq=1-9: {'가' * CHARS}"


@given(st.text(alphabet="ae\u0301\u1112\u1161\u11ab\u200d한 ", max_size=40), st.integers(0, 20))
def test_a_letter_is_never_parted_from_its_marks(text: str, most: int) -> None:
    short = cut(text, most)
    assert len(short) <= most or short == text
    assert text.startswith(short)
    rest = text[len(short) :]
    if short and len(text) > most and rest and not rest.startswith(" "):
        assert not unicodedata.category(rest[0]).startswith("M")
