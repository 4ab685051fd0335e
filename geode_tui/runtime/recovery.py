"""Taking over from a worker that died: what it left open is closed before anything else happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from geode_tui.core.events import LlmCallFailed
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Tx
from geode_tui.runtime.closing import Loose, close
from geode_tui.runtime.session import ResumePoint, Session, unanswered
from geode_tui.runtime.tools.base import ProcessMark

WHY = "the worker stopped"


async def recover(session: Session, point: ResumePoint, end_group: Callable[[ProcessMark], bool]) -> None:
    """End the processes that still live, then give every call its one result and every request its end.

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
        )

    loose = await session.journal.read(facts)
    if loose.message is None and not (loose.llm or loose.calls or loose.approvals):
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
