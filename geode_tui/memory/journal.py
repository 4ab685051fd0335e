"""The project's journal: what its runs did, and what was learned in them (RUNTIME.md 6). It only grows."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from geode_tui.context.injection import cut, flat
from geode_tui.memory.files import MOST_BYTES, Folder
from geode_tui.memory.loading import Asked, Loaded
from geode_tui.memory.notes import MOST_LEARNED, learned_text, with_learned
from geode_tui.memory.writing import append, locked, replace

FOLDER: Final = "journal"
RUNS: Final = "runs.jsonl"
LEARNED: Final = "learned.md"
TOLD_RUNS: Final = 3
TOLD_LEARNED: Final = 5
_SUMMARY_CHARS: Final = 300
_MOST_META: Final = 1_024
_DAY_S: Final = 86_400


class RunRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run of the journal. ``ts`` is UTC epoch seconds, ``cost`` USD; both measures may be unknown."""

    ts: float
    sid: str
    type: str
    summary: str
    status: str
    cost: float | None = None
    dur_ms: float | None = None
    meta: dict[str, Any] = {}


def record_run(geode: Folder, record: RunRecord) -> None:
    """Add a run to the journal of a project; its summary is one short line. Raises `Unusable`, and `ValueError` where
    ``meta`` is too large.
    """
    if len(msgspec.json.encode(record.meta)) > _MOST_META:
        raise ValueError(f"what is noted of a run beside its summary has at most {_MOST_META} bytes")
    short = msgspec.structs.replace(
        record,
        sid=cut(flat(record.sid), 128),
        type=cut(flat(record.type), 40),
        summary=cut(flat(record.summary), _SUMMARY_CHARS),
        status=cut(flat(record.status), 40),
    )
    with locked(geode, FOLDER) as inside:
        append(inside, RUNS, msgspec.json.encode(short))


def learn(geode: Folder, pattern: str, category: str, day: str) -> bool:
    """Note what was learned, dated ``day`` (ISO); false where it is known. Raises `Unusable`, and `ValueError` as
    `with_learned` does.
    """
    with locked(geode, FOLDER) as inside:
        known, _ = _learned(geode)
        noted = with_learned(known, pattern, category, day)
        if noted == tuple(known):
            return False
        replace(inside, LEARNED, "".join(f"{entry}\n" for entry in noted).encode())
    return True


def recent_runs(geode: Folder, most: int = TOLD_RUNS) -> tuple[list[RunRecord], int]:
    """The last runs, the oldest first, and how many lines among them are none. Raises `Unusable`."""
    found: list[RunRecord] = []
    skipped = 0
    for line in reversed(geode.tail(f"{FOLDER}/{RUNS}")):
        if len(found) == most:
            break
        try:
            found.append(msgspec.json.decode(line, type=RunRecord))
        except (msgspec.DecodeError, RecursionError):
            skipped += 1
    return found[::-1], skipped


def load_journal(geode: Folder, asked: Asked) -> Loaded:
    """What the journal adds to the tiers. Raises `Unusable`."""
    runs, skipped = recent_runs(geode)
    learned, unread = _learned(geode)
    values, files, problems = {}, [], []
    if runs:
        told = (f"{cut(flat(run.summary), _SUMMARY_CHARS)} ({age(asked.now - run.ts)})" for run in runs)
        values["_journal_summary"] = "Project history: " + " | ".join(told)
        files.append(geode.shown(f"{FOLDER}/{RUNS}"))
    if learned:
        values["_journal_learned"] = " | ".join(learned_text(entry) for entry in learned[-TOLD_LEARNED:])
        files.append(geode.shown(f"{FOLDER}/{LEARNED}"))
    for name, lines in ((RUNS, skipped), (LEARNED, unread)):
        if lines:
            problems.append(str(geode.unusable(f"{FOLDER}/{name}", f"has {lines} lines that cannot be read")))
    return Loaded(values, tuple(files), tuple(problems))


def age(seconds: float) -> str:
    """How long ago: ``now``, ``5m ago``, ``2h ago``, ``3d ago``."""
    for unit, size in (("d", _DAY_S), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "now"


def _learned(geode: Folder) -> tuple[list[str], int]:
    """What was learned, the oldest first, and how many lines are no text. Raises `Unusable`."""
    found: list[str] = []
    unread = 0
    for line in geode.tail(f"{FOLDER}/{LEARNED}", MOST_BYTES):
        try:
            found.append(line.decode().strip())
        except UnicodeDecodeError:
            unread += 1
    return [entry for entry in found if not entry.startswith("#")][-MOST_LEARNED:], unread
