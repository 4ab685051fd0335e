"""The blocks of a run's messages out of the store, read once: a message that is whole never changes."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock

from geode_tui.context.estimate import block_part
from geode_tui.core.messages import Block, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from geode_tui.log.rows import StoredMessage
from geode_tui.log.transcript import Transcript
from geode_tui.tui.conversation.cards import partial_call, read_call
from geode_tui.view.blocks import BlockEntry

PAGE = 40
"""Messages of one read, which may last 20 ms (ARCHITECTURE.md, "Engine")."""
DETAIL_CHARS = 400
"""Characters of a text that a row begins with."""
ARGUMENT_CHARS = 800
"""Characters of arguments up to which they are read whole."""


class BlockReader:
    """Remembers what it has read of one session. May be used by several threads."""

    def __init__(self) -> None:
        self._entries: list[BlockEntry] = []
        self._after = 0
        self._calls: dict[str, tuple[str, bool]] = {}
        """Call id -> what it was called with, and whether that is a path."""
        self._lock = Lock()

    def read(self, transcript: Transcript, session_id: str) -> tuple[BlockEntry, ...]:
        """All blocks by now, in the order of the messages. Raises `StoreError`."""
        with self._lock:
            open_row = transcript.open_message(session_id)
            passing: list[BlockEntry] = []
            after = self._after
            while page := transcript.messages(session_id, after, PAGE):
                after = page[-1].row.seq
                for stored in page:
                    entries = list(self._blocks(stored))
                    if open_row is not None and stored.row.seq > open_row.seq:
                        passing += entries  # the open message will stand before it
                    else:
                        self._entries += entries
                        self._after = stored.row.seq
            return (*self._entries, *passing)

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
