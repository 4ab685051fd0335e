"""The versions of a run's view out of the store, and in what two of them differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from threading import Lock

import msgspec

from geode_tui.cli.block_view import replayed
from geode_tui.cli.blocks import BlockReader
from geode_tui.cli.window_source import summary
from geode_tui.context.mode import ways_of
from geode_tui.context.view import Item, View, fold
from geode_tui.core.events import LlmCallEnded, LlmCallFailed, MaintenanceStarted, ViewChanged, event_name
from geode_tui.core.views import (
    Clear,
    Cut,
    MaxTurns,
    Native,
    Operation,
    Pin,
    Replay,
    Stub,
    Summarise,
    Trim,
    Unpin,
    Version,
    counts,
)
from geode_tui.log import views
from geode_tui.log.browse import EventQuery, newer
from geode_tui.log.rows import SessionRow
from geode_tui.log.transcript import Transcript
from geode_tui.routes.catalog import Catalog
from geode_tui.view.blocks import BlockEntry, BlockState
from geode_tui.view.versions import Change, Step, VersionDiff, VersionEntry, VersionList

STARTED, CHANGED = event_name(MaintenanceStarted), event_name(ViewChanged)
CALLS = frozenset({event_name(LlmCallEnded), event_name(LlmCallFailed)})
_QUERY = EventQuery(only=CALLS | {STARTED, CHANGED})


class _Told(msgspec.Struct):
    """What is read of an event here."""

    purpose: str = ""
    cost_micro: int | None = None
    version: int = 0


class _Made(msgspec.Struct, frozen=True):
    """When a version was made, and what its summary cost."""

    turn: int
    round: int
    cost_micro: int | None


class VersionReader:
    """Remembers what it has read of one session's events. May be used by several threads."""

    def __init__(self, blocks: BlockReader) -> None:
        self._blocks = blocks
        self._after = 0
        self._cost: int | None = 0
        """Of the summaries since the window's upkeep began last."""
        self._made: dict[int, _Made] = {}
        self._lock = Lock()

    def listed(self, transcript: Transcript, session_id: str) -> VersionList:
        """All versions by now. Raises `StoreError`."""
        session = transcript.session(session_id)
        if session is None:
            return VersionList()
        versions = views.versions(transcript, session.number)
        with self._lock:
            self._read(transcript, session.number)
            made = dict(self._made)
        items = self._blocks.items(transcript, session_id)
        view = fold(versions)
        entries = (_entry(version, view, items, made.get(version.number)) for version in versions)
        own = session.origin == "own"
        return VersionList(
            entries=(_start(items), *entries) if items else (),
            undo=_undo(view) if own else None,
            redo=_redo(view) if own else None,
            recorder="" if own else session.origin,
            why=_why(items, view, session) if own else "",
        )

    def diff(self, transcript: Transcript, session_id: str, before: int, after: int) -> VersionDiff:
        """In what version ``after`` differs from the older version ``before``, over the messages that there were when
        it was made. Raises `StoreError`.
        """
        session = transcript.session(session_id)
        if session is None:
            return VersionDiff(before, after)
        versions = [one for one in views.versions(transcript, session.number) if one.number <= after]
        upto = versions[-1].newest if versions else 0
        old = self._blocks.read(transcript, session_id, before, upto)
        new = self._blocks.read(transcript, session_id, after, upto)
        items = [item for item in self._blocks.items(transcript, session_id) if item.seq <= upto]
        earlier = fold([one for one in versions if one.number <= before])
        text = summary(transcript, session_id, session.number, after) if versions else ""
        return VersionDiff(
            before, after, changes(old, new, _Forms(items, earlier), _Forms(items, fold(versions))), text
        )

    def _read(self, transcript: Transcript, number: int) -> None:
        """What the events since the last time tell of versions."""
        while True:
            page = newer(transcript.db, number, _QUERY, self._after)
            for row in page.rows:
                self._take(row.event, row.payload, row.turn, row.round)
            self._after = max(self._after, page.reached)
            if page.done:
                return

    def _take(self, event: str, payload: str, turn: int, round_: int) -> None:
        if event == STARTED:
            self._cost = 0
            return
        try:
            told = msgspec.json.decode(payload, type=_Told)
        except msgspec.DecodeError:
            return
        if event == CHANGED:
            self._made[told.version] = _Made(turn, round_, self._cost)
            self._cost = 0
        elif told.purpose == "summary":
            known = self._cost is not None and told.cost_micro is not None
            self._cost = (self._cost or 0) + (told.cost_micro or 0) if known else None


# -- entries -----------------------------------------------------------------------------------------------------------
def _start(items: Sequence[Item]) -> VersionEntry:
    return VersionEntry(turn=items[0].turn, round=1)


