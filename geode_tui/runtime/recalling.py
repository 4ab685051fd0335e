"""What a person does with a stored result: tell it to the model again, keep it from expiring."""

from __future__ import annotations

from geode_tui.context.offload import page_tokens
from geode_tui.core.events import ToolResultRecalled, UserInputReceived
from geode_tui.core.messages import Message, user_text
from geode_tui.core.text import clean_line
from geode_tui.core.tokens import CHARS_PER_TOKEN
from geode_tui.log import commands as cmd
from geode_tui.log import offloads
from geode_tui.log.store import StoreError
from geode_tui.log.writer import Tx
from geode_tui.runtime.inbox import Waiting
from geode_tui.runtime.session import Session
from geode_tui.runtime.tools.recall import RecallPage, excerpt, page_of, text_of


class Refused(Exception):
    """It cannot be done: one line that says why."""


async def recall(session: Session, waiting: Waiting, wish: cmd.Recall) -> None:
    """Append the page of the result that was asked for as a note, in one transaction with the command's outcome.
    Nothing that is cached breaks. Raises `Refused`.
    """
    session.journal.probe("recall: before row")
    page = await session.journal.aside(lambda: _page(session, wish))
    message = user_text(_note(page), "note")
    told = ToolResultRecalled(page.ref_id, page.offset, len(page.content), "person")

    def work(tx: Tx) -> int:
        number, seq = tx.add_message(message)
        tx.event(_received(session, message, number, seq))
        tx.event(told)
        tx.finish(waiting.row, "done", f"{told.chars:,} characters of {page.ref_id} were told to the model")
        return seq

    seq = await session.journal.write(work, durable=True)
    session.append(message, seq)
    session.journal.probe("recall: after row")


def _received(session: Session, message: Message, number: int, seq: int) -> UserInputReceived:
    return UserInputReceived(session.id, session.turn_id, seq, number, len(message.text), "note", joins=True)


def _page(session: Session, wish: cmd.Recall) -> RecallPage:
    room = page_tokens(session.bounds, session.route.window)
    if wish.offset < 0 or wish.limit < 0:
        raise Refused("an offset and a number of characters are 0 or more")
    try:
        with text_of(session.stored.geode, session.id, wish.ref_id, session.receipts) as (pieces, tokens):
            part = excerpt(wish.ref_id, pieces, tokens, wish.offset, room * CHARS_PER_TOKEN)
    except StoreError as error:
        raise Refused(str(error)) from error
    if wish.offset >= part.size:
        raise Refused(f"the result has {part.size:,} characters: offset {wish.offset:,} is past its end")
    return page_of(part, wish.limit, room)


def _note(page: RecallPage) -> str:
    """The note, with the text word for word."""
    end = page.offset + len(page.content)
    more = f"; the rest begins at offset {page.next_offset}" if page.next_offset is not None else ""
    return f"[The stored result {page.ref_id}, characters {page.offset} to {end}{more}]\n{page.content}"


async def pin_ref(session: Session, waiting: Waiting, wish: cmd.PinRef) -> None:
    """Let the result expire, or not. Raises `Refused`."""
    store = session.stored
    try:
        await session.journal.aside(lambda: offloads.pin(store.geode, session.id, wish.ref_id, pinned=wish.pinned))
    except StoreError as error:
        raise Refused(str(error)) from error
    said = "does not expire" if wish.pinned else "expires once nothing refers to it"
    line = f"{clean_line(wish.ref_id, 60)} {said}"
    await session.journal.write(lambda tx: tx.finish(waiting.row, "done", line), durable=True)
