"""How the tiers become one: later ones over earlier ones, each by its own rule, and what won of every key. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

State: TypeAlias = Literal["used", "replaced", "empty"]


class Tier(msgspec.Struct, frozen=True):
    """One tier (RUNTIME.md 6). ``flag`` is the key that says whether it was loaded. A ``sparing`` one replaces what
    earlier tiers gave only by values that are not empty.
    """

    number: str
    name: str
    flag: str
    sparing: bool = False


IDENTITY: Final = Tier("0", "identity", "_soul_loaded")
PROFILE: Final = Tier("0.5", "profile", "_user_profile_loaded")
ORGANIZATION: Final = Tier("1", "organization", "_org_loaded")
PROJECT: Final = Tier("2", "project", "_project_loaded", sparing=True)
SESSION: Final = Tier("3", "session", "_session_loaded")
TIERS: Final = (IDENTITY, PROFILE, ORGANIZATION, PROJECT, SESSION)
RESERVED: Final = frozenset(tier.flag for tier in TIERS) | {
    "_project_type", "_project_pkg_mgr", "_harnesses", "_harness_summary", "_run_history", "_journal_summary",
    "_journal_learned", "_vault_summary", "_long_context_summary", "_assembled_at", "_session_id", "_subject_id",
    "_llm_summary",
}  # fmt: skip
"""Keys that are said of the tiers or added to them: no tier gives them."""


class Decision(msgspec.Struct, frozen=True):
    """What became of a key that a tier gave. ``other`` is the tier that it was taken from (used), that took it
    (replaced) or that keeps it (empty); there may be none.
    """

    key: str
    state: State
    other: str = ""


class Merged(msgspec.Struct, frozen=True):
    """All values, and for each tier what became of its keys, in their order."""

    values: dict[str, Any]
    decisions: dict[str, tuple[Decision, ...]]


def merge(given: Iterable[tuple[Tier, Mapping[str, Any]]]) -> Merged:
    """One set of values out of what the tiers gave, in their order, the earliest first."""
    values: dict[str, Any] = {}
    holder: dict[str, str] = {}
    said: dict[str, dict[str, Decision]] = {}
    for tier, offered in given:
        own = said.setdefault(tier.name, {})
        for key, value in offered.items():
            if key in RESERVED:
                continue
            before = holder.get(key, "")
            if tier.sparing and not value:
                own[key] = Decision(key, "empty")
                continue
            if before:
                said[before][key] = Decision(key, "replaced", tier.name)
            values[key], holder[key] = value, tier.name
            own[key] = Decision(key, "used", before)
    decisions = {
        name: tuple(_kept(decision, holder) if decision.state == "empty" else decision for decision in own.values())
        for name, own in said.items()
    }
    return Merged(values, decisions)


def _kept(decision: Decision, holder: Mapping[str, str]) -> Decision:
    return Decision(decision.key, decision.state, holder.get(decision.key, ""))
