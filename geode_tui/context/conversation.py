"""A session's conversation as it stands: its transcript, the view over it, what is sent of that, and its size.

Whoever needs the figures that a worker would have (the worker, a preview, a report) builds one of these from the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from geode_tui.context.estimate import PromptMeter, replayed_output
from geode_tui.context.loads import Load, message_loads, total
from geode_tui.context.prefix import Prefix
from geode_tui.context.rendering import Renderer, first_changed, goes_on, is_bound
from geode_tui.context.travel import travelling
from geode_tui.context.view import Item, Sent, View, followed
from geode_tui.core.events import ContextFigures
from geode_tui.core.messages import Message
from geode_tui.core.native import compacts
from geode_tui.core.tokens import TokenCounter
from geode_tui.core.usage import Usage
from geode_tui.core.views import Cause, Operation, Version
from geode_tui.routes.budget import Budget
from geode_tui.routes.catalog import Route


class Confirmed(msgspec.Struct, frozen=True):
    """What a provider said of the call that gave an answer: ``prefix`` is what stood before the conversation,
    ``cleared`` are tokens that it took off the prompt by itself.
    """

    usage: Usage
    prefix: Prefix
    cleared: int = 0


class Candidate(msgspec.Struct, frozen=True):
    """What a view would be with some operations more. ``meter`` counts what it would send."""

    operations: tuple[Operation, ...]
    view: View
    sent: tuple[Sent, ...]
    meter: PromptMeter
    first_changed: int


class Conversation:
    """See the module. Messages are committed before they are taken in here."""

    def __init__(self, route: Route, counter: TokenCounter | None = None) -> None:
        self.route = route
        self.items: list[Item] = []
        self.view = View()
        self.sent: list[Sent] = []
        self.messages: list[Message] = []
        """What is sent, in order: the messages of ``sent``."""
        self.meter = PromptMeter(counter)
        self._unthought = 0
        self._renderer = Renderer()
        self._loads: dict[int, tuple[Message, Load]] = {}

    # -- growing ------------------------------------------------------------------------------------------------------
    def load(
        self, items: Sequence[Item], versions: Sequence[Version], confirmed: Mapping[int, Confirmed], route: Route
    ) -> None:
        """Go through a stored conversation as it came about.

        Args:
            items: Whole messages in the order in which they were sent.
            versions: Versions of the view, oldest first.
            confirmed: By the seq of an answer, what ``route``'s provider said of its call.
            route: Where the conversation goes on.
        """
        self.route = route
        self.items, self.view, self.sent, self.messages = [], View(), [], []
        self.meter = PromptMeter(self.meter.counter)
        waiting = list(versions)
        for item in items:
            while waiting and _was_active(waiting[0], item):
                self.take(waiting.pop(0))
            call = confirmed.get(item.seq)
            if call is None:
                self.append(item)
                continue
            self.confirm(item.message, call)
            self.append(item, call.usage, call.prefix)
        for version in waiting:
            self.take(version)

    def append(self, item: Item, usage: Usage | None = None, prefix: Prefix | None = None) -> None:
        """Take in a message that was just committed. ``usage`` is that of an answer; ``prefix`` stood before the
        conversation where that is what was answered.
        """
        self.items.append(item)
        hidden = self.view.hides(item.seq) or item.seq in self.view.stubs
        if hidden or not goes_on(self.sent, item.message):
            self._look()
            return
        counted = replayed_output(item.message, usage) if usage is not None else None
        self.sent.append(Sent(item.message, item.seq))
        self.messages.append(item.message)
        message = travelling(item.message, self.route)
        if usage is not None and prefix is not None and compacts(message):
            self.meter.append_compacted(message, usage.prompt_tokens, counted, self.route, prefix)
        else:
            self.meter.append(message, counted=None if compacts(message) else counted, route=self.route)

    def confirm(self, answer: Message, call: Confirmed) -> None:
        """The provider counted what was sent, the prefix and the whole conversation, before ``answer`` joins it. Where
        it compacted the conversation, what it counted is that answer's beginning, and says nothing of what was sent.
        """
        if not compacts(answer):
            tokens = call.usage.prompt_tokens
            self.meter.confirm(tokens, len(self.messages), self.route, call.prefix, call.cleared)

    def switch(self, route: Route) -> None:
        """Go on with another route."""
        self.route = route
        self._look()
        self.meter.retake(self._travelling(self.sent))

    def size(self, message: Message) -> int:
        """Estimated tokens of a message, as this route counts it."""
        known = self._loads.get(id(message))
        if known is None or known[0] is not message:
            known = message, total(message_loads(travelling(message, self.route), self.meter.counter).values())
            self._loads[id(message)] = known
        return round(self.meter.calibration(self.route).tokens(known[1], tiles=self.route.provider != "anthropic"))

    def forget_thinking(self) -> bool:
        """Send no signed thinking any more from before what was last said to the model: its provider does not accept
        its own signatures. False where there is none.
        """
        upto = max((i.seq for i in self.items if i.message.role == "user"), default=0)
        if not any(is_bound(b) for s in self.sent if 0 < s.seq <= upto for b in s.message.blocks):
            return False
        self._unthought = upto
        self._look()
        return True

    # -- the view -----------------------------------------------------------------------------------------------------
    def take(self, version: Version) -> None:
        """``version``, which was just committed, is the active view."""
        self.view = followed(self.view, version)
        self._look()

    def candidate(self, operations: Sequence[Operation]) -> Candidate:
        """What the view would be with ``operations`` more; nothing is changed."""
        return self._seen(self.version("manual", operations))

    def without(self, numbers: Sequence[int]) -> Candidate:
        """What the view would be without the operations of these versions."""
        return self._seen(msgspec.structs.replace(self.version("undo", ()), takes_back=tuple(numbers)))

    def again(self, numbers: Sequence[int]) -> Candidate:
        """What the view would be with the operations of these versions again."""
        return self._seen(msgspec.structs.replace(self.version("redo", ()), gives_back=tuple(numbers)))

    def version(self, cause: Cause, operations: Sequence[Operation], group: int | None = None) -> Version:
        """The next version, without its figures. ``group`` is the first of the same cause, where there is one."""
        number = self.view.number + 1
        return Version(
            number=number,
            parent=self.view.number,
            group=number if group is None else group,
            cause=cause,
            operations=tuple(operations),
            newest=max((item.seq for item in self.items), default=0),
        )

    def figures(
        self, budget: Budget, prefix: Prefix, *, simulated: bool, candidate: Candidate | None = None
    ) -> ContextFigures:
        """The gauge for the next request, or what it would be with ``candidate``."""
        meter = self.meter if candidate is None else candidate.meter
        return meter.figures(self.route, budget, prefix, simulated=simulated)

    def _seen(self, version: Version) -> Candidate:
        view = followed(self.view, version)
        sent = self._rendered(view)
        changed = first_changed(self.sent, sent)
        if changed and self.route.thinking_bound:
            # Only now is it known which thinking this unbinds.
            view = followed(self.view, msgspec.structs.replace(version, first_changed=changed))
            sent = self._rendered(view)
        meter = self.meter.copy()
        meter.retake(self._travelling(sent))
        return Candidate(version.operations, view, sent, meter, changed)

    def _look(self) -> None:
        """Send what the view says now. Where that only adds to what was sent, no figure is lost."""
        before, self.sent = self.sent, list(self._rendered(self.view))
        self.messages = [s.message for s in self.sent]
        joined = self.sent[len(before) :]
        if _begins(self.sent, before):
            for sent in joined:
                self.meter.append(travelling(sent.message, self.route), route=self.route)
        else:
            self.meter.retake(self._travelling(self.sent))

    def _rendered(self, view: View) -> tuple[Sent, ...]:
        return self._renderer.render(self.items, view, bound=self.route.thinking_bound, unthought=self._unthought)

    def _travelling(self, sent: Iterable[Sent]) -> Iterable[Message]:
        return (travelling(s.message, self.route) for s in sent)


def _was_active(version: Version, item: Item) -> bool:
    """Whether ``version`` was the view when ``item`` joined. A result that arrived too large joins as its stub."""
    if item.message.role == "tool":
        return version.cause == "arrival" and version.newest <= item.seq
    return version.newest < item.seq


def _begins(sent: Sequence[Sent], before: Sequence[Sent]) -> bool:
    """Whether ``sent`` begins with the messages of ``before``."""
    return len(sent) >= len(before) and all(
        now.message is then.message for now, then in zip(sent, before, strict=False)
    )
