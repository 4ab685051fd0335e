"""Which project's runs a command speaks of."""

from __future__ import annotations

from pathlib import Path

import psutil

from geode_tui.log.lease import lock_path, probe
from tests.cli.place import Place, until


def start(place: Place, folder: Path, prompt: str) -> str:
    """A run in a project of its own; its worker is ended with the place at the latest. The session's id."""
    (folder / ".git").mkdir(parents=True)
    done = place.cli("run", prompt, "--provider", "offline", "--approve", "reads", "--json", cwd=folder)
    assert done.status == 0
    session_id = str(done.events[0]["session_id"])
    place.on_close(lambda: end_worker(folder, session_id))
    return session_id


def end_worker(folder: Path, session_id: str) -> None:
    lock = lock_path(folder / ".geode", session_id)
    if probe(lock).state != "free":
        psutil.Process(probe(lock).pid).kill()
        until(lambda: probe(lock).state == "free", "the worker's end")


def test_b075_projects_whose_paths_look_alike_have_their_own_runs(place: Place) -> None:
    """``client/app`` and ``client-app`` are one name to a program that flattens paths."""
    folders = [place.root / "client/app", place.root / "client-app"]
    sessions = [start(place, folder, f"hello {folder.name}") for folder in folders]
    for folder, own, other in zip(folders, sessions, reversed(sessions), strict=True):
        assert [row["session_id"] for row in place.cli("sessions", "--json", cwd=folder).json] == [own]
        refused = place.cli("status", other, cwd=folder)
        assert (refused.status, "there is no session" in refused.line) == (2, True)


def test_b077_a_project_that_was_moved_is_found_from_its_old_and_its_new_path(place: Place, tmp_path: Path) -> None:
    old, new = tmp_path / "p", tmp_path / "q"
    session_id = start(place, old, "hello")
    end_worker(old, session_id)
    old.rename(new)
    old.symlink_to(new)
    for turn, folder in enumerate((old, new), 2):
        done = place.cli("resume", session_id, "--json", cwd=folder)
        assert (done.status, done.events[-1]["event"], done.events[-1]["turn"]) == (0, "turn_completed", turn)
        assert [row["turns"] for row in place.cli("sessions", "--json", cwd=folder).json] == [turn]
        assert place.cli("status", "--json", cwd=folder).json["workers"][0]["session_id"] == session_id
