"""The active context as a view over the immutable transcript: versions folded into one state (ARCHITECTURE.md,
"Views"). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from geode_tui.core.messages import (
    Message,
)
from geode_tui.core.views import (
    UNDOABLE,
    Clear,
    Mask,
    MaxTurns,
    Native,
    Offload,
    Operation,
    Pin,
    Replay,
    Shrink,
    Stub,
    Summarise,
    Trim,
    Unpin,
    Version,
)
from geode_tui.log.rows import ResultMeta

SentState: TypeAlias = Literal["verbatim", "masked", "shrunk", "offloaded", "summary", "native", "note"]
Dropping: TypeAlias = Trim | Clear | MaxTurns


class Item(msgspec.Struct, frozen=True):
    """A whole message of the transcript. ``result`` is what its row says of a tool result."""

    seq: int
    turn: int
    round: int
    message: Message
    result: ResultMeta | None = None


class Sent(msgspec.Struct, frozen=True):
    """A message as it is sent. ``seq`` is 0 for one that stands for a part of the transcript."""

    message: Message
    seq: int
    state: SentState = "verbatim"


class View(msgspec.Struct, frozen=True):
    """All versions of a session's view, and what holds in the newest one.

    ``active`` are the versions whose operations hold, ``undone`` the groups that were taken back and can be given back,
    the last one first to return. ``summary`` or ``native`` is what stands for the older messages, ``drops`` what leaves
    more out than it. ``unplayed`` are answers whose provider's own compaction is not sent any more.
    """

    versions: tuple[Version, ...] = ()
    active: tuple[int, ...] = ()
    undone: tuple[tuple[int, ...], ...] = ()
    stubs: Mapping[int, tuple[Stub, SentState]] = {}
    cuts: Mapping[tuple[int, str], str] = {}
    summary: Summarise | None = None
    native: Native | None = None
    drops: tuple[Dropping, ...] = ()
    pinned: frozenset[int] = frozenset()
    unplayed: frozenset[int] = frozenset()

    @property
    def stands(self) -> Summarise | Native | None:
        """What stands for the older messages."""
        return self.summary or self.native

    @property
    def number(self) -> int:
        """The active version's number; 0 before there is any."""
        return self.versions[-1].number if self.versions else 0

    @property
    def newest(self) -> Version | None:
        """The active version."""
        return self.versions[-1] if self.versions else None

    def version(self, number: int) -> Version:
        """The version of that number. Raises ``KeyError``."""
        for version in self.versions:
            if version.number == number:
                return version
        raise KeyError(number)

    @property
    def upto(self) -> int:
        """Messages up to this seq are not sent, but for those that are kept."""
        return max((h.upto for h in (self.stands, *self.drops) if h is not None), default=0)

    def hides(self, seq: int) -> bool:
        """Whether the message is left out."""
        heads: tuple[Summarise | Native | Dropping | None, ...] = (self.stands, *self.drops)
        return any(h is not None and seq <= h.upto and seq not in h.kept for h in heads)

    @property
    def undoable(self) -> tuple[int, ...]:
        """The versions that an undo takes back: those of the newest cause; empty where there is nothing to undo."""
        for number in reversed(self.active):
            version = self.version(number)
            if version.cause in UNDOABLE:
                return tuple(n for n in self.active if self.version(n).group == version.group)
        return ()

    @property
    def held(self) -> Version | None:
        """The undo after which nothing was done to the context by anybody: soft maintenance waits."""
        for version in reversed(self.versions):
            if version.cause == "undo":
                return version
            if version.cause not in {"arrival", "pin"}:
                return None
        return None


def fold(versions: Sequence[Version]) -> View:
    """The view that these versions, oldest first, lead to."""
    active: tuple[int, ...] = ()
    undone: tuple[tuple[int, ...], ...] = ()
    for version in versions:
        active = now_active(active, version)
        if version.takes_back:
            undone = (*undone, version.takes_back)
        elif version.gives_back:
            undone = tuple(group for group in undone if group != version.gives_back)
        elif version.cause != "arrival":
            undone = ()
    by_number = {v.number: v for v in versions}
    operations = [op for number in active for op in by_number[number].operations]
    replays = {op.seq for version in versions for op in version.operations if isinstance(op, Replay)}
    played = {op.seq for op in operations if isinstance(op, Replay)}
    made = _state(tuple(versions), active, undone, operations)
    return msgspec.structs.replace(made, unplayed=frozenset(replays - played))


def now_active(active: tuple[int, ...], version: Version) -> tuple[int, ...]:
    """The versions whose operations hold once ``version`` is there."""
    if version.takes_back:
        return tuple(n for n in active if n not in version.takes_back)
    if version.gives_back:
        return tuple(sorted({*active, *version.gives_back}))
    return (*active, version.number)


def followed(view: View, version: Version) -> View:
    """``view`` with one more version."""
    return fold((*view.versions, version))


def _state(
    versions: tuple[Version, ...],
    active: tuple[int, ...],
    undone: tuple[tuple[int, ...], ...],
    operations: Iterable[Operation],
) -> View:
    stubs: dict[int, tuple[Stub, SentState]] = {}
    cuts: dict[tuple[int, str], str] = {}
    heads: list[Summarise | Native] = []
    drops: list[Dropping] = []
    pinned: set[int] = set()
    for operation in operations:
        match operation:
            case Mask():
                stubs.update((s.seq, (s, "masked")) for s in operation.stubs)
            case Shrink():
                stubs.update((s.seq, (s, "shrunk")) for s in operation.stubs)
                cuts.update(((c.seq, c.call_id), c.arguments) for c in operation.cuts)
            case Offload():
                stubs.update((s.seq, (s, "offloaded")) for s in operation.stubs)
            case Summarise() | Native():
                heads.append(operation)
            case Replay():
                pass
            case Pin():
                pinned |= set(operation.seqs)
            case Unpin():
                pinned -= set(operation.seqs)
            case _:
                drops.append(operation)
    cleared = max((d.upto for d in drops if isinstance(d, Clear)), default=0)
    stands = max((h for h in reversed(heads) if h.upto > cleared), key=lambda h: h.upto, default=None)
    covered = max(cleared, stands.upto if stands is not None else 0)
    standing = tuple(d for d in drops if d.upto > covered or (isinstance(d, Clear) and d.upto == cleared))
    summary = stands if isinstance(stands, Summarise) else None
    native = stands if isinstance(stands, Native) else None
    return View(versions, active, undone, stubs, cuts, summary, native, standing, frozenset(pinned))
