"""Tier 0.5: who the person is, from their own folder, and what this project says over it (RUNTIME.md 6)."""

from __future__ import annotations

from typing import Any

import msgspec

from geode_tui.context.injection import cut, flat
from geode_tui.memory.files import Folder
from geode_tui.memory.front import front_of
from geode_tui.memory.loading import Loaded, Reading
from geode_tui.memory.notes import merged_learned

FOLDER = "user_profile"
_WORD_CHARS = 200
_SKILLS = 5


class Profile(msgspec.Struct, frozen=True):
    """What one folder says of the person."""

    facts: dict[str, str] = {}
    preferences: dict[str, Any] = {}
    learned: tuple[str, ...] = ()
    career: dict[str, Any] = {}


def load_profile(person: Folder, project: Folder) -> Loaded:
    """The tier's values: both folders as one."""
    reading = Reading()
    own, over = _read(person, reading), _read(project, reading)
    return reading.loaded(values_of(merge_profiles(own, over)))


def merge_profiles(own: Profile, over: Profile) -> Profile:
    """``own`` with what ``over`` says in its place: values that are not empty replace, patterns are joined."""
    return Profile(
        own.facts | {key: value for key, value in over.facts.items() if value},
        own.preferences | {key: value for key, value in over.preferences.items() if value not in (None, "", [], {})},
        merged_learned(own.learned, over.learned),
        {
            table: {**_table(own.career, table), **{k: v for k, v in _table(over.career, table).items() if v}}
            for table in {**own.career, **over.career}
        },
    )


def values_of(profile: Profile) -> dict[str, Any]:
    """What the tier writes of a profile; nothing for what it does not say."""
    values = {
        "_user_profile_summary": profile_summary(profile),
        "_career_summary": career_summary(profile.career),
        "_user_preferences": profile.preferences,
        "_user_learned": list(profile.learned),
    }
    return {key: value for key, value in values.items() if value}


def profile_summary(profile: Profile) -> str:
    """The person in one line."""
    named = (
        ("User", profile.facts.get("role")),
        ("Expertise", profile.facts.get("expertise")),
        ("Lang", profile.preferences.get("language")),
        ("Format", profile.preferences.get("output_format")),
    )
    return " | ".join(f"{label}: {word}" for label, value in named if (word := _word(value)))


def career_summary(career: dict[str, Any]) -> str:
    """The person's work in one line."""
    identity, goals = _table(career, "identity"), _table(career, "goals")
    title, experience = _word(identity.get("title")), _word(identity.get("experience"))
    if not experience and (years := _word(identity.get("years_experience"))):
        experience = f"{years}y"
    skills = identity.get("skills")
    words = [word for skill in skills[:_SKILLS] if (word := _word(skill))] if isinstance(skills, list) else []
    seeking = _word(goals.get("seeking")) or _word(goals.get("short_term"))
    parts = (
        f"{title} ({experience})" if title and experience else title,
        f"skills: {'/'.join(words)}" if words else "",
        f"seeking: {seeking}" if seeking else "",
    )
    return ", ".join(part for part in parts if part)


def _read(folder: Folder, reading: Reading) -> Profile:
    front = front_of(reading.text(folder, f"{FOLDER}/profile.md"))
    return Profile(
        front.values,
        reading.json(folder, f"{FOLDER}/preferences.json"),
        _entries(reading.text(folder, f"{FOLDER}/learned.md")),
        reading.toml(folder, f"{FOLDER}/career.toml"),
    )


def _entries(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.splitlines() if line.startswith("- "))


def _table(values: dict[str, Any], name: str) -> dict[str, Any]:
    found = values.get(name)
    return found if isinstance(found, dict) else {}


def _word(value: Any) -> str:
    """A plain value in one short line; empty for anything else."""
    return cut(flat(str(value)), _WORD_CHARS) if value and isinstance(value, str | int | float) else ""
