"""A run's events out of the store: windows, names, and export as JSON lines."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from geode_tui.cli.env import Env
from geode_tui.cli.lines import event_object
from geode_tui.core.events import EventRow
from geode_tui.log.browse import PAGE, EventPage, EventQuery, every, names, newer, older
from geode_tui.log.store import StoreError, connect, private_folder
from geode_tui.log.transcript import Transcript
from geode_tui.tui.source import Exported, SourceError

EXPORTS = "exports"
"""Folder below ``.geode``: no tool of an agent reaches it."""


class StoreEvents:
    """See `tui.source.EventSource`. A session that has not begun has no events."""

    def __init__(self, env: Env, session_id: str) -> None:
        self.session_id = session_id
        self._env = env

    def events(
        self, query: EventQuery, *, before: int | None = None, after: int | None = None, limit: int = PAGE
    ) -> EventPage:
        """The last wanted events before an id, or the first ones after one. Raises `SourceError`."""
        with self._opened() as (transcript, number):
            if before is not None:
                return older(transcript.db, number, query, before, limit)
            return newer(transcript.db, number, query, after or 0, limit)

    def event_names(self) -> Counter[str]:
        """How many events of each name there are. Raises `SourceError`."""
        with self._opened() as (transcript, number):
            return names(transcript.db, number)

    def export_events(self, query: EventQuery, admits: Callable[[EventRow], bool], stop: threading.Event) -> Exported:
        """Write events into a new file of the project's ``.geode/exports``, readable by the person only. Raises
        `SourceError`.
        """
        folder = self._env.project.geode / EXPORTS
        stamp = time.strftime("%Y%m%d-%H%M%S")
        path = folder / f"events-{self.session_id}-{stamp}.jsonl"
        partial = path.with_suffix(f".{os.getpid()}.part")
        try:
            with self._opened() as (transcript, number):
                private_folder(folder)
                count = self._write(partial, admits, _until(stop, every(transcript.db, number, query)))
            partial.replace(path)
        except OSError as error:
            raise SourceError(f"{path} could not be written ({error.strerror}): check the folder") from error
        return Exported(str(path), count)

    def _write(self, path: Path, admits: Callable[[EventRow], bool], pages: Iterator[tuple[EventRow, ...]]) -> int:
        """Write the file anew and count its lines; it goes again where that does not come to an end."""
        count = 0
        try:
            with open(path, "w", encoding="utf-8", opener=_private) as file:
                for page in pages:
                    rows = [row for row in page if admits(row)]
                    file.writelines(f"{event_object(r, self.session_id, self._env.safe_value)}\n" for r in rows)
                    count += len(rows)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return count

    @contextmanager
    def _opened(self) -> Iterator[tuple[Transcript, int]]:
        """A reader of the store and the session's number in it (0 before it has begun). Raises `SourceError`."""
        try:
            db = connect(self._env.project.store)
            try:
                transcript = Transcript(db, self._env.project.geode)
                row = transcript.session(self.session_id)
                yield transcript, 0 if row is None else row.number
            finally:
                db.close()
        except StoreError as error:
            raise SourceError(str(error)) from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def _until(stop: threading.Event, pages: Iterator[tuple[EventRow, ...]]) -> Iterator[tuple[EventRow, ...]]:
    for page in pages:
        if stop.is_set():
            raise SourceError("the export was given up")
        yield page
