"""What a tier gives: its values, the files that they came from, and one line for each that cannot be used."""

from __future__ import annotations

import tomllib
from typing import Any

import msgspec

from geode_tui.memory.files import Folder, Unusable

MOST_FILES = 64
"""Files of one folder that are read."""


class Asked(msgspec.Struct, frozen=True):
    """What is assembled: for which session, about what, and when (UTC epoch seconds)."""

    session_id: str
    subject_id: str
    now: float


class Loaded(msgspec.Struct, frozen=True):
    """See the module; files are named as a person names them."""

    values: dict[str, Any] = {}
    files: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class Reading:
    """Reads files one after the other and remembers which there were, and what was wrong with others."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.problems: list[str] = []

    def loaded(self, values: dict[str, Any]) -> Loaded:
        """What was read of all of them, as ``values``."""
        return Loaded(values, tuple(self.files), tuple(self.problems))

    def text(self, folder: Folder, relative: str) -> str:
        """The text of a file; empty where there is none or it cannot be used."""
        try:
            found = folder.text(relative)
        except Unusable as reason:
            self.problems.append(str(reason))
            return ""
        if found is None:
            return ""
        self.files.append(folder.shown(relative))
        return found

    def json(self, folder: Folder, relative: str) -> dict[str, Any]:
        """The object in a JSON file; empty where there is none or it cannot be used."""
        text = self.text(folder, relative)
        if not text:
            return {}
        try:
            found = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return self._wrong(folder, relative, "is not valid JSON")
        return found if isinstance(found, dict) else self._wrong(folder, relative, "holds no JSON object")

    def toml(self, folder: Folder, relative: str) -> dict[str, Any]:
        """The table in a TOML file; empty where there is none or it cannot be used."""
        try:
            return tomllib.loads(self.text(folder, relative))
        except (ValueError, RecursionError):
            return self._wrong(folder, relative, "is not valid TOML")

    def names(self, folder: Folder, relative: str, suffix: str) -> list[str]:
        """The names of the files to read in a folder, in order."""
        try:
            found = folder.files(relative, suffix)
        except Unusable as reason:
            self.problems.append(str(reason))
            return []
        if len(found) > MOST_FILES:
            self.problems.append(str(folder.unusable(relative, f"has more than {MOST_FILES} files: the rest is left")))
        return found[:MOST_FILES]

    def _wrong(self, folder: Folder, relative: str, why: str) -> dict[str, Any]:
        """A file that was read for nothing."""
        self.files.pop()
        self.problems.append(str(folder.unusable(relative, why)))
        return {}
