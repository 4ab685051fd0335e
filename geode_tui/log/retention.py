"""Which stored results leave: those that nothing refers to and that are old, or in others' way (RUNTIME.md 4.5)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from geode_tui.core.ids import BadId, check_id
from geode_tui.core.limits import Retention
from geode_tui.log import offloads


class Kept(msgspec.Struct, frozen=True):
    """A stored result among others. ``held`` ones never leave: something refers to them, or they are pinned."""

    session_id: str
    ref_id: str
    offloaded_at: float
    size: int
    held: bool = False


def leaving(kept: Sequence[Kept], retention: Retention, now: float) -> tuple[list[Kept], list[Kept]]:
    """(those that have expired, those that make room for others). The oldest make room first."""
    free = [each for each in kept if not each.held]
    expired = [each for each in free if retention.results_s and now - each.offloaded_at > retention.results_s]
    crowded: list[Kept] = []
    left = sum(each.size for each in kept) - sum(each.size for each in expired)
    gone = {(each.session_id, each.ref_id) for each in expired}
    for each in sorted(free, key=lambda one: one.offloaded_at):
        if not retention.quota or left <= retention.quota:
            break
        if (each.session_id, each.ref_id) not in gone:
            crowded.append(each)
            left -= each.size
    return expired, crowded


def sessions(geode: Path) -> list[str]:
    """The sessions that have a folder of stored results; none where that is reached by a link."""
    if (geode / offloads.FOLDER).is_symlink():
        return []
    try:
        with os.scandir(geode / offloads.FOLDER) as entries:
            return sorted(e.name for e in entries if e.is_dir(follow_symlinks=False) and _is_id(e.name))
    except OSError:
        return []


def used(geode: Path) -> int:
    """Bytes that all stored results take."""
    return sum(size for session_id in sessions(geode) for _, size in _files(geode, session_id))


def found(geode: Path, session_id: str, held: frozenset[str]) -> tuple[list[Kept], list[str]]:
    """(the session's stored results, the names of files that should be some and are none)."""
    sizes = dict(_files(geode, session_id))
    kept = [
        Kept(session_id, about.ref_id, about.offloaded_at, sizes[name], about.pinned or about.ref_id in held)
        for about in offloads.listing(geode, session_id)
        if (name := f"{about.ref_id}.json") in sizes
    ]
    good = {f"{each.ref_id}.json" for each in kept}
    return kept, sorted(sizes.keys() - good)


def remove(geode: Path, kept: Kept) -> int:
    """Delete a stored result, and its session's folder with the last one; returns the bytes that became free."""
    folder = geode / offloads.FOLDER / check_id(kept.session_id)
    try:
        (folder / f"{check_id(kept.ref_id)}.json").unlink()
    except OSError:
        return 0
    with contextlib.suppress(OSError):
        folder.rmdir()
    return kept.size


def set_aside(geode: Path, session_id: str, name: str) -> bool:
    """Rename a file that is no stored result, so that nobody takes it for one; whether that worked."""
    path = geode / offloads.FOLDER / check_id(session_id) / name
    try:
        path.rename(path.with_name(name + offloads.SET_ASIDE))
    except OSError:
        return False
    return True


def _files(geode: Path, session_id: str) -> Iterator[tuple[str, int]]:
    """(name, bytes) of the regular files that may be stored results."""
    with contextlib.suppress(OSError), os.scandir(geode / offloads.FOLDER / session_id) as entries:
        for entry in entries:
            if entry.name.endswith(".json") and not entry.name.startswith(".") and entry.is_file(follow_symlinks=False):
                yield entry.name, entry.stat(follow_symlinks=False).st_size


def _is_id(name: str) -> bool:
    try:
        return check_id(name) == name
    except BadId:
        return False
