"""`doctor`: what works and what to do about what does not."""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from geode_tui.cli import check_files, checks
from geode_tui.cli.checks import Check
from geode_tui.core import tokens
from geode_tui.log.lease import Lease, LeaseNote, lock_path
from geode_tui.log.store import create, transaction
from geode_tui.paths import Project, UserFolders
from geode_tui.tui.themes import shipped_folder
from tests.cli.conftest import Here
from tests.cli.place import Finished, Place

ROSE = (shipped_folder() / "rose.toml").read_text(encoding="utf-8")


def found(done: Finished) -> dict[str, Check]:
    """The checks of a report by name; the report agrees with them and with the exit status."""
    report = done.json
    assert report["ok"] == all(check["ok"] for check in report["checks"])
    assert done.status == (0 if report["ok"] else 1)
    assert all(set(check) == {"name", "ok", "detail", "remedy"} for check in report["checks"])
    return {check["name"]: Check(**check) for check in report["checks"]}


def bad(done: Finished) -> dict[str, Check]:
    return {name: check for name, check in found(done).items() if not check.ok}


@pytest.fixture
def log(place: Place) -> Iterator[Place]:
    """A place with an empty log, which a test may damage."""
    create(place.store).close()
    yield place
    place.store.unlink()


def test_an_empty_place_is_in_order(here: Here) -> None:
    done = here("doctor", "--json")
    assert bad(done) == {}
    assert found(done)["log"].detail == "none yet: the first run makes it"
    assert found(done)["model"].detail == "offline-planner (offline/adapter)"


def test_it_makes_nothing(place: Place, here: Here) -> None:
    here("doctor")
    assert [*place.root.iterdir(), *place.home.iterdir()] == []


def test_a_log_is_looked_into(log: Place, here: Here) -> None:
    seen = found(here("doctor", "--json"))
    assert str(log.store) in seen["log"].detail
    assert "schema 3, 0 sessions" in seen["log"].detail
    assert seen["integrity"].detail.startswith("no fault found (")
    assert seen["permissions"].ok


def test_a_damaged_log_is_told(log: Place, here: Here) -> None:
    log.store.write_bytes(b"no database" * 100)
    seen = bad(here("doctor", "--json"))
    assert set(seen) == {"log"}
    assert "is damaged" in seen["log"].detail
    assert "move it aside" in (seen["log"].remedy or "")


def test_a_fault_inside_the_log_is_found(log: Place, here: Here) -> None:
    db = create(log.store)
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_master SET rootpage = 2 WHERE name = 'events'")
    db.close()
    seen = bad(here("doctor", "--json"))
    assert set(seen) & {"log", "integrity"}


def test_a_log_that_takes_too_long_is_checked_in_part(log: Place) -> None:
    db = create(log.store)
    with transaction(db):
        db.execute(
            "CREATE TABLE filler AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000)"
            " SELECT i, hex(randomblob(40)) AS body FROM n"
        )
        db.execute("CREATE INDEX filler_body ON filler(body)")
    db.close()
    checked = {check.name: check for check in check_files.store(Project(log.root), bound_s=0.0)}
    assert checked["integrity"] == Check("integrity", True, "no fault found in 0.0 s; the rest was not looked at")


def test_a_log_that_others_can_read_is_told_with_the_command_that_helps(log: Place, here: Here) -> None:
    log.store.chmod(0o644)
    assert bad(here("doctor", "--json"))["permissions"].remedy == f"chmod 600 {log.store}"
    log.geode.chmod(0o755)
    assert bad(here("doctor", "--json"))["permissions"].remedy == f"chmod 700 {log.geode}"


def test_a_log_of_a_newer_program_is_told(log: Place, here: Here) -> None:
    db = create(log.store)
    db.execute("PRAGMA user_version = 999")
    db.close()
    assert bad(here("doctor", "--json"))["log"].remedy == "update geode-tui"


def test_a_file_in_the_log_s_place_is_told(place: Place, here: Here) -> None:
    place.geode.write_text("")
    assert str(place.geode) in bad(here("doctor", "--json"))["project"].detail


def test_in_the_home_folder_it_says_what_is_allowed(place: Place, here: Here) -> None:
    seen = found(here("doctor", "--json", cwd=place.home))["project"]
    assert "only reading tools" in seen.detail
    assert seen.remedy == "start in a project"


