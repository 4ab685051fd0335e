"""How many tokens a prompt takes, by category, before its provider has counted it (RUNTIME.md 1.6).

Once a provider has confirmed a figure, that figure is the anchor: what joined since is added and what left is taken
off, as a `Calibration` learned from the same provider's figures sees it. Without an anchor everything is estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from geode_tui.context.calibration import Calibration, Kinship
from geode_tui.context.figures import figures
from geode_tui.context.loads import NOTHING, Category, Load, block_load, load, message_loads, minus, plus, total
from geode_tui.context.prefix import Prefix
from geode_tui.context.sums import Joined, Sums
from geode_tui.core.events import ContextFigures, Measured
from geode_tui.core.messages import Block, Message, ThinkingBlock
from geode_tui.core.native import compacts, still_read
from geode_tui.core.tokens import ScriptCounter, TokenCounter, VocabularyName
from geode_tui.core.usage import Usage
from geode_tui.routes.budget import Budget
from geode_tui.routes.catalog import Route

UNCONFIRMED_MARGIN_PERCENT = 20
"""Added where thresholds are compared, never to what is shown, while nothing is confirmed (RUNTIME.md, point 9)."""
SURE_SHARE = 0.4
"""Of an estimate: no tokeniser in use needs fewer tokens."""
_ELUSIVE = frozenset({"thinking", "native", "images"})
_PLAUSIBLE_SHARE = 0.6
"""An answer's reported tokens below this share of its content are those of its first words, or of a cut stream."""
_CREDIBLE = 0.5, 2.0
"""Times what was expected: a figure within is that of the messages that joined, one beyond has something else in it."""
_ANSWER_DEVIATION, _GROWTH_DEVIATION, _WHOLE_DEVIATION = (8.0, 0.03), (20.0, 0.05), (300.0, 0.10)
"""Tokens, and share of the content, by which a confirmed figure may miss its calibration for no known reason: of an
answer, of what joined between two prompts, of a whole prompt (to which a provider adds instructions of its own)."""


def plausible(tokens: int, route: Route) -> bool:
    """Whether a prompt that was accepted can have had that many tokens: some, and no more than the window, where that
    is known and not only assumed.
    """
    return tokens > 0 and (tokens <= route.window or route.provenance == "unknown_fallback")


def replayed_output(message: Message, usage: Usage) -> int | None:
    """Output tokens of an answer that take room in the next prompt; None where that is not known.

    Thinking that was never signed is not sent again.
    """
    if not any(isinstance(block, ThinkingBlock) and block.raw is None for block in message.blocks):
        return usage.output_tokens
    return None if usage.reasoning_tokens is None else usage.output_tokens - usage.reasoning_tokens


def vocabulary_of(route: Route) -> tuple[VocabularyName | None, Kinship]:
    """The bundled vocabulary to count a route's text with, and how it stands to the model's own.

    OpenAI's models since GPT-4o use o200k_base, those before cl100k_base. Of the others none is published that would
    be nearer than o200k_base. The offline provider counts by script itself.
    """
    if route.provider == "offline":
        return None, "script"
    if route.provider != "openai":
        return "o200k_base", "borrowed"
    older = route.family.startswith(("gpt-4-", "gpt-3.5")) or route.family == "gpt-4"
    return ("cl100k_base" if older else "o200k_base"), "own"


def block_part(block: Block, counter: TokenCounter | None = None) -> tuple[Category, int]:
    """(category, estimated tokens) of one block of an answer."""
    category, part = block_load(block, counter or ScriptCounter())
    return category, round(Calibration("script").tokens(part))


def message_parts(message: Message, counter: TokenCounter | None = None) -> dict[Category, int]:
    """Estimated tokens of a message by category."""
    loads = message_loads(message, counter or ScriptCounter())
    return _tokens_by_category(loads, Calibration("script"), tiles=False)


class Anchor(msgspec.Struct, frozen=True):
    """The provider's own count of a prompt, and what that prompt held. ``messages`` is how many it had, the first of
    ``sums``; ``prefix`` is what stood before them. ``cleared`` are tokens of them that the provider took off the prompt
    by itself and did not count.
    """

    tokens: int
    load: Load
    messages: int
    view: int
    sums: Sums
    prefix: Prefix = Prefix()
    cleared: int = 0


