"""The conversation as a list of entries: one a message, its tool calls' results inside it.

An entry always has a height; its items exist only near the view (and for the message that streams). Nothing here
draws or waits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator
from typing import NamedTuple

from geode_tui.core.messages import (
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from geode_tui.core.native import content_of, is_native
from geode_tui.core.text import clean, clean_line
from geode_tui.log.rows import MessageRow, StoredMessage
from geode_tui.tui.conversation import cards
from geode_tui.tui.conversation.answer import LiveAnswer
from geode_tui.tui.conversation.blocks import Parser, plain_pieces
from geode_tui.tui.conversation.compaction_card import CompactionItem
from geode_tui.tui.conversation.folds import CardItem, ThoughtItem
from geode_tui.tui.conversation.heights import Heights
from geode_tui.tui.conversation.items import Canvas, Item, NoteItem, PieceItem, SegmentItem, UserItem
from geode_tui.view.event_line import About

PROMPT_CHARS = 300
"""Characters of a prompt that are kept for the row that stays at the top."""

RESULT_PIECE = 64 * 1024
"""Characters of a result that are made safe at a time, 6 ms."""


_NO_HEIGHTS = Heights()
"""Shared by all entries without items and never changed: a run has tens of thousands of them."""


class Entry:
    """A message. ``items`` is None while its body is not here; ``heights`` mirrors the items' lines."""

    __slots__ = ("asked", "begins_round", "heights", "items", "live", "prompt", "row", "trouble")

    def __init__(self, row: MessageRow, *, begins_round: bool) -> None:
        self.row = row
        self.begins_round = begins_round
        """Whether a row with the round's number stands before it."""
        self.items: list[Item] | None = None
        self.heights = _NO_HEIGHTS
        self.live: LiveAnswer | None = None
        self.asked = False
        self.trouble = ""
        """Why its body could not be read."""
        self.prompt = ""
        """The first line of a person's words, once known."""

    @property
    def key(self) -> str:
        """What its folded parts are remembered by."""
        return str(self.row.id)

    def guess(self, width: int) -> int:
        """Lines it may take in ``width`` cells."""
        row = self.row
        lines = 1 + row.chars // max(8, width * 3 // 4)
        return 2 * self.begins_round + lines + len(row.calls)

    def set_items(self, items: list[Item], first: int = 0) -> None:
        """Its items are ``items``, of which those from ``first`` on are new or changed."""
        self.items = items
        if not first:
            self.heights = Heights(item.lines for item in items)
            return
        self.heights.truncate(first)
        for item in items[first:]:
            self.heights.append(item.lines)

    def drop(self) -> None:
        """Forget the body; the height stays."""
        self.items = None
        self.heights = _NO_HEIGHTS


class Place(NamedTuple):
    """A line by what it shows: it stays the same line when heights before it change."""

    entry: int
    item: int
    offset: int


