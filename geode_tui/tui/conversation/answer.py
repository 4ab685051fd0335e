"""An answer while it streams: its blocks as items, from the chunks of the log."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from geode_tui.core.messages import Block, TextBlock
from geode_tui.core.text import clean
from geode_tui.log.rows import ChunkRow
from geode_tui.tui.conversation.blocks import Parser
from geode_tui.tui.conversation.cards import partial_call
from geode_tui.tui.conversation.folds import CardItem, ThoughtItem
from geode_tui.tui.conversation.items import Canvas, Item, RoundItem
from geode_tui.tui.conversation.live import LiveText

BRIEF_CHARS = 600
"""Characters of a call's arguments that are kept to say what it is about."""

REST_CHARS = 4_000
"""A longer rest of an answer waits until it is read as a whole: it could not be drawn within a frame."""

_UNFINISHED = re.compile(
    "(?:\r"
    "|(?:\x1b[\\]P_^X]|[\x9d\x90\x9f\x9e\x98])[^\x07\x1b\x9c\n]{0,255}\x1b?"
    "|(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,16}"
    "|\x1b[ -/]{0,4})\\Z"
)
"""The beginning of an escape sequence (or of a line end) that a piece may have been cut in."""


class LiveAnswer:
    """The items of an open message, from its chunks. ``gap`` blank lines stand before it where it has no ``head``."""

    def __init__(
        self,
        key: str,
        canvas: Canvas,
        parser: Parser,
        redact: Callable[[str], str],
        head: Sequence[Item] = (),
        gap: int = 0,
    ) -> None:
        self.items: list[Item] = list(head)
        self._key = key
        self._gap = gap
        self._canvas = canvas
        self._parser = parser
        self._redact = redact
        self._block = -1
        self._text: LiveText | None = None
        self._thought: ThoughtItem | None = None
        self._card: CardItem | None = None
        self._arguments = 0
        self._beginning = ""
        self._name = ""
        self._held = ""
        self._taken = 0
        """Characters of the open text block that were fed."""
        self._newest = ""
        """The last piece of them."""

    def set_canvas(self, canvas: Canvas) -> None:
        """Draw on another canvas from now on."""
        self._canvas = canvas
        if self._text is not None:
            self._text.set_canvas(canvas)

    def feed(self, pieces: Sequence[ChunkRow]) -> int:
        """Add ``pieces``; the index of the first item that changed or is new."""
        first = len(self.items)
        for piece in pieces:
            first = min(first, self._piece(piece))
        return min(first, len(self.items))

    def rest(self, blocks: Sequence[Block]) -> tuple[ChunkRow, ...]:
        """What was not fed of the text block that is open, where ``blocks`` are the whole message's.

        Nothing where it is longer than `REST_CHARS`, or where that block is not the one that was fed.
        """
        block = blocks[self._block] if self._text is not None and 0 <= self._block < len(blocks) else None
        if not isinstance(block, TextBlock) or not block.text[: self._taken].endswith(self._newest):
            return ()
        text = block.text[self._taken :]
        return (ChunkRow(0, 0, self._block, "text", text),) if 0 < len(text) <= REST_CHARS else ()

    def _piece(self, piece: ChunkRow) -> int:
        first = len(self.items)
        if piece.block != self._block:
            first = self._finish_block()
            self._block, self._taken = piece.block, 0
        match piece.kind:
            case "thinking":
                return min(first, self._think(self._inlet(piece.text)))
            case "tool_call":
                return min(first, self._call(piece))
            case _:
                if self._text is None:
                    self._text = LiveText(self.items, self._space(), self._canvas, self._parser, self._redact)
                self._text.dirty = len(self.items)
                self._text.feed(self._inlet(piece.text))
                self._taken += len(piece.text)
                self._newest = piece.text
                return min(first, self._text.dirty)

    def _space(self, between: int = 1) -> int:
        """Blank lines before a block that begins now, ``between`` after one of the answer's own."""
        if not self.items:
            return self._gap
        return 0 if isinstance(self.items[-1], RoundItem | ThoughtItem) else between

    def _inlet(self, text: str) -> str:
        """Clean text; the beginning of an escape sequence waits until the rest of it is there."""
        text = self._held + text
        match = _UNFINISHED.search(text)
        self._held = match[0] if match else ""
        return clean(text[: len(text) - len(self._held)])

    def _think(self, text: str) -> int:
        if self._thought is None:
            self._thought = ThoughtItem(f"{self._key}.{self._block}", "", live=True)
            self._thought.before = self._space(0)
            self.items.append(self._thought)
        self._thought.feed(text)
        self._thought.forget()
        return len(self.items) - 1

    def _call(self, piece: ChunkRow) -> int:
        if self._card is None:
            self._name, self._beginning, self._arguments = piece.name, "", 0
            self._card = CardItem(partial_call(piece.name, "", self._redact))
            self._card.before = self._space(0)
            self.items.append(self._card)
        if len(self._beginning) < BRIEF_CHARS:
            self._beginning += piece.text[:BRIEF_CHARS]
            self._card.call = partial_call(self._name, self._beginning, self._redact)
        self._arguments += len(piece.text)
        self._card.written(self._arguments)
        return len(self.items) - 1

    def _finish_block(self) -> int:
        first = len(self.items)
        if self._text is not None:
            self._text.dirty = first
            if self._held:
                self._text.feed(clean(self._held))
            self._text.finish()
            first = self._text.dirty
        if self._thought is not None:
            self._thought.live = False
            self._thought.forget()
            first -= 1
        self._text = self._thought = self._card = None
        self._held = ""
        return min(first, len(self.items))
