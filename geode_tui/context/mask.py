"""Observation masking: results that the model has worked with long ago give way to one line each (RUNTIME.md 3.4).
Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from geode_tui.context.called import ARGUMENT_CHARS, about, first_line, images_in, skill_gone
from geode_tui.context.protect import RECALL, SKILL, is_result_of, last_batch, protected, result_of, shown
from geode_tui.context.view import Item, View
from geode_tui.core.format import number
from geode_tui.core.messages import ToolCallBlock
from geode_tui.core.views import Mask, Stub

KEEP_ROUNDS = 3
LEAST_CHARS = 200
"""A shorter result is not worth a marker."""


def maskable(items: Sequence[Item], view: View, *, keep_rounds: int = KEEP_ROUNDS) -> tuple[Item, ...]:
    """The results that may be masked: those before the ``keep_rounds``-th last answer that take some room, stand as
    they came and are not protected. The last batch stays whatever ``keep_rounds`` says (RUNTIME.md 2.8).
    """
    visible = shown(items, view)
    answers = [at for at, item in enumerate(visible) if item.message.role == "assistant"]
    if len(answers) < keep_rounds or keep_rounds < 1:
        return ()
    spared = protected(items, view).keys() | {item.seq for item in last_batch(items, view)} | view.stubs.keys()
    older = visible[: answers[-keep_rounds]]
    return tuple(item for item in older if item.seq not in spared and _takes_room(item))


def masked(
    items: Sequence[Item],
    refs: Mapping[int, str],
    tokens: Callable[[Item], int],
    calls: Mapping[int, ToolCallBlock],
) -> Mask | None:
    """Markers for these results; None where no marker would be shorter than its result.

    Args:
        items: What `maskable` gave.
        refs: Seq of a result -> the reference by which recall_tool_result finds the whole of it.
        tokens: Estimated tokens of a message.
        calls: Seq of a result -> its call (`called.calls_of`).
    """
    stubs = []
    for item in items:
        ref, size = refs.get(item.seq, ""), tokens(item)
        text = _marker(item, ref, size, calls.get(item.seq))
        if shortens(text, item):
            stubs.append(Stub(item.seq, text, ref, size))
    return Mask(tuple(stubs)) if stubs else None


def shortens(text: str, item: Item) -> bool:
    """Whether ``text`` takes less room than the result that it would stand for."""
    result = result_of(item)
    return result is not None and (images_in(item) > 0 or len(text) < len(result.text))


def _takes_room(item: Item) -> bool:
    result = result_of(item)
    return result is not None and (images_in(item) > 0 or len(result.text) >= LEAST_CHARS)


def _marker(item: Item, ref: str, tokens: int, call: ToolCallBlock | None) -> str:
    if is_result_of(item, SKILL):
        return f"[{skill_gone(item, call)}]"
    images, error = images_in(item), first_line(item)
    size = f"~{number(tokens)} tokens" + (f", {number(images)} image{'s' * (images > 1)}" if images else "")
    again = f'{RECALL}(ref_id="{ref}") gives it back' if ref else "call the tool again if you need it"
    what = f"{about(item, call, ARGUMENT_CHARS)}: " + (f"{error}; " if error else "")
    return f"[{what}result masked, {size}; {again}]"
