"""Events of what is kept of a run beside its messages: dreams, and what a person says of kept texts."""

from __future__ import annotations

from typing import Literal

from geode_tui.core.events.base import Payload


class DreamStarted(Payload, frozen=True):
    """A model is asked for a dream of the messages up to ``upto``. One that is put together here is written at once. A
    worker that dies leaves it without its end.
    """

    upto: int
    model: str
    provider: str


class DreamEnded(Payload, frozen=True):
    """A dream was written, or one that was begun was not: the worker left before it was done.

    ``first`` to ``upto`` are the messages that it is about. ``why`` is one line that says why no model wrote it.
    ``marked`` counts its lines that no message bears out, ``dropped`` those that were left out of it.
    """

    status: Literal["written", "cancelled"]
    upto: int
    first: int = 0
    artifact_id: str = ""
    local: bool = False
    why: str = ""
    marked: int = 0
    dropped: int = 0
    cost_micro: int = 0


class ArtifactForgotten(Payload, frozen=True):
    """The text of a dream or of a summary's copy was deleted; its row stays and says so."""

    artifact_id: str
    kind: str
    why: str
    by: str = "person"


class ArtifactApproved(Payload, frozen=True):
    """A person read a dream or a summary and found it right."""

    artifact_id: str
    kind: str
    by: str = "person"
