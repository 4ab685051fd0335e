"""Where the project is, and where the person's files live."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from geode_tui.core.settings import SettingsError, guarded_hash
from geode_tui.paths import Project, find_project, load_settings, project_at, read_toml, user_folders


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = (tmp_path / "home").resolve()
    folder.mkdir()
    return folder


def folder(path: Path, *marks: str) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for mark in marks:
        target = path / mark
        target.parent.mkdir(parents=True, exist_ok=True)
        target.mkdir() if mark == ".git" else target.touch()
    return path


def test_the_git_root_is_the_project(home: Path) -> None:
    root = folder(home / "code", ".git")
    assert find_project(folder(root / "src" / "deep"), home).root == root


def test_the_nearest_folder_with_a_store_or_settings_wins_below_the_git_root(home: Path) -> None:
    root = folder(home / "code", ".git", ".geode/config.toml")
    inner = folder(root / "inner", ".geode/sessions.db")
    assert find_project(folder(inner / "src"), home).root == inner
    assert find_project(folder(root / "other"), home).root == root


def test_nothing_above_the_git_root_is_looked_at(home: Path) -> None:
    folder(home / "code", ".geode/config.toml")
    root = folder(home / "code" / "repo", ".git")
    assert find_project(folder(root / "src"), home).root == root


def test_an_empty_geode_folder_is_no_project(home: Path) -> None:
    folder(home / "code" / ".geode")
    start = folder(home / "code" / "src")
    assert find_project(start, home).root == start


def test_the_home_folder_is_never_a_project_even_with_a_store_or_git_in_it(home: Path) -> None:
    folder(home, ".git", ".geode/sessions.db")
    start = folder(home / "notes")
    assert find_project(start, home) == Project(start)
    assert find_project(home, home) == Project(home, at_home=True)


def test_links_are_resolved_first(home: Path) -> None:
    root = folder(home / "code", ".git")
    link = home / "link"
    link.symlink_to(root)
    assert find_project(link, home).root == root


def test_the_persons_folders_can_be_put_under_one(tmp_path: Path) -> None:
    folders = user_folders({"GEODE_TUI_HOME": str(tmp_path)})
    assert folders.settings_file == tmp_path / "config" / "config.toml"
    assert folders.usage == tmp_path / "data" / "usage"
    assert folders.logs == tmp_path / "state" / "logs"


def test_settings_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    bad = tmp_path / "config.toml"
    assert read_toml(bad) == {}
    for data in (b"model = ", b"\xff\xfe", b"a = 1\na = 2"):
        bad.write_bytes(data)
        with pytest.raises(SettingsError, match=r"config\.toml"):
            read_toml(bad)


def test_a_projects_guarded_settings_count_once_trusted_and_no_longer_when_they_change(tmp_path: Path) -> None:
    project = Project(folder(tmp_path / "code", ".geode/config.toml"))
    folders = user_folders({"GEODE_TUI_HOME": str(tmp_path / "me")})
    project.settings_file.write_text('approve = "all"\nmodel = "m"\n')

    ignored = load_settings(project, folders, {}, {})
    assert (ignored.settings.approve, ignored.settings.model) == ("ask", "m")
    assert len(ignored.ignored) == 1

    folders.trust_file.parent.mkdir(parents=True)
    folders.trust_file.write_bytes(msgspec.json.encode({str(project.root): guarded_hash({"approve": "all"})}))
    assert load_settings(project, folders, {}, {}).settings.approve == "all"

    project.settings_file.write_text('approve = "all"\n[limits]\ncost_usd = 99\n')
    assert load_settings(project, folders, {}, {}).settings.approve == "ask"


def test_a_damaged_trust_file_trusts_nothing(tmp_path: Path) -> None:
    project = Project(folder(tmp_path / "code", ".geode/config.toml"))
    project.settings_file.write_text('approve = "all"\n')
    folders = user_folders({"GEODE_TUI_HOME": str(tmp_path)})
    folders.trust_file.parent.mkdir(parents=True)
    folders.trust_file.write_text("[]")
    assert load_settings(project, folders, {}, {}).settings.approve == "ask"


def test_flags_win_and_those_not_given_say_nothing(tmp_path: Path) -> None:
    project = Project(folder(tmp_path / "code"))
    folders = user_folders({"GEODE_TUI_HOME": str(tmp_path)})
    found = load_settings(project, folders, {"GEODE_MODEL": "env"}, {"model": "flag", "approve": None})
    assert (found.settings.model, found.origins) == ("flag", {"model": "flags"})


def test_runs_in_the_home_folder_are_kept_in_a_folder_of_our_own(tmp_path: Path) -> None:
    home, kept = folder(tmp_path / "home"), tmp_path / "kept"
    assert find_project(home, home, kept).geode == kept
    assert project_at(home, home, kept).store == kept / "sessions.db"
    assert find_project(folder(home / "code"), home, kept).geode == home / "code" / ".geode"
