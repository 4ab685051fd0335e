"""A run's dreams and summaries out of the log, as the Dreams tab shows them."""

from __future__ import annotations

from typing import Any

from geode_tui.context.injection import chosen, injection
from geode_tui.log.artifacts import DREAM, SUMMARY, health
from geode_tui.log.transcript import Transcript
from geode_tui.log.views import Artifact, artifacts
from geode_tui.view.dreams import DreamRow, DreamTable

LATEST = 1e11
"""Epoch seconds above which no time is believed."""


def table(transcript: Transcript, session_id: str, recorder: str) -> DreamTable:
    """What is kept of a session. Raises `log.store.StoreError`."""
    found = [one for one in reversed(artifacts(transcript.db, session_id)) if one.kind in {DREAM, SUMMARY}]
    state = health(found[::-1], 0)
    injected = {one.artifact_id for one in chosen(found)}
    rows = tuple(row_of(one, injected=one.artifact_id in injected) for one in found)
    at, text = state.last_at or 0.0, injection(found)
    return DreamTable(rows, text, state.upto, at, state.model, state.cost_micro, recorder)


def row_of(one: Artifact, *, injected: bool) -> DreamRow:
    """An artifact as a row; what its metadata lacks, or has in another shape, is taken as not known."""
    meta = one.metadata
    cost, observed = meta.get("cost_micro"), meta.get("observed_at")
    why = meta.get("why") if one.kind == DREAM else meta.get("reason")
    applied = meta.get("applied")
    return DreamRow(
        artifact_id=one.artifact_id,
        kind=one.kind,
        at=one.created_at,
        first=one.source_start_seq or 0,
        upto=one.source_end_seq or 0,
        text=one.content,
        tokens=one.token_count or 0,
        model="" if meta.get("local") is True else one.model,
        why=why if isinstance(why, str) else "",
        cost_micro=cost if isinstance(cost, int) else None,
        observed_at=float(observed) if isinstance(observed, int | float) and 0 < observed < LATEST else 0.0,
        marks=_marks(meta.get("marks")),
        approved=bool(meta.get("approved")),
        applied=applied if isinstance(applied, bool) else None,
        forgotten=_forgotten(meta.get("forgotten")),
        injected=injected,
    )


def _marks(found: Any) -> tuple[tuple[int, str], ...]:
    if not isinstance(found, list):
        return ()
    marks = (mark for mark in found if isinstance(mark, dict) and isinstance(mark.get("line"), int))
    return tuple((mark["line"], str(mark.get("why", ""))) for mark in marks)


def _forgotten(found: Any) -> str | None:
    if not found:
        return None
    if not isinstance(found, dict):
        return ""
    return ": ".join(str(found[key]) for key in ("who", "why") if found.get(key))
