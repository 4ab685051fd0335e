"""Which paths a tool may touch, and opening them so that the answer still holds when they are opened.

A path is judged by its real path. Folders and files are then opened from the project root downwards, one component at
a time and never through a link, so that swapping a component for a link after the judgement gains nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from geode_tui.runtime.tools.base import ToolContext, ToolRefused
from geode_tui.runtime.tools.texts import quoted


class Place(msgspec.Struct, frozen=True):
    """A path inside the project: as it was given, its real path, and that path relative to the root with slashes."""

    given: str
    real: Path
    relative: str


def locate(context: ToolContext, given: str, *, for_writing: bool = False) -> Place:
    """The place ``given`` names; it need not exist. A tilde means nothing special.

    ``for_writing`` also refuses everything in a ``.git`` folder: its configuration can name commands to run.

    Raises:
        ToolRefused: the path is empty, has a NUL, leads outside the root or into a denied place.
    """
    if not given or "\0" in given:
        raise ToolRefused(f"{quoted(given)} is not a path: give one relative to the project")
    try:
        real = Path(os.path.realpath(context.root / given))
    except OSError as error:
        raise refusal(given, error) from None
    if not real.is_relative_to(context.root):
        raise ToolRefused(f"{quoted(given)} is outside the project: give a path inside it")
    if is_denied(context, real) or (for_writing and ".git" in _folded(real.relative_to(context.root))):
        raise ToolRefused(f"{quoted(given)} is closed to tools: work elsewhere in the project")
    return Place(given, real, real.relative_to(context.root).as_posix())


def is_denied(context: ToolContext, real: Path) -> bool:
    """Whether ``real``, a real path inside the root, is in a denied place. Case is ignored, as some file systems do."""
    parts = _folded(real.relative_to(context.root))
    if ".geode" in parts or (".git", "hooks") in itertools.pairwise(parts):
        return True
    whole = _folded(real)
    return any(whole[: len(denied.parts)] == _folded(denied) for denied in context.denied)


def is_open(context: ToolContext, path: Path) -> bool:
    """Whether ``path`` may be shown: its real path is inside the root and not denied."""
    real = Path(os.path.realpath(path))
    return real.is_relative_to(context.root) and not is_denied(context, real)


@contextlib.contextmanager
def opened_folder(context: ToolContext, folder: Path, *, create: bool = False) -> Iterator[int]:
    """A descriptor of ``folder`` (a real path inside the root), reached without following a link.

    ``create`` makes what is missing of it. Raises `OSError`.
    """
    descriptor = os.open(context.root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in folder.relative_to(context.root).parts:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=descriptor)
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def open_file(context: ToolContext, place: Place) -> int:
    """A descriptor to read the regular file at ``place``; the caller closes it.

    Raises:
        ToolRefused: there is no such file, it is something else, or it may not be read.
    """
    if place.real == context.root:
        raise ToolRefused(f"{quoted(place.given)} is a folder: use list_dir")
    try:
        with opened_folder(context, place.real.parent) as folder:
            # Not blocking: opening a pipe without a writer would wait for one.
            descriptor = os.open(place.real.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        raise refusal(place.given, error) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise ToolRefused(f"{quoted(place.given)} is a folder: use list_dir")
    raise ToolRefused(f"{quoted(place.given)} is not a regular file: only those are read")


def require_folder(place: Place) -> None:
    """Raises `ToolRefused` unless ``place`` is an existing folder."""
    try:
        mode = place.real.stat().st_mode
    except OSError as error:
        raise refusal(place.given, error) from None
    if not stat.S_ISDIR(mode):
        raise ToolRefused(f"{quoted(place.given)} is not a folder: give one")


def refusal(given: str, error: OSError) -> ToolRefused:
    """The refusal that says what the system said of ``given``, without the absolute path it said it of."""
    if isinstance(error, FileNotFoundError):
        return ToolRefused(f"{quoted(given)} does not exist: check the path with list_dir or glob")
    return ToolRefused(f"{quoted(given)} cannot be used: {reason_of(error)}")


def reason_of(error: OSError) -> str:
    """The system's reason in lower case, e.g. ``permission denied``."""
    return (error.strerror or type(error).__name__).lower()


def _folded(path: Path) -> tuple[str, ...]:
    return tuple(part.casefold() for part in path.parts)
