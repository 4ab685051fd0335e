"""`context --tiers`: each tier, what won and why, and what a broken one says."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.core.settings import Layer, resolve
from geode_tui.core.strings import Strings
from geode_tui.log.views import Artifact, keep_artifact
from geode_tui.paths import Project
from tests.cli.conftest import Here
from tests.cli.place import Place
from tests.log.stores import SESSION, commit, open_writer
from tests.tui import hostile

FIELDS = {
    "session_id", "subject_id", "assembled_at", "llm_summary", "long_context_summary", "tiers", "additions", "values",
}  # fmt: skip
KEY, TOKEN = "sk-ant-" + "a1b2c3d4" * 4, "ghp_" + "a1b2c3d4" * 5


@pytest.fixture
def run(place: Place) -> Place:
    """A place with a run in its log, a dream of it, and something in two tiers."""
    writer = open_writer(place.store)
    commit(writer, lambda tx: keep_artifact(tx, SESSION, Artifact("a", "dream", "use release", 1, 4)))
    writer.close()
    write(place.root / "GEODE.md", "# G\nHelp people.\n")
    write(place.geode / "memory/PROJECT.md", "---\ntone: dry\nproject_goal: ship\n---\nwhat is known\n")
    write(place.geode / "memory/sessions/sess-s-1.json", '{"session_id":"s-1","data":{"tone":""},"created_at":9e9}')
    write(place.home / ".geode/user_profile/profile.md", "---\nrole: engineer\n---\n")
    return place


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_person_is_told_what_won_and_why(run: Place, here: Here) -> None:
    shown = here("context", SESSION, "--tiers")
    assert shown.status == 0
    lines = shown.out.splitlines()
    assert lines[0].startswith("None of this is sent to the model")
    assert "0 identity  read  GEODE.md" in lines
    assert "0.5 user profile  read  ~/.geode/user_profile/profile.md" in lines
    assert "1 organization  nothing there" in lines
    assert "  tone  replaced by that of session" in lines
    assert "  project_goal  used  ship" in lines
    assert "  rules  empty: left out" in lines
    assert "  tone  used in place of that of project" in lines
    assert "  _long_context_summary  dream seq=1-4: use release" in lines
    assert lines[-1] == (
        "Mission: Help people. | User: engineer | Project: ship | Long context: dream seq=1-4: use release"
    )


def test_a_program_is_told_everything_and_nothing_is_written(run: Place, here: Here) -> None:
    before = files_of(run.root.parent)
    shown = here("context", SESSION, "--tiers", "--json")
    after = files_of(run.root.parent)
    assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} <= {
        run.geode / f"sessions.db{ending}" for ending in ("-wal", "-shm")
    }
    assert shown.status == 0
    report = shown.json
    assert report.keys() == FIELDS
    assert report["subject_id"] == "project"
    assert [(one["tier"], one["name"], one["loaded"]) for one in report["tiers"]] == [
        ("0", "identity", True),
        ("0.5", "profile", True),
        ("1", "organization", False),
        ("2", "project", True),
        ("3", "session", True),
    ]
    assert {"key": "tone", "state": "replaced", "other": "session"} in report["tiers"][3]["keys"]
    assert report["values"]["tone"] == ""
    assert report["values"]["_project_loaded"] is True
    assert report["long_context_summary"] == "dream seq=1-4: use release"


def test_a_broken_tier_says_so_in_one_line_and_the_rest_is_told(run: Place, here: Here) -> None:
    (run.root / "GEODE.md").unlink()
    (run.root / "GEODE.md").symlink_to("/etc/passwd")
    write(run.home / ".geode/user_profile/preferences.json", "{")
    shown = here("context", SESSION, "--tiers")
    assert shown.status == 0
    lines = shown.out.splitlines()
    at = lines.index("0 identity  cannot be read")
    assert lines[at + 1] == "GEODE.md is a link, which is not followed"
    assert "~/.geode/user_profile/preferences.json is not valid JSON" in lines
    assert "root:" not in shown.out


def test_an_organizations_folder_is_the_persons_to_name(run: Place, here: Here, tmp_path: Path) -> None:
    write(tmp_path / "org/project.json", '{"organization_strategy": "tools"}')
    setting = f'organization_fixture_dir = "{tmp_path / "org"}"\n'
    write(run.geode / "config.toml", setting)
    assert here("context", SESSION, "--tiers", "--json").json["values"]["_org_loaded"] is False
    (run.geode / "config.toml").unlink()
    write(run.home / "own/config/config.toml", setting)
    shown = here("context", SESSION, "--tiers", "--json").json
    assert shown["values"]["organization_strategy"] == "tools"
    assert "Org: tools" in shown["llm_summary"]


def test_a_project_cannot_name_that_folder() -> None:
    found = resolve((Layer("p", {"organization_fixture_dir": "/"}),), project="p")
    assert found.settings.organization_fixture_dir == ""
    assert found.ignored == ("organization_fixture_dir in p is ignored: it counts only in your own settings",)


def test_another_home_of_the_persons_memory(run: Place, here: Here, tmp_path: Path) -> None:
    write(tmp_path / "other/user_profile/profile.md", "---\nrole: pilot\n---\n")
    shown = here("context", SESSION, "--tiers", "--json", env={"GEODE_HOME": str(tmp_path / "other")})
    assert shown.json["values"]["_user_profile_summary"] == "User: pilot"


def test_the_tiers_of_a_round_are_not_kept(run: Place, here: Here) -> None:
    asked = here("context", SESSION, "--tiers", "--round", "3")
    assert asked.status == 2
    assert "give --tiers or --round, not both" in asked.line


@pytest.mark.parametrize("language", ["en", "ko"])
def test_what_the_files_say_is_inert_and_without_secrets(run: Place, here: Here, language: str) -> None:
    evil = hostile.HOSTILE.replace("\0", "")
    write(run.root / "GEODE.md", f"a key {TOKEN} {evil}")
    write(run.geode / "memory/PROJECT.md", f"---\n{evil}: x\nproject_goal: {'x' * 45} {TOKEN}\n---\n{evil} {KEY}")
    for json in ((), ("--json",)):
        shown = here("context", SESSION, "--tiers", *json, env={"GEODE_LANG": language})
        assert shown.status == 0
        assert not [part for part in ("sk-ant", "ghp_") if part in shown.out]
        assert not [char for char in shown.out if unicodedata.category(char) == "Cc" and char not in "\n\t"]
        assert not [never for never in hostile.NEVER if never in shown.out.encode()]


def test_the_screen_is_told_the_same(run: Place) -> None:
    env = Env(run.root, run.environment)
    pairs = StoreSource(env, SESSION).tiers(Strings("ko"))
    assert pairs[0][1].startswith("모델에는 보내지 않습니다")
    assert ("0 정체성", "읽음  GEODE.md") in pairs
    assert ("  tone", "세션 값으로 바뀜") in pairs
    home = Env(run.root, run.environment, project=Project(run.home, at_home=True, kept=run.geode))
    assert ("0 정체성", "없음") in StoreSource(home, SESSION).tiers(Strings("ko"))
