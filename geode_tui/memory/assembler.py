"""The five tiers as one context, with what is added to it: assembled only when it is asked for (RUNTIME.md 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from geode_tui.log.transcript import Transcript
from geode_tui.memory.enrichment import load_long_context, load_project_kind, load_run_history
from geode_tui.memory.files import Folder
from geode_tui.memory.journal import load_journal
from geode_tui.memory.loading import Asked, Loaded
from geode_tui.memory.merging import IDENTITY, ORGANIZATION, PROFILE, PROJECT, SESSION, Decision, Tier, merge
from geode_tui.memory.profile import load_profile
from geode_tui.memory.session_store import SessionStore
from geode_tui.memory.summary import llm_summary
from geode_tui.memory.tiers import load_identity, load_organization, load_project
from geode_tui.memory.vault import load_vault

FRESH_S: Final = 3_600.0
"""How long an assembly counts as fresh, seconds."""

Load: TypeAlias = Callable[[Asked], Loaded]
Safe: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Takes secrets out of values: before any of them is cut, so that no part of one is left."""


class Places(msgspec.Struct, frozen=True):
    """Where the tiers are: the project's root, its ``.geode`` folder, the person's, and the organization's fixtures."""

    root: Folder
    geode: Folder
    person: Folder
    fixtures: Folder | None = None


class TierReport(msgspec.Struct, frozen=True):
    """A tier of an assembly: whether it gave anything, from which files, what became of it, and what was wrong."""

    tier: Tier
    loaded: bool
    files: tuple[str, ...]
    decisions: tuple[Decision, ...]
    problems: tuple[str, ...]


class Addition(msgspec.Struct, frozen=True):
    """A step that adds to the tiers: the keys that it wrote, from which files, and what was wrong."""

    name: str
    keys: tuple[str, ...]
    files: tuple[str, ...]
    problems: tuple[str, ...]


class Assembly(msgspec.Struct, frozen=True):
    """The assembled values, and how they came about."""

    values: dict[str, Any]
    tiers: tuple[TierReport, ...]
    additions: tuple[Addition, ...]


class ContextAssembler:
    """See the module. ``tiers`` are merged in their order, then each of ``steps`` adds to them; all values pass
    ``safe``. ``clock`` gives UTC epoch seconds.
    """

    def __init__(
        self,
        tiers: tuple[tuple[Tier, Load], ...],
        steps: tuple[tuple[str, Load], ...],
        clock: Callable[[], float],
        safe: Safe = dict,
    ) -> None:
        self._tiers, self._steps, self._clock, self._safe = tiers, steps, clock, safe
        self._marked_at: float | None = None

    def assemble(self, session_id: str, subject_id: str) -> Assembly:
        """The context of a session about ``subject_id``, now. What fails of it is told and left out."""
        asked = Asked(session_id, subject_id, self._clock())
        loads = [(tier, self._guarded(load, asked)) for tier, load in self._tiers]
        merged = merge((tier, loaded.values) for tier, loaded in loads)
        values = merged.values | {tier.flag: bool(loaded.values) for tier, loaded in loads}
        additions = []
        for name, load in self._steps:
            added = self._guarded(load, asked)
            values |= added.values
            additions.append(Addition(name, tuple(added.values), added.files, added.problems))
        values |= {"_assembled_at": asked.now, "_session_id": session_id, "_subject_id": subject_id}
        values["_llm_summary"] = llm_summary(values)
        reports = tuple(
            TierReport(tier, bool(loaded.values), loaded.files, merged.decisions[tier.name], loaded.problems)
            for tier, loaded in loads
        )
        return Assembly(values, reports, tuple(additions))

    def mark_assembled(self, at: float | None = None) -> None:
        """Note that an assembly was put to use, now or at ``at``: assembling alone notes nothing."""
        self._marked_at = self._clock() if at is None else at

    def is_fresh(self, most_s: float = FRESH_S) -> bool:
        """Whether the last noted one is younger than ``most_s`` seconds; without one, no."""
        return self._marked_at is not None and 0 <= self._clock() - self._marked_at < most_s

    def _guarded(self, load: Load, asked: Asked) -> Loaded:
        """What ``load`` gives, made safe; where it fails, one line that says so."""
        try:
            loaded = load(asked)
            return msgspec.structs.replace(loaded, values=self._safe(loaded.values))
        except Exception as error:  # noqa: BLE001 - the rest must go on, whatever a tier's files or store raise
            return Loaded(problems=(" ".join(str(error).split()) or type(error).__name__,))


def assembler_of(
    places: Places,
    clock: Callable[[], float],
    log: Transcript | None = None,
    sessions: SessionStore | None = None,
    safe: Safe = dict,
) -> ContextAssembler:
    """An assembler of the tiers' own files; ``log`` is the project's store where there is one."""
    kept = sessions or SessionStore(clock, places.geode)
    tiers: tuple[tuple[Tier, Load], ...] = (
        (IDENTITY, lambda _: load_identity(places.root)),
        (PROFILE, lambda _: load_profile(places.person, places.geode)),
        (ORGANIZATION, lambda asked: load_organization(places.fixtures, asked.subject_id)),
        (PROJECT, lambda asked: load_project(places.geode, places.person, asked.subject_id)),
        (SESSION, lambda asked: kept.load(asked.session_id)),
    )
    steps: list[tuple[str, Load]] = [("project", lambda _: load_project_kind(places.root))]
    if log is not None:
        steps.append(("history", lambda asked: load_run_history(log, asked)))
    steps.append(("journal", lambda asked: load_journal(places.geode, asked)))
    steps.append(("vault", lambda _: load_vault(places.geode, places.person)))
    if log is not None:
        steps.append(("summaries", lambda asked: load_long_context(log, asked)))
    return ContextAssembler(tiers, tuple(steps), clock, safe)
