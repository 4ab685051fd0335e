"""Commands: what a person or a script asks of a worker, as rows. The only write a reader makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import apsw
import msgspec

from geode_tui.core.limits import RunOptions
from geode_tui.core.text import scrub
from geode_tui.log.rows import PendingCommand
from geode_tui.log.store import fetch

IDEMPOTENT = frozenset(
    {
        "interrupt", "budget", "resume", "retry", "model", "fork", "mcp",
        "compact", "mask", "offload", "pin", "unpin", "keep", "undo", "redo", "recall", "pin_ref",
        "dream", "forget", "approve",
    }
)  # fmt: skip
"""Kinds that a worker may take up again after the one that claimed them died."""


class Submit(msgspec.Struct, frozen=True, tag_field="kind", tag="submit"):
    """A person's words. ``later`` waits for the turn's end. ``options`` starts a session that does not exist yet."""

    text: str
    later: bool = False
    options: RunOptions | None = None


class Interrupt(msgspec.Struct, frozen=True, tag_field="kind", tag="interrupt"):
    """End the turn that is going on."""

    by: str = "person"


class Decide(msgspec.Struct, frozen=True, tag_field="kind", tag="decide"):
    """An answer to an approval; no id means the oldest that waits."""

    verdict: str
    approval_id: str = ""
    always: bool = False
    why: str = ""


class Budget(msgspec.Struct, frozen=True, tag_field="kind", tag="budget"):
    """Set a limit: rounds, time (s), session (s) or cost (USD); 0 is none."""

    limit: str
    value: str


class Resume(msgspec.Struct, frozen=True, tag_field="kind", tag="resume"):
    """Go on where a dead or interrupted run stopped. ``options`` replaces the limits where given."""

    options: RunOptions | None = None


class Retry(msgspec.Struct, frozen=True, tag_field="kind", tag="retry"):
    """Ask the provider again now instead of waiting longer."""


class Model(msgspec.Struct, frozen=True, tag_field="kind", tag="model"):
    """Go on with another model from the next round on; what is empty stays as it is. ``provider`` names a service."""

    model: str = ""
    provider: str = ""
    effort: str = ""


class Compact(msgspec.Struct, frozen=True, tag_field="kind", tag="compact"):
    """Replace the older part of what the model is sent by a summary, or with ``prune`` leave it out. ``keep`` are the
    newest messages that stay (0: the default), ``focus`` is what the summary must not miss.
    """

    keep: int = 0
    focus: str = ""
    prune: bool = False


class Mask(msgspec.Struct, frozen=True, tag_field="kind", tag="mask"):
    """Results give way to markers that name their files: those in the messages ``seqs``, or all that are stale."""

    seqs: tuple[int, ...] = ()


class Offload(msgspec.Struct, frozen=True, tag_field="kind", tag="offload"):
    """The results in the messages ``seqs`` go into files of their own; what they say in short stays."""

    seqs: tuple[int, ...]


class Pin(msgspec.Struct, frozen=True, tag_field="kind", tag="pin"):
    """No automatic step may touch the messages ``seqs``."""

    seqs: tuple[int, ...]


class Unpin(msgspec.Struct, frozen=True, tag_field="kind", tag="unpin"):
    """They may be touched again."""

    seqs: tuple[int, ...]


class Keep(msgspec.Struct, frozen=True, tag_field="kind", tag="keep"):
    """Tell the model again, in a pinned note, what the summary of view version ``version`` lost as item ``index``."""

    version: int
    index: int


class Recall(msgspec.Struct, frozen=True, tag_field="kind", tag="recall"):
    """Tell the model, in a note, what the stored result ``ref_id`` says from character ``offset`` on: ``limit``
    characters, and never more than a page; 0 is a page.
    """

    ref_id: str
    offset: int = 0
    limit: int = 0


class PinRef(msgspec.Struct, frozen=True, tag_field="kind", tag="pin_ref"):
    """The stored result ``ref_id`` does not expire, or may again."""

    ref_id: str
    pinned: bool = True


class Undo(msgspec.Struct, frozen=True, tag_field="kind", tag="undo"):
    """Take back the last change of what the model is sent."""


class Redo(msgspec.Struct, frozen=True, tag_field="kind", tag="redo"):
    """Make what an undo took back hold again."""


class Fork(msgspec.Struct, frozen=True, tag_field="kind", tag="fork"):
    """Begin this session as a copy of ``parent`` as it stood when its round ``round`` of turn ``turn`` had ended; 0 is
    the newest.
    """

    parent: str
    turn: int = 0
    round: int = 0


class Mcp(msgspec.Struct, frozen=True, tag_field="kind", tag="mcp"):
    """Connect the MCP server ``restart`` anew; without a name all of them."""

    restart: str = ""


class Dream(msgspec.Struct, frozen=True, tag_field="kind", tag="dream"):
    """Write a dream of what was said since the last one, now."""


class ForgetArtifact(msgspec.Struct, frozen=True, tag_field="kind", tag="forget"):
    """Delete the text of a dream or of a summary's copy; its row stays and says ``why``."""

    artifact_id: str
    why: str = ""