class Transcript:
    """Entries in the order they were begun, with the heights of all."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.heights = Heights()
        self.results: dict[str, MessageRow] = {}
        """The row that answers a call, by the call's id."""
        self.call_home: dict[str, int] = {}
        """The entry a call stands in."""
        self.unanswered: set[str] = set()
        """Calls without a result."""
        self._at: dict[int, int] = {}
        self._prompts: list[int] = []
        self._marks: list[int] = []
        self._last_round = (-1, -1)

    def locate(self, line: int) -> Place | None:
        """What stands at ``line``."""
        index, offset = self.heights.find(line)
        if index >= len(self.entries):
            return None
        entry = self.entries[index]
        if not entry.items:
            return Place(index, 0, offset)
        item, within = entry.heights.find(offset)
        if item < len(entry.items):
            return Place(index, item, within)
        return Place(index, len(entry.items) - 1, max(0, entry.items[-1].lines - 1))

    def line_of(self, place: Place) -> int:
        """The line at which ``place`` is now."""
        index = min(place.entry, len(self.entries) - 1)
        if index < 0:
            return 0
        entry = self.entries[index]
        top = self.heights.top(index)
        height = self.heights[index]
        if not entry.items:
            return top + min(place.offset, height - 1)
        item = min(place.item, len(entry.items) - 1)
        return top + entry.heights.top(item) + min(place.offset, max(0, entry.heights[item] - 1))

    def item_at(self, place: Place) -> Item | None:
        """The item at ``place``, where it is loaded."""
        entry = self.entries[place.entry]
        return entry.items[place.item] if entry.items and place.item < len(entry.items) else None

    def index_of(self, message_id: int) -> int | None:
        """The entry of a message; a result stands in its call's entry."""
        return self._at.get(message_id)

    def index_at(self, seq: int) -> int:
        """The last entry that begins with message ``seq`` or one before it; the first where none does."""
        return max(0, bisect_right(self.entries, seq, key=lambda entry: entry.row.seq) - 1)

    def find(self, about: About) -> int | None:
        """The entry that an event is about: by its message or its call, else the first of its round. A result that is
        only known by its number stands in the entry before it.
        """
        found = self.index_of(about.message_id)
        found = self.call_home.get(about.call_id) if found is None else found
        if found is not None:
            return found
        rows = [(index, entry.row) for index, entry in enumerate(self.entries)]
        by_seq = (index for index, row in rows if about.seq and row.seq == about.seq)
        by_round = (index for index, row in rows if (row.turn, row.round) == (about.turn, about.round))
        found = next(by_seq, next(by_round, None))
        if found is None and about.seq and not about.turn and rows:
            return self.index_at(about.seq)
        return found

    def load_index(self, rows: Iterable[MessageRow], width: int) -> None:
        """Begin with ``rows``, oldest first."""
        for row in rows:
            if self._join(row) is None:
                self.entries.append(self._entry(row))
        self.resize(width)

    def put(self, row: MessageRow, width: int) -> int:
        """Add a row or replace what is known of it; the entry that changed."""
        known = self._at.get(row.id)
        if known is not None:
            if self.entries[known].row.id == row.id:
                self.entries[known].row = row
                self._claim_calls(row, known)
            elif row.call_id:
                self._answer(row)
            return known
        joined = self._join(row)
        if joined is not None:
            return joined
        self.entries.append(self._entry(row))
        self.heights.append(self.entries[-1].guess(width))
        return len(self.entries) - 1

    def _join(self, row: MessageRow) -> int | None:
        """The entry whose call ``row`` answers."""
        if not row.call_id:
            return None
        self._answer(row)
        home = self.call_home.get(row.call_id)
        if home is not None:
            self._at[row.id] = home
        return home

    def _answer(self, row: MessageRow) -> None:
        self.results[row.call_id] = row
        self.unanswered.discard(row.call_id)

    def _entry(self, row: MessageRow) -> Entry:
        index = len(self.entries)
        begins = row.role == "assistant" and row.round > 0 and (row.turn, row.round) != self._last_round
        if row.role == "user" and row.origin not in {"runtime", "note"}:
            self._prompts.append(index)
        if begins or row.role == "user":
            self._marks.append(index)
        if begins:
            self._last_round = (row.turn, row.round)
        self._at[row.id] = index
        self._claim_calls(row, index)
        return Entry(row, begins_round=begins)

    def _claim_calls(self, row: MessageRow, index: int) -> None:
        for call_id in row.calls:
            self.call_home[call_id] = index
            if call_id not in self.results:
                self.unanswered.add(call_id)

    def resize(self, width: int) -> None:
        """New guesses for everything that is not drawn."""
        self.heights = Heights(
            entry.guess(width) if entry.items is None else max(1, entry.heights.total) for entry in self.entries
        )

    def measure(self, index: int) -> None:
        """An entry's items changed their heights."""
        entry = self.entries[index]
        if entry.items is not None:
            self.heights.set(index, max(1, entry.heights.total))

    def prompt_before(self, index: int) -> int | None:
        """The prompt of the turn that entry ``index`` belongs to."""
        at = bisect_right(self._prompts, index) - 1
        return self._prompts[at] if at >= 0 else None

    def round_beside(self, index: int, step: int) -> int | None:
        """The next entry (``step`` 1) or the one before (-1) that begins a round or is a prompt."""
        marks = self._marks
        at = bisect_right(marks, index) if step > 0 else bisect_left(marks, index) - 1
        return marks[at] if 0 <= at < len(marks) else None

    def needs_attention(self, index: int, asking: Container[str]) -> bool:
        """Whether something in the entry failed, was refused or asks, by what the rows say."""
        row = self.entries[index].row
        if row.status == "interrupted" or (row.role == "tool" and _failed(row)):
            return True
        return any(call in asking or _failed(self.results.get(call)) for call in row.calls)


def _failed(row: MessageRow | None) -> bool:
    return row is not None and row.result is not None and (row.result.is_error or row.result.denied)