def test_a_worker_that_answers_is_fine_and_one_that_does_not_is_told(log: Place, here: Here) -> None:
    path = lock_path(log.geode, "s-1")
    lease = Lease(path, LeaseNote(pid=4711))
    try:
        assert found(here("doctor", "--json"))["worker"].detail == "4711 serves s-1"
        os.utime(path, (time.time() - 60,) * 2)
        seen = bad(here("doctor", "--json"))["worker"]
        assert "4711 serves s-1 and has not answered for 1:0" in seen.detail
        assert seen.remedy == "geode-tui resume s-1 --take-over ends it and goes on"
    finally:
        lease.release()


def test_a_key_is_never_shown(here: Here) -> None:
    key = "sk-ant-abcdefghijklmnop"
    url = f"https://user:{key}@proxy.example:8443/v1?token={key}"
    for arguments in (("doctor",), ("doctor", "--json")):
        done = here(*arguments, env={"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": url})
        assert "ANTHROPIC_API_KEY is set" in done.out
        assert "https://proxy.example:8443" in done.out
        assert "abcdefgh" not in done.out + done.err


@pytest.mark.parametrize(
    ("url", "ok", "detail"),
    [
        ("https://host.example", True, "https://host.example"),
        ("http://127.0.0.1:8080", True, "http://127.0.0.1:8080, on this machine: its money is simulated"),
        ("http://host.example", False, "http://host.example: the key would travel unencrypted"),
        ("host.example", False, "ANTHROPIC_BASE_URL is no URL of a server"),
        ("https://host:port", False, "ANTHROPIC_BASE_URL is no URL of a server"),
        ("https://[::1", False, "ANTHROPIC_BASE_URL is no URL of a server"),
    ],
)
def test_an_endpoint_is_judged_without_asking_it(url: str, ok: bool, detail: str) -> None:
    check = checks.endpoint("anthropic", "ANTHROPIC_BASE_URL", url)
    assert (check.name, check.ok, check.detail) == ("anthropic endpoint", ok, detail)


