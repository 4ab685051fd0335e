"""A session that begins as a copy of another: where it may begin, and its rows, in slices that hold no lock for long.

The parent is only read. What was copied already is not copied again, so a copy that broke off is simply gone on with.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from geode_tui.core.views import Mask, Offload, Shrink, Version
from geode_tui.log import views
from geode_tui.log.rows import MessageRow
from geode_tui.log.store import fetch_one
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Tx

SLICE_ROWS, SLICE_BYTES = 200, 1 << 18
"""Rows and bytes after which a slice ends with the next whole batch: some 10 ms of the 50 that a write may last
(ARCHITECTURE.md, "Engine").
"""
SLICE_VERSIONS = 20
"""Versions of a slice: one may hold the stubs of hundreds of results."""
_COLUMNS = (
    "role, content, tool_call_id, tool_calls, tool_name, timestamp, token_count, finish_reason, reasoning, metadata,"
    " turn, round, status, chars"
)


class ForkError(Exception):
    """No session can begin there: one line that says why."""


class RoundEnd(msgspec.Struct, frozen=True):
    """A round that has ended. ``seq`` is its last message: its answer, or the last result of the answer's calls."""

    turn: int
    round: int
    seq: int


class ForkPoint(msgspec.Struct, frozen=True):
    """Where a session begins: session ``parent``, whose row is ``number``, as it stood when a round had ended."""

    parent: str
    number: int
    end: RoundEnd
    versions: tuple[Version, ...]
    """The versions of the parent's view that no later message had joined."""

    @property
    def refs(self) -> tuple[str, ...]:
        """The offloaded results that these versions name, each once."""
        return tuple(dict.fromkeys(ref for version in self.versions for ref in _refs(version)))


def ended_rounds(rows: Iterable[MessageRow]) -> tuple[RoundEnd, ...]:
    """The rounds of a session's messages that have ended, oldest first: their answers are whole, and every call of
    theirs has its result.
    """
    results: dict[str, int] = {}
    answers: dict[tuple[int, int], list[MessageRow]] = {}
    for row in rows:
        if row.status == "complete" and row.role == "tool":
            results[row.call_id] = row.seq
        elif row.status == "complete" and row.role == "assistant":
            answers.setdefault((row.turn, row.round), []).append(row)
    found = []
    for (turn, round_), given in sorted(answers.items()):
        calls = [call for row in given for call in row.calls]
        if all(call in results for call in calls):
            found.append(RoundEnd(turn, round_, max([row.seq for row in given] + [results[call] for call in calls])))
    return tuple(found)


def fork_point(transcript: Transcript, parent: str, turn: int = 0, round_: int = 0) -> ForkPoint:
    """Where a copy of session ``parent`` can begin: after that round, of the newest turn that has such a one where
    ``turn`` is 0; after the newest round that has ended where both are.

    Raises `ForkError`, `StoreError`.
    """
    row = transcript.session(parent)
    if row is None:
        raise ForkError(f"there is no session {parent}")
    if row.origin != "own":
        raise ForkError(f"this run was recorded by {row.origin} and cannot go on here: start a new one")
    ends = ended_rounds(transcript.index(parent))
    wanted = [end for end in ends if turn in {0, end.turn} and round_ in {0, end.round}]
    if not wanted:
        which = f"no round {turn}.{round_}" if turn else f"no round {round_}" if round_ else "no round"
        raise ForkError(f"{which} of {parent} has ended: there is nothing to begin with")
    end = wanted[-1]
    versions = views.versions(transcript, row.number)
    return ForkPoint(parent, row.number, end, tuple(v for v in versions if v.newest <= end.seq))


def copy_messages(tx: Tx, session_id: str, point: ForkPoint) -> bool:
    """Copy the next slice of the parent's whole messages into ``session_id``, with their numbers; false where none was
    left.
    """
    own = fetch_one(tx.db, "SELECT coalesce(max(seq), 0) FROM messages WHERE session_id=?", (session_id,))[0]
    last = _slice_end(tx, point, own)
    if not last:
        return False
    tx.db.execute(
        f"INSERT INTO messages(session_id, seq, {_COLUMNS}) SELECT ?, seq, {_COLUMNS} FROM messages"
        " WHERE session_id=? AND status='complete' AND seq>? AND seq<=? ORDER BY seq",
        (session_id, point.parent, own, last),
    )
    return True


def _slice_end(tx: Tx, point: ForkPoint, after: int) -> int:
    """The seq up to which the next slice goes, 0 where nothing is left: whole batches, since a worker that takes over
    would close the calls that have no result.
    """
    query = (
        "SELECT seq, role, octet_length(content) FROM messages WHERE session_id=? AND status='complete'"
        " AND seq>? AND seq<=? ORDER BY seq"
    )
    last = rows = size = 0
    cursor = tx.db.execute(query, (point.parent, after, point.end.seq))
    for seq, role, length in cursor:
        if role != "tool" and (rows >= SLICE_ROWS or size >= SLICE_BYTES):
            break
        last, rows, size = seq, rows + 1, size + (length or 0)
    cursor.close()
    return last


def copy_versions(tx: Tx, point: ForkPoint) -> bool:
    """Copy the next slice of the versions of the parent's view; false where none was left."""
    query = "SELECT coalesce(max(version), 0) FROM view_versions WHERE session=?"
    own = fetch_one(tx.db, query, (tx.session_number,))[0]
    left = [version.number for version in point.versions if version.number > own][:SLICE_VERSIONS]
    if not left:
        return False
    tx.db.execute(
        "INSERT INTO view_versions(session, version, created_at, cause, content) SELECT ?, version, created_at, cause,"
        " content FROM view_versions WHERE session=? AND version>? AND version<=?",
        (tx.session_number, point.number, own, left[-1]),
    )
    return True


def _refs(version: Version) -> Iterable[str]:
    for operation in version.operations:
        if isinstance(operation, Mask | Offload | Shrink):
            yield from (stub.ref for stub in operation.stubs if stub.ref)
