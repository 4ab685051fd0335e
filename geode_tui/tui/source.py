"""What the screens need of the outside: one run to watch and to steer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from geode_tui.core.events import EventRow
from geode_tui.log.browse import PAGE, EventPage, EventQuery

if TYPE_CHECKING:
    from geode_tui.log.rows import StoredMessage
    from geode_tui.view.blocks import BlockEntry
    from geode_tui.view.cost import MonthCost
    from geode_tui.view.follow import Batch


class SourceError(Exception):
    """Something asked of the source did not work. The message is one line: what is wrong and what to do."""


class ModelChoice(msgspec.Struct, frozen=True):
    """A model of a service that can be asked; or a service that cannot, without a model: ``lacks`` names what it needs
    and ``why`` says it in one line.

    Tokens: ``budget`` is what a prompt may take there, ``warning`` where its gauge warns.
    """

    service: str
    route: str
    model: str = ""
    window: int = 0
    provenance: str = ""
    budget: int = 0
    warning: int = 0
    lacks: str = ""
    why: str = ""


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


class Exported(msgspec.Struct, frozen=True):
    """A file that was written, and how many events stand in it."""

    path: str
    count: int


class EventSource(Protocol):
    """A run's events. All methods may block: they are called in a thread."""

    session_id: str

    def events(
        self, query: EventQuery, *, before: int | None = None, after: int | None = None, limit: int = PAGE
    ) -> EventPage:
        """The last wanted events before an id, or the first ones after one. Raises `SourceError`."""
        ...

    def event_names(self) -> Mapping[str, int]:
        """How many events of each name there are. Raises `SourceError`."""
        ...

    def export_events(self, query: EventQuery, admits: Callable[[EventRow], bool], stop: Event) -> Exported:
        """Write the events that ``query`` and ``admits`` let through as JSON lines (PRODUCT.md, "An event object").
        Once ``stop`` is set it gives up and leaves nothing behind. Raises `SourceError`.
        """
        ...


class RunSource(EventSource, Protocol):
    """One run. All methods but `clock` and `follower` may block: they are called in a thread."""

    project: str
    """The project's name, for the header."""

    def follower(self, wake: Callable[[], None]) -> Feed:
        """A follower of the run that calls ``wake`` from its own thread."""
        ...

    def load(self, message_id: int) -> StoredMessage:
        """A message with its body. Raises `SourceError`."""
        ...

    def arguments(self, call_id: str) -> str:
        """The whole JSON text of a call's arguments as it would be run. Raises `SourceError`."""
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

    def fork(self, turn: int, round_: int) -> RunSource:
        """A new run that begins as a copy of this one at the end of that round; 0 is the newest turn or round. Waits
        until it is there. Raises `SourceError`.
        """
        ...

    def blocks(self, version: int) -> tuple[BlockEntry, ...]:
        """All blocks of the run's whole messages, in order, as ``version`` of the view has them sent; 0 is before there
        was any. Raises `SourceError`.
        """
        ...

    def months(self) -> tuple[MonthCost, ...]:
        """The person's ledger by month: the present one, then those before it. Raises `SourceError`."""
        ...

    def models(self) -> tuple[ModelChoice, ...]:
        """Every model that can be chosen. Raises `SourceError`."""
        ...

    def clock(self) -> float:
        """UTC epoch seconds."""
        ...
