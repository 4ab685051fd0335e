"""The blocks of a run's messages as one version of the view has them sent. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from geode_tui.context.estimate import block_part
from geode_tui.context.protect import batches, protected, shown
from geode_tui.context.rendering import summary_text
from geode_tui.context.view import Item, View
from geode_tui.core.messages import Block, OpaqueBlock, TextBlock, ToolCallBlock, ToolResultBlock
from geode_tui.core.native import COMPACTION, compacts, content_of, succeeded
from geode_tui.core.views import Native, Summarise, Trim
from geode_tui.view.blocks import BlockEntry, Hidden

DETAIL_CHARS = 400
"""Characters of a text that a row begins with."""
_SLIM_NATIVE = '{"content": "-"}'
"""A provider's own compaction that succeeded, without its text."""


def seen(entries: Iterable[BlockEntry], items: Sequence[Item], view: View) -> tuple[BlockEntry, ...]:
    """``entries`` as ``view`` has them sent, in order, after what stands for messages that it leaves out. ``items`` are
    the messages that they are of.
    """
    rules, pins, begins = protected(items, view), _pins(items, view), replayed(items, view)
    sent = (one for entry in entries if (one := _sent(entry, view, begins)) is not None)
    marked = (
        msgspec.structs.replace(one, protected=rules.get(one.seq, ""), pinned=pins.get(one.seq, ())) for one in sent
    )
    return (*_heads(items, view, begins), *marked)


def replayed(items: Sequence[Item], view: View) -> int:
    """The seq of the newest answer in which the provider compacted by itself: what stands before it is not read any
    more. 0 where there is none, or where its block is not sent any more.
    """
    answers = (i.seq for i in items if compacts(i.message) and not view.hides(i.seq) and i.seq not in view.unplayed)
    return max(answers, default=0)


def _pins(items: Sequence[Item], view: View) -> dict[int, tuple[int, ...]]:
    """The pinned messages of each one's batch, by its seq."""
    if not view.pinned:
        return {}
    pins = ((atom, tuple(i.seq for i in atom if i.seq in view.pinned)) for atom in batches(shown(items, view)))
    return {item.seq: seqs for atom, seqs in pins if seqs for item in atom}


def slim(item: Item) -> Item:
    """``item`` without its texts: enough to know what protects it."""
    blocks: list[Block] = []
    for block in item.message.blocks:
        match block:
            case ToolCallBlock():
                blocks.append(msgspec.structs.replace(block, arguments=""))
            case ToolResultBlock():
                blocks.append(msgspec.structs.replace(block, content=()))
            case OpaqueBlock():
                raw = _SLIM_NATIVE if succeeded(block) else ""
                blocks.append(msgspec.structs.replace(block, raw=raw))
    return msgspec.structs.replace(item, message=msgspec.structs.replace(item.message, blocks=tuple(blocks)))


def _sent(entry: BlockEntry, view: View, begins: int) -> BlockEntry | None:
    """The block as it is sent; None where it is not, or is not read."""
    if view.hides(entry.seq) or entry.seq < begins:
        return None
    if entry.kind == "native" and entry.detail == COMPACTION:
        return None if entry.seq in view.unplayed else msgspec.structs.replace(entry, state="native")
    if (stubbed := view.stubs.get(entry.seq)) is not None:
        if entry.kind != "results":  # the images of a result give way with it
            return None
        stub, state = stubbed
        return msgspec.structs.replace(entry, weight=_weight(TextBlock(stub.text)), state=state, was=entry.weight)
    if (arguments := view.cuts.get((entry.seq, entry.call_id))) is not None:
        call = ToolCallBlock(entry.call_id, entry.name, arguments)
        return msgspec.structs.replace(entry, weight=_weight(call), state="shrunk", was=entry.weight)
    return entry


def _heads(items: Sequence[Item], view: View, begins: int) -> Iterator[BlockEntry]:
    """What stands for the messages that are left out: the summary, and the note on what it does not tell of."""
    hidden = [item.seq for item in items if view.hides(item.seq)] if not begins else []
    stands = view.stands if not begins else None
    told = [] if stands is None else [seq for seq in hidden if seq <= stands.upto]
    if stands is not None:
        yield _standing(stands, len(told), _came_with(view, stands))
    untold = hidden[len(told) :]
    if untold:
        notes = [drop.note for drop in view.drops if isinstance(drop, Trim)]
        weight = _weight(TextBlock(notes[-1])) if notes else 0
        part = Hidden(untold[0], untold[-1], len(untold))
        yield BlockEntry(0, untold[0], 0, 0, "user", weight, state="left_out", hidden=part)


def _standing(stands: Summarise | Native, count: int, version: int) -> BlockEntry:
    """The row of what stands for ``count`` messages since ``version``."""
    row = BlockEntry(0, stands.first, 0, 0, "", 0, hidden=Hidden(stands.first, stands.upto, count), version=version)
    if isinstance(stands, Native):
        weight, text = _weight(OpaqueBlock(stands.provider, COMPACTION, stands.raw)), content_of(stands.raw)
        return msgspec.structs.replace(row, kind="native", weight=weight, detail=text[:DETAIL_CHARS], state="native")
    weight, text = _weight(TextBlock(summary_text(stands))), stands.text
    return msgspec.structs.replace(row, kind="summaries", weight=weight, detail=text[:DETAIL_CHARS], state="summarised")


def _came_with(view: View, operation: Summarise | Native) -> int:
    """The version that ``operation`` is of."""
    found = (n for n in reversed(view.active) if operation in view.version(n).operations)
    return next(found, 0)


def _weight(block: TextBlock | ToolCallBlock | OpaqueBlock) -> int:
    return block_part(block)[1]
