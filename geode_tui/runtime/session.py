"""What one worker knows of its session: the conversation, its figures, its limits, and what is open right now."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import msgspec

from geode_tui.context.conversation import Conversation
from geode_tui.context.estimate import PromptMeter
from geode_tui.context.offload import RECALL, page_tokens
from geode_tui.context.prefix import Prefix, prefix_of
from geode_tui.context.prompt import PromptFacts, dynamic_prompt, static_prompt
from geode_tui.context.view import Item
from geode_tui.core.endings import Ending
from geode_tui.core.events import (
    ApprovalsChanged,
    BlobRef,
    LimitsChanged,
    LlmCallStarted,
    PlanUpdated,
    UserInputReceived,
    WindowObserved,
)
from geode_tui.core.limits import DreamRules, Limits, ResultBounds, RunOptions
from geode_tui.core.messages import Message, ToolCallBlock, ToolResultBlock, user_text
from geode_tui.core.tokens import TokenCounter
from geode_tui.core.tools import Safety, ToolSpec
from geode_tui.core.usage import CacheUse, Usage
from geode_tui.core.views import Version
from geode_tui.log import ledger
from geode_tui.log.receipts import Spool, name_in
from geode_tui.log.rows import ResultMeta
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Tx
from geode_tui.providers.base import Provider, SystemPart
from geode_tui.routes.catalog import Route
from geode_tui.routes.prices import money_of
from geode_tui.runtime.approvals import Approvals
from geode_tui.runtime.caching import CacheWatch
from geode_tui.runtime.clock import Clock
from geode_tui.runtime.countdown import Countdown
from geode_tui.runtime.extending import Invocation
from geode_tui.runtime.guards import Clocks, Done, time_bound
from geode_tui.runtime.hooks import Hooks
from geode_tui.runtime.journal import Journal
from geode_tui.runtime.middleware import Middleware
from geode_tui.runtime.observed import observed, observed_before
from geode_tui.runtime.offloading import ResultStore
from geode_tui.runtime.opened import OpenedRoute, RouteOpener
from geode_tui.runtime.stored import loaded, read_stored
from geode_tui.runtime.tools.base import ProcessMark, Tool, ToolContext

DONE_KEPT = 20
ERROR_CHARS = 50
"""Characters by which two errors are the same (RUNTIME.md 8.3)."""


class ResumePoint(msgspec.Struct, frozen=True):
    """Where the log says that a session stands. ``open_*`` are what the worker before left unfinished."""

    turn: int = 0
    round: int = 0
    turn_open: bool = False
    ending: str = ""
    spent_micro: int = 0
    session_s: float = 0.0
    """Awake seconds of the session's turns so far."""
    cost_warned: bool = False
    cost_exceeded: bool = False
    handoff: bool = False
    cache_use: CacheUse = CacheUse()
    cache_low: bool = False
    open_llm_calls: tuple[tuple[str, int, str, str], ...] = ()
    """(call id, attempt, purpose, model) of requests without an end."""
    open_processes: tuple[tuple[str, ProcessMark | None], ...] = ()
    """(call id, process group) of calls that were begun and have no result."""
    open_approvals: tuple[tuple[str, str, str], ...] = ()
    """(approval id, call id, tool)."""
    open_maintenance: bool = False
    """The context was being worked on."""
    dream_micro: int = 0
    """What dreams cost so far."""


ToolSource: TypeAlias = Callable[[], Awaitable[Mapping[str, Tool]]]


class TurnEnd(Exception):
    """The turn ends here, with this reason. ``detail`` is one line for the person."""

    def __init__(self, ending: Ending, detail: str = "", *, forced: bool = False, error_type: str = "") -> None:
        super().__init__(detail)
        self.ending = ending
        self.detail = detail
        self.forced = forced
        self.error_type = error_type


class OpenItems:
    """What is unfinished at this moment, so that an end of any kind can close it."""

    def __init__(self) -> None:
        self.message: tuple[int, int] | None = None
        self.llm: LlmCallStarted | None = None
        self.calls: dict[str, ToolCallBlock] = {}
        self.begun: set[str] = set()


