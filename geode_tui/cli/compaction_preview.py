"""The preview of a compaction out of the store: one for the command, with more beside it for the screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock

import msgspec

from geode_tui.cli import compaction_parts as parts
from geode_tui.cli.window import Window, window_of
from geode_tui.context.mode import ways
from geode_tui.context.preview import Plan, masking, plan
from geode_tui.context.protect import has_native
from geode_tui.context.window import KEEP_RECENT
from geode_tui.core.views import Native, Replay
from geode_tui.log.commands import Compact
from geode_tui.log.fork import ended_rounds
from geode_tui.log.offloads import path_of
from geode_tui.log.rows import SessionRow
from geode_tui.log.transcript import Transcript
from geode_tui.routes.budget import native_trigger
from geode_tui.view.compaction import CompactionPreview, KeepNote, Masking, Obstacle, Refusal
from geode_tui.view.follow import state_at

EMPTY = "nothing was sent of this conversation yet: there is nothing to replace"


def plan_of(window: Window, row: SessionRow, wish: Compact) -> Plan:
    """What ``wish`` would do to session ``row``: the command's report and the screen both begin here."""
    local = row.provider == "offline"
    return plan(window.conversation, window.need, keep=wish.keep, prune=wish.prune, local=local)


class CompactionReader:
    """Previews of one session. It keeps the conversation it has read, for as long as nothing happens in the log: one
    preview follows another while a person changes what they ask for. May be used by several threads.
    """

    def __init__(self, geode: Path) -> None:
        self._geode = geode
        self._at = -1
        self._window: Window | None = None
        self._lock = Lock()

    def read(self, transcript: Transcript, session_id: str, wish: Compact, now: float) -> CompactionPreview:
        """The preview of ``wish``; prices are those of ``now``, epoch seconds. Raises `StoreError`."""
        row = transcript.session(session_id)
        if row is not None and row.origin != "own":
            line = f"this run was recorded by {row.origin}: what its model is sent is changed there, not here"
            return _refusal("recorded", line, row.origin)
        with self._lock:
            window = self._opened(transcript, row) if row is not None else None
            if row is None or window is None:
                return nothing_sent()
            return previewed(transcript, row, window, wish, now, self._stored(session_id))

    def _opened(self, transcript: Transcript, row: SessionRow) -> Window | None:
        newest = transcript.newest_events(row.number, 1)
        at = newest[-1].id if newest else 0
        if at != self._at:
            state = state_at(transcript, row.number)
            self._window = None if state.context is None else window_of(transcript, row, state.context)
            self._at = at
        return self._window

    def _stored(self, session_id: str) -> Callable[[str], bool]:
        return lambda ref: (self._geode / path_of(session_id, ref)).is_file()


def previewed(
    transcript: Transcript, row: SessionRow, window: Window, wish: Compact, now: float, stored: Callable[[str], bool]
) -> CompactionPreview:
    """The whole preview of ``wish``. ``stored`` tells whether a reference still has its file. Raises `StoreError`."""
    planned = plan_of(window, row, wish)
    found, conversation, need = planned.preview, window.conversation, window.need
    before = conversation.figures(need.budget, need.prefix, simulated=need.simulated)
    before = msgspec.structs.replace(before, price_tiers=window.figures.price_tiers)
    made = CompactionPreview(
        allowed=found.allowed,
        strategy=found.strategy,
        reason=found.reason,
        keep=wish.keep,
        keep_recent=found.keep_recent,
        keep_default=KEEP_RECENT,
        keep_note=_keep_note(planned, wish),
        mode=ways(conversation, need.route).mode,
        tokens_before=found.tokens_before,
        tokens_after=found.tokens_after,
        written=planned.written,
        before=before,
        masking=_masking(window),
    )
    if planned.candidate is None:
        return msgspec.structs.replace(made, refusal=_refused(transcript, row, window, planned))
    after = conversation.figures(need.budget, need.prefix, simulated=need.simulated, candidate=planned.candidate)
    after = msgspec.structs.replace(after, price_tiers=before.price_tiers)
    native = any(isinstance(operation, Native) for operation in planned.candidate.operations)
    after = parts.with_written(after, planned.written, native=native)
    about = parts.Planned(window, planned.candidate, found.strategy, before, after, planned.written)
    return msgspec.structs.replace(
        made,
        after=after,
        span=parts.span_of(about.gone),
        kept=parts.kept_parts(about),
        gone=parts.gone_parts(about),
        results=parts.results_of(about, stored),
        cost_micro=parts.summary_micro(about, now),
        seconds=parts.seconds(about),
        cache=parts.cache_break(about, now),
        changes=parts.changes(about),
    )


