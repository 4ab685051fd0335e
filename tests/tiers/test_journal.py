"""The project's journal and vault: they only grow, within bounds, and whoever else writes at the same time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from geode_tui.memory import journal, vault
from geode_tui.memory.assembler import Places
from geode_tui.memory.files import Unusable
from geode_tui.memory.journal import RunRecord, age, learn, load_journal, recent_runs, record_run
from geode_tui.memory.loading import Asked, Loaded
from geode_tui.memory.notes import MOST_LEARNED
from geode_tui.memory.vault import load_vault, save, slug
from tests.tiers.conftest import Write

NOW = 1_790_000_000.0
ASKED = Asked("s-1", "geode", NOW)
DAY = "2026-12-01"


def run(number: int, ts: float = NOW) -> RunRecord:
    return RunRecord(ts, f"s-{number}", "research", f"run {number}", "natural")


def test_the_last_runs_are_told_with_their_age(places: Places) -> None:
    for number, past in enumerate((9e6, 200_000.0, 7_300.0, 59.0)):
        record_run(places.geode, run(number, NOW - past))
    loaded = load_journal(places.geode, ASKED)
    assert loaded.values == {"_journal_summary": "Project history: run 1 (2d ago) | run 2 (2h ago) | run 3 (now)"}
    assert loaded.files == (".geode/journal/runs.jsonl",)


def test_a_run_is_one_line_of_its_known_fields(places: Places) -> None:
    record_run(places.geode, RunRecord(1.0, "s", "t", "two\nlines " + "가" * 999, "ok", cost=0.25, meta={"a": 1}))
    (line,) = (places.geode.path / "journal/runs.jsonl").read_text(encoding="utf-8").splitlines()
    assert line.startswith('{"ts":1.0,"sid":"s","type":"t","summary":"two lines 가가')
    assert line.endswith('가","status":"ok","cost":0.25,"meta":{"a":1}}')
    with pytest.raises(ValueError, match="at most 1024 bytes"):
        record_run(places.geode, RunRecord(1.0, "s", "t", "x", "ok", meta={"a": "x" * 1_024}))


def test_lines_that_are_no_runs_are_counted_and_passed_over(places: Places, write: Write) -> None:
    record_run(places.geode, run(1))
    path = places.geode.path / "journal/runs.jsonl"
    with path.open("ab") as file:
        file.write(b'{"half": \n\xff\xfe\n[]\n{"ts": 1}\n' + b"[" * 9_000)
    record_run(places.geode, run(2))
    runs, skipped = recent_runs(places.geode)
    assert ([one.summary for one in runs], skipped) == (["run 1", "run 2"], 5)
    loaded = load_journal(places.geode, ASKED)
    assert "run 1" in loaded.values["_journal_summary"]
    assert loaded.problems == (".geode/journal/runs.jsonl has 5 lines that cannot be read",)


def test_what_was_learned_is_told_the_newest_last_and_noted_once(places: Places) -> None:
    for number in range(7):
        assert learn(places.geode, f"pattern {number}", "domain", DAY)
    assert not learn(places.geode, "PATTERN  3", "other", DAY)
    told = load_journal(places.geode, ASKED).values["_journal_learned"]
    assert told == "pattern 2 | pattern 3 | pattern 4 | pattern 5 | pattern 6"


def test_long_patterns_do_not_push_each_other_out_before_their_number_does(places: Places) -> None:
    for number in range(MOST_LEARNED + 2):
        assert learn(places.geode, f"{number:03}" + "가" * 497, "도메인", DAY)
    lines = (places.geode.path / "journal/learned.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) == MOST_LEARNED
    assert lines[0].startswith("- [도메인] 002")


def test_writers_at_the_same_time_lose_nothing(places: Places) -> None:
    code = (
        "import sys; from pathlib import Path; from geode_tui.memory.files import Folder\n"
        "from geode_tui.memory.journal import RunRecord, learn, record_run; from geode_tui.memory.vault import save\n"
        "folder, who = Folder(Path(sys.argv[1]), '.geode'), sys.argv[2]\n"
        "for n in range(20):\n"
        "    record_run(folder, RunRecord(1.0, who, 't', f'{who} {n}', 'ok'))\n"
        "    learn(folder, f'{who} pattern {n}', 'general', '2026-12-01')\n"
        "    save(folder, 'report.md', f'{who} {n}', '2026-12-01')\n"
    )
    root = Path(journal.__file__).parents[2]
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(places.geode.path), who], cwd=root) for who in ("a", "b", "c")
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    expected = {f"{who} {n}" for who in "abc" for n in range(20)}
    runs, skipped = recent_runs(places.geode, most=1_000)
    assert (len(runs), skipped, {one.summary for one in runs}) == (60, 0, expected)
    assert len((places.geode.path / "journal/learned.md").read_text().splitlines()) == 60
    kept = places.geode.path / "vault/general"
    assert {path.read_text() for path in kept.glob("*.md")} == expected


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "now"), (59, "now"), (60, "1m ago"), (3_599, "59m ago"), (3_600, "1h ago"), (1e6, "11d ago")],
)
def test_ages(seconds: float, said: str) -> None:
    assert age(seconds) == said


# -- vault ------------------------------------------------------------------------------------------------------------
def test_a_text_is_kept_and_none_is_replaced(places: Places) -> None:
    assert (
        save(places.geode, "Signal Report.md", "one", DAY, "research") == "vault/research/signal-report-2026-12-01.md"
    )
    second = save(places.geode, "Signal Report.md", "two", DAY, "research")
    assert second == "vault/research/signal-report-2026-12-01-v2.md"
    assert places.geode.text("vault/research/signal-report-2026-12-01.md") == "one"
    to = save(places.geode, "지원서.txt", "three", DAY, "applications", to="Acme Corp.")
    assert to == "vault/applications/acme-corp/지원서-2026-12-01.txt"


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..", "a\0b.md", ".hidden", "x" * 5_000, "C:\\x", ""]
)
def test_no_name_leads_out_of_the_vault(places: Places, name: str) -> None:
    kept = save(places.geode, name, "text", DAY, "applications", to=name)
    assert places.geode.text(kept) == "text"
    assert [path.name for path in places.geode.path.parent.iterdir()] == [".geode"]


def test_the_vault_is_told_by_what_it_holds(places: Places, write: Write) -> None:
    assert load_vault(places.geode, places.person) == Loaded()
    write("home/.geode/vault/general/a.md", "x")
    assert load_vault(places.geode, places.person).values == {"_vault_summary": "Vault: 1 general"}
    for company in ("d", "b", "a", "c"):
        save(places.geode, "letter.md", "x", DAY, "applications", to=company)
    save(places.geode, "cv.md", "x", DAY, "profile")
    write("project/.geode/vault/applications/a/meta.json", "{}")
    assert load_vault(places.geode, places.person) == Loaded(
        {"_vault_summary": "Vault: 1 profile, 4 applications (a, b, c)"}, (".geode/vault",)
    )


def test_a_full_vault_and_a_text_that_is_too_large_are_refused(
    places: Places, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="at most 1000 KB"):
        save(places.geode, "a.md", "가" * 333_334, DAY)
    monkeypatch.setattr(vault, "MOST_TEXTS", 1)
    save(places.geode, "a.md", "x", DAY)
    with pytest.raises(Unusable, match="holds 1 texts already"):
        save(places.geode, "b.md", "x", DAY)


def test_a_slug_is_never_empty_and_keeps_hangul_whole() -> None:
    assert slug("///") == "text"
    assert slug("한글" * 60) == "한글" * 30