class ApproveArtifact(msgspec.Struct, frozen=True, tag_field="kind", tag="approve"):
    """A dream or a summary is right, a person says."""

    artifact_id: str


ByHand: TypeAlias = Compact | Mask | Offload | Pin | Unpin | Keep | Undo | Redo | Recall | PinRef
"""What changes what the model is sent, done at a round's boundary or at rest."""
Kept: TypeAlias = Dream | ForgetArtifact | ApproveArtifact
"""What concerns the texts that are kept of a session, done at any time."""
Command: TypeAlias = Submit | Interrupt | Decide | Budget | Resume | Retry | Model | Fork | Mcp | ByHand | Kept


def decode(kind: str, payload: str) -> Command:
    """The typed command of a row. Raises ``msgspec.ValidationError`` for kinds and shapes that are not known."""
    body = msgspec.json.decode(payload, type=dict[str, Any])
    return msgspec.convert({**body, "kind": kind}, Command)  # type: ignore[no-any-return]


def encode(command: Command) -> tuple[str, str]:
    """(kind, payload JSON) of a command; what a person typed is made storable here."""
    body: dict[str, Any] = msgspec.to_builtins(command)
    kind = body.pop("kind")
    storable = {name: scrub(value) if isinstance(value, str) else value for name, value in body.items()}
    return kind, msgspec.json.encode(storable).decode()


def send(
    db: apsw.Connection, session_id: str, kind: str, payload: str, *, client_id: str, key: str, now: float
) -> None:
    """Write a command durably. The same ``key`` twice is one command."""
    db.pragma("synchronous", "full")
    db.execute(
        "INSERT OR IGNORE INTO commands(session_id, client_id, key, kind, payload, created_at) VALUES(?,?,?,?,?,?)",
        (session_id, client_id, key, kind, payload, now),
    )


def pending(db: apsw.Connection, session_id: str) -> list[PendingCommand]:
    """The session's commands without an outcome, oldest first."""
    query = (
        "SELECT id, key, kind, payload, created_at, claimed_epoch IS NOT NULL FROM commands"
        " WHERE session_id=? AND done_at IS NULL ORDER BY id LIMIT 200"
    )
    return [
        PendingCommand(i, k, kind, _typed(kind, p), at, bool(c))
        for i, k, kind, p, at, c in fetch(db, query, (session_id,))
    ]


def _typed(kind: str, payload: str) -> str:
    """What a person typed, for a submit."""
    if kind != "submit":
        return ""
    try:
        body = msgspec.json.decode(payload)
    except msgspec.DecodeError:
        return ""
    return str(body.get("text", "")) if isinstance(body, dict) else ""


def payloads(db: apsw.Connection, session_id: str) -> Iterator[tuple[PendingCommand, str, int | None]]:
    """(command, payload JSON, epoch that claimed it) for every command of the session without an outcome."""
    query = (
        "SELECT id, key, kind, payload, created_at, claimed_epoch FROM commands"
        " WHERE session_id=? AND done_at IS NULL ORDER BY id LIMIT 200"
    )
    for i, key, kind, payload, at, epoch in fetch(db, query, (session_id,)):
        yield PendingCommand(i, key, kind, _typed(kind, payload), at, epoch is not None), payload, epoch


def outcome_of(db: apsw.Connection, key: str) -> str | None:
    """The outcome of the command with ``key``, or None while it has none."""
    row = db.execute("SELECT outcome FROM commands WHERE key=?", (key,)).get
    return None if row is None else str(row)
