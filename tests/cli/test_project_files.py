"""The paths that the composer offers."""

from __future__ import annotations

from pathlib import Path

from geode_tui.cli import dashboard


def test_they_are_the_projects_files_without_what_git_ignores(tmp_path: Path) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "build/d.o", "src/e.log", ".git/config", ".geode/sessions.db"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    (tmp_path / "link.py").symlink_to(tmp_path / "a.py")
    assert set(dashboard.project_files(tmp_path)) == {".gitignore", "a.py", "src/b.py", "src/deep/c.py"}


def test_there_are_only_so_many(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.txt").write_text("")
    assert len(dashboard.project_files(tmp_path, most=7)) == 7
