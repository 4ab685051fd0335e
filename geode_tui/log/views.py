"""The versions of a session's view, and the artifacts that its summaries are kept as."""

from __future__ import annotations

import hashlib
from typing import Any

import apsw
import msgspec

from geode_tui.core.views import Version, decode_version, encode_version
from geode_tui.log import blobs
from geode_tui.log.store import StoreError, fetch, fetch_one
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Tx


class Artifact(msgspec.Struct, frozen=True):
    """A text that was made of a part of a session (RUNTIME.md 5.5). ``metadata`` is a JSON object."""

    artifact_id: str
    kind: str
    content: str
    source_start_seq: int | None = None
    source_end_seq: int | None = None
    metadata: dict[str, Any] = {}
    token_count: int | None = None
    model: str = ""
    provider: str = ""
    created_at: float = 0.0


def artifact_id(session_id: str, kind: str, start: int | None, end: int | None, content: str) -> str:
    """The id of an artifact: the same for the same text about the same messages."""
    named = f"{session_id}\0{kind}\0{start}\0{end}\0{content}"
    return f"art_{hashlib.blake2b(named.encode(), digest_size=10).hexdigest()}"


def keep_artifact(tx: Tx, session_id: str, artifact: Artifact) -> None:
    """Store an artifact; the same one twice is one, and one that was applied stays so: a version names it."""
    tx.db.execute(
        "INSERT INTO context_artifacts(artifact_id, session_id, kind, source_start_seq, source_end_seq, content,"
        " metadata, token_count, model, provider, content_hash, created_at, updated_at)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT(artifact_id) DO UPDATE SET metadata=excluded.metadata, updated_at=excluded.updated_at"
        " WHERE metadata ->> '$.applied' IS NOT 1 AND metadata ->> '$.forgotten' IS NULL",
        (
            artifact.artifact_id, session_id, artifact.kind, artifact.source_start_seq, artifact.source_end_seq,
            artifact.content, msgspec.json.encode(artifact.metadata).decode(), artifact.token_count, artifact.model,
            artifact.provider, hashlib.sha256(artifact.content.encode()).hexdigest(), tx.now, tx.now,
        ),
    )  # fmt: skip


def mark_applied(tx: Tx, artifact_id: str) -> None:
    """The view that the artifact was written for is active."""
    tx.db.execute(
        "UPDATE context_artifacts SET metadata=json_set(metadata, '$.applied', json('true')), updated_at=?"
        " WHERE artifact_id=?",
        (tx.now, artifact_id),
    )


def mark_not_applied(tx: Tx, artifact_id: str, why: str) -> None:
    """The view that the artifact was written for did not become active (RUNTIME.md 2.6)."""
    tx.db.execute(
        "UPDATE context_artifacts SET metadata=json_set(metadata, '$.applied', json('false'), '$.reason', ?),"
        " updated_at=? WHERE artifact_id=? AND metadata ->> '$.applied' IS NOT 1",
        (why, tx.now, artifact_id),
    )


def undecided(db: apsw.Connection, session_id: str) -> list[str]:
    """Ids of summaries that were stored and neither applied nor given up: the worker died in between."""
    query = (
        "SELECT artifact_id FROM context_artifacts WHERE session_id=? AND kind='compaction_summary'"
        " AND metadata ->> '$.applied' = 0 AND metadata ->> '$.reason' IS NULL"
    )
    return [found for (found,) in fetch(db, query, (session_id,))]


def artifacts(db: apsw.Connection, session_id: str, kind: str = "", newest: int = -1) -> list[Artifact]:
    """The session's artifacts, oldest first; of one ``kind`` and only the ``newest`` of them where these are given."""
    query = (
        "SELECT artifact_id, kind, content, source_start_seq, source_end_seq, metadata, token_count, model, provider,"
        " created_at FROM context_artifacts WHERE session_id=? AND (?='' OR kind=?)"
        " ORDER BY created_at DESC, rowid DESC LIMIT ?"
    )
    found = [
        Artifact(i, k, c, a, b, msgspec.json.decode(meta), tokens, model, provider, at)
        for i, k, c, a, b, meta, tokens, model, provider, at in fetch(db, query, (session_id, kind, kind, newest))
    ]
    return found[::-1]


def add_version(tx: Tx, version: Version) -> None:
    """Make ``version`` the session's active view. Raises ``apsw.ConstraintError`` where there is one of that number."""
    content = blobs.store_text(tx.geode, encode_version(version))
    tx.db.execute(
        "INSERT INTO view_versions VALUES(?,?,?,?,?)",
        (tx.session_number, version.number, tx.now, version.cause, content),
    )


def versions(transcript: Transcript, number: int) -> list[Version]:
    """Every version of session ``number``'s view, oldest first; none in a store from before there were any."""
    query = "SELECT 1 FROM sqlite_master WHERE type='table' AND name='view_versions'"
    if fetch_one(transcript.db, query) is None:
        return []
    rows = fetch(
        transcript.db, "SELECT version, content FROM view_versions WHERE session=? ORDER BY version", (number,)
    )
    try:
        return [decode_version(blobs.load_text(transcript.geode, content)) for _, content in rows]
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise StoreError(f"a version of the view is damaged ({error})") from error
