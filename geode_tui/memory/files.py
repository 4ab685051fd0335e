"""Files of a folder that others may have written: read by paths inside it, bounded, and never through a link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

MOST_BYTES: Final = 256 * 1024
"""Of a file that is read as a whole."""
TAIL_BYTES: Final = 64 * 1024
"""Of a file that only grows: its newest lines stand in them."""
MOST_ENTRIES: Final = 1_000
"""Of a folder that is looked through."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not blocking, since opening a pipe would wait."""
_LONGEST_PART: Final = 200


class Unusable(Exception):
    """A file or folder that cannot be used: one line that names it and says why."""


class Folder(msgspec.Struct, frozen=True):
    """A folder, and what a person calls it: ``~/.geode``; nothing for a project's root.

    No path may lead out of it, and no part of one may be a link: it may have come with a project that others wrote.
    """

    path: Path
    name: str

    def shown(self, relative: str) -> str:
        """What a person calls a file of it, or it itself where ``relative`` is empty."""
        return "/".join(part for part in (self.name, relative) if part)

    def text(self, relative: str) -> str | None:
        """The whole text of a file; None where there is none. Raises `Unusable`."""
        data = self._read(relative, 0, MOST_BYTES + 1)
        if data is None:
            return None
        if len(data) > MOST_BYTES:
            raise self.unusable(relative, f"is larger than {MOST_BYTES // 1024} KiB")
        if b"\0" in data:
            raise self.unusable(relative, "is no text")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise self.unusable(relative, "is not UTF-8 text") from None

    def tail(self, relative: str, most: int = TAIL_BYTES) -> list[bytes]:
        """The last whole lines of a file, in at most ``most`` bytes; none where there is no file. Raises `Unusable`."""
        data = self._read(relative, -most, most + 1)
        if data is None:
            return []
        if len(data) > most:
            data = data.partition(b"\n")[2]
        return [line for line in data.split(b"\n") if line.strip()]

    def files(self, relative: str, suffix: str = "") -> list[str]:
        """The names in a folder of it that are no folders and end in ``suffix``, in order; of a very large folder only
        some, and none where there is no such folder. Hidden ones are left out. Raises `Unusable`.
        """
        return [name for name, is_folder in self._entries(relative) if not is_folder and name.endswith(suffix)]

    def folders(self, relative: str) -> list[str]:
        """The folders in a folder of it; otherwise as `files`. Raises `Unusable`."""
        return [name for name, is_folder in self._entries(relative) if is_folder]

    def has(self, relative: str) -> bool:
        """Whether there is anything of that name, a link or not."""
        try:
            *above, name = self.parts(relative)
            with self.opened(above) as folder:
                os.stat(name, dir_fd=folder, follow_symlinks=False)
        except (OSError, Unusable):
            return False
        return True

    def parts(self, relative: str) -> list[str]:
        """The parts of a path inside it; none for the empty one. Raises `Unusable` where it would lead out."""
        if not relative:
            return []
        parts = relative.split("/")
        if any(part in {"", ".", ".."} or "\0" in part or len(part) > _LONGEST_PART for part in parts):
            raise self.unusable(relative, "is no path inside this folder")
        return parts

    def unusable(self, relative: str, why: str) -> Unusable:
        """The error that says so."""
        return Unusable(f"{self.shown(relative)} {why}")

    @contextmanager
    def opened(self, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
        """A descriptor of the folder at ``parts``, made with its parents where ``make`` says so. Raises `OSError`."""
        if make:
            self.path.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(self.path, _FOLDER)
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=descriptor)
                below = os.open(part, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)

    def _read(self, relative: str, start: int, most: int) -> bytes | None:
        """Up to ``most`` bytes from ``start``, a negative one counted from the end, with one byte before those; None
        where there is no file.
        """
        *above, name = self.parts(relative)
        try:
            with self.opened(above) as folder:
                descriptor = os.open(name, _FILE, dir_fd=folder)
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                os.close(descriptor)
                raise self.unusable(relative, "is no regular file")
            with os.fdopen(descriptor, "rb") as file:
                file.seek(start if start >= 0 else max(0, found.st_size + start - 1))
                return file.read(most)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.unusable(relative, said(error)) from None

    def _entries(self, relative: str) -> list[tuple[str, bool]]:
        """The names in a folder of it, in order, each with whether it is a folder itself."""
        try:
            with self.opened(self.parts(relative)) as folder, os.scandir(folder) as entries:
                found = [(e.name, e.is_dir(follow_symlinks=False)) for e in islice(entries, MOST_ENTRIES)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self.unusable(relative, said(error)) from None
        return sorted(entry for entry in found if not entry[0].startswith("."))


def said(error: OSError) -> str:
    """What an error of the system says of a file, to be read after its name."""
    if error.errno == errno.ELOOP:
        return "is a link, which is not followed"
    if error.errno == errno.ENOTDIR:
        return "cannot be reached: a part of its path is a link or no folder"
    return f"cannot be used: {(error.strerror or type(error).__name__).lower()}"
