"""The blocks of a run's messages as one version of the view has them sent. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from geode_tui.context.estimate import block_part
from geode_tui.context.protect import protected
from geode_tui.context.rendering import summary_text
from geode_tui.context.view import Item, View
from geode_tui.core.messages import Block, OpaqueBlock, TextBlock, ToolCallBlock, ToolResultBlock
from geode_tui.core.views import Trim
from geode_tui.view.blocks import BlockEntry, Hidden

DETAIL_CHARS = 400
"""Characters of a text that a row begins with."""


def seen(entries: Iterable[BlockEntry], items: Sequence[Item], view: View) -> tuple[BlockEntry, ...]:
    """``entries`` as ``view`` has them sent, in order, after what stands for messages that it leaves out. ``items`` are
    the messages that they are of.
    """
    rules = protected(items, view)
    sent = (one for entry in entries if (one := _sent(entry, view)) is not None)
    marked = (msgspec.structs.replace(one, protected=rules[one.seq]) if one.seq in rules else one for one in sent)
    return (*_heads(items, view), *marked)


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
                blocks.append(msgspec.structs.replace(block, raw=""))
    return msgspec.structs.replace(item, message=msgspec.structs.replace(item.message, blocks=tuple(blocks)))


def _sent(entry: BlockEntry, view: View) -> BlockEntry | None:
    """The block as it is sent; None where it is not."""
    if view.hides(entry.seq):
        return None
    if (stubbed := view.stubs.get(entry.seq)) is not None:
        if entry.kind != "results":  # the images of a result give way with it
            return None
        stub, state = stubbed
        shown = "verbatim" if state in {"summary", "note"} else state
        return msgspec.structs.replace(entry, weight=_weight(TextBlock(stub.text)), state=shown)
    if (arguments := view.cuts.get((entry.seq, entry.call_id))) is not None:
        call = ToolCallBlock(entry.call_id, entry.name, arguments)
        return msgspec.structs.replace(entry, weight=_weight(call), state="shrunk")
    return entry


def _heads(items: Sequence[Item], view: View) -> Iterator[BlockEntry]:
    """What stands for the messages that are left out: the summary, and the note on what it does not tell of."""
    hidden = [item.seq for item in items if view.hides(item.seq)]
    summary = view.summary
    told = [] if summary is None else [seq for seq in hidden if seq <= summary.upto]
    if summary is not None:
        weight = _weight(TextBlock(summary_text(summary)))
        part = Hidden(summary.first, summary.upto, len(told))
        detail = summary.text[:DETAIL_CHARS]
        yield BlockEntry(0, summary.first, 0, 0, "summaries", weight, "", detail, state="summarised", hidden=part)
    untold = hidden[len(told) :]
    if untold:
        notes = [drop.note for drop in view.drops if isinstance(drop, Trim)]
        weight = _weight(TextBlock(notes[-1])) if notes else 0
        part = Hidden(untold[0], untold[-1], len(untold))
        yield BlockEntry(0, untold[0], 0, 0, "user", weight, state="left_out", hidden=part)


def _weight(block: TextBlock | ToolCallBlock) -> int:
    return block_part(block)[1]
