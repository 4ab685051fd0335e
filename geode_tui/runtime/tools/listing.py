"""list_dir and glob: what there is, by folder and by pattern."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from geode_tui.core.tools import Safety
from geode_tui.runtime.tools.arguments import Arguments
from geode_tui.runtime.tools.background import Stop
from geode_tui.runtime.tools.base import Tool, ToolContext, ToolOutcome, ToolRefused
from geode_tui.runtime.tools.builtin import Builtin, Facts, threaded
from geode_tui.runtime.tools.confine import is_denied, is_open, locate, refusal, require_folder
from geode_tui.runtime.tools.patterns import PathPattern
from geode_tui.runtime.tools.texts import counted, one_line, quoted, size_text
from geode_tui.runtime.tools.walk import FoundFile, files_below

MAX_ENTRIES = 500
MAX_PATHS = 200

_LIST_DESCRIPTION = f"""\
List a folder of the project, folders first, files with their size; depth 2 or 3 shows the folders below too, \
indented. At most {MAX_ENTRIES} entries are shown."""
_GLOB_DESCRIPTION = f"""\
Find files by a path pattern such as src/**/*.py or *.{{ts,tsx}}, newest first, at most {MAX_PATHS}. A pattern without \
a slash is matched against names in any folder. What .gitignore leaves out, and links, are not searched."""


class ListArguments(Arguments, frozen=True):
    """Arguments of list_dir."""

    path: Annotated[str, Meta(min_length=1, description="Folder, relative to the project.")] = "."
    depth: Annotated[int, Meta(ge=1, le=3, description="How many levels to show.")] = 1


class GlobArguments(Arguments, frozen=True):
    """Arguments of glob."""

    pattern: Annotated[str, Meta(min_length=1, max_length=500, description="Pattern, relative to path.")]
    path: Annotated[str, Meta(min_length=1, description="Folder to search, relative to the project.")] = "."


def list_dir_tool() -> Tool:
    """The tool list_dir."""
    return Builtin(
        "list_dir", _LIST_DESCRIPTION, Safety.READ, ListArguments, lambda a: one_line(a.path), threaded(_check, _list)
    )


def glob_tool() -> Tool:
    """The tool glob."""
    return Builtin("glob", _GLOB_DESCRIPTION, Safety.READ, GlobArguments, _brief, threaded(_check_glob, _glob))


def _check(arguments: ListArguments | GlobArguments, context: ToolContext) -> None:
    require_folder(locate(context, arguments.path))


def _list(arguments: ListArguments, context: ToolContext, stop: Stop) -> ToolOutcome:
    place = locate(context, arguments.path)
    listing = _Listing(context, stop)
    try:
        listing.add(place.real, arguments.depth)
    except OSError as error:
        raise refusal(arguments.path, error) from None
    lines = listing.lines or ["[empty folder]"]
    if listing.total > MAX_ENTRIES:
        lines.append(f"[{MAX_ENTRIES} of {listing.total:,} entries shown: list a folder below, or less depth]")
    summary = counted(listing.total, "entry", "entries")
    return ToolOutcome("\n".join(lines), summary=summary, facts={"path": place.relative, "entries": listing.total})


class _Listing:
    """Collects the lines of one list_dir; counts on past the bound without keeping more."""

    def __init__(self, context: ToolContext, stop: Stop) -> None:
        self.lines: list[str] = []
        self.total = 0
        self._context = context
        self._stop = stop

    def add(self, folder: Path, depth: int, indent: str = "") -> None:
        """Add the entries of ``folder``. Raises `OSError` if it cannot be read."""
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: (not entry.is_dir(follow_symlinks=False), entry.name))
        for entry in entries:
            self._stop.check()
            path = folder / entry.name
            shown = is_open(self._context, path) if entry.is_symlink() else not is_denied(self._context, path)
            if not shown:
                continue
            self.total += 1
            if len(self.lines) < MAX_ENTRIES:
                self.lines.append(indent + _entry_text(entry))
            if depth > 1 and entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                self._add_below(path, depth - 1, indent + "  ")

    def _add_below(self, folder: Path, depth: int, indent: str) -> None:
        try:
            self.add(folder, depth, indent)
        except OSError:
            if len(self.lines) < MAX_ENTRIES:
                self.lines.append(f"{indent}[cannot be read]")


def _entry_text(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"{entry.name} (link)"
    if entry.is_dir(follow_symlinks=False):
        return f"{entry.name}/"
    try:
        return f"{entry.name}  {size_text(entry.stat(follow_symlinks=False).st_size)}"
    except OSError:
        return entry.name


def _brief(arguments: GlobArguments) -> str:
    where = "" if arguments.path == "." else f" in {one_line(arguments.path, 60)}"
    return f'"{one_line(arguments.pattern, 50)}"{where}'


def _check_glob(arguments: GlobArguments, context: ToolContext) -> None:
    path_pattern(arguments.pattern)
    _check(arguments, context)


def path_pattern(pattern: str) -> PathPattern:
    """The compiled ``pattern``. Raises `ToolRefused`."""
    try:
        return PathPattern(pattern)
    except ValueError as error:
        raise ToolRefused(f"{quoted(pattern)} is not a usable pattern: {error}") from None


class _Dated(msgspec.Struct, frozen=True, order=True):
    """A path and its modification time in ns, negated: the newest sorts first, then by name."""

    age: int
    path: str


def _glob(arguments: GlobArguments, context: ToolContext, stop: Stop) -> ToolOutcome:
    place = locate(context, arguments.path)
    pattern = path_pattern(arguments.pattern)
    found = sorted(_dated(file) for file in files_below(context, place, stop) if pattern.matches(file.below))
    lines = [dated.path for dated in found[:MAX_PATHS]] or ["[no file matches]"]
    if len(found) > MAX_PATHS:
        lines.append(f"[the newest {MAX_PATHS} of {len(found):,} shown: narrow the pattern]")
    facts: Facts = {
        "pattern": one_line(arguments.pattern),
        "path": place.relative,
        "matches": len(found),
    }
    return ToolOutcome("\n".join(lines), summary=counted(len(found), "file"), facts=facts)


def _dated(file: FoundFile) -> _Dated:
    try:
        return _Dated(-file.path.lstat().st_mtime_ns, file.relative)
    except OSError:
        return _Dated(0, file.relative)
