"""What befell the context, among the entries: notes stand where they belong, and texts of compactions are read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from geode_tui.tui.conversation.blocks import Parser
from geode_tui.tui.conversation.compaction_card import CompactionCard, CompactionItem
from geode_tui.tui.conversation.drawing import Drawing
from geode_tui.tui.conversation.items import Canvas, Item, SegmentItem
from geode_tui.tui.conversation.loader import Loader
from geode_tui.tui.conversation.model import Entry, Reader
from geode_tui.tui.conversation.note_places import NotePlaces, Past
from geode_tui.tui.conversation.notes import WindowNoteItem
from geode_tui.view.state import WindowNote
from geode_tui.view.window_notes import gathered, is_compaction

_LOG = logging.getLogger(__name__)


class Noting(Drawing):
    """Entries with notes after them. Without a ``past`` only the newest notes are there, and no texts."""

    def __init__(
        self,
        redact: Callable[[str], str],
        canvas: Canvas,
        loader: Loader,
        changed: Callable[[], None],
        past: Past | None,
    ) -> None:
        super().__init__(canvas, loader, changed)
        self.places = NotePlaces(self.transcript)
        """What befell the context, by the entry that it stands after."""
        self.opening = 0
        """Cards that were opened and whose texts are on their way."""
        self._past = past
        self._parser = Parser()
        self.reader = Reader(self._parser, redact)
        self._redact = redact

    def restore(self, item: Item) -> None:
        """Give an item what is known of it beside its text."""
        raise NotImplementedError

    def place_notes(self, notes: Sequence[WindowNote]) -> bool:
        """Let the newest notes stand after the messages they came after; whether anything changed."""
        return self._renew_notes(self.places.place(notes))

    def prepare(self, top: int, height: int, *, upwards: bool) -> bool:
        """See `Drawing.prepare`; older notes near the view are read as well."""
        if self._past is not None and self.loader.free and self.transcript.entries:
            self._want_notes(self._past, self._entries_between(top - height, top + 2 * height, upwards=False))
        return super().prepare(top, height, upwards=upwards)

    def _want_notes(self, past: Past, near: Sequence[int]) -> None:
        span = self.places.wanted(near[0], near[-1]) if near else None
        if span is None:
            return
        since, until = self.places.rounds_of(span)

        def landed(notes: tuple[WindowNote, ...]) -> None:
            self._renew_notes(self.places.take(span, notes))
            self._changed()

        def failed(error: BaseException) -> None:
            _LOG.error("older changes of the context could not be read", exc_info=error)

        self.loader.ask(lambda: past.notes(since, until), landed, failed)

    def _renew_notes(self, changed: Iterable[int]) -> bool:
        """Let these entries end with their notes; whether there are any."""
        some = False
        for index in changed:
            entry, some = self.transcript.entries[index], True
            if entry.items is not None and entry.live is None:
                self.end_with_notes(entry, self.places.at(index))
                self.transcript.measure(index)
        return some

    def end_with_notes(self, entry: Entry, notes: Sequence[WindowNote]) -> None:
        """Let the items of ``entry`` end with ``notes``, and no others."""
        items = entry.items or ()
        body = [item for item in items if not (isinstance(item, WindowNoteItem) and item.follows)]
        if places := [item for item in body if isinstance(item, CompactionItem)]:
            for note in (note for note in notes if note.what == "native"):
                places[-1].take(note)
                places[-1].stands_for(self.places.rounds(note))
            notes = [note for note in notes if note.what != "native"]
        known = {item.note: item for item in items if isinstance(item, WindowNoteItem) and item.follows}
        tail: list[Item] = []
        for note in gathered(notes):
            item = known.get(note) or self._note_item(note)
            item.before = int(not tail or isinstance(item, CompactionCard) or isinstance(tail[-1], CompactionCard))
            if isinstance(item, CompactionCard):
                item.stands_for(self.places.rounds(note))
            tail.append(item)
        if tail or len(body) < len(items) or places:
            entry.set_items([*body, *tail], 0 if places else len(body))

    def _note_item(self, note: WindowNote) -> WindowNoteItem:
        item = CompactionCard(note) if is_compaction(note) else WindowNoteItem(note)
        self.restore(item)
        item.height = item.estimate(self.canvas)
        return item

    def ask_summary(self, index: int, card: CompactionCard) -> None:
        """Read the text of a compaction."""
        past, version = self._past, card.note.version
        if past is None:
            card.show(None)
            return
        card.asked = True
        self.opening += 1

        def done() -> None:
            card.asked = False
            self.opening -= 1
            self.redraw(index, card)
            self._changed()

        def landed(text: str) -> None:
            card.show(SegmentItem(self._parser, text, 0, 0) if text.strip() else None)
            done()

        def failed(error: BaseException) -> None:
            card.show_trouble(self.reader.safe(str(error)).split("\n")[0])
            done()

        self.loader.ask(lambda: self.reader.safe(past.summary(version)), landed, failed)
