"""What the screens need of the outside: one run to watch and to steer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from geode_tui.log.rows import StoredMessage
from geode_tui.view.follow import Batch


class SourceError(Exception):
    """Something asked of the source did not work. The message is one line: what is wrong and what to do."""


class Feed(Protocol):
    """What `view.follow.Follower` is to the screens."""

    def start(self) -> None:
        """Start reading."""
        ...

    def nudge(self) -> None:
        """Look at the log at once."""
        ...

    def take(self, limit: int = 10_000) -> Batch:
        """The newest state and at most ``limit`` operations."""
        ...

    def stop(self) -> None:
        """End the reading thread."""
        ...


class RunSource(Protocol):
    """One run. All methods but `clock` and `follower` may block: they are called in a thread."""

    session_id: str
    project: str
    """The project's name, for the header."""

    def follower(self, wake: Callable[[], None]) -> Feed:
        """A follower of the run that calls ``wake`` from its own thread."""
        ...

    def load(self, message_id: int) -> StoredMessage:
        """A message with its body. Raises `SourceError`."""
        ...

    def arguments(self, call_id: str) -> str:
        """The whole JSON text of a call's arguments as the model sent it. Raises `SourceError`."""
        ...

    def inputs(self) -> tuple[str, ...]:
        """What the person said in this session, oldest first. Raises `SourceError`."""
        ...

    def paths(self) -> tuple[str, ...]:
        """Files of the project without those that git ignores, relative to its root. Raises `SourceError`."""
        ...

    def send(self, kind: str, payload: Mapping[str, Any], key: str | None = None) -> None:
        """Write a command row, and start a worker where the command needs one. Raises `SourceError`."""
        ...

    def clock(self) -> float:
        """UTC epoch seconds."""
        ...
