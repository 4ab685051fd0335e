"""What no automatic step may remove, mask or summarise away (RUNTIME.md 2.8). Pure.

Everything here looks at what the view still shows. An answer and its results are one batch: it goes whole or stays
whole, so a call never loses its result and signed thinking is never taken apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from geode_tui.context.view import Item, View
from geode_tui.core.messages import ToolResultBlock
from geode_tui.core.native import is_native

Rule: TypeAlias = Literal["latest_input", "pinned", "native", "skill", "last_batch"]
"""Why a message is protected. Where several rules hold, the first of these is told."""
Batch: TypeAlias = tuple[Item, ...]

SKILL, RECALL = "use_skill", "recall_tool_result"


def shown(items: Iterable[Item], view: View) -> tuple[Item, ...]:
    """The messages that the view does not leave out, in order."""
    return tuple(item for item in items if not view.hides(item.seq))


def batches(items: Iterable[Item]) -> tuple[Batch, ...]:
    """``items`` in the pieces that may be taken apart: an answer with all its results, or one other message."""
    made: list[list[Item]] = []
    answering = False
    for item in items:
        if item.message.role == "tool" and answering:
            made[-1].append(item)
            continue
        answering = item.message.role == "assistant"
        made.append([item])
    return tuple(map(tuple, made))


def last_batch(items: Iterable[Item], view: View) -> Batch:
    """The newest answer with calls, and its results; empty where there is none."""
    return _last_batch(batches(shown(items, view)))


def protected(items: Iterable[Item], view: View) -> dict[int, Rule]:
    """Seq of each message that stays as it is, and why.

    ``latest_input`` is what the person typed last. ``pinned``, ``native`` (a provider's own compaction) and ``skill``
    (a result of use_skill in the last batch) hold for the whole batch they stand in. ``last_batch`` holds while the
    model has not answered to the batch's results.
    """
    atoms = batches(shown(items, view))
    rules: dict[int, Rule] = {}
    last = _last_batch(atoms)
    answers = [atom for atom in atoms if atom[0].message.role == "assistant"]
    if last and answers[-1] is last:
        rules |= _each(last, "last_batch")
    if any(is_result_of(item, SKILL) for item in last):
        rules |= _each(last, "skill")
    for atom in atoms:
        if has_native(atom, view):
            rules |= _each(atom, "native")
        if any(item.seq in view.pinned for item in atom):
            rules |= _each(atom, "pinned")
    latest = latest_input(item for atom in atoms for item in atom)
    if latest is not None:
        rules[latest.seq] = "latest_input"
    return rules


def latest_input(items: Iterable[Item]) -> Item | None:
    """What the person typed last, by its mark. Of an imported conversation to which nothing was typed yet, its last
    user message.
    """
    asked = [item for item in items if item.message.role == "user"]
    for origin in ("user_input", "import"):
        found = next((item for item in reversed(asked) if item.message.origin == origin), None)
        if found is not None:
            return found
    return None


def has_native(items: Iterable[Item], view: View | None = None) -> bool:
    """Whether a provider's own compaction is among them, in an answer of its own; one that failed counts too
    (RUNTIME.md 3.1). With ``view``, only what it shows and still sends is looked at.
    """
    return any(
        is_native(block)
        for item in items
        if view is None or not (view.hides(item.seq) or item.seq in view.unplayed)
        for block in item.message.blocks
    )


def result_of(item: Item) -> ToolResultBlock | None:
    """The result that a message of role ``tool`` holds."""
    return next((b for b in item.message.blocks if isinstance(b, ToolResultBlock)), None)


def is_result_of(item: Item, *tools: str) -> bool:
    """Whether a message is the result of one of ``tools``."""
    result = result_of(item)
    return result is not None and result.name in tools


def kept(items: Sequence[Item], view: View, upto: int) -> tuple[int, ...]:
    """The seqs up to ``upto`` that stay in front of what follows: those protected, in order."""
    rules: Mapping[int, Rule] = protected(items, view)
    return tuple(sorted(seq for seq in rules if seq <= upto))


def boundary(items: Sequence[Item], view: View, keep_recent: int) -> int:
    """The seq up to which a summary may reach, so that at least ``keep_recent`` messages stay and no batch is cut
    (RUNTIME.md 3.3). 0 where there is nothing to summarise: the conversation is hardly longer, or all that it would
    reach is protected or was summarised before.
    """
    visible = shown(items, view)
    if len(visible) <= keep_recent + 2:
        return 0
    reached: list[Item] = []
    for atom in batches(visible):
        if len(reached) + len(atom) > len(visible) - keep_recent:
            break
        reached += atom
    rules = protected(items, view)
    if all(item.seq in rules for item in reached):
        return 0
    upto = max(item.seq for item in reached)
    standing = view.stands.upto if view.stands is not None else 0
    return upto if upto > standing else 0


def _last_batch(atoms: Sequence[Batch]) -> Batch:
    return next((atom for atom in reversed(atoms) if atom[0].message.calls), ())


def _each(atom: Batch, rule: Rule) -> dict[int, Rule]:
    return {item.seq: rule for item in atom}