class Session:
    """See the module. Owned by the worker's loop; nothing here is shared with another thread."""

    def __init__(
        self,
        *,
        session_id: str,
        journal: Journal,
        clock: Clock,
        root: Path,
        options: RunOptions,
        route: Route,
        provider: Provider,
        tools: Mapping[str, Tool],
        context: ToolContext,
        point: ResumePoint,
        counter: TokenCounter | None = None,
    ) -> None:
        self.id = session_id
        self.journal = journal
        self.clock = clock
        self.root = root
        self.options = options
        self.route = route
        self.provider = provider
        self.tools = tools
        self.context = context
        self.approvals = Approvals()
        self.countdown = Countdown(clock)
        self.open = OpenItems()
        self.conversation = Conversation(route, counter)
        self.view_lock = asyncio.Lock()
        """Held from the numbering of a version of the view until the conversation has taken it."""
        self.bounds = ResultBounds()
        """What one tool result may take."""
        self.stored = ResultStore(session_id, journal, lambda: self.conversation.view.versions)
        self.calls: dict[str, ToolCallBlock] = {}
        """Every call of the session by its id: a result belongs to one call."""
        self.cache = CacheWatch(point.cache_use, told=point.cache_low)
        self.done: list[Done] = []
        """The newest finished calls of this turn, for the loop guards."""
        self.hooks = Hooks()
        self.middleware = Middleware()
        self.checkpoint: Callable[[Version], None] | None = None
        """Called inside the transaction that makes a version of the view active: what raises here keeps the former."""
        self.open_route: RouteOpener | None = None
        """Opens another route; without it the session keeps its own."""
        self.tool_source: ToolSource | None = None
        """Gives the tools that can be called from now on; without it they stay as they are."""
        self.restart_server: Callable[[str], str] | None = None
        """Connects an MCP server anew, an empty name all; returns what is wrong. None where there are no servers."""
        self.on_paid: Callable[[ledger.Entry], None] | None = None
        """Told of every real, priced call once it is committed."""
        self.dreams = DreamRules()
        """Whether it dreams by itself, and for how much."""
        self.spent_micro = point.spent_micro
        self.dream_micro = point.dream_micro
        self.cost_warned = point.cost_warned
        self.cost_exceeded = point.cost_exceeded
        self.handed_over = point.handoff
        self.rounds = 0
        self.turn_spent_micro = 0
        self.turn_calls: list[str] = []
        self.turn_output = 0
        self.turn_thinking = 0
        self.empty_rounds = 0
        self.output_limit: int | None = None
        """The most output that the provider was seen to accept, tokens."""
        self._dynamic = ""
        self._turn_started = 0.0
        self._turn_running = False
        self._session_s = point.session_s
        journal.turn, journal.round = point.turn, point.round
        context.plan = self._plan
        context.page_tokens = lambda: page_tokens(self.bounds, self.route.window)
        context.receipts = self.receipts
        context.spool = lambda: Spool(journal.writer.geode)

    async def _plan(self, steps: tuple[tuple[str, str], ...]) -> None:
        await self.journal.write(lambda tx: tx.event(PlanUpdated(steps)))

    # -- the conversation -------------------------------------------------------------------------------------------
    async def note(self, text: str) -> None:
        """Tell the model something that no person said."""
        message = user_text(text, "runtime")

        def work(tx: Tx) -> int:
            number, seq = tx.add_message(message)
            event = UserInputReceived(self.id, self.turn_id, seq, number, len(text), message.origin, joins=True)
            tx.event(event)
            return seq

        self.append(message, await self.journal.write(work))

    async def audit(self, invocations: Sequence[Invocation]) -> None:
        """Write down which extensions were called, and what came of it."""
        if invocations:
            await self.journal.write(lambda tx: [tx.event(invocation.event) for invocation in invocations])

    async def reload(self) -> None:
        """Read the conversation from the log: at start, and after an end that may have left this copy behind."""
        stored = await self.journal.read(lambda t: read_stored(t, self.id, self.journal.writer.number))
        if stored.answered:
            at, last = stored.answered[-1]
            self.cache.restore(last, self.route, at)
        self.calls, self.done = {}, []
        number = self.journal.writer.number
        self.route = await self.journal.read(lambda t: observed_before(t, number, self.route))
        self.conversation = loaded(stored, self.route, self.meter.counter)
        if not self._dynamic:
            self._assemble()
        for item in stored.items:
            self.calls.update((c.call_id, c) for c in item.message.calls)
            if item.turn == self.journal.turn:
                self._note_results(item.message, item.round)

    def append(
        self,
        message: Message,
        seq: int,
        result: ResultMeta | None = None,
        usage: Usage | None = None,
        prefix: Prefix | None = None,
    ) -> None:
        """Take a message that was just committed into the conversation; ``usage`` and ``prefix`` are as in
        `Conversation.append`.
        """
        journal = self.journal
        self.calls.update((c.call_id, c) for c in message.calls)
        self.conversation.append(Item(seq, journal.turn, journal.round, message, result), usage, prefix)
        self._note_results(message, journal.round)

    def _note_results(self, message: Message, round_: int) -> None:
        for block in message.blocks:
            if isinstance(block, ToolResultBlock) and block.call_id in self.calls:
                self.done.append(self.finished(self.calls[block.call_id], block.text, round_, is_error=block.is_error))
        del self.done[:-DONE_KEPT]

    def finished(self, call: ToolCallBlock, text: str, round_: int, *, is_error: bool) -> Done:
        """A call and its result, as the loop guards see them."""
        tool = self.tools.get(call.name)
        wrote = tool is not None and tool.safety is Safety.WRITE and not is_error
        error = " ".join(text.split())[:ERROR_CHARS] if is_error else ""
        return Done(round_, call.name, call.arguments, error, wrote, bool(tool and tool.polls))

    @property
    def history(self) -> list[Message]:
        """The conversation as it is sent."""
        return self.conversation.messages

    @property
    def meter(self) -> PromptMeter:
        """The size of what is sent."""
        return self.conversation.meter

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as advertised: that which brings results back only while there is one to bring back."""
        stored = any(stub.ref for stub, _ in self.conversation.view.stubs.values()) or bool(self.receipts())
        return tuple(tool.spec for name, tool in self.tools.items() if stored or name != RECALL)

    def receipts(self) -> dict[str, BlobRef]:
        """Reference -> receipt of the results that were cut and have no file of their own."""
        found: dict[str, BlobRef] = {}
        for item in self.conversation.items:
            if item.result is not None and "whole" in item.result.facts:
                path = str(item.result.facts.get("receipt", ""))
                found[str(item.result.facts["whole"])] = BlobRef(name_in(path), 0, path)
        return found

    def take_route(self, opened: OpenedRoute) -> None:
        """Go on with another route. What was counted on the old one holds once the session returns to it."""
        self.route, self.provider, self.output_limit = opened.route, opened.provider, None
        self.cache.diagnosed = opened.diagnosed
        self.conversation.switch(opened.route)

    async def observe(self, limit: int | None, actual: int | None, used: int) -> None:
        """A prompt that was estimated at ``used`` tokens was refused as too large: what that says of the route."""
        route = observed(self.route, limit, used)
        if route == self.route:
            return
        self.route = self.conversation.route = route
        if limit:
            seen = WindowObserved(*route.key, limit=limit, actual=actual, estimated=used)
            await self.journal.write(lambda tx: tx.event(seen))

    async def look_for_tools(self, *, tell: bool = False) -> None:
        """Take the tools that can be called from now on; ``tell`` names them in the system prompt, which otherwise
        stays as it is within a turn.
        """
        if self.tool_source is None:
            return
        self.tools = await self.tool_source()
        if tell:
            self._assemble()

    # -- turns ------------------------------------------------------------------------------------------------------
    @property
    def turn_id(self) -> str:
        """The id of the current turn."""
        return f"{self.id}:{self.journal.turn}"

    def begin_turn(self, *, rounds: int = 0) -> None:
        """Reset what counts within a turn; ``rounds`` were done by a worker before this one."""
        self.rounds = rounds
        if not rounds:
            self.done = []
        self.turn_spent_micro = self.turn_output = self.turn_thinking = self.empty_rounds = 0
        self.turn_calls = []
        self._turn_started, self._turn_running = self.clock.monotonic(), True
        today = datetime.fromtimestamp(self.clock.now(), tz=UTC).astimezone()
        names = tuple(spec.name for spec in self.specs)
        facts = PromptFacts(self.root.name, today.date().isoformat(), platform.system(), self.options.approve, names)
        self._dynamic = dynamic_prompt(facts)

    def _assemble(self) -> None:
        today = datetime.fromtimestamp(self.clock.now(), tz=UTC).astimezone()
        names = tuple(spec.name for spec in self.specs)
        facts = PromptFacts(self.root.name, today.date().isoformat(), platform.system(), self.options.approve, names)
        self._dynamic = dynamic_prompt(facts)

    @property
    def in_turn(self) -> bool:
        """Whether a turn is going on."""
        return self._turn_running

    def end_turn(self) -> None:
        """The session's clock stands still until the next turn begins."""
        if self._turn_running:
            self._session_s += self.clock.monotonic() - self._turn_started
            self._turn_running = False

    @property
    def system(self) -> tuple[SystemPart, ...]:
        """The system prompt of this turn."""
        return (SystemPart(static_prompt(), "1h"), SystemPart(self._dynamic))

    @property
    def prefix(self) -> Prefix:
        """What stands before the conversation: the system prompt and the tools."""
        return prefix_of((p.text for p in self.system), self.specs, self.meter.counter, self._dynamic)

    # -- figures ----------------------------------------------------------------------------------------------------
    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self.options.limits

    def adopt(self, options: RunOptions) -> Callable[[Tx], None]:
        """Take other options, and return what writes them: a worker after this one starts with them."""
        before, self.options = self.options, options
        if options.limits.cost_budget_micro != before.limits.cost_budget_micro:
            self.cost_warned = self.cost_exceeded = False
        if options.approve != before.approve:
            self.approvals.granted.clear()

        def work(tx: Tx) -> None:
            tx.session(options=msgspec.json.encode(options).decode())
            if options.limits != before.limits:
                tx.event(LimitsChanged(options.limits))
            if options.approve != before.approve:
                tx.event(ApprovalsChanged(options.approve))

        return work

    def clocks(self) -> Clocks:
        """Where the run stands now."""
        turn_s = self.clock.monotonic() - self._turn_started if self._turn_running else 0.0
        return Clocks(self.rounds, turn_s, self._session_s + turn_s, self.spent_micro)

    def time_left_s(self) -> float | None:
        """Seconds until the nearest time limit, or None without one."""
        bound = time_bound(self.limits, self.clocks())
        return bound[0] if bound else None

    def pay(self, call_id: str, attempt: int, usage: Usage | None, micro: int | None, purpose: str = "turn") -> None:
        """Count what a committed call cost, here and, where the money is real, in the person's ledger."""
        self.spent_micro += micro or 0
        if purpose == "dream":
            self.dream_micro += micro or 0
        else:
            self.turn_spent_micro += micro or 0
        if micro is None or usage is None or self.on_paid is None:
            return
        if money_of(self.route.source, simulated=self.provider.simulated) != "billed":
            return
        entry = ledger.entry_of(
            usage,
            ts=self.clock.now(),
            model=self.route.model,
            cost_micro=micro,
            session=self.id,
            purpose=purpose,
            source=self.route.source,
            call=f"{call_id}:{attempt}",
        )
        self.on_paid(entry)


def unanswered(transcript: Transcript, session_id: str) -> tuple[ToolCallBlock, ...]:
    """The calls of the session's last whole answer that have no result row yet."""
    answer = transcript.last_answer(session_id)
    if answer is None:
        return ()
    return tuple(c for c in answer.message.calls if transcript.result_row(session_id, c.call_id) is None)
