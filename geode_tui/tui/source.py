"""What the screens need of the outside: one run to watch and to steer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from geode_tui.core.events import EventRow
from geode_tui.log.browse import PAGE, EventPage, EventQuery

if TYPE_CHECKING:
    from geode_tui.core.strings import Strings
    from geode_tui.log.rows import StoredMessage
    from geode_tui.tui.viewer.document import Bytes
    from geode_tui.view.blocks import BlockEntry
    from geode_tui.view.compaction import CompactionPreview
    from geode_tui.view.cost import MonthCost
    from geode_tui.view.dreams import DreamTable
    from geode_tui.view.follow import Batch
    from geode_tui.view.offloads import OffloadRow, OffloadTable
    from geode_tui.view.state import WindowNote
    from geode_tui.view.versions import VersionDiff, VersionList
    from geode_tui.view.window_history import LostRow


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
    """A file that was written, and how many events or bytes stand in it."""

    path: str
    count: int


class OpenedOffload(msgspec.Struct, frozen=True):
    """A stored result: its bytes, and the raw text that the model is sent instead of it. ``seen`` is empty where the
    model is sent nothing of it, None where it is sent as it was said.
    """

    ref_id: str
    raw: Bytes | None
    seen: str | None


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

    def compaction(self, keep: int = 0, focus: str = "", *, prune: bool = False) -> CompactionPreview:
        """What a compaction with these wishes would do; where none is possible it says why. Raises `SourceError`."""
        ...

    def summary(self, version: int) -> str:
        """The text that stands for a part of the conversation since ``version`` of the view; empty where none does, or
        nobody here can read it. Raises `SourceError`.
        """
        ...

    def lost(self, version: int) -> tuple[LostRow, ...]:
        """What the summary of ``version`` of the view lost, the weightiest first. Raises `SourceError`."""
        ...

    def notes(self, since: tuple[int, int], until: tuple[int, int] | None) -> tuple[WindowNote, ...]:
        """What befell the context in the rounds from ``since`` to ``until`` (turn, round), both included; None: to the
        end. Raises `SourceError`.
        """
        ...

    def versions(self) -> VersionList:
        """Every version of the view, and what an undo or a redo would do. Raises `SourceError`."""
        ...

    def diff(self, before: int, after: int) -> VersionDiff:
        """What version ``after`` of the view sends otherwise than the older version ``before``; 0 is before there was
        any. Raises `SourceError`.
        """
        ...

    def months(self) -> tuple[MonthCost, ...]:
        """The person's ledger by month: the present one, then those before it. Raises `SourceError`."""
        ...

    def offloads(self) -> OffloadTable:
        """The results that were put into files, the newest first; no file is looked into that an event tells of. Raises
        `SourceError`.
        """
        ...

    def offload_files(self, rows: Sequence[OffloadRow]) -> tuple[OffloadRow, ...]:
        """``rows`` with what their files say. Raises `SourceError`."""
        ...

    def open_offload(self, ref_id: str) -> OpenedOffload:
        """A stored result to look at. Raises `SourceError`."""
        ...

    def save_offload(self, ref_id: str, path: str, *, replace: bool) -> Exported | None:
        """Write the exact bytes of a stored result to a file of the person's; None where one is there that may not be
        replaced. ``count`` is in bytes. Raises `SourceError`.
        """
        ...

    def dreams(self) -> DreamTable:
        """The dreams and summaries that are kept, the newest first. Raises `SourceError`."""
        ...

    def tiers(self, strings: Strings) -> Sequence[tuple[str, str]]:
        """What is remembered beside the run, tier by tier, as pairs of clean texts. Raises `SourceError`."""
        ...

    def models(self) -> tuple[ModelChoice, ...]:
        """Every model that can be chosen. Raises `SourceError`."""
        ...

    def clock(self) -> float:
        """UTC epoch seconds."""
        ...
