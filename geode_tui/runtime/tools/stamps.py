"""Knowing that a file is still what the run last read of it, before it is overwritten."""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

from geode_tui.runtime.tools.base import FileStamp, ToolContext, ToolRefused
from geode_tui.runtime.tools.confine import Place, open_file
from geode_tui.runtime.tools.texts import quoted, size_text

HASHED_BYTES = 8 * 1024 * 1024
"""Files up to this size are held in memory, compared by content and changed; larger ones are only read."""


def read_whole(source: BinaryIO) -> tuple[bytes | None, FileStamp]:
    """The content of ``source`` and its stamp; no content and a stamp without hash over `HASHED_BYTES`."""
    status = os.fstat(source.fileno())
    if status.st_size > HASHED_BYTES:
        return None, FileStamp(status.st_mtime_ns, status.st_size, "")
    content = source.read(HASHED_BYTES + 1)
    if len(content) > HASHED_BYTES:
        return None, FileStamp(status.st_mtime_ns, len(content), "")
    return content, stamp_of(content, status)


def stamp_of(content: bytes, status: os.stat_result) -> FileStamp:
    """The stamp of ``content``, found in a file with ``status``."""
    return FileStamp(status.st_mtime_ns, len(content), hashlib.sha256(content).hexdigest())


def read_unchanged(context: ToolContext, place: Place) -> bytes:
    """The present content of the file at ``place``.

    Raises:
        ToolRefused: this run has not read the file, it has changed since, or it is over `HASHED_BYTES`.
    """
    known = context.seen.get(str(place.real))
    with os.fdopen(open_file(context, place), "rb") as source:
        if known is None:
            raise ToolRefused(f"{quoted(place.given)} exists and this run has not read it: read it first")
        content, stamp = read_whole(source)
    if content is None:
        raise ToolRefused(f"{quoted(place.given)} is over {size_text(HASHED_BYTES)}: change it with a command")
    if known.sha256 != stamp.sha256:
        raise ToolRefused(f"{quoted(place.given)} has changed since it was read: read it again")
    return content