def _keep_note(planned: Plan, wish: Compact) -> KeepNote:
    keep = planned.preview.keep_recent
    if not wish.keep and not wish.prune and keep < KEEP_RECENT:
        return "window"
    if planned.candidate is None or planned.preview.summarised is None:
        return ""
    upto = planned.preview.summarised[1]
    return "batch" if sum(sent.seq > upto for sent in planned.candidate.sent) > keep else ""


def _masking(window: Window) -> Masking:
    conversation, need = window.conversation, window.need
    if ways(conversation, need.route).why:
        return Masking()
    results, candidate = masking(conversation)
    if candidate is None:
        return Masking()
    used = conversation.figures(need.budget, need.prefix, simulated=need.simulated).used
    after = conversation.figures(need.budget, need.prefix, simulated=need.simulated, candidate=candidate).used
    return Masking(results, after) if after < used else Masking()


# -- where nothing can be done -----------------------------------------------------------------------------------------
def nothing_sent() -> CompactionPreview:
    """The preview of a conversation that has not begun."""
    return _refusal("empty", EMPTY)


def _refusal(obstacle: Obstacle, line: str, detail: str = "") -> CompactionPreview:
    return CompactionPreview(False, "none", line, refusal=Refusal(obstacle, line, detail))


def _refused(transcript: Transcript, row: SessionRow, window: Window, planned: Plan) -> Refusal:
    made = Refusal(planned.obstacle, planned.preview.reason, window.need.route.model)
    if planned.obstacle not in {"native", "on_demand"}:
        return made
    seq = _block_seq(window)
    item = next(item for item in reversed(window.conversation.items) if item.seq <= seq)
    ends = [end for end in ended_rounds(transcript.index(row.session_id)) if end.seq < seq]
    route = window.need.route
    writers = (call.model for _, call in window.stored.answered if call.message_seq == seq)
    return msgspec.structs.replace(
        made,
        block=(item.turn, item.round),
        model=next(writers, route.model),
        fork=(ends[-1].turn, ends[-1].round) if ends else (0, 0),
        compacts_at=native_trigger(window.need.budget) if route.threshold_compaction else 0,
        undo=_undoes(window),
    )


def _block_seq(window: Window) -> int:
    """The answer that the provider's block stands in, or the newest message when it was asked for one."""
    conversation = window.conversation
    view = conversation.view
    if view.native is not None and not has_native(conversation.items, view):
        return next(v.newest for v in reversed(view.versions) if view.native in v.operations)
    return next(item.seq for item in reversed(conversation.items) if has_native([item], view))


def _undoes(window: Window) -> bool:
    """Whether an undo takes the block back, and what comes back fits."""
    conversation, need = window.conversation, window.need
    numbers = conversation.view.undoable
    taken = [operation for number in numbers for operation in conversation.view.version(number).operations]
    if not any(isinstance(operation, Native | Replay) for operation in taken):
        return False
    candidate = conversation.without(numbers)
    figures = conversation.figures(need.budget, need.prefix, simulated=need.simulated, candidate=candidate)
    return figures.used <= need.budget.prompt
