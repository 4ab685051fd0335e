"""Insights and learned patterns: what may be noted, and that notes never grow or repeat."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.memory.lifecycle import LEAST_SESSIONS, Note, defines_test, likeness, proposals, verdict
from geode_tui.memory.notes import (
    LEARNED_CHARS,
    MOST_INSIGHTS,
    MOST_LEARNED,
    SECTIONS,
    insight_refused,
    learned_text,
    merged_learned,
    with_insight,
    with_learned,
)

DAY = "2026-12-01"
WORDS = st.text("abcdefgh 가나다", min_size=10, max_size=60).filter(lambda text: len(text.strip()) >= 10)
LINES = st.text("ab가 \n", max_size=40)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("short", "has 10 to 500 characters, this has 5"),
        ("x" * 501, "has 10 to 500 characters, this has 501"),
        ("one line\nand another", "is one line"),
        ("one line\u2028and another", "is one line"),
        ("[unknown] finished with nothing", "nothing was found out"),
        ("[Berserk] tier=? score=0.00", "nothing was found out"),
        ("turn ended, tools=[ , ] used", "nothing was found out"),
    ],
)
def test_what_is_no_insight(text: str, why: str) -> None:
    assert why in insight_refused(text)
    with pytest.raises(ValueError, match=r"insight|found out"):
        with_insight("", text, DAY)


@pytest.mark.parametrize("text", ["x" * 10, "가" * 500, "  the tests need a live server  "])
def test_what_is_one(text: str) -> None:
    assert insight_refused(text) == ""


def test_a_section_is_made_where_there_is_none() -> None:
    assert with_insight("# Project\n\ntext\n", "tests need a server", DAY) == (
        "# Project\n\ntext\n\n## Recent Insights\n- 2026-12-01: tests need a server\n"
    )


@pytest.mark.parametrize("section", SECTIONS)
def test_the_newest_insight_stands_first_and_the_rest_of_the_document_stays(section: str) -> None:
    document = f"# P\n{section}\n- 2026-01-01: an older insight\n\n## After\ntext\n"
    assert with_insight(document, "a newer insight", DAY) == (
        f"# P\n{section}\n- 2026-12-01: a newer insight\n- 2026-01-01: an older insight\n\n## After\ntext\n"
    )
    assert with_insight(document, "An  OLDER insight", DAY) == document


@given(st.lists(WORDS, max_size=70), LINES, LINES)
def test_insights_are_bounded_and_touch_nothing_else(insights: list[str], above: str, below: str) -> None:
    document = f"{above}\n{SECTIONS[0]}\n\n## After\n{below}"
    for insight in insights:
        document = with_insight(document, insight, DAY)
        assert with_insight(document, insight, DAY) == document
    head, _, rest = document.partition(SECTIONS[0])
    section, _, after = rest.partition("## After\n")
    assert (head, after) == (f"{above}\n", below)
    noted = [line for line in section.splitlines() if line.startswith("- ")]
    assert len(noted) <= MOST_INSIGHTS
    distinct = {" ".join(text.split()) for text in insights}
    assert len(noted) == min(len(distinct), MOST_INSIGHTS)


# -- learned patterns -------------------------------------------------------------------------------------------------
@given(st.lists(st.tuples(WORDS, st.sampled_from(["general", "도구"])), max_size=130))
def test_patterns_are_bounded_and_noted_once_whatever_their_case(patterns: list[tuple[str, str]]) -> None:
    entries: tuple[str, ...] = ()
    for pattern, category in patterns:
        entries = with_learned(entries, pattern, category, DAY)
        assert with_learned(entries, pattern.upper(), "other", DAY) == entries
        assert len(entries) <= MOST_LEARNED
    said = [learned_text(entry).casefold() for entry in entries]
    assert len(set(said)) == len(said)


@pytest.mark.parametrize("pattern", ["[x] first", "- a dash", "ends so (2026-01-01)", "[2026-01-01] dated", "각 단어"])
def test_a_pattern_that_looks_like_a_mark_is_kept_whole(pattern: str) -> None:
    (entry,) = with_learned((), pattern, "general", DAY)
    assert learned_text(entry) == pattern
    assert with_learned((entry,), pattern, "general", DAY) == (entry,)


@pytest.mark.parametrize(
    ("pattern", "category"),
    [("", "general"), ("a\nb", "general"), ("x" * (LEARNED_CHARS + 1), "a"), ("x", "a] b"), ("x", "")],
)
def test_what_is_no_pattern_is_refused(pattern: str, category: str) -> None:
    with pytest.raises(ValueError, match=r"pattern|category"):
        with_learned((), pattern, category, DAY)


def test_two_lists_become_one_without_repeats() -> None:
    own = ["- [2026-01-02] [style] Short answers", "- [2026-01-01] uses uv"]
    over = ["- [tool] USES UV (2026-02-02)", "- [tool] runs ruff", "- "]
    assert merged_learned(own, over) == ("Short answers", "uses uv", "runs ruff")


@given(st.lists(st.lists(WORDS, max_size=80), max_size=3))
def test_joined_lists_are_bounded(lists: list[list[str]]) -> None:
    merged = merged_learned(*lists)
    assert len(merged) <= MOST_LEARNED
    assert merged_learned(merged) == merged


# -- what becomes of notes --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("guard", "exists", "archived", "expected"),
    [
        ("", False, False, "stays"),
        ("", False, True, "stays"),
        ("t.py::test_a", True, False, "archive"),
        ("t.py::test_a", True, True, "stays"),
        ("t.py::test_a", False, True, "resurface"),
        ("t.py::test_a", False, False, "stays"),
    ],
)
def test_a_note_is_put_away_only_while_its_test_exists(guard: str, exists: bool, archived: bool, expected: str) -> None:
    assert verdict(guard=guard, guard_exists=exists, archived=archived) == expected


def test_a_test_is_found_where_it_is_defined_and_nowhere_else() -> None:
    source = "def test_a(): ...\nclass TestB:\n    async def test_c(self): ...\n    def test_a2(self): ...\n"
    found = ("t.py::test_a", "t.py::test_a[case::1]", "t.py::TestB::test_c")
    missing = ("t.py::test_c", "t.py::TestB::test_a", "t.py::TestX::test_c", "t.py", "", "t.py::TestB")
    assert [defines_test(source, guard) for guard in found] == [True] * 3
    assert [defines_test(source, guard) for guard in missing] == [False] * 6
    assert not defines_test("def test_a(:\0", "t.py::test_a")


def test_a_rule_is_proposed_when_several_sessions_noted_the_same() -> None:
    same = [Note(f"the tests need a live server number{n}", f"s-{n % 3}") for n in range(4)]
    twice = [Note("always run the linter first", "s-1"), Note("always run the linter first", "s-2"), Note("linter", "")]
    (proposal,) = proposals([*same, *twice])
    assert proposal.sessions == ("s-0", "s-1", "s-2")
    assert proposal.notes == tuple(same)


@given(st.lists(st.builds(Note, WORDS, st.sampled_from(["", "s-1", "s-2", "s-3"])), max_size=30))
def test_a_proposal_always_comes_from_enough_sessions(notes: list[Note]) -> None:
    for proposal in proposals(notes):
        assert len(set(proposal.sessions)) >= LEAST_SESSIONS
        assert set(proposal.sessions) == {note.session_id for note in proposal.notes} - {""}
        assert all(likeness(proposal.notes[0].text, note.text) >= 0.6 for note in proposal.notes)
