"""The window of a conversation that is loaded: what is asked for, and how what came stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual.strip import Strip

from geode_tui.log.rows import ChunkRow, MessageRow, StoredMessage
from geode_tui.tui.conversation import cards
from geode_tui.tui.conversation.answer import LiveAnswer
from geode_tui.tui.conversation.compaction_card import CompactionCard
from geode_tui.tui.conversation.folds import CardItem, FoldItem, refold, with_folds
from geode_tui.tui.conversation.heights import Heights
from geode_tui.tui.conversation.items import Canvas, Item, RoundItem
from geode_tui.tui.conversation.loader import Loader
from geode_tui.tui.conversation.model import PROMPT_CHARS, Entry, Place, estimate, keep_drawn
from geode_tui.tui.conversation.note_places import Past
from geode_tui.tui.conversation.noting import Noting
from geode_tui.view.state import OpenTool


class Stage(Noting):
    """Entries, the items of those near the view, and the thread that reads them.

    ``changed`` is called (on the loop) after the thread delivered something.
    """

    def __init__(
        self,
        load: Callable[[int], StoredMessage],
        redact: Callable[[str], str],
        canvas: Canvas,
        loader: Loader,
        changed: Callable[[], None],
        past: Past | None = None,
    ) -> None:
        super().__init__(redact, canvas, loader, changed, past)
        self.opened: set[str] = set()
        self.open_tools: Mapping[str, OpenTool] = {}
        self.asking: frozenset[str] = frozenset()
        """Calls that wait for the person."""
        self.turn_open = False
        self.alive = True
        """Whether the run has a worker: without one nothing streams."""
        self.notes: Mapping[tuple[int, int], str] = {}
        """Figures of the newest rounds, by turn and round."""
        self.load = load

    # -- lines and places ------------------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """All lines."""
        return self.transcript.heights.total

    def strip_at(self, line: int) -> Strip | None:
        """The picture of ``line``; None for a blank one."""
        place = self.transcript.locate(line)
        if place is None:
            return None
        item = self.transcript.item_at(place)
        if item is None:
            entry = self.transcript.entries[place.entry]
            return self._trouble(entry) if entry.trouble and not place.offset else None
        number = place.offset - item.before
        return item.strips[number] if item.strips and 0 <= number < len(item.strips) else None

    def _trouble(self, entry: Entry) -> Strip:
        return self.canvas.note("conv.trouble", "warn", detail=entry.trouble)

    # -- the log's operations --------------------------------------------------------------------------------------

    def load_index(self, rows: Sequence[MessageRow]) -> None:
        """All messages there are."""
        self.transcript.load_index(rows, self.canvas.body)
        for row in rows:
            index = self.transcript.index_of(row.id) if row.status == "open" else None
            if index is not None:
                self._begin_live(index)

    def put(self, row: MessageRow) -> None:
        """A row is new or final."""
        index = self.transcript.put(row, self.canvas.body)
        entry = self.transcript.entries[index]
        if entry.row.id != row.id:
            self.refresh_cards([row.call_id])
        elif row.status == "open" and entry.live is None:
            self._begin_live(index)
        elif row.status != "open" and entry.items is not None and not entry.asked:
            if entry.live is not None:
                self._ask_rest(index, entry.live)
            else:
                self.ask_entry(index)

    def stream(self, message_id: int, pieces: Sequence[ChunkRow]) -> int:
        """More of the open message came; the first line that may be another now."""
        index = self.transcript.index_of(message_id)
        entry = self.transcript.entries[index] if index is not None else None
        if index is None or entry is None or entry.live is None:
            return self.total
        before = entry.heights.total
        first = entry.live.feed(pieces)
        for item in entry.live.items[first:]:
            self.restore(item)
            self._draw(index, item)
        entry.set_items(entry.live.items, first)
        self.transcript.measure(index)
        self._drawn += max(0, entry.heights.total - before)
        return self.transcript.heights.top(index) + entry.heights.top(first)

    def _begin_live(self, index: int) -> None:
        entry = self.transcript.entries[index]
        head = self._head(index)
        gap = 1 if index else 0
        entry.live = LiveAnswer(entry.key, self.canvas, self._parser, self._redact, head, gap)
        for item in head:
            item.put(item.draw(self.canvas))
        entry.set_items(entry.live.items)
        self.loaded.add(index)
        self.transcript.measure(index)

    def _head(self, index: int) -> list[Item]:
        """What stands before the message itself."""
        entry = self.transcript.entries[index]
        if not entry.begins_round:
            return []
        item = RoundItem(entry.row.round, self._note(entry))
        item.before = 1 if index else 0
        return [item]

    def _note(self, entry: Entry) -> str:
        if entry.row.status == "open":
            return self.canvas.strings.t("conv.streaming" if self.alive else "conv.interrupted")
        return self.notes.get((entry.row.turn, entry.row.round), "")

    def want_prompt(self, index: int) -> str:
        """The first line of a prompt; empty until it was read."""
        entry = self.transcript.entries[index]
        if not entry.prompt and not entry.asked and not entry.trouble and self.loader.free:
            self.ask_entry(index)
        return entry.prompt

    # -- loading ---------------------------------------------------------------------------------------------------

    def _ask_rest(self, index: int, live: LiveAnswer) -> None:
        """Show the last words of an answer that is whole now, then read it as a whole.

        The log forgets its pieces with the same commit, mostly before the last of them were read; and reading a long
        answer as a whole takes longer than a frame.
        """
        entry = self.transcript.entries[index]
        entry.asked = True
        message_id = entry.row.id

        def landed(stored: StoredMessage) -> None:
            if entry.live is live:
                self.stream(message_id, live.rest(stored.message.blocks))
            self._ask(index, lambda: stored)
            self._changed()

        self.loader.ask(lambda: self.load(message_id), landed, lambda error: self._failed(entry, error))

    def ask_entry(self, index: int) -> None:
        """See `Drawing.ask_entry`."""
        message_id = self.transcript.entries[index].row.id
        self._ask(index, lambda: self.load(message_id))

    def _failed(self, entry: Entry, error: BaseException) -> None:
        entry.asked, entry.trouble = False, self.reader.safe(str(error)).split("\n")[0]
        self._changed()

    def _ask(self, index: int, read: Callable[[], StoredMessage]) -> None:
        """Make the items of an entry's message in the thread, where ``read`` is called."""
        entry = self.transcript.entries[index]
        entry.asked = True
        canvas = self.canvas
        old, head = list(entry.items or ()), self._head(index)

        def job() -> tuple[list[Item], Heights]:
            items = self.reader.items(read())
            if items and not head and index:
                items[0].before = 1
            items = head + with_folds(items)
            estimate(items, canvas)
            keep_drawn(old, items)
            return items, Heights(item.lines for item in items)

        self.loader.ask(job, lambda made: self._landed(index, *made, canvas), lambda error: self._failed(entry, error))

    def _landed(self, index: int, items: list[Item], heights: Heights, canvas: Canvas) -> None:
        entry = self.transcript.entries[index]
        entry.asked, entry.trouble, entry.live = False, "", None
        for item in items:
            self.restore(item)
        entry.items, entry.heights = items, heights
        if refold(items):
            entry.set_items(items)
        self.end_with_notes(entry, self.places.at(index))
        if canvas is not self.canvas:
            self._redo(entry, same_width=False)
        if entry.row.role == "user" and items:
            entry.prompt = " ".join(items[0].source[:PROMPT_CHARS].split())
        self.loaded.add(index)
        self.transcript.measure(index)
        self._changed()

    def restore(self, item: Item) -> None:
        """See `Noting.restore`."""
        if item.key and item.key in self.opened:
            item.opened = True
        if isinstance(item, CardItem) and item.key:
            item.state = self._standing(item.key)

    def _standing(self, call_id: str) -> cards.Standing:
        return cards.standing(
            self.transcript.results.get(call_id),
            self.open_tools.get(call_id),
            asked=call_id in self.asking,
            turn_open=self.turn_open,
        )

    def ask_output(self, index: int, card: CardItem | CompactionCard) -> None:
        """See `Drawing.ask_output`."""
        if card.asked:
            return
        if isinstance(card, CompactionCard):
            self.ask_summary(index, card)
            return
        row = self.transcript.results.get(card.key)
        if row is None:
            return
        card.asked = True

        def landed(output: cards.Output) -> None:
            card.asked, card.output = False, output
            self.redraw(index, card)
            self._changed()

        def failed(error: BaseException) -> None:
            landed(cards.read_output(str(error), self._redact))

        message_id = row.id
        self.loader.ask(lambda: self.reader.output(self.load(message_id)), landed, failed)

    def whole(self, message_id: int) -> str:
        """All text of a message as it may be shown. Blocks; may be called in the thread."""
        return self.reader.whole(self.load(message_id))

    # -- cards -----------------------------------------------------------------------------------------------------

    def tick(self) -> list[Place]:
        """Draw the rows again that change with time; where they are."""
        places: list[Place] = []
        for call_id in self.transcript.unanswered:
            found = self._card(call_id)
            if found is not None and found[2].moves:
                index, number, card = found
                card.redraw_row(self.canvas)
                places.append(Place(index, number, card.before))
        return places

    def _card(self, call_id: str) -> tuple[int, int, CardItem] | None:
        index = self.transcript.call_home.get(call_id)
        if index is None:
            return None
        for number, item in enumerate(self.transcript.entries[index].items or ()):
            if isinstance(item, CardItem) and item.key == call_id:
                return index, number, item
        return None

    def refresh_cards(self, call_ids: Sequence[str]) -> bool:
        """Let the cards of these calls show how they stand now; whether any changed."""
        changed = False
        touched: set[int] = set()
        for call_id in call_ids:
            found = self._card(call_id)
            if found is not None:
                index, _, card = found
                touched.add(index)
                state = self._standing(call_id)
                if state.kind == "queued" and card.state.kind == "running":
                    continue  # it has ended: the row of its result is on its way
                if state != card.state:
                    card.state = state
                    self.redraw(index, card)
                    changed = True
        for index in touched:
            changed = self._refold(index) or changed
        return changed

    def _refold(self, index: int) -> bool:
        entry = self.transcript.entries[index]
        if entry.items and refold(entry.items):
            for item in entry.items:
                if isinstance(item, FoldItem):
                    self._draw(index, item)
            entry.set_items(entry.items)
            self.transcript.measure(index)
            return True
        return False

    def refresh_notes(self) -> bool:
        """Let the rows between rounds show their figures; whether any changed."""
        changed = False
        for index in self.loaded:
            entry = self.transcript.entries[index]
            item = entry.items[0] if entry.items else None
            if isinstance(item, RoundItem) and (note := self._note(entry)) and note != item.note:
                item.note = note
                self.redraw(index, item)
                changed = True
        return changed

    # -- opening and closing ---------------------------------------------------------------------------------------
    def toggle(self, place: Place) -> bool:
        """Open or close what is at ``place``, or read again what could not be read; False where there is neither."""
        entry = self.transcript.entries[place.entry]
        if entry.trouble:
            entry.trouble = ""
            return True
        item = self.transcript.item_at(place)
        if item is None or not item.foldable:
            return False
        self._open(place.entry, item, opened=not item.opened)
        return True

    def _open(self, index: int, item: Item, *, opened: bool) -> None:
        item.opened = opened
        if isinstance(item, CompactionCard):
            item.forget_trouble()
        (self.opened.add if opened else self.opened.discard)(item.key)
        self.redraw(index, item)
        if isinstance(item, FoldItem):
            self._refold(index)

    def reveal(self, index: int, ordinal: int, *, inside: bool) -> tuple[int, Item] | None:
        """Open what hides the part ``ordinal`` of an entry, and with ``inside`` the part itself; its number and itself.

        None where the entry is not loaded or has no such part.
        """
        items = self.transcript.entries[index].items or ()
        found = next(((number, item) for number, item in enumerate(items) if item.ordinal == ordinal), None)
        if found is None:
            return None
        item = found[1]
        if isinstance(item, CardItem) and item.hidden:
            fold = next(each for each in items if isinstance(each, FoldItem) and item in each.members)
            self._open(index, fold, opened=True)
        if inside and item.foldable and not item.opened:
            self._open(index, item, opened=True)
        self._draw(index, item)
        self._measure_item(index, item)
        return found

    def set_canvas(self, canvas: Canvas, *, same_width: bool) -> None:
        """Draw on another canvas from now on; pictures are made anew as they come into view."""
        self.canvas = canvas
        for index in self.loaded:
            self._redo(self.transcript.entries[index], same_width=same_width)
        if not same_width:
            self.transcript.resize(canvas.body)

    def _redo(self, entry: Entry, *, same_width: bool) -> None:
        """Forget an entry's pictures, which were made for another canvas."""
        items = entry.items or []
        for item in items:
            item.forget()
        if not same_width:
            estimate(items, self.canvas)
        if entry.live is not None:
            entry.live.set_canvas(self.canvas)
        entry.set_items(items)
