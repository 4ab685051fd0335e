"""Tier 3: what was kept for a session, in memory and, where a folder is given, in a file a session (RUNTIME.md 6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from geode_tui.memory.files import MOST_BYTES, Folder
from geode_tui.memory.loading import Loaded, Reading
from geode_tui.memory.writing import locked, replace

TTL_S: Final = 4 * 3_600.0
"""How long it is kept, seconds."""
FOLDER: Final = "memory/sessions"
MOST_SESSIONS: Final = 256
"""Sessions that are held in memory; the oldest goes first."""


class _Kept(msgspec.Struct, frozen=True):
    session_id: str
    data: dict[str, Any]
    created_at: float


class SessionStore:
    """See the module. ``clock`` gives UTC epoch seconds. Reading never writes: what is too old is only not given."""

    def __init__(self, clock: Callable[[], float], folder: Folder | None = None, ttl_s: float = TTL_S) -> None:
        self._clock, self._folder, self._ttl_s = clock, folder, ttl_s
        self._held: dict[str, _Kept] = {}

    def keep(self, session_id: str, data: dict[str, Any]) -> None:
        """Keep ``data``, JSON values, for a session in place of what it had. Raises `Unusable`, and `ValueError` for
        what is too large.
        """
        kept = _Kept(session_id, data, self._clock())
        encoded = msgspec.json.encode(kept)
        if len(encoded) > MOST_BYTES:
            raise ValueError(f"what is kept for a session has at most {MOST_BYTES // 1024} KiB")
        self._held.pop(session_id, None)
        self._held = {known: one for known, one in self._held.items() if self._fresh(one)}
        if len(self._held) >= MOST_SESSIONS:
            del self._held[next(iter(self._held))]
        self._held[session_id] = kept
        if self._folder is not None:
            with locked(self._folder, FOLDER) as inside:
                replace(inside, file_name(session_id), encoded)

    def load(self, session_id: str) -> Loaded:
        """What is kept for a session and not too old."""
        held = self._held.get(session_id)
        if held is not None:
            return Loaded(held.data if self._fresh(held) else {})
        if self._folder is None:
            return Loaded()
        reading, name = Reading(), f"{FOLDER}/{file_name(session_id)}"
        found = reading.json(self._folder, name)
        if not found:
            return reading.loaded({})
        try:
            kept = msgspec.convert(found, _Kept)
        except msgspec.ValidationError:
            return Loaded(problems=(str(self._folder.unusable(name, "is no record of a session")),))
        usable = kept.session_id == session_id and self._fresh(kept)  # two ids may have one file's name
        return reading.loaded(kept.data) if usable else Loaded()

    def _fresh(self, kept: _Kept) -> bool:
        return self._clock() - kept.created_at < self._ttl_s


def file_name(session_id: str) -> str:
    """The name of a session's file, whatever its id is."""
    return f"sess-{re.sub(r'[^a-zA-Z0-9_-]', '_', session_id)[:128]}.json"
