"""What a summary lost, told to the model again in a note that no automatic step may touch.

The note is a new message at the end: nothing that is cached breaks, and a provider's own block stays what it is.
"""

from __future__ import annotations

import msgspec

from geode_tui.context.changed import view_changed
from geode_tui.context.upkeep import Result
from geode_tui.core.events import LostItem, UserInputReceived, ViewChanged, decode_payload, event_name
from geode_tui.core.messages import user_text
from geode_tui.core.views import Pin, Version
from geode_tui.log import commands as cmd
from geode_tui.log.transcript import Transcript
from geode_tui.log.views import add_version
from geode_tui.log.writer import Tx
from geode_tui.runtime.request import RequestPath
from geode_tui.runtime.session import Session

CHANGES_READ = 10_000
"""Newest changes of the view among which that version is looked for."""


async def put_back(session: Session, request: RequestPath, wish: cmd.Keep) -> Result:
    """Append the note and pin it, in one transaction with the command's outcome."""
    conversation, need = session.conversation, request.need()
    item = await session.journal.read(lambda t: lost_item(t, session.journal.writer.number, wish))
    if item is None:
        return Result("none", "unsupported", f"version {wish.version} lost nothing with the number {wish.index}")
    message = user_text(note_text(item), "note")
    async with session.view_lock:
        before = conversation.figures(need.budget, need.prefix, simulated=need.simulated)
        more = conversation.size(message)
        after = msgspec.structs.replace(before, used=before.used + more, measured="estimated")
        planned = msgspec.structs.replace(
            conversation.version("pin", ()),
            mode=conversation.view.newest.mode if conversation.view.newest is not None else "text",
            tokens_before=before.used,
            tokens_after=after.used,
            made_at=session.clock.now(),
        )

        def work(tx: Tx) -> Version:
            number, seq = tx.add_message(message)
            told = UserInputReceived(session.id, session.turn_id, seq, number, len(message.text), "note", joins=True)
            tx.event(told)
            version = msgspec.structs.replace(planned, operations=(Pin((seq,)),), newest=seq)
            add_version(tx, version)
            tx.event(view_changed(version, after, back=(wish.version, wish.index)))
            if request.ports.settling is not None:
                request.ports.settling(tx, version)
            return version

        version = await session.journal.write(work, durable=True)
        session.append(message, version.newest)
        conversation.take(version)
    return Result("none", "changed", version=version.number, tokens_before=before.used, tokens_after=after.used)


def note_text(item: LostItem) -> str:
    """The note, with what was lost word for word."""
    where = f", from message {item.seq}" if item.seq else ""
    return f"[Kept from earlier in this conversation{where}, because the summary does not hold it]\n{item.text}"


def lost_item(transcript: Transcript, number: int, wish: cmd.Keep) -> LostItem | None:
    """What that version lost as that item, as the log of session ``number`` has it."""
    for row in transcript.newest_named(number, event_name(ViewChanged), CHANGES_READ):
        told = decode_payload(row.event, row.payload)
        if isinstance(told, ViewChanged) and told.version == wish.version:
            return told.lost[wish.index] if 0 <= wish.index < len(told.lost) else None
    return None
