"""The hard trim and the count limit: what is protected and the newest whole batches stay (RUNTIME.md 2.9, 3.6).

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import msgspec

from geode_tui.context.protect import Batch, batches, has_native, kept, protected, shown
from geode_tui.context.view import Item, View
from geode_tui.core.views import MaxTurns, Trim

MAX_TURNS = 200
_STEP = 10
"""Past the limit a tenth of it goes at once, so that the head of the prompt does not change with every round."""


def trimmed(
    items: Sequence[Item],
    view: View,
    *,
    sizes: Callable[[Item], int],
    fixed: int,
    room: int,
    note: Callable[[int, int], str],
) -> Trim | None:
    """Leave out the older part, so that the rest takes at most ``room`` tokens; None where nothing can go.

    What stays besides what is protected is contiguous from the end, in whole batches. Where what is protected takes
    more than ``room`` by itself, it stays all the same: whether the result fits is the caller's to see.

    Args:
        items: The transcript.
        view: What stands over it now.
        sizes: Tokens of a message in the form in which it is sent now.
        fixed: Tokens of what is sent besides the messages: system, tools, a summary, the note.
        room: Tokens that the prompt may take.
        note: From the first and the last seq that are left out to the text that says so to the model.
    """
    visible = shown(items, view)
    atoms = batches(visible)
    spared = protected(items, view)
    used = fixed + sum(sizes(item) for item in visible if item.seq in spared)
    for at in reversed(range(len(atoms))):
        if _stays(atoms[at], spared):
            continue
        used += sum(map(sizes, atoms[at]))
        if used > room:
            gone = [item for atom in atoms[: at + 1] if not _stays(atom, spared) for item in atom]
            upto = max(item.seq for item in gone)
            first = min(item.seq for item in (*gone, *_trimmed_before(items, view)))
            return Trim(upto, note(first, upto), kept(items, view, upto))
    return None


def max_turns(items: Sequence[Item], view: View, limit: int = MAX_TURNS) -> MaxTurns | None:
    """Keep the newest of more than ``limit`` turns, two messages a turn, besides what is protected; None where there
    are no more, or where a provider's own compaction stands among them (RUNTIME.md 2.9). All results of an answer count
    as one message. Batches go whole, and a tenth of the limit goes at once.
    """
    visible = shown(items, view)
    if len(visible) <= 2 * limit or view.native is not None or has_native(visible, view):
        return None
    spared = protected(items, view)
    loose = [atom for atom in batches(visible) if not _stays(atom, spared)]
    count = sum(map(_messages, loose))
    if count <= 2 * limit:
        return None
    upto = 0
    for atom in loose:
        if count <= 2 * limit - 2 * limit // _STEP:
            break
        count -= _messages(atom)
        upto = max(item.seq for item in atom)
    return MaxTurns(upto, kept(items, view, upto))


def _messages(atom: Batch) -> int:
    return min(2, len(atom))


def _stays(atom: Batch, spared: Container[int]) -> bool:
    return atom[0].seq in spared


def _trimmed_before(items: Sequence[Item], view: View) -> list[Item]:
    """What an earlier trim left out, and nothing else."""
    others = tuple(drop for drop in view.drops if not isinstance(drop, Trim))
    without = msgspec.structs.replace(view, drops=others)
    return [item for item in items if view.hides(item.seq) and not without.hides(item.seq)]
