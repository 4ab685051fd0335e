"""Where the tests keep their files: in memory, where there is room. A store syncs for every intent, and a slow disk is
not under test.
"""

from __future__ import annotations

import os
import shutil

MEMORY = "/dev/shm"
"""A file system in memory, where there is one."""
ROOM = 2 << 30
"""Bytes that must be free there: a whole run of the tests leaves about a tenth of it; a container often has 64 MB."""


def in_memory() -> str | None:
    """The folder for temporary files; None: the system's own."""
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM:
        return MEMORY
    return None
