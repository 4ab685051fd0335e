"""Looking for a text in a whole run: one message after the other, newest first, none of them kept."""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

from geode_tui.core.messages import Block, TextBlock, ThinkingBlock, ToolCallBlock
from geode_tui.log.rows import StoredMessage
from geode_tui.tui.conversation.folds import CardItem
from geode_tui.tui.conversation.loader import Loader
from geode_tui.tui.conversation.matching import Matcher
from geode_tui.tui.conversation.model import Reader, Transcript
from geode_tui.tui.source import SourceError

_LOG = logging.getLogger(__name__)

SLICE_S = 0.03
"""Seconds that the thread searches before it lets something else be read."""
UNITS = 64
"""Most entries that are handed to the thread at a time."""
MOST = 10_000
"""Matches from which no more are looked for."""


class Hit(NamedTuple):
    """The match ``nth`` in part ``ordinal`` of an entry. Hits sort from the beginning of the run to its end."""

    entry: int
    ordinal: int
    nth: int


class Unit(NamedTuple):
    """What one entry is read from: its message, and the messages with its calls' results by their ids."""

    entry: int
    message_id: int
    results: dict[str, int]


class Search:
    """One search. ``changed`` is called on the loop as it gets on; `cancel` ends it."""

    def __init__(
        self,
        query: str,
        transcript: Transcript,
        load: Callable[[int], StoredMessage],
        reader: Reader,
        loader: Loader,
        changed: Callable[[], None],
    ) -> None:
        self.matcher = Matcher(query)
        self.hits: list[Hit] = []
        self.unread = 0
        """Entries that could not be read, and so were not searched."""
        self._transcript = transcript
        self._load = load
        self._reader = reader
        self._loader = loader
        self._changed = changed
        self._all = self._next = len(transcript.entries)
        """Entries there are, and the one before which the search goes on."""
        self._again: set[int] = set()
        """Entries that came, or were changed, since it began."""
        self._running = False
        self._cancelled = False
        self._go()

    @property
    def done(self) -> bool:
        """Whether everything was looked through."""
        return not self._running

    @property
    def full(self) -> bool:
        """Whether it ended because there are too many matches."""
        return len(self.hits) >= MOST

    @property
    def percent(self) -> int:
        """How much was looked through."""
        return 100 - 100 * self._next // max(1, self._all)

    def reached(self, entry: int) -> bool:
        """Whether everything from ``entry`` on was looked through."""
        return self._next <= entry

    def cancel(self) -> None:
        """Look no further."""
        self._cancelled = True

    def look_again(self, entry: int) -> None:
        """A message of ``entry`` is new or final."""
        self._again.add(entry)
        if not self._running:
            self._go()

    def beside(self, at: Hit, step: int, *, inclusive: bool = False) -> Hit | None:
        """The hit after ``at`` (``step`` 1) or before it (-1), round the ends; with ``inclusive``, ``at`` itself."""
        if not self.hits:
            return None
        if step > 0:
            index = (bisect_left if inclusive else bisect_right)(self.hits, at)
        else:
            index = bisect_left(self.hits, at) - 1
        return self.hits[index % len(self.hits)]

    def number(self, hit: Hit) -> int:
        """Its number from the beginning of the run, 1 for the first."""
        return bisect_left(self.hits, hit) + 1

    # -- in slices -------------------------------------------------------------------------------------------------
    def _go(self) -> None:
        units = self._units()
        self._running = bool(units) and not self._cancelled and not self.full
        if self._running:
            self._loader.ask(lambda: self._slice(units), lambda found: self._landed(units, found), self._failed)

    def _units(self) -> list[Unit]:
        if self._next:
            indexes: Sequence[int] = range(self._next - 1, max(-1, self._next - 1 - UNITS), -1)
        else:
            indexes = sorted(self._again, reverse=True)[:UNITS]
        return [self._unit(index) for index in indexes]

    def _unit(self, index: int) -> Unit:
        row, results = self._transcript.entries[index].row, self._transcript.results
        return Unit(index, row.id, {call: results[call].id for call in row.calls if call in results})

    def _landed(self, units: Sequence[Unit], found: Sequence[list[Hit] | None]) -> None:
        for unit, hits in zip(units, found, strict=False):
            low, high = bisect_left(self.hits, (unit.entry,)), bisect_left(self.hits, (unit.entry + 1,))
            self.hits[low:high] = hits or ()
            self.unread += hits is None
            if unit.entry < self._next:
                self._next = unit.entry
            else:
                self._again.discard(unit.entry)
        if not self._cancelled:
            self._go()
            self._changed()

    def _failed(self, error: BaseException) -> None:
        _LOG.error("a search in the conversation ended early", exc_info=error)
        self._running = False
        self.unread += max(1, self._next)
        self._changed()

    # -- in the thread ---------------------------------------------------------------------------------------------
    def _slice(self, units: Sequence[Unit]) -> list[list[Hit] | None]:
        begun = perf_counter()
        found: list[list[Hit] | None] = []
        for unit in units:
            if self._cancelled or (found and perf_counter() - begun > SLICE_S):
                break
            found.append(self._hits(unit))
        return found

    def _hits(self, unit: Unit) -> list[Hit] | None:
        try:
            counts = self._counts(unit)
        except SourceError:
            return None
        return [Hit(unit.entry, ordinal, nth) for ordinal, count in counts for nth in range(count)]

    def _counts(self, unit: Unit) -> list[tuple[int, int]]:
        """How many matches each part of an entry holds. Its text is read as Markdown only where it may hold any."""
        stored, count = self._load(unit.message_id), self.matcher.count
        if stored.row.role == "tool":
            return [(0, self._in_result(stored))]
        results = {call: self._in_result(self._load(number)) for call, number in unit.results.items()}
        if not any(results.values()) and not any(map(self._may_hold, stored.message.blocks)):
            return []
        counts = []
        for item in self._reader.items(stored):
            number = count(item.words)
            if isinstance(item, CardItem):
                number += count(item.title_words) + results.get(item.key, 0)
            counts.append((item.ordinal, number))
        return counts

    def _in_result(self, stored: StoredMessage) -> int:
        return sum(self.matcher.count(piece) for piece in self._reader.result(stored))

    def _may_hold(self, block: Block) -> bool:
        match block:
            case TextBlock(text=text) | ThinkingBlock(text=text):
                return self.matcher.may_stand_in(self._reader.safe(text))
            case ToolCallBlock(name=name, arguments=arguments):
                shown = self._reader.safe(f"{name} {arguments}")
                return "\\" in shown or self.matcher.may_stand_in(shown)
            case _:
                return False
