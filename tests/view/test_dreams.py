"""Lines of kept texts, and in what two of them differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from geode_tui.view.dreams import DreamRow, DreamTable, difference, lines_of, one_before

TEXT = """## Durable Facts

- The parser yields tokens (seq 3, 7-9)
- It is fast

## Decisions

1. Keep parse() (seq 12)
plain words
"""


def kept(text: str, kind: str = "dream", name: str = "art_1", **more: object) -> DreamRow:
    return DreamRow(name, kind, 10.0, text=text, **more)  # type: ignore[arg-type]


def test_lines_have_their_citations_and_marks() -> None:
    lines = lines_of(kept(TEXT, marks=((4, "cites nothing"),)))
    assert [line.kind for line in lines][:4] == ["heading", "blank", "bullet", "bullet"]
    assert (lines[2].text, lines[2].seqs) == ("The parser yields tokens", (3, 7, 9))
    assert (lines[3].mark, lines[2].mark) == ("cites nothing", "")
    assert (lines[7].kind, lines[7].seqs, lines[8].kind) == ("bullet", (12,), "text")


def test_a_difference_leaves_out_citations_and_headings() -> None:
    after = TEXT.replace("(seq 3, 7-9)", "(seq 4)").replace("It is fast", "It is slow")
    assert list(difference(kept(TEXT), kept(after))) == [("-", "It is fast"), ("+", "It is slow")]
    assert list(difference(kept(TEXT), kept(TEXT))) == []


def test_the_one_before_is_of_the_same_kind_and_has_a_text() -> None:
    rows = (kept("c"), kept("s", "compaction_summary"), kept("", forgotten="person"), kept("a", name="art_0"))
    assert one_before(rows, 0) == rows[3]
    assert one_before(rows, 1) is None
    assert DreamTable(rows).dreams == 3


@given(st.text(alphabet=st.sampled_from("#-* \t(seq1,–)\n\x00가"), max_size=300), st.integers(-1, 9))
def test_every_line_of_any_text_is_one_line(text: str, mark: int) -> None:
    row = kept(text, marks=((mark, "x"),))
    assert len(lines_of(row)) == text.count("\n") + 1
    assert all(seq >= 0 for line in lines_of(row) for seq in line.seqs)


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_a_difference_leads_from_one_to_the_other(old: list[str], new: list[str]) -> None:
    changed = list(difference(kept("\n".join(old)), kept("\n".join(new))))
    for letter in "abcd":
        signs = [sign for sign, text in changed if text == letter]
        assert old.count(letter) - signs.count("-") + signs.count("+") == new.count(letter)
