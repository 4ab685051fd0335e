"""Taking over from a worker that died: what it left open is closed before anything else happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from geode_tui.core.events import (
    LlmCallFailed,
    MaintenanceAction,
    MaintenanceEnded,
    MaintenanceStarted,
    ViewChanged,
    decode_payload,
    event_name,
)
from geode_tui.log.transcript import Transcript
from geode_tui.log.views import undecided
from geode_tui.log.writer import Tx
from geode_tui.runtime.closing import Loose, close
from geode_tui.runtime.session import ResumePoint, Session, unanswered
from geode_tui.runtime.tools.base import ProcessMark

WHY = "the worker stopped"
CUT_OFF = "the worker stopped during it; what it had done until then stands"
FOLLOWING = 1_000
"""Events that are looked at behind the start of a maintenance: a pass writes a dozen."""


async def recover(session: Session, point: ResumePoint, end_group: Callable[[ProcessMark], bool]) -> None:
    """End the processes that still live, then give every call its one result, and every request and maintenance its
    end.

    Nothing is run again: a call that was begun reads "outcome unknown", one that was not "not started".
    """
    for _, mark in point.open_processes:
        if mark is not None:
            await asyncio.to_thread(end_group, mark)

    def facts(transcript: Transcript) -> Loose:
        row = transcript.open_message(session.id)
        return Loose(
            message=None if row is None else (row.id, row.seq),
            llm=tuple(_given_up(session, *call) for call in point.open_llm_calls),
            calls=unanswered(transcript, session.id),
            begun=frozenset(call_id for call_id, _ in point.open_processes),
            approvals=point.open_approvals,
            maintenance=_cut_off(transcript, session) if point.open_maintenance else None,
            artifacts=undecided(transcript.db, session.id),
        )

    loose = await session.journal.read(facts)
    if not (loose.message or loose.llm or loose.calls or loose.approvals or loose.maintenance or loose.artifacts):
        return

    def work(tx: Tx) -> None:
        close(tx, loose, WHY)

    session.journal.probe("recovery: before row")
    await session.journal.write(work, durable=True)
    session.journal.probe("recovery: after row")


def _given_up(session: Session, call_id: str, attempt: int, purpose: str, model: str) -> LlmCallFailed:
    return LlmCallFailed(
        call_id=call_id,
        attempt=attempt,
        purpose=purpose,
        model=model,
        provider=session.provider.name,
        source=session.provider.source,
        error_type="interrupted",
        severity="warning",
        message=f"{WHY}: what was billed is not known",
        simulated=session.provider.simulated,
    )


def _cut_off(transcript: Transcript, session: Session) -> MaintenanceEnded | None:
    """The end of the maintenance that was begun last: every version that it made is there, whole."""
    number = session.journal.writer.number
    started = transcript.newest_named(number, event_name(MaintenanceStarted), 1)
    begun = decode_payload(started[0].event, started[0].payload) if started else None
    if not isinstance(begun, MaintenanceStarted):
        return None
    rows = transcript.events(number, started[0].id, FOLLOWING)
    payloads = (decode_payload(row.event, row.payload) for row in rows)
    made = [payload for payload in payloads if isinstance(payload, ViewChanged)]
    return MaintenanceEnded(
        trigger=begun.trigger,
        action=_action(name for version in made for name in version.operations),
        status="failed",
        original_count=0,
        new_count=0,
        tokens_before=begun.context.used,
        tokens_after=made[-1].tokens_after if made else begun.context.used,
        error_type="interrupted",
        detail=CUT_OFF,
        persisted=any(version.artifact_id for version in made) or bool(undecided(transcript.db, session.id)),
    )


def _action(operations: Iterable[str]) -> MaintenanceAction:
    """What such operations are called together."""
    done = set(operations)
    if "summarise" in done:
        return "compact"
    if done & {"trim", "clear", "max_turns"}:
        return "prune"
    return "mask" if done & {"mask", "shrink"} else "none"
