"""Tiers 0, 1 and 2: the identity, the organization and the project, each from its files (RUNTIME.md 6)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from geode_tui.memory.files import Folder
from geode_tui.memory.front import front_of
from geode_tui.memory.loading import Loaded, Reading

IDENTITY_FILE = "GEODE.md"
PROJECT_FILE = "memory/PROJECT.md"
RULES = "rules"
PROJECT_LINES = 200


def load_identity(root: Folder) -> Loaded:
    """Tier 0: what the agent is, as the project's root says it."""
    reading = Reading()
    text = reading.text(root, IDENTITY_FILE)
    return reading.loaded({"_soul": text} if text.strip() else {})


def load_organization(fixtures: Folder | None, subject: str) -> Loaded:
    """Tier 1: what the organization knows of ``subject``: the file of that name, or the first one that names it.

    The names are compared in lower case; a file names its subject in ``subject.name``.
    """
    reading = Reading()
    if fixtures is None or not subject:
        return reading.loaded({})
    for name in reading.names(fixtures, "", ".json"):
        tried = Reading()
        found = tried.json(fixtures, name)
        reading.problems += tried.problems
        if found and _subject_of(found, name) == subject.lower():
            reading.files += tried.files
            return reading.loaded(found)
    return reading.loaded({})


def load_project(project: Folder, person: Folder, subject: str) -> Loaded:
    """Tier 2: the project's memory, else the person's general one, and the rules for ``subject``, the person's first.

    A rule of the project stands in for the person's of the same name. Plain values of the memory's front matter, such
    as ``project_goal``, are keys of their own.
    """
    reading = Reading()
    text = reading.text(project, PROJECT_FILE) or reading.text(person, PROJECT_FILE)
    memory = "\n".join(text.split("\n")[:PROJECT_LINES])
    stems: dict[str, Folder] = {}
    for folder in (person, project):
        stems |= dict.fromkeys((name.removesuffix(".md") for name in reading.names(folder, RULES, ".md")), folder)
    rules = [rule for stem, folder in stems.items() if (rule := _rule(folder, stem, subject, reading))]
    stated = {key: value for key, value in front_of(memory).values.items() if not key.startswith("_")}
    values: dict[str, Any] = {**stated, "memory": memory.strip(), "rules": rules}
    return reading.loaded(values if memory.strip() or rules else {})


def _subject_of(found: dict[str, Any], name: str) -> str:
    about = found.get("subject")
    stated = about.get("name") if isinstance(about, dict) else None
    return (stated if isinstance(stated, str) and stated else name.removesuffix(".json")).lower()


def _rule(folder: Folder, stem: str, subject: str, reading: Reading) -> dict[str, Any]:
    """The rule in a file; empty where it says nothing or is not for ``subject``: one without ``paths`` is for all."""
    front = front_of(reading.text(folder, f"{RULES}/{stem}.md"))
    paths = front.lists.get("paths", [])
    applies = not paths or any(fnmatchcase(subject.lower(), f"*{path.lower().strip('*/')}*") for path in paths)
    return {"name": stem, "paths": paths, "content": front.body} if applies and front.body else {}
