"""The files below a folder as a person thinks of the project: without what .gitignore leaves out, without links."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec
from pathspec import GitIgnoreSpec

from geode_tui.runtime.tools.background import Stop
from geode_tui.runtime.tools.base import ToolContext
from geode_tui.runtime.tools.confine import Place, is_denied

_IGNORE_BYTES = 1_000_000

Rules: TypeAlias = tuple[tuple[str, GitIgnoreSpec], ...]
"""The .gitignore files that apply, outermost first, each with its folder ('' or 'src/')."""


class FoundFile(msgspec.Struct, frozen=True):
    """A regular file: its path, and that path relative to the folder the walk began in and to the project root."""

    path: Path
    below: str
    relative: str


def files_below(context: ToolContext, start: Place, stop: Stop) -> Iterator[FoundFile]:
    """The files in and below ``start``, or ``start`` itself if it is one.

    Links are not followed, ``.git`` and denied places not entered. A start that is itself ignored is walked all the
    same: it was named. Raises `Stopped`.
    """
    if start.real.is_file():
        yield FoundFile(start.real, start.real.name, start.relative)
        return
    prefix = "" if start.relative == "." else start.relative + "/"
    waiting: list[tuple[Path, str, Rules]] = [(start.real, prefix, _rules_above(context, start))]
    while waiting:
        stop.check()
        folder, relative, rules = waiting.pop()
        rules = _with_rules_of(folder, relative, rules)
        folders: list[tuple[Path, str, Rules]] = []
        for entry in _entries(folder):
            name = relative + entry.name
            path = folder / entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or is_denied(context, path) or _ignored(name, is_folder, rules):
                continue
            if is_folder:
                folders.append((path, name + "/", rules))
            elif entry.is_file(follow_symlinks=False):
                yield FoundFile(path, name.removeprefix(prefix), name)
        waiting += reversed(folders)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        # A folder that may not be read, or is gone meanwhile, has nothing to show.
        return []


def _rules_above(context: ToolContext, start: Place) -> Rules:
    """The rules of the folders from the root to the parent of ``start``; none if they ignore ``start`` itself."""
    if start.relative == ".":
        return ()
    rules = _with_rules_of(context.root, "", ())
    name = ""
    parts = start.relative.split("/")
    for index, part in enumerate(parts):
        name += part
        if _ignored(name, True, rules):
            return ()
        name += "/"
        if index < len(parts) - 1:
            rules = _with_rules_of(context.root / name, name, rules)
    return rules


def _with_rules_of(folder: Path, relative: str, rules: Rules) -> Rules:
    try:
        descriptor = os.open(folder / ".gitignore", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return rules
    with os.fdopen(descriptor, "rb") as source:
        try:
            text = source.read(_IGNORE_BYTES).decode("utf-8", "replace")
        except OSError:
            return rules
    return (*rules, (relative, _spec(text.split("\n"))))


def _spec(lines: list[str]) -> GitIgnoreSpec:
    usable = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            # git skips a line it cannot read, too.
            continue
        usable.append(line)
    return GitIgnoreSpec.from_lines(usable)


def _ignored(name: str, is_folder: bool, rules: Rules) -> bool:
    """The innermost file with something to say about ``name`` decides, as in git."""
    for folder, spec in reversed(rules):
        verdict = spec.check_file(name[len(folder) :] + ("/" if is_folder else "")).include
        if verdict is not None:
            return verdict
    return False
