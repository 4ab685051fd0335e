"""The blocks of the active view, each with its share of the gauge's figures: pure.

A block's own size is only estimated. Each kind's blocks are therefore made to add up to that kind's part of the gauge,
so that the table's sum is what is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Literal, TypeAlias

import msgspec

from geode_tui.core.events import ContextFigures
from geode_tui.view.state import RunState

BlockState: TypeAlias = Literal[
    "fixed", "verbatim", "unsent", "masked", "shrunk", "offloaded", "summarised", "left_out", "native"
]
"""``fixed`` stands before the conversation, ``verbatim`` is sent as it is, ``unsent`` joins the next request. A result
that is ``masked``, ``shrunk`` or ``offloaded`` is sent as something shorter. ``summarised`` and ``left_out`` stand for
messages that are not sent, with a summary of them or without; ``native`` is a provider's own block in their place.
"""
Order: TypeAlias = Literal["largest", "newest", "oldest", "kind"]
ORDERS: tuple[Order, ...] = ("largest", "newest", "oldest", "kind")

FIXED = ("system", "tools", "unattributed")
"""Kinds that no message holds."""


class Hidden(msgspec.Struct, frozen=True):
    """Messages that are not sent: ``count`` of those from seq ``first`` to ``upto``."""

    first: int
    upto: int
    count: int


class BlockEntry(msgspec.Struct, frozen=True):
    """A block of a stored message. ``weight`` is the estimated size in tokens of what is sent of it; ``name`` and
    ``detail`` are raw texts: a tool's name and what it was called with, or the beginning of a text. ``message_id`` is 0
    for what stands for ``hidden`` messages. ``protected`` is the rule by which no automatic step may touch it;
    ``pinned`` are the pinned messages of the batch that it belongs to.

    What is sent in another form ``was`` so large before; what stands for others came with ``version`` of the view.
    """

    message_id: int
    seq: int
    turn: int
    round: int
    kind: str
    weight: int
    name: str = ""
    detail: str = ""
    is_path: bool = False
    call_id: str = ""
    state: BlockState = "verbatim"
    protected: str = ""
    hidden: Hidden | None = None
    pinned: tuple[int, ...] = ()
    was: int = 0
    version: int = 0


class BlockRow(msgspec.Struct, frozen=True):
    """A row of the table. ``entry`` is None for what stands before the conversation; ``was`` is its own, in tokens."""

    kind: str
    tokens: int
    state: BlockState
    entry: BlockEntry | None = None
    was: int = 0

    @property
    def place(self) -> tuple[int, int]:
        """(seq, turn): what orders rows as they are sent."""
        return (self.entry.seq, self.entry.turn) if self.entry else (0, 0)


class BlockTable(msgspec.Struct, frozen=True):
    """The rows, largest first, of the figures ``of``; without what is ``unsent`` they add up to ``of.used``."""

    rows: tuple[BlockRow, ...] = ()
    of: ContextFigures | None = None

    def top(self, count: int) -> int:
        """Tokens of the ``count`` largest rows that were sent."""
        sent = (row.tokens for row in self.rows if row.state != "unsent")
        return sum(tokens for tokens, _ in zip(sent, range(count), strict=False))


def block_table(entries: Sequence[BlockEntry], state: RunState) -> BlockTable:
    """The table of ``state`` from all blocks of its messages."""
    return table_of(entries, state.context, start=state.prompt_from, end=state.prompt_upto, newest=state.newest_seq)


def table_of(
    entries: Sequence[BlockEntry], figures: ContextFigures | None, *, start: int, end: int, newest: int
) -> BlockTable:
    """The table of a gauge whose prompt held the messages after seq ``start`` and up to ``end``; those up to ``newest``
    join the next one, and what came still later is left out.
    """
    entries = [entry for entry in entries if start < entry.seq <= newest]
    if figures is None:
        return BlockTable(_by_size([BlockRow(e.kind, e.weight, "unsent", e) for e in entries]))
    sent: dict[str, list[BlockEntry]] = {}
    rows = []
    if start and figures.parts.get("summaries"):
        entries = list(_with_summary(entries))
    for entry in entries:
        if entry.seq > end:
            rows.append(BlockRow(entry.kind, entry.weight, "unsent", entry))
        elif figures.parts.get(entry.kind, 0) > 0:
            sent.setdefault(entry.kind, []).append(entry)
    for kind, tokens in figures.parts.items():
        if kind in sent:
            shares = _shares([entry.weight for entry in sent[kind]], tokens)
            whole = sum(entry.weight for entry in sent[kind])
            rows += [
                BlockRow(kind, n, entry.state, entry, entry.was * tokens // whole if whole else entry.was)
                for n, entry in zip(shares, sent[kind], strict=True)
            ]
        elif tokens > 0:
            rows.append(BlockRow(kind, tokens, "fixed"))
    return BlockTable(_by_size(rows), figures)


def scales(table: BlockTable) -> Mapping[str, float]:
    """By kind, the tokens of the gauge for one that was estimated."""
    made: dict[str, tuple[int, int]] = {}
    for row in table.rows:
        if row.entry is not None and row.state != "unsent":
            tokens, weight = made.get(row.kind, (0, 0))
            made[row.kind] = tokens + row.tokens, weight + row.entry.weight
    return {kind: tokens / weight for kind, (tokens, weight) in made.items() if weight}


def _with_summary(entries: Iterable[BlockEntry]) -> Iterable[BlockEntry]:
    """What a person seems to say first after a compaction is its summary."""
    summary = 0
    for entry in entries:
        if entry.kind == "user" and summary in {0, entry.seq}:
            summary = entry.seq
            entry = msgspec.structs.replace(entry, kind="summaries")
        yield entry


def _shares(weights: Sequence[int], whole: int) -> list[int]:
    """``whole`` shared out by ``weights``: cumulative sums are rounded, so that nothing is lost."""
    total = sum(weights)
    if not total:
        weights, total = [1] * len(weights), len(weights)
    edges = [edge * whole // total for edge in accumulate(weights)]
    return [edge - before for before, edge in zip([0, *edges], edges, strict=False)]


def _by_size(rows: Iterable[BlockRow]) -> tuple[BlockRow, ...]:
    return tuple(sorted(rows, key=lambda row: (-row.tokens, row.place)))


def arranged(rows: Iterable[BlockRow], order: Order) -> tuple[BlockRow, ...]:
    """``rows``, largest first as they come from a table, in another order."""
    match order:
        case "largest":
            return tuple(rows)
        case "newest":
            return tuple(sorted(rows, key=lambda row: row.place, reverse=True))
        case "oldest":
            return tuple(sorted(rows, key=lambda row: row.place))
        case "kind":
            return tuple(sorted(rows, key=lambda row: row.kind))
