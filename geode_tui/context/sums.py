"""Running sums over the conversation that a model is sent: what joins costs what it is, whatever stands before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from geode_tui.context.loads import NOTHING, Category, Load, join, message_loads, minus, plus, total
from geode_tui.core.messages import Message
from geode_tui.core.native import compacts, still_read
from geode_tui.core.tokens import TokenCounter
from geode_tui.routes.catalog import Route

_FORGETFUL = ("claude-3", "claude-opus-4-1", "claude-sonnet-4-5", "claude-haiku-4-5")
_FORGETFUL_EXACT = frozenset({"claude-opus-4", "claude-sonnet-4"})
"""Models before Claude Opus 4.5, and the smaller ones of its generation, leave the thinking of earlier turns out of a
prompt (Anthropic's documentation, "Extended thinking")."""


def replays_past_thinking(route: Route) -> bool:
    """Whether thinking of earlier turns still takes room, wherever the model is served."""
    return not route.family.startswith(_FORGETFUL) and route.family not in _FORGETFUL_EXACT


class Joined(msgspec.Struct, frozen=True):
    """A message of the conversation. ``loads`` are of what of it is read, ``counted`` are its tokens as providers
    counted them, by route.
    """

    message: Message
    loads: Mapping[Category, Load]
    counted: Mapping[tuple[str, str, str], float] = {}

    @property
    def load(self) -> Load:
        """All that it adds."""
        return total(self.loads.values())


class Sums:
    """See the module. Messages are given in the form in which their route is sent them."""

    def __init__(self) -> None:
        self._joined: list[Joined] = []
        self._parts: dict[Category, Load] = {}
        self._past_thinking = self._turn_thinking = NOTHING

    def __len__(self) -> int:
        return len(self._joined)

    def append(self, message: Message, counter: TokenCounter, *, summary: bool = False) -> Load:
        """Count a message in; returns what it adds."""
        return self._take(Joined(message, message_loads(still_read(message), counter, summary=summary)))

    def _take(self, joined: Joined) -> Load:
        message, loads = joined.message, joined.loads
        if message.role == "user":
            self._past_thinking, self._turn_thinking = plus(self._past_thinking, self._turn_thinking), NOTHING
        if compacts(message):
            self._parts, self._past_thinking, self._turn_thinking = {}, NOTHING, NOTHING
        if "thinking" in loads:
            self._turn_thinking = plus(self._turn_thinking, loads["thinking"])
        for category, load in loads.items():
            join(self._parts, category, load)
        self._joined.append(joined)
        return joined.load

    def parts(self, route: Route) -> dict[Category, Load]:
        """Everything that a request on ``route`` would carry, by category."""
        if replays_past_thinking(route) or "thinking" not in self._parts:
            return dict(self._parts)
        return {**self._parts, "thinking": minus(self._parts["thinking"], self._past_thinking)}

    def since(self, count: int) -> dict[Category, Load]:
        """What the messages after the first ``count`` add, by category."""
        made: dict[Category, Load] = {}
        for joined in self._joined[count:]:
            for category, load in joined.loads.items():
                join(made, category, load)
        return made

    def credit(self, route: Route, place: int, tokens: float) -> None:
        """``route``'s provider counted ``tokens`` for the message at ``place``."""
        joined = self._joined[place]
        self._joined[place] = msgspec.structs.replace(joined, counted={**joined.counted, route.key: tokens})

    def between(self, start: int, end: int) -> Sequence[Joined]:
        """The messages after the first ``start``, up to the first ``end``."""
        return self._joined[start:end]

    def without(self, other: Sums, end: int) -> Iterator[Joined]:
        """Those of the first ``end`` messages that ``other`` has not."""
        kept = {id(joined.message) for joined in other._joined}
        return (joined for joined in self._joined[:end] if id(joined.message) not in kept)

    def within(self, other: Sums, end: int) -> Iterator[Joined]:
        """Those of the first ``end`` messages that ``other`` has too, as it knows them."""
        known = {id(joined.message): joined for joined in other._joined}
        return (known[id(joined.message)] for joined in self._joined[:end] if id(joined.message) in known)

    def retaken(self, messages: Iterable[Message], counter: TokenCounter) -> Sums:
        """The sums of another view of the conversation. What is known of messages that stay goes with them."""
        known = {id(joined.message): joined for joined in self._joined}
        made = Sums()
        for message in messages:
            made._take(known.get(id(message)) or Joined(message, message_loads(still_read(message), counter)))
        return made

    def copy(self) -> Sums:
        """Sums that go on from here on their own."""
        made = Sums()
        made._joined, made._parts = list(self._joined), dict(self._parts)
        made._past_thinking, made._turn_thinking = self._past_thinking, self._turn_thinking
        return made
