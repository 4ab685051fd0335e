"""The facade: the tiers as one, what is added to them, what fails, and that nothing of a run comes near it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import geode_tui
from geode_tui.core.events import TurnCompleted
from geode_tui.log.artifacts import forget
from geode_tui.log.store import connect
from geode_tui.log.transcript import Transcript
from geode_tui.log.views import Artifact, keep_artifact
from geode_tui.memory.assembler import FRESH_S, Assembly, ContextAssembler, Places, assembler_of
from geode_tui.memory.enrichment import load_project_kind
from geode_tui.memory.loading import Asked, Loaded
from geode_tui.memory.merging import IDENTITY, PROJECT, SESSION, TIERS, Decision
from geode_tui.memory.session_store import SessionStore
from tests.log.stores import NOW, commit, open_writer
from tests.tiers.conftest import Write

FLAGS = [tier.flag for tier in TIERS]


def assembled(places: Places, log: Transcript | None = None, session_id: str = "s-1") -> Assembly:
    return assembler_of(places, lambda: NOW, log).assemble(session_id, "Geode")


def test_an_empty_project_gives_flags_and_who_asked_and_nothing_else(places: Places) -> None:
    assembly = assembled(places)
    assert assembly.values == dict.fromkeys(FLAGS, False) | {
        "_project_type": "unknown",
        "_assembled_at": NOW,
        "_session_id": "s-1",
        "_subject_id": "Geode",
        "_llm_summary": "",
    }
    assert [problem for one in (*assembly.tiers, *assembly.additions) for problem in one.problems] == []


def test_all_five_tiers_come_together(places: Places, write: Write) -> None:
    write("project/GEODE.md", "Help people.")
    write("home/.geode/user_profile/profile.md", "---\nrole: engineer\n---\n")
    write("fixtures/geode.json", '{"organization_strategy": "tools", "project_goal": "old", "memory": "org"}')
    write("project/.geode/memory/PROJECT.md", "---\nproject_goal: ship\n---\n")
    store = SessionStore(lambda: NOW, places.geode)
    store.keep("s-1", {"previous_results": ["found it"], "organization_strategy": ""})
    assembly = assembled(places)
    values = assembly.values
    assert [values[flag] for flag in FLAGS] == [True] * 5
    assert values["_llm_summary"] == "Mission: Help people. | User: engineer | Project: ship | Prev: found it"
    assert values["organization_strategy"] == ""
    organization = assembly.tiers[2]
    assert organization.files == ("fixtures/geode.json",)
    assert organization.decisions[0] == Decision("organization_strategy", "replaced", "session")
    assert Decision("project_goal", "used", "organization") in assembly.tiers[3].decisions
    assert Decision("rules", "empty") in assembly.tiers[3].decisions


def test_a_failing_tier_or_step_says_so_and_stops_nothing() -> None:
    def fails(_: Asked) -> Loaded:
        raise RuntimeError("the store\nis away")

    assembler = ContextAssembler(
        ((IDENTITY, lambda _: Loaded({"_soul": "x"})), (PROJECT, fails), (SESSION, lambda _: Loaded({"a": 1}))),
        (("journal", fails), ("vault", lambda _: Loaded({"_vault_summary": "Vault: 1 general"}))),
        lambda: NOW,
    )
    assembly = assembler.assemble("s-1", "x")
    assert (assembly.values["_soul_loaded"], assembly.values["_project_loaded"]) == (True, False)
    assert assembly.values["a"] == 1
    assert assembly.values["_vault_summary"] == "Vault: 1 general"
    assert assembly.tiers[1].problems == ("the store is away",)
    assert assembly.additions[0].problems == ("the store is away",)


def test_everything_may_be_broken_at_once(places: Places, write: Write, base: Path) -> None:
    write("secret", "secret")
    for link in ("GEODE.md", ".geode/memory", ".geode/rules", ".geode/journal", ".geode/vault", ".geode/user_profile"):
        (base / "project" / link).symlink_to(base)
    write("fixtures/geode.json", "\0")
    assembly = assembled(places)
    assert [assembly.values[flag] for flag in FLAGS] == [False] * 5
    lines = [problem for one in (*assembly.tiers, *assembly.additions) for problem in one.problems]
    assert len(lines) >= 8
    assert all("\n" not in line and "secret" not in line for line in lines)


# -- freshness --------------------------------------------------------------------------------------------------------
def test_only_a_noted_assembly_is_fresh_and_only_for_its_time() -> None:
    now = [NOW]
    assembler = ContextAssembler((), (), lambda: now[0])
    assembler.assemble("s-1", "x")
    assert not assembler.is_fresh()
    assembler.mark_assembled()
    assert assembler.is_fresh()
    assert not assembler.is_fresh(0)
    now[0] += FRESH_S
    assert not assembler.is_fresh()
    assembler.mark_assembled(NOW + 2 * FRESH_S)
    assert not assembler.is_fresh()  # the clock was set back


# -- what is added ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("files", "kind", "manager", "harnesses"),
    [
        (["pyproject.toml"], "python", "pip", ""),
        (["pyproject.toml", "uv.lock", "AGENTS.md"], "python", "uv", "Codex"),
        (["package.json", "pnpm-lock.yaml", ".claude/x"], "node", "pnpm", "Claude Code"),
        (["Cargo.toml", "CLAUDE.md", ".cursorrules"], "rust", "cargo", "Claude Code, Cursor"),
        (["go.mod", "package-lock.json"], "go", "go", ""),
        (["notes.txt"], "unknown", "", ""),
    ],
)
def test_the_kind_of_project(
    places: Places, write: Write, files: list[str], kind: str, manager: str, harnesses: str
) -> None:
    for name in files:
        write(f"project/{name}", "")
    values = load_project_kind(places.root).values
    assert values["_project_type"] == kind
    assert values.get("_project_pkg_mgr", "") == manager
    assert values.get("_harness_summary", "") == harnesses


@pytest.fixture
def log(base: Path) -> Iterator[Transcript]:
    store = base / "project/.geode/sessions.db"
    for number, session in enumerate(("s-1", "s-2"), 1):
        writer = open_writer(store, session, title=f"task\n{number}")
        for turn, reason in enumerate(("natural", "max_rounds"), 1):
            ended = TurnCompleted(session, f"t-{turn}", "m", "offline", 1, (), reason)
            commit(writer, lambda tx, ended=ended: tx.event(ended), now=NOW - 7_200 * turn - 60 * number)
        writer.close()
    db = connect(store)
    yield Transcript(db, store.parent)
    db.close()


def test_how_the_last_turns_ended(places: Places, log: Transcript) -> None:
    assert assembled(places, log).values["_run_history"] == (
        "task 1 natural (2h ago) | task 2 natural (2h ago) | task 1 max_rounds (4h ago)"
    )


def test_b114_what_a_sessions_own_newest_summaries_say(places: Places, log: Transcript, base: Path) -> None:
    writer = open_writer(base / "project/.geode/sessions.db", "s-1")
    kept = [
        Artifact("a1", "dream", "the oldest", 1, 2),
        Artifact("a2", "dream", "one\ntwo", 1, 4),
        Artifact("a3", "compaction_summary", "가" * 600, 1, 6, {"applied": True}),
        Artifact("a4", "compaction_summary", "never applied", 1, 7, {"applied": False}),
        Artifact("a5", "dream", "forgotten", 1, 8),
        Artifact("a6", "note", "another kind", 1, 8),
        Artifact("a7", "dream", "the newest", 5, 9),
    ]
    for at, artifact in enumerate(kept):
        commit(writer, lambda tx, one=artifact: keep_artifact(tx, "s-1", one), now=NOW + at)
    commit(writer, lambda tx: keep_artifact(tx, "s-2", Artifact("b1", "dream", "of another", 1, 2)), now=NOW + 99)
    commit(writer, lambda tx: forget(tx, "s-1", "a5", "me", "wrong"))
    writer.close()
    said = assembled(places, log).values["_long_context_summary"]
    assert said == f"dream seq=5-9: the newest | compaction_summary seq=1-6: {'가' * 500} | dream seq=1-4: one two"
    assert "_long_context_summary" not in assembled(places, log, "s-3").values


def test_nothing_is_written_by_assembling(places: Places, log: Transcript, base: Path) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in base.rglob("*") if path.is_file())
    assembled(places, log)
    assert sorted((path, path.stat().st_mtime_ns) for path in base.rglob("*") if path.is_file()) == before


def test_only_the_commands_a_person_gives_import_it() -> None:
    """RUNTIME.md 6: it is never connected to the prompt of a run."""
    package = Path(geode_tui.__file__).parent
    users = set()
    for path in package.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "memory" in source else ():
            names = (
                [node.module or ""] if isinstance(node, ast.ImportFrom)
                else [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            )  # fmt: skip
            whole = isinstance(node, ast.ImportFrom) and node.module == "geode_tui"
            names += [f"geode_tui.{alias.name}" for alias in node.names] if whole else []
            if any(name.split(".")[:2] == ["geode_tui", "memory"] for name in names):
                users.add(str(path.relative_to(package)))
    outside = {user for user in users if not user.startswith("memory/")}
    assert outside == {"cli/tiers.py"}
