"""What one worker knows of its session: the conversation, its figures, its limits, and what is open right now."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import msgspec

from geode_tui.context.estimate import PromptMeter, text_tokens, tools_tokens
from geode_tui.context.prompt import PromptFacts, dynamic_prompt, static_prompt
from geode_tui.core.endings import Ending
from geode_tui.core.events import (
    ApprovalsChanged,
    LimitsChanged,
    LlmCallStarted,
    PlanUpdated,
    UserInputReceived,
)
from geode_tui.core.limits import Limits, RunOptions
from geode_tui.core.messages import Message, ToolCallBlock, ToolResultBlock, user_text
from geode_tui.core.tools import Safety, ToolSpec
from geode_tui.core.usage import Usage
from geode_tui.log import ledger
from geode_tui.log.rows import StoredMessage
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Tx
from geode_tui.providers.base import Provider, SystemPart
from geode_tui.routes.catalog import Route
from geode_tui.runtime.approvals import Approvals
from geode_tui.runtime.clock import Clock
from geode_tui.runtime.countdown import Countdown
from geode_tui.runtime.guards import Clocks, Done, time_bound
from geode_tui.runtime.journal import Journal
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
    open_llm_calls: tuple[tuple[str, int, str, str], ...] = ()
    """(call id, attempt, purpose, model) of requests without an end."""
    open_processes: tuple[tuple[str, ProcessMark | None], ...] = ()
    """(call id, process group) of calls that were begun and have no result."""
    open_approvals: tuple[tuple[str, str, str], ...] = ()
    """(approval id, call id, tool)."""


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
        self.history: list[Message] = []
        self.calls: dict[str, ToolCallBlock] = {}
        """Every call of the session by its id: a result belongs to one call."""
        self.meter = PromptMeter()
        self.done: list[Done] = []
        """The newest finished calls of this turn, for the loop guards."""
        self.on_paid: Callable[[ledger.Entry], None] | None = None
        """Told of every real, priced call once it is committed."""
        self.spent_micro = point.spent_micro
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

    async def _plan(self, steps: tuple[tuple[str, str], ...]) -> None:
        await self.journal.write(lambda tx: tx.event(PlanUpdated(steps)))

    # -- the conversation -------------------------------------------------------------------------------------------
    async def note(self, text: str) -> None:
        """Tell the model something that no person said."""
        message = user_text(text, "runtime")

        def work(tx: Tx) -> None:
            number, seq = tx.add_message(message)
            event = UserInputReceived(self.id, self.turn_id, seq, number, len(text), message.origin, joins=True)
            tx.event(event)

        await self.journal.write(work)
        self.append(message)

    async def reload(self) -> None:
        """Read the conversation from the log: at start, and after an end that may have left this copy behind."""
        stored = await self.journal.read(lambda t: t.messages(self.id))
        self.history, self.calls, self.meter, self.done = [], {}, PromptMeter(), []
        for item in in_call_order(stored):
            self._take(item.message)
            if item.row.turn == self.journal.turn:
                self._note_results(item.message, item.row.round)

    def append(self, message: Message) -> None:
        """Take a message that was just committed into the conversation."""
        self._take(message)
        self._note_results(message, self.journal.round)

    def _take(self, message: Message) -> None:
        self.history.append(message)
        self.calls.update((c.call_id, c) for c in message.calls)
        self.meter.append(message)

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
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as advertised."""
        return tuple(t.spec for t in self.tools.values())

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
        facts = PromptFacts(
            self.root.name, today.date().isoformat(), platform.system(), self.options.approve, tuple(self.tools)
        )
        self._dynamic = dynamic_prompt(facts)

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
    def fixed_tokens(self) -> tuple[int, int]:
        """Estimated tokens of (system, tools)."""
        return sum(text_tokens(p.text) for p in self.system), tools_tokens(self.specs)

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

    def pay(self, call_id: str, attempt: int, usage: Usage | None, micro: int | None) -> None:
        """Count what a committed call cost, here and, where the money is real, in the person's ledger."""
        self.spent_micro += micro or 0
        self.turn_spent_micro += micro or 0
        if micro is None or usage is None or self.provider.simulated or self.on_paid is None:
            return
        entry = ledger.entry_of(
            usage,
            ts=self.clock.now(),
            model=self.route.model,
            cost_micro=micro,
            session=self.id,
            purpose="turn",
            source=self.route.source,
            call=f"{call_id}:{attempt}",
        )
        self.on_paid(entry)


def in_call_order(stored: Sequence[StoredMessage]) -> list[StoredMessage]:
    """The results of a batch in the order of its calls, as they were sent; their rows stand in the order they came."""
    order = {call.call_id: n for n, call in enumerate(c for item in stored for c in item.message.calls)}
    made: list[StoredMessage] = []
    for _, group in groupby(stored, key=lambda item: item.row.role == "tool"):
        made += sorted(group, key=lambda item: order.get(item.row.call_id, 0))
    return made


def unanswered(transcript: Transcript, session_id: str) -> tuple[ToolCallBlock, ...]:
    """The calls of the session's last whole answer that have no result row yet."""
    answer = transcript.last_answer(session_id)
    if answer is None:
        return ()
    return tuple(c for c in answer.message.calls if transcript.result_row(session_id, c.call_id) is None)
