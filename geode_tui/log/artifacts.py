"""Dreams among a session's artifacts: the newest ones, what a person says of one, and how the dreaming goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import apsw
import msgspec

from geode_tui.log.store import fetch_one
from geode_tui.log.views import Artifact, keep_artifact
from geode_tui.log.writer import Tx

DREAM: Final = "dream"
SUMMARY: Final = "compaction_summary"


class DreamHealth(msgspec.Struct, frozen=True):
    """How the dreaming of a session goes. ``lag`` counts its messages since the newest dream. ``model`` is empty where
    the program wrote that one, and ``why`` says why. ``cost_micro`` is that of all dreams that were written.
    """

    dreams: int
    lag: int
    last_at: float | None = None
    upto: int = 0
    local: bool = False
    model: str = ""
    why: str = ""
    cost_micro: int = 0


def health(found: Sequence[Artifact], newest_seq: int) -> DreamHealth:
    """The health of a session with these artifacts, oldest first, whose last message is ``newest_seq``."""
    dreams = [artifact for artifact in found if artifact.kind == DREAM]
    if not dreams:
        return DreamHealth(0, newest_seq)
    last = dreams[-1]
    upto = max(dream.source_end_seq or 0 for dream in dreams)
    return DreamHealth(
        dreams=len(dreams),
        lag=max(0, newest_seq - upto),
        last_at=last.created_at,
        upto=upto,
        local=bool(last.metadata.get("local")),
        model=last.model,
        why=str(last.metadata.get("why", "")),
        cost_micro=sum(cost_of(dream) for dream in dreams),
    )


def cost_of(artifact: Artifact) -> int:
    """What writing it cost, micro-dollars, as far as its row says."""
    cost = artifact.metadata.get("cost_micro", 0)
    return cost if isinstance(cost, int) else 0


def dreamt_upto(db: apsw.Connection, session_id: str) -> int:
    """The last message that a dream is about, forgotten ones counted; 0 where there is none."""
    query = "SELECT coalesce(max(source_end_seq), 0) FROM context_artifacts WHERE session_id=? AND kind='dream'"
    (upto,) = fetch_one(db, query, (session_id,)) or (0,)
    return int(upto)


def keep_dream(tx: Tx, session_id: str, dream: Artifact) -> bool:
    """Store a dream; false where another one is about the same messages already."""
    if dreamt_upto(tx.db, session_id) >= (dream.source_end_seq or 0):
        return False
    keep_artifact(tx, session_id, dream)
    return True


def forget(tx: Tx, session_id: str, artifact_id: str, who: str, why: str) -> str | None:
    """Delete an artifact's text; its row stays, with who asked for it, when and why. Returns its kind, or None where
    the session has no such artifact with a text.
    """
    row = tx.db.execute(
        "UPDATE context_artifacts SET content='', token_count=0, updated_at=?, metadata=json_set("
        "json_remove(metadata, '$.marks'), '$.forgotten', json_object('who', ?, 'why', ?, 'at', ?))"
        " WHERE session_id=? AND artifact_id=? AND metadata ->> '$.forgotten' IS NULL RETURNING kind",
        (tx.now, who, why, tx.now, session_id, artifact_id),
    ).get
    return None if row is None else str(row)


def approve(tx: Tx, session_id: str, artifact_id: str, who: str) -> str | None:
    """Write down who found an artifact right, and when. Returns as `forget`."""
    row = tx.db.execute(
        "UPDATE context_artifacts SET updated_at=?, metadata=json_set(metadata, '$.approved',"
        " json_object('who', ?, 'at', ?))"
        " WHERE session_id=? AND artifact_id=? AND metadata ->> '$.forgotten' IS NULL RETURNING kind",
        (tx.now, who, tx.now, session_id, artifact_id),
    ).get
    return None if row is None else str(row)


def said_between(db: apsw.Connection, session_id: str, first: int, upto: int) -> tuple[float, float]:
    """When the first and the last of those messages were said, epoch seconds."""
    query = "SELECT min(timestamp), max(timestamp) FROM messages WHERE session_id=? AND seq BETWEEN ? AND ?"
    begun, ended = fetch_one(db, query, (session_id, first, upto)) or (None, None)
    return float(begun or 0.0), float(ended or 0.0)
