"""`dreams`: what is kept of a run beside its messages, and how its dreaming goes; or dream now."""

from __future__ import annotations

from typing import Any

from geode_tui.cli.awaiting import carried_out
from geode_tui.cli.client import Client
from geode_tui.cli.env import Env, refuse_inside
from geode_tui.cli.errors import CliError
from geode_tui.core import format as fmt
from geode_tui.core.text import clean_line
from geode_tui.core.usage import usd
from geode_tui.log import commands as cmd
from geode_tui.log.artifacts import DreamHealth, cost_of, health
from geode_tui.log.rows import SessionRow
from geode_tui.log.store import fetch_one
from geode_tui.log.transcript import Transcript
from geode_tui.log.views import Artifact, artifacts
from geode_tui.view.reports import iso


def dreams(env: Env, session: str, *, now: bool, json: bool) -> int:
    """List the dreams and summaries of ``session``, oldest first; with ``now`` dream first. Returns the exit status.

    Raises `CliError`.
    """
    if now:
        refuse_inside(env.environment, "dreams --now")
    transcript = env.transcript()
    try:
        row = env.session(transcript, session)
        if now:
            _dream(env, row)
        found = artifacts(transcript.db, row.session_id)
        state = health(found, _newest(transcript, row.session_id))
    finally:
        transcript.db.close()
    if json:
        env.print_json([dream_report(artifact, env) for artifact in found])
        return 0
    for artifact in found:
        env.print(_line(env, artifact))
    env.print(health_line(env, state))
    return 0


def dream_report(artifact: Artifact, env: Env) -> dict[str, Any]:
    """PRODUCT.md's object for ``dreams``, with what is known of the text's sources."""
    meta = artifact.metadata
    return {
        "artifact_id": artifact.artifact_id,
        "kind": artifact.kind,
        "source_start_seq": artifact.source_start_seq,
        "source_end_seq": artifact.source_end_seq,
        "model": artifact.model or None,
        "local": not artifact.model,
        "cost_usd": usd(cost_of(artifact)),
        "token_count": artifact.token_count,
        "created_at": iso(artifact.created_at),
        "observed_at": iso(float(meta.get("observed_at") or 0.0)),
        "marks": meta.get("marks", []),
        "approved": meta.get("approved"),
        "forgotten": meta.get("forgotten"),
        "content": env.safe(artifact.content),
    }


def health_line(env: Env, state: DreamHealth) -> str:
    """How the dreaming goes, in one line."""
    t = env.strings.t
    if not state.dreams:
        return t("dreaming.none", lag=fmt.number(state.lag))
    by = clean_line(state.model, 40) if state.model else t("dreaming.local")
    why = f" ({clean_line(env.safe(state.why), 120)})" if state.why else ""
    at = iso(state.last_at or 0.0) or ""
    cost = fmt.money(state.cost_micro)
    return t("dreaming.health", at=at, by=by + why, upto=str(state.upto), lag=fmt.number(state.lag), cost=cost)


def _dream(env: Env, row: SessionRow) -> None:
    if row.origin != "own":
        raise CliError(f"this run was recorded by {row.origin}: it is dreamt of there, not here")
    _, detail = carried_out(Client(env, row.session_id), cmd.Dream(), "dream")
    env.note(f"dream: {detail}")


def _newest(transcript: Transcript, session_id: str) -> int:
    query = "SELECT coalesce(max(seq), 0) FROM messages WHERE session_id=?"
    return int((fetch_one(transcript.db, query, (session_id,)) or (0,))[0])


def _line(env: Env, artifact: Artifact) -> str:
    t = env.strings.t
    by = clean_line(artifact.model, 32) if artifact.model else t("dreaming.local")
    if (gone := artifact.metadata.get("forgotten")) is not None:
        why = clean_line(str(gone.get("why", "")), 60) if isinstance(gone, dict) else ""
        about = f"{t('dreaming.forgotten')} {why}".rstrip()
    else:
        about = f"{fmt.tokens(artifact.token_count or 0)} tok"
        if marks := artifact.metadata.get("marks"):
            about += f", {t('dreaming.marked', count=str(len(marks)))}"
    span = f"{artifact.source_start_seq}-{artifact.source_end_seq}"
    at = iso(artifact.created_at) or ""
    return env.safe(f"{artifact.artifact_id}  {clean_line(artifact.kind, 20):<18}  {at}  {span:>11}  {by}  {about}")
