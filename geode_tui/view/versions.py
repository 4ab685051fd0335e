"""The versions of a run's view as a list, what an undo would do, and in what two of them differ. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from geode_tui.core.events import ContextFigures
from geode_tui.view.blocks import BlockEntry, BlockState

Room: TypeAlias = Literal["ok", "warning", "critical", "over"]
"""Where a prompt stands: ``ok`` is below the warning, ``warning`` from there on, ``over`` does not fit."""


class VersionEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One version, made in round ``round`` of turn ``turn``; number 0 is the start, before there was any.

    ``operations`` counts them by kind (`core.views.counts`). ``first`` to ``upto`` are the messages that it is about,
    of the rounds ``rounds`` where all of them are of one turn. ``others`` are versions that it takes or gives back.
    Tokens are those of the prompt ``before`` and ``after`` it. ``cost_micro`` is what its summary cost, in
    micro-dollars: 0 where none was asked for, None where there is no price. ``taken_back``: it does not hold now.
    """

    number: int = 0
    turn: int = 0
    round: int = 0
    cause: str = ""
    mode: str = "text"
    operations: Mapping[str, int] = {}
    first: int = 0
    upto: int = 0
    rounds: tuple[int, int] = (0, 0)
    others: tuple[int, ...] = ()
    before: int = 0
    after: int = 0
    cost_micro: int | None = 0
    local: bool = False
    taken_back: bool = False


class Step(msgspec.Struct, frozen=True):
    """What an undo or a redo would do: ``versions`` stop or start to hold, which makes the prompt ``more`` tokens
    longer. ``to`` is the version whose view comes back, None where what came later stays.
    """

    versions: tuple[int, ...]
    more: int
    to: int | None = None


class VersionList(msgspec.Struct, frozen=True):
    """All versions of a run's view, oldest first. ``recorder`` is the other program that recorded the run: nothing can
    be changed then. ``why`` is why no text of ours may stand for a part of it, empty where it may.
    """

    entries: tuple[VersionEntry, ...] = ()
    undo: Step | None = None
    redo: Step | None = None
    recorder: str = ""
    why: str = ""


class VersionRow(msgspec.Struct, frozen=True):
    """A row of the list: one version, or results that were offloaded one after the other as they came."""

    entries: tuple[VersionEntry, ...]

    @property
    def newest(self) -> VersionEntry:
        """The last of them."""
        return self.entries[-1]

    @property
    def numbers(self) -> tuple[int, int]:
        """(first, last)."""
        return self.entries[0].number, self.entries[-1].number

    @property
    def before(self) -> int:
        """Tokens before the first of them."""
        return self.entries[0].before

    @property
    def count(self) -> int:
        """Results or messages that were touched."""
        return sum(sum(entry.operations.values()) for entry in self.entries)


def rows_of(entries: Iterable[VersionEntry]) -> tuple[VersionRow, ...]:
    """The rows of a list, newest first, the start last."""
    rows: list[list[VersionEntry]] = []
    for entry in entries:
        if entry.cause == "arrival" and rows and rows[-1][-1].cause == "arrival":
            rows[-1].append(entry)
        else:
            rows.append([entry])
    return tuple(VersionRow(tuple(row)) for row in reversed(rows))


def room(tokens: int, figures: ContextFigures) -> Room:
    """Where a prompt of so many tokens would stand."""
    if tokens > figures.budget:
        return "over"
    if tokens >= figures.critical:
        return "critical"
    return "warning" if tokens >= figures.warning else "ok"


class Change(msgspec.Struct, frozen=True):
    """A block that two versions send in other forms; None is a form in which it is not there. Tokens are estimated."""

    entry: BlockEntry
    before: BlockState | None
    after: BlockState | None
    tokens_before: int
    tokens_after: int


class VersionDiff(msgspec.Struct, frozen=True):
    """What version ``after`` sends otherwise than version ``before``. ``text`` is raw: what stands for a part of the
    conversation since then; empty where nothing does, or where nobody here can read it.
    """

    before: int
    after: int
    changes: tuple[Change, ...] = ()
    text: str = ""


def scaled(changes: Sequence[Change], scales: Mapping[str, float]) -> tuple[Change, ...]:
    """``changes`` with their estimates brought to the gauge's tokens by kind (`view.blocks.scales`)."""
    return tuple(
        msgspec.structs.replace(
            change,
            tokens_before=round(change.tokens_before * scales.get(change.entry.kind, 1.0)),
            tokens_after=round(change.tokens_after * scales.get(change.entry.kind, 1.0)),
        )
        for change in changes
    )
