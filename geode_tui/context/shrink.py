"""Shrinking: a large result gives way to one line of facts, a repeated one to a pointer at the newest copy, long
arguments of old calls to their beginnings (RUNTIME.md 3.5). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import msgspec

from geode_tui.context.called import about, calls_of, came_of, images_in, skill_gone
from geode_tui.context.mask import LEAST_CHARS, shortens
from geode_tui.context.protect import RECALL, SKILL, is_result_of, last_batch, protected, result_of, shown
from geode_tui.context.view import Item, View
from geode_tui.core.format import number
from geode_tui.core.messages import ToolCallBlock
from geode_tui.core.views import Cut, Shrink, Stub

LONG_ARGUMENTS, LEAF_CHARS = 1_500, 200
"""Characters from which a call's arguments are cut, and what stays of each text in them (RUNTIME.md 3.5)."""


def shrunk(
    items: Sequence[Item], view: View, *, threshold: int, tokens: Callable[[Item], int], keep_last_batch: bool
) -> Shrink | None:
    """What can be made smaller without a model; None where nothing can.

    Results with images are left alone, and so is what is protected. Of byte-identical results the newest stands and
    the older ones point at it.

    Args:
        items: The transcript.
        view: What stands over it now.
        threshold: A result is large above so many tokens.
        tokens: Estimated tokens of a message.
        keep_last_batch: Whether the last batch's results stay. Without it they are shrunk too, but for what
            use_skill and recall_tool_result gave; the arguments of its calls stay always.
    """
    visible = shown(items, view)
    last = {item.seq for item in last_batch(items, view)}
    spared = protected(items, view)
    of_batch = frozenset() if keep_last_batch else frozenset({"skill", "last_batch"})
    untouched = {seq for seq, rule in spared.items() if rule not in of_batch}
    untouched |= {item.seq for item in visible if item.seq in last and (keep_last_batch or _instructs(item))}
    results = [item for item in visible if item.message.role == "tool" and item.seq not in view.stubs]
    free = [item for item in results if item.seq not in untouched and not images_in(item)]
    stubs = _stubs(results, free, threshold, tokens, calls_of(visible))
    answers = [item for item in visible if item.seq not in last and item.seq not in spared]
    cuts = tuple(cut for item in answers for cut in _cuts(item, view))
    return Shrink(stubs, cuts) if stubs or cuts else None


def recallable(stub: Stub, ref: str) -> Stub:
    """``stub`` of a result that is stored under ``ref``, and says how the whole of it comes back."""
    return msgspec.structs.replace(stub, text=f'{stub.text} {RECALL}(ref_id="{ref}") gives it back', ref=ref)


def shortened_arguments(arguments: str) -> str | None:
    """The JSON text ``arguments`` with every text in it cut at 200 characters; None where that would not make it
    shorter, or where it is no JSON object.
    """
    try:
        value = msgspec.json.decode(arguments)
        text = msgspec.json.encode(_shortened(value)).decode() if isinstance(value, dict) else arguments
    except (msgspec.DecodeError, UnicodeError, OverflowError, RecursionError):
        return None
    return text if len(text) < len(arguments) else None


def _instructs(item: Item) -> bool:
    return is_result_of(item, SKILL, RECALL)


def _stubs(
    results: Sequence[Item],
    free: Sequence[Item],
    threshold: int,
    tokens: Callable[[Item], int],
    calls: Mapping[int, ToolCallBlock],
) -> tuple[Stub, ...]:
    """Stubs for those of ``results`` that are ``free`` to shrink, and large or said again later."""
    sizes = {item.seq: tokens(item) for item in free}
    large = {seq for seq, size in sizes.items() if size > threshold}
    copies = _copies(results, large)
    made = []
    for item in free:
        call, newest = calls.get(item.seq), copies.get(item.seq)
        if newest is None and item.seq not in large:
            continue
        size = f"[summarized from ~{number(sizes[item.seq])} tokens]"
        if is_result_of(item, SKILL):
            text = f"[{skill_gone(item, call)}] {size}"
        elif newest is not None:
            text = f"[{about(item, call)}: the same as the newer result of {about(newest, calls.get(newest.seq))}]"
        else:
            text = f"[{about(item, call)}: {came_of(item)}] {size}"
        if shortens(text, item):
            made.append(Stub(item.seq, text, tokens=sizes[item.seq]))
    return tuple(made)


def _copies(results: Sequence[Item], going: Container[int]) -> dict[int, Item]:
    """Seq of each result that is said again later, and the newest result that says it, unless that one is ``going``."""
    newest: dict[object, Item] = {}
    for item in results:
        if (content := _content(item)) is not None:
            newest[content] = item
    made: dict[int, Item] = {}
    for item in results:
        last = newest.get(_content(item))
        if last is not None and last is not item and last.seq not in going:
            made[item.seq] = last
    return made


def _content(item: Item) -> object:
    """What makes two results the same; None for one that is not worth a pointer."""
    block = result_of(item)
    return (block.content, block.is_error) if block is not None and len(block.text) >= LEAST_CHARS else None


def _cuts(item: Item, view: View) -> list[Cut]:
    return [
        Cut(item.seq, call.call_id, text)
        for call in item.message.calls
        if len(call.arguments) > LONG_ARGUMENTS
        and (item.seq, call.call_id) not in view.cuts
        and (text := shortened_arguments(call.arguments)) is not None
    ]


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        left_out = len(value) - LEAF_CHARS
        return value if left_out <= 0 else f"{value[:LEAF_CHARS]}... ({number(left_out)} more characters)"
    if isinstance(value, dict):
        return {key: _shortened(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_shortened(each) for each in value]
    return value
