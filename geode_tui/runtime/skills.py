"""A project's skills: instructions for the agent that stand in ``.geode/skills/NAME/SKILL.md``.

They are read once, when a run's worker starts. What was read is what the person's trust is checked against and what
the tool gives, so that nothing can take its place in between.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Self

import msgspec

from geode_tui.core.text import clean_line

FOLDER, FILE = "skills", "SKILL.md"
MAX_BYTES = 64 * 1024
"""Bytes of one skill: more would not fit the result of one call."""
MOST = 64
"""Skills of a project; further ones are left out by name."""
DESCRIPTION_CHARS = 160
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_MOST_ENTRIES = 1_000
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""Links are not followed: a skill is a file of this folder. Not blocking, since opening a pipe would wait."""


class Skill(msgspec.Struct, frozen=True):
    """One skill: its folder's name, what it is for in one line, and the whole text of its file."""

    name: str
    description: str
    text: str


class Skills(msgspec.Struct, frozen=True):
    """What a project has: the skills by name in order, and one line for each that cannot be used."""

    found: tuple[Skill, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """Hash of all of them: what a person's trust is given to. Empty where there are none."""
        if not self.found:
            return ""
        return hashlib.sha256(msgspec.json.encode([(skill.name, skill.text) for skill in self.found])).hexdigest()


class _Unusable(Exception):
    """A skill that cannot be used, and why."""


def read_skills(geode: Path) -> Skills:
    """The skills in ``geode``, a project's ``.geode`` folder. What cannot be read is a problem and no error."""
    found: list[Skill] = []
    problems: list[str] = []
    try:
        with _Folder(str(geode)) as above, _Folder(FOLDER, above.descriptor) as folder:
            for name in folder.folders():
                if len(found) == MOST:
                    problems.append(f"{clean_line(name, 64)}: there are {MOST} skills already")
                    continue
                try:
                    found.append(_skill(folder, name))
                except _Unusable as reason:
                    problems.append(f"{clean_line(name, 64)}: {reason}")
    except FileNotFoundError:
        return Skills()
    except OSError as error:
        problems.append(f"{FOLDER} cannot be read: {_said(error)}")
    return Skills(tuple(found), tuple(problems))


class _Folder:
    """An open folder, reached without following a link."""

    def __init__(self, name: str, above: int | None = None) -> None:
        self.descriptor = os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=above)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        os.close(self.descriptor)

    def folders(self) -> list[str]:
        """The names of the folders in it, in order; of a very large folder only some."""
        with os.scandir(self.descriptor) as entries:
            return sorted(e.name for e in islice(entries, _MOST_ENTRIES) if e.is_dir(follow_symlinks=False))


def _skill(folder: _Folder, name: str) -> Skill:
    if not _NAME.fullmatch(name):
        raise _Unusable("a skill's name has letters, digits, and . _ - only, at most 64")
    try:
        with _Folder(name, folder.descriptor) as own:
            text = _text(os.open(FILE, _FLAGS, dir_fd=own.descriptor))
    except FileNotFoundError:
        raise _Unusable(f"there is no {FILE} in it") from None
    except OSError as error:
        raise _Unusable(f"its {FILE} cannot be read: {_said(error)}") from None
    return Skill(name, _description(text), text)


def _text(descriptor: int) -> str:
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _Unusable(f"its {FILE} is no regular file")
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise _Unusable(f"its {FILE} is larger than {MAX_BYTES // 1024} KiB")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise _Unusable(f"its {FILE} is not UTF-8 text") from None
    if not text.strip():
        raise _Unusable(f"its {FILE} is empty")
    return text


def _said(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _description(text: str) -> str:
    """What a skill says of itself: ``description`` of its front matter, else its first line of prose."""
    lines = text.splitlines()
    front = list(_front_matter(lines))
    stated = [line.partition(":")[2].strip().strip("\"'") for line in front if line.startswith("description:")]
    prose = (line for line in lines[len(front) + 2 if front else 0 :] if line.strip(" #-=*"))
    return clean_line(next(filter(None, stated), "") or next(prose, "").strip(" #"), DESCRIPTION_CHARS)


def _front_matter(lines: list[str]) -> Iterator[str]:
    """The lines between a first ``---`` and the next; none where there is no second."""
    if lines and lines[0].strip() == "---" and "---" in (line.strip() for line in lines[1:]):
        for line in lines[1:]:
            if line.strip() == "---":
                return
            yield line
