"""Find in the conversation: the search, the match one stands at, and the way to it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from textual.strip import Strip

from geode_tui.tui.conversation.drawing import lacks_output
from geode_tui.tui.conversation.marks import Marks, marked
from geode_tui.tui.conversation.model import Place
from geode_tui.tui.conversation.search import Hit, Search
from geode_tui.tui.conversation.stage import Stage


class FindState(msgspec.Struct, frozen=True):
    """How a search stands. ``at`` is the number of the match one stands at, 0 for none yet."""

    at: int = 0
    of: int = 0
    percent: int | None = None
    """How much was looked through; None once all was."""
    more: bool = False
    """Whether there are more matches than were looked for."""
    unread: int = 0
    """Messages that could not be read."""


class Finding:
    """One search in a stage, from the view's place on. ``changed`` is called as it gets on."""

    def __init__(self, query: str, stage: Stage, start: Hit, changed: Callable[[], None]) -> None:
        self._stage = stage
        self._start = start
        self._changed = changed
        self.current: Hit | None = None
        self.sought: Hit | None = None
        """The match that is to be brought into view once its message is here."""
        self.search = Search(query, stage.transcript, stage.load, stage.reader, stage.loader, self._advanced)
        self._marks = Marks(self.search.matcher)

    @property
    def state(self) -> FindState:
        """What the field shows."""
        search = self.search
        at = search.number(self.current) if self.current is not None else 0
        percent = None if search.done else search.percent
        return FindState(at, len(search.hits), percent, search.full, search.unread)

    def end(self) -> None:
        """Look no further."""
        self.search.cancel()

    def step(self, start: Hit, step: int) -> None:
        """To the match after ``start``, or the one before."""
        inclusive = self.current is None
        self.current = self.sought = self.search.beside(start, step, inclusive=inclusive)

    def _advanced(self) -> None:
        if self.current is None and (self.search.done or self.search.reached(self._start.entry)):
            after = self.search.beside(self._start, 1, inclusive=True)
            if after is not None and after < self._start:  # there is none after it: the nearest one before it
                after = self.search.beside(self._start, -1)
            self.current = self.sought = after
        self._changed()

    def arrive(self) -> Place | None:
        """The place of the match that is sought, as far as its message is loaded and drawn."""
        hit, stage = self.sought, self._stage
        if hit is None:
            return None
        entry = stage.transcript.entries[hit.entry]
        if entry.items is None and not entry.trouble:
            return None
        found = stage.reveal(hit.entry, hit.ordinal, inside=hit.nth >= self._in_title(hit))
        if found is None:  # it cannot be shown: unreadable, or another message since
            self.sought = None
            return None
        number, item = found
        if not item.sketchy and not lacks_output(item):
            self.sought = None
        stretches = self._marks.place(item, hit.nth, stage.canvas)
        return Place(hit.entry, number, item.before + (stretches[0].line if stretches else 0))

    def _in_title(self, hit: Hit) -> int:
        """How many matches stand in the row of a call, which need not be opened for them."""
        items = self._stage.transcript.entries[hit.entry].items or ()
        item = next((each for each in items if each.ordinal == hit.ordinal), None)
        return self.search.matcher.count(getattr(item, "title_words", ""))

    def decorate(self, strip: Strip, place: Place) -> Strip:
        """The line at ``place`` with its matches marked."""
        stage = self._stage
        item = stage.transcript.item_at(place)
        if item is None:
            return strip
        line = place.offset - item.before
        found = self._marks.of(item, stage.canvas)
        here = [(part, each) for each in found for part in each if part.line == line]
        if not here:
            return strip
        current = self.current
        at: tuple[object, ...] = ()
        if current is not None and current[:2] == (place.entry, item.ordinal):
            at = self._marks.place(item, current.nth, stage.canvas)
        return marked(strip, [(part, each is at) for part, each in here], stage.canvas.ink)
