"""The blocks of a run's messages out of the store, read once: a message that is whole never changes; how it is sent
does, with each version of the view.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock

from geode_tui.cli.block_view import DETAIL_CHARS, seen, slim
from geode_tui.context.estimate import block_part
from geode_tui.context.view import Item, fold
from geode_tui.core.messages import Block, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from geode_tui.log import views
from geode_tui.log.rows import StoredMessage
from geode_tui.log.transcript import Transcript
from geode_tui.tui.conversation.cards import partial_call, read_call
from geode_tui.view.blocks import BlockEntry

PAGE = 40
"""Messages of one read, which may last 20 ms (ARCHITECTURE.md, "Engine")."""
ARGUMENT_CHARS = 800
"""Characters of arguments up to which they are read whole."""


class BlockReader:
    """Remembers what it has read of one session. May be used by several threads."""

    def __init__(self) -> None:
        self._read: list[tuple[Item, tuple[BlockEntry, ...]]] = []
        """Each message that can come no later in the order, without its texts, and its blocks."""
        self._after = 0
        self._calls: dict[str, tuple[str, bool]] = {}
        """Call id -> what it was called with, and whether that is a path."""
        self._lock = Lock()

    def read(
        self, transcript: Transcript, session_id: str, version: int = 0, upto: int | None = None
    ) -> tuple[BlockEntry, ...]:
        """All blocks by now, or of the messages up to seq ``upto``, in the order of the messages and as ``version`` of
        the view has them sent; 0 is before there was any. Raises `StoreError`.
        """
        with self._lock:
            read = self._messages(transcript, session_id)
        if upto is not None:
            read = [(item, entries) for item, entries in read if item.seq <= upto]
        session = transcript.session(session_id) if version else None
        made = views.versions(transcript, session.number) if session is not None else []
        view = fold([one for one in made if one.number <= version])
        return seen((entry for _, entries in read for entry in entries), [item for item, _ in read], view)

    def items(self, transcript: Transcript, session_id: str) -> list[Item]:
        """Each message by now, without its texts. Raises `StoreError`."""
        with self._lock:
            return [item for item, _ in self._messages(transcript, session_id)]

    def _messages(self, transcript: Transcript, session_id: str) -> list[tuple[Item, tuple[BlockEntry, ...]]]:
        """Each message by now and its blocks."""
        open_row = transcript.open_message(session_id)
        passing: list[tuple[Item, tuple[BlockEntry, ...]]] = []
        after = self._after
        while page := transcript.messages(session_id, after, PAGE):
            after = page[-1].row.seq
            for stored in page:
                row = stored.row
                one = slim(Item(row.seq, row.turn, row.round, stored.message)), tuple(self._blocks(stored))
                if open_row is not None and row.seq > open_row.seq:
                    passing.append(one)  # the open message will stand before it
                else:
                    self._read.append(one)
                    self._after = row.seq
        return [*self._read, *passing]

    def _blocks(self, stored: StoredMessage) -> Iterator[BlockEntry]:
        for block in stored.message.blocks:
            yield self._entry(stored, block)
            for image in block.content if isinstance(block, ToolResultBlock) else ():
                if isinstance(image, ImageBlock):
                    yield self._entry(stored, image)

    def _entry(self, stored: StoredMessage, block: Block) -> BlockEntry:
        row = stored.row
        kind, weight = block_part(block)
        if row.role == "user" and kind == "agent":
            kind = "user"
        name, detail, is_path, call_id = "", "", False, ""
        match block:
            case ToolCallBlock():
                name, call_id = block.name, block.call_id
                detail, is_path = self._calls[call_id] = _brief(block)
            case ToolResultBlock():
                name, call_id = block.name, block.call_id
                detail, is_path = self._calls.get(call_id, ("", False))
            case TextBlock() | ThinkingBlock():
                detail = block.text[:DETAIL_CHARS]
            case ImageBlock():
                detail = block.media_type
            case _:
                detail = block.kind
        return BlockEntry(row.id, row.seq, row.turn, row.round, kind, weight, name, detail, is_path, call_id)


def _brief(call: ToolCallBlock) -> tuple[str, bool]:
    """What the call is about, as its card says it, and whether that is a path."""
    if len(call.arguments) <= ARGUMENT_CHARS:
        made = read_call(call.call_id, call.name, call.arguments, str)
    else:
        made = partial_call(call.name, call.arguments[:ARGUMENT_CHARS], str)
    return made.brief, made.is_path
