"""What the window's upkeep needs of the world around it, and how each piece of it ends. No decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from geode_tui.context.summary_source import Source
from geode_tui.context.view import Item
from geode_tui.core.events import MaintenanceAction, MaintenanceStatus, Payload
from geode_tui.core.views import Cause, Version
from geode_tui.log.views import Artifact


class SummaryFailed(Exception):
    """No summary came of a request. ``too_large`` is where the request itself did not fit; ``kind`` is the provider's
    error, in the words of the log.
    """

    def __init__(self, kind: str, line: str, *, too_large: bool = False) -> None:
        super().__init__(line)
        self.kind = kind
        self.too_large = too_large


class CheckpointFailed(Exception):
    """The view that was to become active did not: the former one still is. ``kind`` names what was raised."""

    def __init__(self, kind: str, line: str) -> None:
        super().__init__(line)
        self.kind = kind


class SummaryAnswer(msgspec.Struct, frozen=True):
    """What a model wrote. ``tokens`` is what its provider counted of it."""

    text: str
    stop_reason: str
    model: str = ""
    provider: str = ""
    tokens: int | None = None


class NativeAnswer(msgspec.Struct, frozen=True):
    """A block that the provider wrote when it was asked to compact: ``raw`` as it came, ``content`` to be read."""

    raw: str
    provider: str
    content: str
    model: str = ""


class Permission(msgspec.Struct, frozen=True):
    """What the extensions say before a summary: how many of the newest messages stay, and whether it is put off."""

    keep_recent: int
    deferred: bool = False
    reason: str = ""


class Ports(Protocol):
    """The window's hands. All of them may be cancelled; nothing that returns is undone by it."""

    session_id: str

    @property
    def local(self) -> bool:
        """Whether summaries are written here: no model can be asked."""
        ...

    def now(self) -> float:
        """Epoch seconds."""
        ...

    def probe(self, point: str) -> None:
        """A point where a crash matters."""
        ...

    async def tell(self, *events: Payload) -> None:
        """Write events."""
        ...

    async def keep(self, items: Sequence[Item]) -> Mapping[int, str]:
        """Store the results of these messages in files of their own; refs by seq, without those that could not be."""
        ...

    async def keep_artifact(self, artifact: Artifact) -> bool:
        """Store a summary; whether that worked."""
        ...

    async def forget_artifact(self, artifact_id: str, why: str) -> None:
        """The summary was not used: its artifact says so."""
        ...

    async def commit(self, version: Version, events: Sequence[Payload], artifact_id: str = "") -> None:
        """Make ``version`` the active one, with its events and the word that the artifact is applied, in one
        transaction. Raises `CheckpointFailed`; the artifact is then marked as not applied.
        """
        ...

    async def summarise(self, source: Source, max_tokens: int) -> SummaryAnswer:
        """Ask the conversation's own route. Raises `SummaryFailed`."""
        ...

    async def compact(self, upto: int, instructions: str) -> NativeAnswer:
        """Ask the conversation's own route to compact what is sent of it up to the message ``upto``. Empty instructions
        are the provider's own. Raises `SummaryFailed`.
        """
        ...

    async def pre_compact(self, trigger: Cause, messages: int, keep: int, *, hard: bool) -> Permission:
        """Ask the extensions."""
        ...

    async def post_compact(self, trigger: Cause, before: int, after: int, keep: int, *, persisted: bool) -> None:
        """Tell the extensions."""
        ...


class Result(msgspec.Struct, frozen=True):
    """How one operation ended (RUNTIME.md 2.5). ``line`` says why, for a person; counts are of messages sent."""

    action: MaintenanceAction
    status: MaintenanceStatus
    line: str = ""
    error_type: str = ""
    original_count: int = 0
    new_count: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    version: int = 0
    artifact_id: str = ""
    persisted: bool = False

    @property
    def changed(self) -> bool:
        """Whether another view is active."""
        return self.status == "changed"
