"""What of a conversation is drawn, and what is forgotten again: the lines near the view, in slices."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from textual.strip import Strip

from geode_tui.tui.conversation.compaction_card import CompactionCard
from geode_tui.tui.conversation.folds import CardItem
from geode_tui.tui.conversation.items import Canvas, Item
from geode_tui.tui.conversation.loader import Loader
from geode_tui.tui.conversation.model import Entry, Transcript

_LOG = logging.getLogger(__name__)

KEEP_LINES = 3_000
"""Lines near the view whose text and pictures are kept (PERFORMANCE.md D2)."""
SLICE_S = 0.006
"""Seconds of drawing between two looks at the keyboard."""


class Drawing:
    """Entries and the pictures of those near the view. `Stage` says where what is missing comes from.

    ``changed`` is called (on the loop) after the thread delivered something.
    """

    def __init__(self, canvas: Canvas, loader: Loader, changed: Callable[[], None]) -> None:
        self.transcript = Transcript()
        self.canvas = canvas
        self.loader = loader
        self.loaded: set[int] = set()
        """Entries whose items are here."""
        self._changed = changed
        self._drawn = 0
        """Lines drawn since pictures were last forgotten."""

    def ask_entry(self, index: int) -> None:
        """Read an entry's message."""
        raise NotImplementedError

    def ask_output(self, index: int, card: CardItem | CompactionCard) -> None:
        """Read the result of a call of entry ``index``, or the text of a compaction after it."""
        raise NotImplementedError

    def redraw(self, index: int, item: Item) -> None:
        """Draw ``item`` of entry ``index`` again now and take its new height."""
        item.forget()
        self._draw(index, item)
        self._measure_item(index, item)

    def _measure_item(self, index: int, item: Item) -> None:
        entry = self.transcript.entries[index]
        if entry.items is None:
            return
        try:
            number = entry.items.index(item)
        except ValueError:
            return
        entry.heights.set(number, item.lines)
        self.transcript.measure(index)

    def _draw(self, index: int, item: Item) -> None:
        if item.strips is None or item.sketchy:
            if item.heavy:
                self._draw_in_thread(index, item)
            else:
                item.put(item.draw(self.canvas))
            self._drawn += item.height
        if isinstance(item, CardItem | CompactionCard) and lacks_output(item):
            self.ask_output(index, item)

    def _draw_in_thread(self, index: int, item: Item) -> None:
        if item.strips is None:
            item.put(item.sketch(self.canvas))
            item.sketchy = True
        if item.asked or not self.loader.free:
            return
        item.asked = True
        canvas = self.canvas

        def landed(strips: list[Strip]) -> None:
            item.asked = False
            if canvas is self.canvas:
                item.put(strips)
                self._measure_item(index, item)
            self._changed()

        def failed(error: BaseException) -> None:
            item.asked = item.sketchy = False
            _LOG.error("an item of the conversation stays plain", exc_info=error)

        self.loader.ask(lambda: item.draw(canvas), landed, failed)

    def prepare(self, top: int, height: int, *, upwards: bool) -> bool:
        """Load and draw what is missing in the view at ``top`` and a page around it, for `SLICE_S` seconds.

        True when there is more to do now; what the thread delivers calls ``changed``.
        """
        begun = perf_counter()
        for low, high in ((top, top + height), (top - height, top + 2 * height)):
            for index in self._entries_between(low, high, upwards=upwards):
                entry = self.transcript.entries[index]
                if entry.items is None:
                    if not entry.asked and not entry.trouble and self.loader.free:
                        self.ask_entry(index)
                    continue
                start = self.transcript.heights.top(index)
                for number, item in _between(entry, low - start, high - start):
                    if item.strips is not None and not item.sketchy and not lacks_output(item):
                        continue
                    drawn = item.strips is None
                    self._draw(index, item)
                    entry.heights.set(number, item.lines)
                    self.transcript.measure(index)
                    if drawn and perf_counter() - begun > SLICE_S:
                        return True
        if self._drawn > KEEP_LINES // 6:
            self._drawn = 0
            self._forget(top, height)
        return False

    def _entries_between(self, low: int, high: int, *, upwards: bool) -> Sequence[int]:
        first = self.transcript.heights.find(low)[0]
        last = self.transcript.heights.find(max(low, high - 1))[0]
        indexes = range(first, min(last + 1, len(self.transcript.entries)))
        return indexes[::-1] if upwards else indexes

    def _forget(self, top: int, height: int) -> None:
        """Drop what lies farthest from the view where more than `KEEP_LINES` are kept."""
        heights = self.transcript.heights
        margin = max(KEEP_LINES // 2, 2 * height)
        if sum(heights[index] for index in self.loaded) <= KEEP_LINES:
            return
        low, high = top - margin, top + height + margin
        for index in list(self.loaded):
            entry = self.transcript.entries[index]
            start = heights.top(index)
            if entry.live is None and not entry.asked and (start + heights[index] < low or start > high):
                entry.drop()
                self.loaded.discard(index)
            elif heights[index] > 2 * margin:
                _forget_pictures(entry, low - start, high - start)


def lacks_output(item: Item) -> bool:
    """Whether ``item`` waits for a result, or a text, that is still to be read."""
    return (isinstance(item, CardItem) and item.wants_output) or (isinstance(item, CompactionCard) and item.lacks_text)


def _between(entry: Entry, low: int, high: int) -> Iterator[tuple[int, Item]]:
    """The items of ``entry`` with a line between ``low`` and ``high``."""
    items = entry.items or []
    number = entry.heights.find(low)[0]
    while number < len(items) and entry.heights.top(number) < high:
        yield number, items[number]
        number += 1


def _forget_pictures(entry: Entry, low: int, high: int) -> None:
    """Forget the pictures of items outside of ``low`` to ``high``, but for the last two, which may be growing."""
    items = entry.items or []
    keep = {number for number, _ in _between(entry, low, high)}
    for number, item in enumerate(items[:-2]):
        if number not in keep and item.strips is not None and not item.asked:
            item.forget()