class _Counted(msgspec.Struct, frozen=True):
    """Answers whose tokens their provider counted, since the last confirmed prompt, taken together."""

    load: Load = NOTHING
    tokens: int = 0


class PromptMeter:
    """The size of a conversation that grows: an estimate costs what was appended."""

    def __init__(self, counter: TokenCounter | None = None) -> None:
        self.counter: TokenCounter = counter or ScriptCounter()
        self._sums = Sums()
        self._view = 0
        self._anchors: dict[tuple[tuple[str, str, str], str], Anchor] = {}
        self._calibrations: dict[tuple[str, str, str] | None, Calibration] = {}
        self._answers: dict[tuple[str, str, str], _Counted] = {}

    # -- the conversation -------------------------------------------------------------------------------------------
    @property
    def messages(self) -> int:
        """How many messages the conversation has."""
        return len(self._sums)

    def append(
        self, message: Message, *, counted: int | None = None, route: Route | None = None, summary: bool = False
    ) -> int:
        """Count a message in.

        Args:
            message: In the form in which it will be sent.
            counted: Of an answer, the output tokens that ``route``'s provider reported, less what is not replayed.
            route: Where the answer came from.
            summary: Whether it stands for messages that are not sent any more.

        Returns:
            Its estimated tokens.
        """
        added = self._sums.append(message, self.counter, summary=summary)
        if compacts(message):
            # What was counted before says nothing of what is read now.
            self._anchors, self._answers = {}, {}
        calibration = self.calibration(route)
        tokens = calibration.tokens(added, tiles=_tiles(route))
        if counted is not None and route is not None and counted >= _PLAUSIBLE_SHARE * tokens:
            calibration.learn(added, counted, _deviation(added, _ANSWER_DEVIATION))
            self._sums.credit(route, self.messages - 1, counted)
            before = self._answers.get(route.key, _Counted())
            self._answers[route.key] = _Counted(plus(before.load, added), before.tokens + counted)
            return counted
        return round(tokens)

    def append_compacted(
        self, message: Message, tokens: int, counted: int | None, route: Route, prefix: Prefix
    ) -> None:
        """Count in an answer in which its provider compacted the conversation.

        Args:
            message: In the form in which it will be sent.
            tokens: The prompt it was written on, as the provider counted it: it held the compaction in place of the
                conversation. 0 where nothing was written on it yet.
            counted: As in `append`; the compaction is not part of it.
            route: Where the answer came from.
            prefix: What stands before the conversation.
        """
        self.append(message, route=route)
        if not plausible(tokens, route):
            return
        compaction = block_load(still_read(message).blocks[0], self.counter)[1]
        self._anchors[route.key, prefix.digest] = Anchor(
            tokens, compaction, self.messages - 1, self._view, self._sums, prefix
        )
        if counted is not None:
            rest = minus(total(self._sums.parts(route).values()), compaction)
            self._answers[route.key] = _Counted(rest, counted)

    def retake(self, messages: Iterable[Message]) -> None:
        """The conversation is these messages now: another view of it, or the form another route is sent.

        Anchors hold: from now on they miss what left and what came, until a prompt of this view is confirmed.
        """
        self._sums = self._sums.retaken(messages, self.counter)
        self._answers = {}
        self._view += 1

    def copy(self) -> PromptMeter:
        """A meter that goes on from here on its own, to see what something would come to."""
        made = PromptMeter(self.counter)
        made._sums, made._view = self._sums.copy(), self._view
        made._anchors, made._answers = dict(self._anchors), dict(self._answers)
        made._calibrations = {key: calibration.copy() for key, calibration in self._calibrations.items()}
        return made

    # -- what the provider said -------------------------------------------------------------------------------------
    def confirm(self, tokens: int, messages: int, route: Route, prefix: Prefix, cleared: int = 0) -> bool:
        """The provider counted ``tokens`` for ``prefix`` and the first ``messages`` messages, after it had taken
        ``cleared`` tokens off them.

        False, and nothing learned, where that cannot be: nothing at all, or more than the window holds.
        """
        if not plausible(tokens, route):
            return False
        now = minus(total(self._sums.parts(route).values()), total(self._sums.since(messages).values()))
        before = self._anchors.get((route.key, prefix.digest))
        if before is not None:
            self._learn_growth(route, before, now, tokens + cleared, messages)
        elif prefix.tokens:
            whole = plus(now, load(text=prefix.tokens))
            self._learn(route, whole, tokens + cleared, _WHOLE_DEVIATION)
        self._anchors.pop((route.key, prefix.digest), None)
        self._anchors[route.key, prefix.digest] = Anchor(tokens, now, messages, self._view, self._sums, prefix, cleared)
        self._answers = {}
        return True

    def _learn_growth(self, route: Route, before: Anchor, now: Load, tokens: int, messages: int) -> None:
        """Learn from what was added between two prompts, where nothing was taken off."""
        answers = self._answers.get(route.key, _Counted())
        grown = minus(minus(now, before.load), answers.load)
        counted = before.tokens + before.cleared
        if min(grown) >= 0 and any(grown) and tokens > counted:
            more = tokens - counted - answers.tokens
            if before.view == self._view:
                self._credit(route, before.messages, messages, more, grown)
            self._learn(route, grown, more, _GROWTH_DEVIATION)

    def _credit(self, route: Route, start: int, end: int, tokens: int, grown: Load) -> None:
        """Divide ``tokens`` among the messages that were ``grown`` by, unless something else is in that figure too."""
        calibration, tiles = self.calibration(route), _tiles(route)
        expected = calibration.tokens(grown, tiles=tiles)
        low, high = _CREDIBLE
        if expected <= 0 or not low <= tokens / expected <= high:
            return
        for place, joined in enumerate(self._sums.between(start, end), start):
            if route.key not in joined.counted:
                share = calibration.tokens(joined.load, tiles=tiles) / expected
                self._sums.credit(route, place, share * tokens)

    def _learn(self, route: Route, counted: Load, tokens: int, deviation: tuple[float, float]) -> None:
        calibration = self.calibration(route)
        as_they_are = calibration.tokens(counted, tiles=_tiles(route)) - calibration.ratio_tokens(counted)
        calibration.learn(counted, tokens - as_they_are, _deviation(counted, deviation))

    def calibration(self, route: Route | None) -> Calibration:
        """What was learned of a route's counting; without a route, what is expected of any."""
        key = route.key if route else None
        if key not in self._calibrations:
            self._calibrations[key] = Calibration(self._kinship(route))
        return self._calibrations[key]

    def _kinship(self, route: Route | None) -> Kinship:
        if not self.counter.vocabulary:
            return "script"
        name, kinship = vocabulary_of(route) if route else (None, "borrowed")
        return kinship if name in {None, self.counter.vocabulary} else "borrowed"

    # -- figures ----------------------------------------------------------------------------------------------------
    def anchor(self, route: Route, prefix: Prefix) -> Anchor | None:
        """The last confirmed figure that is good for such a request: one with the same prefix, else the newest whose
        prefix is known, with the difference between the two (a tool more, another date).
        """
        same = self._anchors.get((route.key, prefix.digest))
        if same is not None or not prefix.tokens:
            return same
        for (key, _), anchor in reversed(self._anchors.items()):
            if key == route.key and anchor.prefix.tokens:
                more = self.calibration(route).tokens(load(text=prefix.tokens - anchor.prefix.tokens))
                return msgspec.structs.replace(anchor, tokens=max(1, anchor.tokens + round(more)))
        return None

    def figures(self, route: Route, budget: Budget, prefix: Prefix, *, simulated: bool) -> ContextFigures:
        """The gauge for the next request."""
        made = self._figures(route, budget, prefix, simulated=simulated)
        if prefix.dynamic is None or not prefix.system:
            return made
        dynamic = made.parts.get("system", 0) * prefix.dynamic // prefix.system
        return msgspec.structs.replace(made, dynamic=dynamic)

    def _figures(self, route: Route, budget: Budget, prefix: Prefix, *, simulated: bool) -> ContextFigures:
        calibration, tiles = self.calibration(route), _tiles(route)
        loads = self._sums.parts(route)
        fixed = {"system": load(text=prefix.system), "tools": load(text=prefix.tools)}
        parts = _tokens_by_category({**fixed, **loads}, calibration, tiles=tiles)
        anchor = self.anchor(route, prefix)
        if anchor is None:
            measured: Measured = "counted" if calibration.kinship == "own" else "estimated"
            margin = 0 if measured == "counted" else UNCONFIRMED_MARGIN_PERCENT
            return figures(sum(parts.values()), parts, route, budget, measured, simulated=simulated, margin=margin)
        change = minus(total(loads.values()), anchor.load)
        answers = self._answers.get(route.key, _Counted())
        joined = calibration.tokens(minus(change, answers.load), tiles=tiles)
        if joined < 0:
            # What left may be what the provider did not count any more.
            joined = min(0.0, joined + anchor.cleared)
        used = anchor.tokens + answers.tokens + joined
        if anchor.view != self._view:
            used = self._after_change(anchor, route, used, sum(parts.values()), prefix)
        exact = (route.key, prefix.digest) in self._anchors
        same = exact and anchor.view == self._view and anchor.messages == len(self._sums)
        return figures(
            max(1, round(used)), parts, route, budget, "confirmed" if same else "estimated", simulated=simulated
        )

    def _after_change(self, anchor: Anchor, route: Route, used: float, whole: int, prefix: Prefix) -> float:
        """The size of another view than the one that was confirmed: by what left it since, and by what is there now.

        The first is ``used`` with what is known of the messages that left, the second ``whole`` with what is known of
        those that stay: how much they took was seen when they joined. What the provider adds by itself is in the first
        only, so the second counts where it is more: each is as uncertain as what is not known in it, and where most of
        a conversation left, what is there now says more.
        """
        calibration, tiles = self.calibration(route), _tiles(route)

        def of(joined: Iterable[Joined]) -> tuple[float, float]:
            """(tokens above what was counted, tokens that were not counted) of messages."""
            above = unknown = 0.0
            for each in joined:
                tokens = calibration.tokens(each.load, tiles=tiles)
                if route.key in each.counted:
                    above += tokens - each.counted[route.key]
                else:
                    unknown += tokens
            return above, unknown

        more, gone = of(anchor.sums.without(self._sums, anchor.messages))
        less, stays = of(anchor.sums.within(self._sums, anchor.messages))
        stays += calibration.tokens(load(text=prefix.tokens))
        by_what_left, by_what_is_there = used + more, whole - less
        if anchor.cleared:
            # Part of what is there may be what the provider did not count.
            return by_what_left
        share = gone * gone / max(1.0, gone * gone + stays * stays)
        return by_what_left + share * max(0.0, by_what_is_there - by_what_left)

    def least(self, route: Route, prefix: Prefix) -> int:
        """The fewest tokens that a prompt of the whole conversation can take, whatever its tokeniser: well under half
        of what is estimated, or nearly what was confirmed before. Thinking, native items and images are left out, as a
        provider may drop or count them in its own way.
        """
        anchor = self.anchor(route, prefix)
        loads = self._sums.parts(route)
        if anchor is None or anchor.view != self._view:
            return int((prefix.tokens + _text(loads, solid=True)) * SURE_SHARE)
        appended = _text(self._sums.since(anchor.messages), solid=True)
        return int(anchor.tokens * 0.95 - 1.5 * _text(loads, solid=False) + appended * SURE_SHARE)


def _text(loads: Mapping[Category, Load], *, solid: bool) -> float:
    """Tokens of the solid categories, or of the elusive ones, at the counter's own measure."""
    plain = Calibration("own")
    return sum(plain.tokens(each) for category, each in loads.items() if (category not in _ELUSIVE) is solid)


def _tokens_by_category(loads: Mapping[Category, Load], calibration: Calibration, *, tiles: bool) -> dict[str, int]:
    parts = {category: round(calibration.tokens(each, tiles=tiles)) for category, each in loads.items()}
    return {category: tokens for category, tokens in parts.items() if tokens > 0}


def _tiles(route: Route | None) -> bool:
    return route is not None and route.provider != "anthropic"


def _deviation(of: Load, by: tuple[float, float]) -> float:
    return by[0] + by[1] * sum(of[:4])
