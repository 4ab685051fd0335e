"""What is added to the tiers: the kind of project, how runs ended, a session's summaries (RUNTIME.md 6)."""

from __future__ import annotations

from typing import Final

import msgspec

from geode_tui.context.injection import cut, flat, injection
from geode_tui.core.events import EventRow, TurnCompleted, event_name
from geode_tui.log.browse import EventQuery, older
from geode_tui.log.transcript import Transcript
from geode_tui.log.views import artifacts
from geode_tui.memory.files import Folder
from geode_tui.memory.journal import age
from geode_tui.memory.loading import Asked, Loaded

HISTORY: Final = 3
_SESSIONS: Final = 8
"""Sessions that were changed last, among which the newest endings are looked for."""
_ARTIFACTS: Final = 64
"""The newest of a session: among them are some that were never applied or are forgotten."""
_NEWEST: Final = 2**62
"""Above every event id."""
_TITLE_CHARS: Final = 60

_PROJECTS: Final = (
    ("pyproject.toml", "python", "pip"),
    ("requirements.txt", "python", "pip"),
    ("package.json", "node", "npm"),
    ("Cargo.toml", "rust", "cargo"),
    ("go.mod", "go", "go"),
    ("pom.xml", "java", "maven"),
    ("build.gradle", "java", "gradle"),
    ("build.gradle.kts", "java", "gradle"),
    ("Gemfile", "ruby", "bundler"),
    ("composer.json", "php", "composer"),
    ("mix.exs", "elixir", "mix"),
    ("Package.swift", "swift", "swiftpm"),
    ("CMakeLists.txt", "cpp", "cmake"),
)
"""A file at the root, the kind of project that has it, and what manages its packages unless another file says so."""
_MANAGERS: Final = {
    "python": (("uv.lock", "uv"), ("poetry.lock", "poetry"), ("pdm.lock", "pdm"), ("Pipfile", "pipenv")),
    "node": (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")),
}
_HARNESSES: Final = (
    ("Claude Code", (".claude", "CLAUDE.md")),
    ("Codex", (".codex", "AGENTS.md")),
    ("Cursor", (".cursor", ".cursorrules")),
    ("Copilot", (".github/copilot-instructions.md",)),
    ("Gemini CLI", (".gemini", "GEMINI.md")),
    ("Aider", (".aider.conf.yml",)),
)
"""Other programs for agents, and what they leave at a project's root."""


class _Ending(msgspec.Struct, frozen=True):
    termination_reason: str


def load_project_kind(root: Folder) -> Loaded:
    """What kind of project it is, and which other programs for agents were set up in it."""
    kind, manager = next(((kind, own) for file, kind, own in _PROJECTS if root.has(file)), ("unknown", ""))
    manager = next((own for file, own in _MANAGERS.get(kind, ()) if root.has(file)), manager)
    harnesses = [name for name, marks in _HARNESSES if any(root.has(mark) for mark in marks)]
    values = {
        "_project_type": kind,
        "_project_pkg_mgr": manager,
        "_harnesses": harnesses,
        "_harness_summary": ", ".join(harnesses),
    }
    return Loaded({key: value for key, value in values.items() if value})


def load_run_history(log: Transcript, asked: Asked) -> Loaded:
    """How the last turns of the project ended, the newest first. Raises `StoreError`."""
    query = EventQuery(only=frozenset({event_name(TurnCompleted)}))
    endings: list[tuple[EventRow, str]] = []
    for session in log.sessions(_SESSIONS):
        page = older(log.db, session.number, query, _NEWEST, HISTORY)
        endings += ((row, session.title or session.session_id) for row in page.rows)
    endings.sort(key=lambda found: found[0].ts, reverse=True)
    told = [
        f"{cut(flat(title), _TITLE_CHARS)} {_reason(row)} ({age(asked.now - row.ts)})"
        for row, title in endings[:HISTORY]
    ]
    return Loaded({"_run_history": " | ".join(told)} if told else {})


def load_long_context(log: Transcript, asked: Asked) -> Loaded:
    """What the session's newest dreams and summaries say (RUNTIME.md 5.2). Raises `StoreError`."""
    text = injection(reversed(artifacts(log.db, asked.session_id, newest=_ARTIFACTS)))
    return Loaded({"_long_context_summary": text} if text else {})


def _reason(row: EventRow) -> str:
    try:
        return msgspec.json.decode(row.payload, type=_Ending).termination_reason
    except msgspec.DecodeError:
        return "unknown"
