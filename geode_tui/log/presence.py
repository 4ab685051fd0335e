"""Whether somebody watches a session: a file beside its lock that every screen touches while it is attached."""

from __future__ import annotations

import os
import time
from pathlib import Path

from geode_tui.core.ids import check_id
from geode_tui.log.store import private_folder

TOUCH_S = 20.0
"""How often a screen touches the file."""
WATCHED_S = 60.0
"""A touch older than this means that nobody watches."""


def presence_path(geode: Path, session_id: str) -> Path:
    """The file of a session. Raises `core.ids.BadId`."""
    return geode / "workers" / f"{check_id(session_id)}.watch"


def touch(geode: Path, session_id: str) -> None:
    """Say that somebody watches. Raises ``OSError``."""
    path = presence_path(geode, session_id)
    private_folder(path.parent)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        os.utime(fd)
    finally:
        os.close(fd)


def watched(geode: Path, session_id: str, now: float | None = None) -> bool:
    """Whether a screen was attached within the last minute."""
    try:
        touched = presence_path(geode, session_id).stat().st_mtime
    except OSError:
        return False
    return (time.time() if now is None else now) - touched < WATCHED_S
