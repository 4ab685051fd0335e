"""The five tiers from their files: what each gives, and that what is broken costs only itself."""

from __future__ import annotations

import msgspec
import pytest

from geode_tui.memory.assembler import Places
from geode_tui.memory.files import MOST_BYTES, Unusable
from geode_tui.memory.front import front_of
from geode_tui.memory.loading import MOST_FILES, Loaded
from geode_tui.memory.profile import load_profile
from geode_tui.memory.session_store import FOLDER, MOST_SESSIONS, TTL_S, SessionStore, file_name
from geode_tui.memory.tiers import PROJECT_LINES, load_identity, load_organization, load_project
from tests.tiers.conftest import Write


def test_front_matter_is_plain_values_and_lists() -> None:
    text = "---\n# c\nname: 'a: b'\nempty:\npaths:\n  - \"*x*\"\n  - y\nnested:\n  deep: no\n---\n\nbody\n---\nrest\n"
    front = front_of(text)
    assert front.values == {"name": "a: b"}
    assert front.lists == {"paths": ["*x*", "y"]}
    assert front.body == "body\n---\nrest"
    assert front_of("---\nno end\n").body == "---\nno end"


# -- identity ---------------------------------------------------------------------------------------------------------
def test_the_identity_is_the_projects_own_file(places: Places, write: Write) -> None:
    assert load_identity(places.root) == Loaded()
    write("project/GEODE.md", "# GEODE\nHelp.\n")
    assert load_identity(places.root) == Loaded({"_soul": "# GEODE\nHelp.\n"}, ("GEODE.md",))


# -- user profile -----------------------------------------------------------------------------------------------------
def test_the_profile_is_the_persons_and_what_the_project_says_over_it(places: Places, write: Write) -> None:
    write("home/.geode/user_profile/profile.md", "---\nrole: engineer\nexpertise: compilers\n---\nbio\n")
    write("home/.geode/user_profile/preferences.json", '{"language": "ko", "output_format": "long", "tabs": 4}')
    write("home/.geode/user_profile/learned.md", "# Learned\n- [2026-01-01] [style] Short answers\n")
    write(
        "home/.geode/user_profile/career.toml",
        '[identity]\ntitle = "Lead"\nyears_experience = 9\nskills = ["C", "Go", 3, {}]\n[goals]\nshort_term = "ship"\n',
    )
    write("project/.geode/user_profile/profile.md", '---\nrole: reviewer\nexpertise: ""\n---\n')
    write("project/.geode/user_profile/preferences.json", '{"output_format": "concise", "language": ""}')
    write("project/.geode/user_profile/learned.md", "- [general] SHORT answers\n- [general] no emoji\n")
    loaded = load_profile(places.person, places.geode)
    assert loaded.problems == ()
    assert loaded.values == {
        "_user_profile_summary": "User: reviewer | Expertise: compilers | Lang: ko | Format: concise",
        "_career_summary": "Lead (9y), skills: C/Go/3, seeking: ship",
        "_user_preferences": {"language": "ko", "output_format": "concise", "tabs": 4},
        "_user_learned": ["Short answers", "no emoji"],
    }
    assert "~/.geode/user_profile/career.toml" in loaded.files


def test_a_broken_file_of_the_profile_costs_only_itself(places: Places, write: Write) -> None:
    write("home/.geode/user_profile/profile.md", "---\nrole: engineer\n---\n")
    write("home/.geode/user_profile/preferences.json", "{not json")
    write("home/.geode/user_profile/career.toml", "[identity\n")
    write("project/.geode/user_profile/preferences.json", "[1, 2]")
    write("project/.geode/user_profile/career.toml", 'identity = "no table"\ngoals = 7\n')
    loaded = load_profile(places.person, places.geode)
    assert loaded.values == {"_user_profile_summary": "User: engineer"}
    assert loaded.problems == (
        "~/.geode/user_profile/preferences.json is not valid JSON",
        "~/.geode/user_profile/career.toml is not valid TOML",
        ".geode/user_profile/preferences.json holds no JSON object",
    )
    assert loaded.files == ("~/.geode/user_profile/profile.md", ".geode/user_profile/career.toml")


@pytest.mark.parametrize("depth", [50_000])
def test_nesting_without_end_is_told(places: Places, write: Write, depth: int) -> None:
    write("home/.geode/user_profile/preferences.json", "[" * depth)
    write("home/.geode/user_profile/career.toml", "a = " + "[" * depth)
    assert [problem.rpartition(" is ")[2] for problem in load_profile(places.person, places.geode).problems] == [
        "not valid JSON",
        "not valid TOML",
    ]


# -- organization -----------------------------------------------------------------------------------------------------
def test_a_fixture_is_found_by_its_name_or_by_the_subject_in_it(places: Places, write: Write) -> None:
    write("fixtures/geode.json", '{"organization_strategy": "tools"}')
    write("fixtures/other.json", '{"subject": {"name": "Atlas"}, "organization_strategy": "maps"}')
    assert load_organization(places.fixtures, "GEODE").values == {"organization_strategy": "tools"}
    assert load_organization(places.fixtures, "atlas").files == ("fixtures/other.json",)
    assert load_organization(places.fixtures, "other") == Loaded()
    assert load_organization(None, "geode") == Loaded()
    assert load_organization(places.fixtures, "") == Loaded()