class Reader:
    """Turns a stored message into items; may run in a thread."""

    def __init__(self, parser: Parser, redact: Callable[[str], str]) -> None:
        self._parser = parser
        self._redact = redact

    def safe(self, text: str) -> str:
        """``text`` as it may be shown."""
        return self._redact(clean(text))

    def items(self, stored: StoredMessage) -> list[Item]:
        """The items of a message."""
        row, message = stored.row, stored.message
        items: list[Item] = []
        for number, block in enumerate(message.blocks):
            match block:
                case TextBlock(text=text) if row.origin in {"runtime", "note"}:
                    items.append(NoteItem("conv.runtime", detail=clean_line(text, 200)))
                case TextBlock(text=text) if row.role == "user":
                    items += self._user_items(None if items else row.timestamp, text)
                case TextBlock(text=text):
                    items += self._text_items(text, items)
                case ThinkingBlock(text=text) if text:
                    items.append(ThoughtItem(f"{row.id}.{number}", self.safe(text)))
                case ToolCallBlock(call_id=call_id, name=name, arguments=arguments):
                    items.append(CardItem(cards.read_call(call_id, name, arguments, self._redact)))
                case ToolResultBlock(call_id=call_id, name=name):
                    card = CardItem(cards.Call(call_id, cards.name_line(name), "", is_path=False))
                    card.output = cards.read_output(block.text, self._redact)
                    items.append(card)
                case ImageBlock(media_type=kind):
                    items.append(NoteItem("conv.image", detail=clean_line(kind, 40)))
                case OpaqueBlock(raw=raw) if is_native(block):
                    items.append(self._compaction(f"native.{row.id}.{number}", content_of(raw)))
                case OpaqueBlock(kind=kind):
                    items.append(NoteItem("conv.opaque", detail=clean_line(kind, 40)))
                case _:
                    pass
        if row.status == "interrupted":
            items.append(NoteItem("conv.interrupted", role="warn", glyph="warning"))
        for ordinal, item in enumerate(items):
            item.ordinal = ordinal
        return items

    def _compaction(self, key: str, text: str) -> Item:
        """A provider's own compaction with its text; one that failed has none."""
        if not text:
            return NoteItem("conv.native_failed", role="warn", glyph="warning")
        return CompactionItem(key, SegmentItem(self._parser, self.safe(text), 0, 0))

    def _user_items(self, at: float | None, text: str) -> list[Item]:
        text = self.safe(text).strip("\n")
        return [UserItem(piece, None if number else at) for number, piece in enumerate(plain_pieces(text))]

    def _text_items(self, text: str, before: list[Item]) -> list[Item]:
        pieces = self._parser.parse(self.safe(text).strip("\n"))
        gap = 1 if before and not isinstance(before[-1], ThoughtItem) else 0
        return [PieceItem(piece, piece.before if number else gap) for number, piece in enumerate(pieces)]

    def output(self, stored: StoredMessage) -> cards.Output:
        """The result in a message of role ``tool``."""
        return cards.read_output(_result_text(stored), self._redact)

    def result(self, stored: StoredMessage) -> Iterator[str]:
        """All of that result's text as it may be shown, in pieces of whole lines: masking secrets in a text of some
        megabytes at once would keep the screen's thread from running for as long.
        """
        text = _result_text(stored)
        start = 0
        while start < len(text):
            end = len(text) if len(text) - start <= RESULT_PIECE else text.rfind("\n", start, start + RESULT_PIECE) + 1
            end = end or start + RESULT_PIECE
            yield self.safe(text[start:end])
            start = end

    def whole(self, stored: StoredMessage) -> str:
        """All text of a message as it may be shown; of one without text, its result or its calls."""
        message = stored.message
        calls = "\n".join(f"{call.name} {call.arguments}" for call in message.calls)
        return self.safe(message.text or _result_text(stored) or calls)


def _result_text(stored: StoredMessage) -> str:
    texts = [block.text for block in stored.message.blocks if isinstance(block, ToolResultBlock)]
    return "\n".join(texts) or stored.message.text


def estimate(items: Iterable[Item], canvas: Canvas) -> None:
    """Give items the heights they may have on ``canvas``."""
    for item in items:
        item.height = item.estimate(canvas)


def keep_drawn(old: Iterable[Item], new: Iterable[Item]) -> None:
    """Give ``new`` items the pictures of ``old`` ones that show the same."""
    drawn = {item.picture_key: item.strips for item in old if item.strips and not item.sketchy}
    for item in new:
        strips = drawn.get(item.picture_key) if item.picture_key else None
        if strips is not None:
            item.put(strips)