def test_the_tokeniser_is_bundled_or_says_what_to_do(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "bundled" in found(here("doctor", "--json"))["tokeniser"].detail
    monkeypatch.setitem(tokens._HASHES, "o200k_base", "0" * 64)
    check = checks.tokeniser()
    assert (check.ok, check.remedy) == (False, "install geode-tui again")


def test_a_provider_that_cannot_answer_is_told(here: Here) -> None:
    model = bad(here("doctor", "--json", env={"GEODE_PROVIDER": "anthropic"}))["model"]
    assert "needs a key in ANTHROPIC_API_KEY" in model.detail
    model = bad(here("doctor", "--json", env={"GEODE_MODEL": "claude-opus-4-1"}))["model"]
    assert "claude-opus-5-5" in model.detail


def test_every_service_says_what_it_needs(here: Here) -> None:
    seen = found(here("doctor", "--json", env={"OPENROUTER_API_KEY": "k", "GEODE_LOCAL_URL": "http://127.0.0.1:1/v1"}))
    assert seen["openrouter"].detail == "OPENROUTER_API_KEY is set"
    assert seen["glm"].remedy is not None
    assert "ZAI_API_KEY" in seen["glm"].remedy
    assert seen["codex"].remedy is not None
    assert "config set codex_login yes" in seen["codex"].remedy
    assert seen["local"].remedy == ("http://127.0.0.1:1/v1 does not answer: start one, or name it in GEODE_LOCAL_URL")


def test_settings_name_their_source_and_what_is_ignored_and_why(place: Place, here: Here) -> None:
    place.geode.mkdir()
    (place.geode / "config.toml").write_text('language = "ko"\napprove = "all"\n')
    seen = found(here("doctor", "--json", env={"GEODE_THEME": "rose"}))
    assert seen["setting theme"].detail == '"rose" from GEODE_THEME'
    assert seen["setting language"].detail == f'"ko" from {place.geode / "config.toml"}'
    assert "until you trust this folder" in seen["setting ignored"].detail
    assert seen["trust"].remedy is not None
    assert here("trust").status == 0
    seen = found(here("doctor", "--json"))
    assert "setting ignored" not in seen
    assert seen["setting approve"].detail.startswith('"all"')
    assert seen["trust"].detail == f"given to {place.root}"


def test_settings_that_cannot_be_used_do_not_stop_the_other_checks(place: Place, here: Here) -> None:
    place.geode.mkdir()
    (place.geode / "config.toml").write_text("theme = 3\n")
    done = here("doctor", "--json")
    assert str(place.geode / "config.toml") in bad(done)["settings"].detail
    assert {"python", "model", "git"} <= set(found(done))


def test_a_bad_theme_file_and_a_theme_that_is_not_there_are_told(place: Place, here: Here) -> None:
    folder = place.home / "own" / "config" / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(ROSE.replace("#1c1418", "dark"))
    done = here("doctor", "--json")
    assert bad(done)["theme file"].remedy == f"correct {folder / 'mine.toml'}"
    done = here("doctor", "--json", env={"GEODE_THEME": "mine"})
    assert bad(done)["themes"].detail == "there is no theme mine; another is shown"
    (folder / "mine.toml").write_text(ROSE.replace("#1c1418", "#f7ebe9"))
    done = here("doctor", "--json", env={"GEODE_THEME": "mine"})
    assert bad(done) == {}
    assert "has contrast" in found(done)["theme file"].detail


def test_a_folder_of_one_s_own_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    seen = check_files.folders(UserFolders(tmp_path / "file" / "x", tmp_path, tmp_path / "new" / "deep"))
    assert [c.ok for c in seen] == [False, True, True]
    assert str(tmp_path / "file") in (seen[0].remedy or "")
    assert seen[2].detail.endswith("made when it is needed")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("environment", "size", "encoding", "bad_names", "texts"),
    [
        ({}, None, "utf-8", [], ["none here"]),
        ({}, (80, 24), "utf-8", ["terminal"], ["TERM is not set"]),
        ({"TERM": "dumb"}, (80, 24), "utf-8", ["terminal"], ["TERM is dumb"]),
        ({"TERM": "xterm-256color"}, (80, 24), "utf-8", [], ["xterm-256color", "256", "80x24", "utf-8"]),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, (80, 24), "UTF-8", [], ["24 bit"]),
        ({"TERM": "xterm", "NO_COLOR": "1"}, (80, 24), "utf-8", [], ["NO_COLOR is set"]),
        ({"TERM": "xterm"}, (39, 12), "utf-8", [], ["39x12", "from 40x12 on"]),
        ({"TERM": "xterm"}, (19, 12), "utf-8", ["size"], ["too small", "make it 40x12"]),
        ({"TERM": "xterm"}, (80, 24), "ascii", [], ["ASCII glyphs are used", "export LANG=C.UTF-8"]),
        ({"TERM": "linux"}, (80, 24), "utf-8", [], ["Linux console"]),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x"}, (80, 24), "utf-8", [], ["inside tmux", "escape-time"]),
    ],
)
def test_the_terminal_is_judged_by_what_it_says_of_itself(
    environment: dict[str, str], size: tuple[int, int] | None, encoding: str, bad_names: list[str], texts: list[str]
) -> None:
    seen = checks.terminal(environment, size, encoding)
    assert [c.name for c in seen if not c.ok] == bad_names
    said = " ".join(f"{c.detail} {c.remedy or ''}" for c in seen)
    assert all(text in said for text in texts), said


def test_versions_that_are_not_the_right_ones_are_told() -> None:
    assert all(c.ok for c in checks.versions("1", "3.11.7", checks.TEXTUAL, "3.54.1"))
    wrong = {c.name: c for c in checks.versions("1", "3.11.7", "6.0.0", "3.40.1") if not c.ok}
    assert set(wrong) == {"textual", "sqlite"}
    assert all(c.remedy for c in wrong.values())


def test_the_version_of_textual_is_the_one_that_is_pinned() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"textual=={checks.TEXTUAL}" in project["project"]["dependencies"]


def test_for_people_each_check_is_an_aligned_line_with_what_to_do_below(here: Here) -> None:
    done = here("doctor", env={"ANTHROPIC_BASE_URL": "nowhere"})
    assert done.status == 1
    lines = done.out.splitlines()
    (at,) = (number for number, line in enumerate(lines) if line.startswith(" !"))
    column = lines[at].index("ANTHROPIC_BASE_URL is no URL")
    assert lines[at + 1][:column].strip() == ""
    assert lines[at + 1][column:].startswith("set ANTHROPIC_BASE_URL to")
    assert lines[-1].startswith("1 of ")
    assert all(line[column - 1] == " " != line[column] for line in lines[:-1])