def test_a_broken_fixture_does_not_hide_the_next_one(places: Places, write: Write) -> None:
    write("fixtures/a.json", "{")
    write("fixtures/geode.json", '{"a": 1, "subject": "text"}')
    loaded = load_organization(places.fixtures, "geode")
    assert loaded == Loaded(
        {"a": 1, "subject": "text"}, ("fixtures/geode.json",), ("fixtures/a.json is not valid JSON",)
    )


# -- project ----------------------------------------------------------------------------------------------------------
def test_the_project_is_its_memory_and_the_rules_for_the_subject(places: Places, write: Write) -> None:
    write("project/.geode/memory/PROJECT.md", "---\nproject_goal: ship\n_soul: no\n---\n# P\n" + "x\n" * 300)
    write("home/.geode/rules/style.md", "the person's")
    write("home/.geode/rules/all.md", "for all")
    write("project/.geode/rules/style.md", "---\npaths:\n  - '*geo*'\n---\nthe project's")
    write("project/.geode/rules/atlas.md", "---\npaths:\n  - atlas/*\n---\nnot for this one")
    write("project/.geode/rules/empty.md", "---\nname: x\n---\n")
    values = load_project(places.geode, places.person, "Geode").values
    assert values["project_goal"] == "ship"
    assert "_soul" not in values
    assert len(values["memory"].split("\n")) == PROJECT_LINES
    assert values["rules"] == [
        {"name": "all", "paths": [], "content": "for all"},
        {"name": "style", "paths": ["*geo*"], "content": "the project's"},
    ]


def test_the_persons_general_memory_stands_in_for_a_missing_or_broken_one(places: Places, write: Write) -> None:
    assert load_project(places.geode, places.person, "x") == Loaded()
    write("home/.geode/memory/PROJECT.md", "general")
    assert load_project(places.geode, places.person, "x").values["memory"] == "general"
    write("project/.geode/memory/PROJECT.md", "y" * (MOST_BYTES + 1))
    loaded = load_project(places.geode, places.person, "x")
    assert loaded.values["memory"] == "general"
    assert loaded.problems == (".geode/memory/PROJECT.md is larger than 256 KiB",)


def test_more_rules_than_are_read_are_told(places: Places, write: Write) -> None:
    for number in range(MOST_FILES + 1):
        write(f"project/.geode/rules/r{number:03}.md", "a rule")
    loaded = load_project(places.geode, places.person, "x")
    assert len(loaded.values["rules"]) == MOST_FILES
    assert loaded.problems == (".geode/rules has more than 64 files: the rest is left",)


# -- session ----------------------------------------------------------------------------------------------------------
class Clock:
    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


def test_what_is_kept_for_a_session_outlives_the_store_but_not_its_time(places: Places) -> None:
    clock = Clock()
    SessionStore(clock, places.geode).keep("s-1", {"a": "", "previous_results": ["x"]})
    clock.now += TTL_S - 1
    loaded = SessionStore(clock, places.geode).load("s-1")
    assert loaded == Loaded({"a": "", "previous_results": ["x"]}, (f".geode/{FOLDER}/sess-s-1.json",))
    clock.now += 1
    assert SessionStore(clock, places.geode).load("s-1") == Loaded()


def test_a_store_without_a_folder_keeps_in_memory_and_not_without_end(places: Places) -> None:
    clock = Clock()
    store = SessionStore(clock)
    for number in range(MOST_SESSIONS + 1):
        store.keep(f"s-{number}", {"n": number})
    assert store.load("s-0") == Loaded()
    assert store.load(f"s-{MOST_SESSIONS}").values == {"n": MOST_SESSIONS}
    clock.now += TTL_S
    assert store.load(f"s-{MOST_SESSIONS}") == Loaded()
    assert places.geode.folders("") == []


@pytest.mark.parametrize("session_id", ["../../etc/passwd", "/etc/passwd", "a\0b", "C:\\x", "．．／x", "a" * 5_000, ""])
def test_no_id_of_a_session_leads_out_of_its_folder(places: Places, session_id: str) -> None:
    store = SessionStore(Clock(), places.geode)
    store.keep(session_id, {"a": 1})
    assert SessionStore(Clock(), places.geode).load(session_id).values == {"a": 1}
    assert places.geode.files(FOLDER) == [file_name(session_id)]


def test_two_ids_with_one_file_are_two_sessions(places: Places) -> None:
    SessionStore(Clock(), places.geode).keep("a/b", {"a": 1})
    assert SessionStore(Clock(), places.geode).load("a_b") == Loaded()


def test_a_file_that_is_no_record_is_told(places: Places, write: Write) -> None:
    write(f"project/.geode/{FOLDER}/sess-s-1.json", msgspec.json.encode({"session_id": "s-1", "data": 7}).decode())
    assert SessionStore(Clock(), places.geode).load("s-1") == Loaded(
        problems=(f".geode/{FOLDER}/sess-s-1.json is no record of a session",)
    )


def test_what_is_too_large_or_cannot_be_written_is_refused(places: Places, write: Write) -> None:
    with pytest.raises(ValueError, match="at most 256 KiB"):
        SessionStore(Clock(), places.geode).keep("s-1", {"a": "x" * MOST_BYTES})
    write("project/.geode/memory", "a file")
    with pytest.raises(Unusable, match="no folder"):
        SessionStore(Clock(), places.geode).keep("s-1", {"a": 1})
