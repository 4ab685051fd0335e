"""The short line: its parts, their room, and that the whole of it is never longer than it may be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.memory.summary import MOST_CHARS, llm_summary, mission_of

ALL = {
    "_soul_loaded": True,
    "_soul": "# GEODE\n\n> a motto\n\nHelp people understand their own code.\n",
    "_user_profile_loaded": True,
    "_user_profile_summary": "User: engineer | Lang: ko",
    "_org_loaded": True,
    "organization_strategy": "fewer, better tools",
    "_project_loaded": True,
    "project_goal": "a cockpit for long runs",
    "_session_loaded": True,
    "previous_results": ["first", "second", "third", "fourth"],
    "_long_context_summary": "dream seq=1-9: the branch is release",
}
ANY = st.one_of(st.text(max_size=600), st.none(), st.integers(), st.lists(st.text(max_size=300), max_size=5))


def test_what_it_says() -> None:
    assert llm_summary(ALL) == (
        "Mission: Help people understand their | User: engineer | Lang: ko | Org: fewer, better tools"
        " | Project: a cockpit for long runs | Prev: fourth | Prev: third | Prev: second"
        " | Long context: dream seq=1-9: the branch is release"
    )


def test_a_tier_that_was_not_loaded_has_no_say() -> None:
    flags = {key: False for key in ALL if key.endswith("_loaded")}
    assert llm_summary(ALL | flags) == "Long context: dream seq=1-9: the branch is release"
    assert llm_summary({}) == ""


def test_results_have_the_rest_of_the_room_and_the_last_of_them_is_cut() -> None:
    said = llm_summary({"_session_loaded": True, "previous_results": ["c" * 100, "b" * 100, "a" * 80]})
    assert said == f"Prev: {'a' * 80} | Prev: {'b' * 23}"
    tight = llm_summary({"_session_loaded": True, "previous_results": ["b" * 100, "a" * 90]})
    assert tight == f"Prev: {'a' * 90}"


def test_results_that_are_in_lines_become_one() -> None:
    assert llm_summary({"_session_loaded": True, "previous_results": ["a\nb", 7]}) == "Prev: 7 | Prev: a b"


@given(st.fixed_dictionaries(dict.fromkeys(ALL, ANY)))
def test_it_is_one_line_within_its_bound_whatever_the_values_are(values: dict[str, Any]) -> None:
    said = llm_summary(values)
    assert len(said) <= MOST_CHARS
    assert len(said.splitlines()) <= 1


@pytest.mark.parametrize("letter", ["가", "각", "e\u0301", "👩\u200d💻"])
def test_a_letter_is_never_cut_in_two(letter: str) -> None:
    values = ALL | dict.fromkeys(
        ("_soul", "_user_profile_summary", "organization_strategy", "project_goal"), letter * 200
    )
    values |= {"previous_results": [letter * 200], "_long_context_summary": letter * 200}
    said = llm_summary(values)
    assert MOST_CHARS - len(letter) - 1 <= len(said) <= MOST_CHARS
    for part in said.split(" | "):
        letters = part.rpartition(": ")[2]
        assert letters == letter * (len(letters) // len(letter))


@pytest.mark.parametrize(
    ("text", "mission"),
    [("", ""), ("# a\n> b\n---\n", ""), ("---\nname: x", "name: x"), ("\n#\n  first  \nsecond", "first")],
)
def test_the_mission_is_the_first_line_of_prose(text: str, mission: str) -> None:
    assert mission_of(text) == mission