def _entry(version: Version, view: View, items: Sequence[Item], made: _Made | None) -> VersionEntry:
    seqs = sorted(seq for operation in version.operations for seq in _touched(operation))
    first, upto = (seqs[0], seqs[-1]) if seqs else (0, 0)
    # Versions that a fork brought along have no events in it: the newest message tells when they were made.
    at = next((item for item in reversed(items) if item.seq <= version.newest), None)
    turn, round_ = (at.turn, at.round) if at is not None else (0, 0)
    return VersionEntry(
        number=version.number,
        turn=made.turn if made is not None else turn,
        round=made.round if made is not None else round_,
        cause=version.cause,
        mode=version.mode,
        operations=counts(version.operations),
        first=first,
        upto=upto,
        rounds=_rounds(items, first, upto),
        others=version.takes_back or version.gives_back,
        before=version.tokens_before,
        after=version.tokens_after,
        cost_micro=made.cost_micro if made is not None else 0,
        local=any(isinstance(op, Summarise) and op.local for op in version.operations),
        taken_back=version.number not in view.active and not (version.takes_back or version.gives_back),
    )


def _touched(operation: Operation) -> tuple[int, ...]:
    match operation:
        case Summarise() | Native():
            return operation.first, operation.upto
        case Trim() | Clear() | MaxTurns():
            return 1, operation.upto
        case Replay():
            return 1, max(1, operation.seq - 1)
        case Pin() | Unpin():
            return operation.seqs
        case _:
            parts: tuple[Stub | Cut, ...] = (*operation.stubs, *getattr(operation, "cuts", ()))
            return tuple(part.seq for part in parts)


def _rounds(items: Sequence[Item], first: int, upto: int) -> tuple[int, int]:
    """(first, last) round of these messages; zeros where they are of several turns, or of none."""
    about = [(item.turn, item.round) for item in items if first <= item.seq <= upto]
    rounds = [round_ for _, round_ in about if round_]
    if not rounds or about[0][0] != about[-1][0]:
        return 0, 0
    return rounds[0], rounds[-1]


# -- steps -------------------------------------------------------------------------------------------------------------
def _undo(view: View) -> Step | None:
    numbers = view.undoable
    if not numbers:
        return None
    versions = [view.version(number) for number in numbers]
    more = sum(version.tokens_before - version.tokens_after for version in versions)
    return Step(numbers, more, versions[0].parent if numbers[-1] == view.number else None)


def _redo(view: View) -> Step | None:
    if not view.undone:
        return None
    numbers = view.undone[-1]
    return Step(numbers, sum(v.tokens_after - v.tokens_before for v in map(view.version, numbers)))


def _why(items: Sequence[Item], view: View, session: SessionRow) -> str:
    return ways_of(items, view, Catalog().route(session.model, session.provider, session.source)).why


# -- differences -------------------------------------------------------------------------------------------------------
class _Forms:
    """In which form a view has messages that it does not send as blocks of their own."""

    def __init__(self, items: Sequence[Item], view: View) -> None:
        self._view = view
        self._begins = replayed(items, view)

    def of(self, entry: BlockEntry) -> BlockState | None:
        """How the block stands where it is no row of the view; None where there is no such block."""
        view = self._view
        if not entry.message_id:
            return None
        if entry.seq < self._begins:
            return "native"
        if view.stands is not None and entry.seq <= view.stands.upto and entry.seq not in view.stands.kept:
            return "native" if view.native is not None else "summarised"
        if view.hides(entry.seq):
            return "left_out"
        stubbed = view.stubs.get(entry.seq)
        if stubbed is None:
            return None
        return "masked" if stubbed[1] == "masked" else "shrunk" if stubbed[1] == "shrunk" else "offloaded"


def changes(old: Iterable[BlockEntry], new: Iterable[BlockEntry], was: _Forms, now: _Forms) -> tuple[Change, ...]:
    """What is sent in another form, in the order of the messages; what stands for others comes first."""
    before, after = dict(_keyed(old)), dict(_keyed(new))
    made = []
    for key in {**before, **after}:
        one, other = before.get(key), after.get(key)
        if one is not None and other is not None and (one.state, one.weight) == (other.state, other.weight):
            continue
        made.append(_change(one, other, was, now))
    return tuple(sorted(made, key=lambda change: (change.entry.message_id > 0, change.entry.seq)))


def _keyed(entries: Iterable[BlockEntry]) -> Iterable[tuple[tuple[int, str, str, int, str], BlockEntry]]:
    """Each block with what names it in any version: its message, its kind, its call, and its place among such."""
    nth: Counter[tuple[int, str, str]] = Counter()
    for entry in entries:
        name = entry.message_id, entry.kind, entry.call_id
        standing = entry.state if not entry.message_id else ""
        yield (*name, nth[name], f"{standing}{entry.version}"), entry
        nth[name] += 1


def _change(one: BlockEntry | None, other: BlockEntry | None, was: _Forms, now: _Forms) -> Change:
    entry = other or one
    assert entry is not None
    return Change(
        entry,
        one.state if one is not None else was.of(entry),
        other.state if other is not None else now.of(entry),
        one.weight if one is not None else 0,
        other.weight if other is not None else 0,
    )
