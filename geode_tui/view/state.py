"""`RunState`: figures, open items and the newest rows of a run. Never a list that grows with the run.

One thread owns a state and folds into it; everybody else gets `frozen_copy`, which is never changed again. The items
inside are immutable either way.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from geode_tui.core.events import ContextFigures, EventRow, LostItem
from geode_tui.core.layers import CacheCause
from geode_tui.core.limits import Limits
from geode_tui.core.usage import CacheUse, Usage
from geode_tui.view.servers import RunServer
from geode_tui.view.upkeep import Upkeep

NEWEST = 200
"""Rows kept of any list (ARCHITECTURE.md, "Snapshots")."""
NOTES = 50
"""Window notes kept: they are the longest rows of a snapshot."""
LOST_TOLD = 3
"""Things that a summary lost which its note names; the event has all."""


BESIDE = "dream"
"""The purpose of calls that go on beside turns: they say nothing of what the run is doing."""


class OpenCall(msgspec.Struct, frozen=True):
    """A request that has not ended. ``streaming`` once the first piece of its answer came."""

    call_id: str
    model: str
    purpose: str
    started_at: float
    attempt: int
    worst_micro: int | None
    streaming: bool = False


class OpenTool(msgspec.Struct, frozen=True):
    """A call without a result: ``waiting`` for the person or ``running``."""

    call_id: str
    name: str
    brief: str
    state: Literal["waiting", "running"]
    since: float
    safety: str = ""
    group: int | None = None
    group_started: float | None = None


class OpenApproval(msgspec.Struct, frozen=True):
    """A question the person has not answered."""

    approval_id: str
    call_id: str
    tool: str
    safety: str
    brief: str
    why: str
    message_seq: int
    since: float


class Retry(msgspec.Struct, frozen=True):
    """A countdown to the next attempt; ``at`` in epoch seconds."""

    error_type: str
    attempt: int
    at: float
    message: str


class Outcome(msgspec.Struct, frozen=True):
    """What became of a command."""

    command_id: int
    key: str
    kind: str
    outcome: str
    detail: str


class RoundFigures(msgspec.Struct, frozen=True):
    """One round's figures, for plots and forecasts."""

    turn: int
    round: int
    used: int
    cost_micro: int | None
    at: float = 0.0
    """When the answer was complete, epoch seconds; 0 where that is not known."""
    model: str = ""


class CacheBreak(msgspec.Struct, frozen=True):
    """A part of a prompt that was paid for again, and why. See `core.events.CacheBroken`."""

    turn: int
    round: int
    cause: CacheCause
    tokens: int
    cost_micro: int | None
    said: str = ""
    position: int = 0


class CacheLoss(msgspec.Struct, frozen=True):
    """All cache breaks of a run together; ``cost_micro`` of those that have a price."""

    breaks: int = 0
    tokens: int = 0
    cost_micro: int = 0


class Money(msgspec.Struct, frozen=True):
    """Cost and tokens of a part of the run. ``failed_micro`` is what failed attempts cost at least."""

    cost_micro: int = 0
    calls: int = 0
    unpriced_calls: int = 0
    usage: Usage = Usage()
    failed_micro: int = 0
    failed_calls: int = 0
    equivalent_micro: int = 0
    """The part of ``cost_micro`` that a subscription paid for: list price, not money spent."""


class Maintenance(msgspec.Struct, frozen=True):
    """The window's upkeep, which has begun and not ended. ``trigger`` is its cause, ``since`` epoch seconds.

    ``model`` wrote the last summary, and the summaries that no version tells of yet cost ``cost_micro``; None where an
    answer among them has no price.
    """

    trigger: str
    since: float
    model: str = ""
    cost_micro: int | None = 0


NoteKind: TypeAlias = Literal[
    "summarised",
    "trimmed",
    "masked",
    "shrunk",
    "offloaded",
    "undone",
    "redone",
    "compacted",
    "native",
    "on_demand",
    "failed",
    "paused",
    "observed",
    "forked",
]
"""``trimmed`` leaves messages out without a summary, ``compacted`` is another program's compaction,
``native`` the provider's own at a threshold, ``on_demand`` the provider's when it was asked."""


class WindowNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that befell what the model is sent, between message ``seq`` and the next one. ``id`` is its event's.

    ``before`` and ``after`` are tokens of the prompt, 0 where they are not known, ``budget`` is what it may take;
    ``count`` are results, ``first`` to ``upto`` the messages it is about, ``versions`` those of the view that no longer
    hold. ``times`` such notes, one after the other, are told as one.

    A compaction made ``version`` of the view for ``cause``. ``writer`` is the model that wrote its text, where one was
    asked, for ``cost_micro``; None is not known. It lost ``lost`` things, of which the weightiest are ``told``.
    """

    seq: int
    what: NoteKind
    before: int = 0
    after: int = 0
    count: int = 0
    first: int = 0
    upto: int = 0
    versions: tuple[int, ...] = ()
    local: bool = False
    detail: str = ""
    id: int = 0
    budget: int = 0
    times: int = 1
    version: int = 0
    cause: str = ""
    writer: str = ""
    cost_micro: int | None = None
    lost: int = 0
    told: tuple[LostItem, ...] = ()


class RunState(msgspec.Struct):
    """See the module. All money is micro-dollars, all times epoch seconds, all context figures tokens."""

    session_id: str = ""
    title: str = ""
    model: str = ""
    provider: str = ""
    source: str = ""
    simulated: bool = False
    approve: str = ""
    epoch: int = 0
    pid: int = 0
    seed: int = 0
    limits: Limits = Limits()

    last_id: int = 0
    last_ts: float = 0.0
    events: int = 0
    unknown_events: int = 0
    damaged_events: int = 0
    warnings: int = 0
    errors: int = 0
    last_error: str = ""

    turn: int = 0
    round: int = 0
    rounds_total: int = 0
    turn_open: bool = False
    turn_started_at: float = 0.0
    turn_ended_at: float = 0.0
    session_started_at: float = 0.0
    active_s: float = 0.0
    """Awake seconds of the turns that are over: what the session's time budget counts."""
    turn_absorbed_s: float = 0.0
    """Seconds of the open turn, or of the last one, that count for no budget: the machine slept, or no worker lived."""
    termination_reason: str = ""
    forced: bool = False
    ended_detail: str = ""
    worker_left: bool = False

    context: ContextFigures | None = None
    last_estimate_error: float | None = None
    """Signed percent: how far the last estimate was from what the provider counted."""
    money: Money = Money()
    turn_money: Money = Money()
    by_model: dict[str, Money] = {}
    by_purpose: dict[str, Money] = {}
    cost_warned: bool = False
    cost_exceeded: bool = False
    handoff: bool = False
    wrap_up: str = ""

    view_version: int = 0
    """The active version of the view; 0 while everything is sent as it was said."""
    view_cause: str = ""
    view_mode: str = "text"
    """How the conversation is compacted: `core.views.Mode`."""
    maintenance: Maintenance | None = None
    maintenance_paused: float = 0.0
    """Since when upkeep of the window rests, as it did not help often enough, epoch seconds; 0 while it does not."""
    window_observed: int = 0
    """What the provider itself said fits on this route, tokens; 0 while it said nothing."""
    forked_from: str = ""

    messages: int = 0
    chars: int = 0
    newest_seq: int = 0
    """The newest message that is whole."""
    prompt_from: int = 0
    prompt_upto: int = 0
    """The messages that ``context`` is of: those after the one and up to the other, by seq."""
    replays: tuple[tuple[int, int, bool], ...] = ()
    """The provider's own compactions: the version of each, the last message that it stands for, and whether its block
    is still sent.
    """
    offloaded: int = 0
    """Results that were put into files."""
    offloads_touched: int = 0
    """Id of the last event that told of such results; 0 where none did."""
    dreams: int = 0
    """Dreams that were written."""
    dreams_touched: int = 0
    """Id of the last event that told of dreams, or of what a person says of one; 0 where none did."""
    tools_ok: int = 0
    tools_failed: int = 0
    open_message: int = 0
    open_calls: dict[str, OpenCall] = {}
    open_tools: dict[str, OpenTool] = {}
    approvals: dict[str, OpenApproval] = {}
    retry: Retry | None = None
    plan: tuple[tuple[str, str], ...] = ()

    cache_use: CacheUse = CacheUse()
    cache_low_turn: int = 0
    """The turn in which it was told that too little is read from the cache; 0 while it was not."""
    cache_loss: CacheLoss = CacheLoss()
    upkeep: Upkeep = msgspec.field(default_factory=Upkeep)
    servers: dict[str, RunServer] = {}
    rounds: list[RoundFigures] = []
    cache_breaks: list[CacheBreak] = []
    outcomes: list[Outcome] = []
    window_notes: list[WindowNote] = []
    feed: list[EventRow] = []


def frozen_copy(state: RunState) -> RunState:
    """A copy that the fold will not touch again: containers are copied, the immutable items are shared."""
    return msgspec.structs.replace(
        state,
        by_model=dict(state.by_model),
        by_purpose=dict(state.by_purpose),
        open_calls=dict(state.open_calls),
        open_tools=dict(state.open_tools),
        approvals=dict(state.approvals),
        servers=dict(state.servers),
        upkeep=state.upkeep.copy(),
        rounds=state.rounds[-NEWEST:],
        cache_breaks=state.cache_breaks[-NEWEST:],
        outcomes=state.outcomes[-NEWEST:],
        window_notes=state.window_notes[-NOTES:],
        feed=state.feed[-NEWEST:],
    )
