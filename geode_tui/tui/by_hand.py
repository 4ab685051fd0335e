"""What a person may ask of a block or of the versions, or why not, as far as the screen knows. Pure.

The run's worker decides; what is known here already is said at once.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from geode_tui.core.strings import Strings
from geode_tui.tui.slash import Order, Wrong
from geode_tui.view.blocks import BlockRow
from geode_tui.view.versions import VersionList

Deed: TypeAlias = Literal["pin", "mask", "offload"]
_GIVEN_WAY = frozenset({"masked", "shrunk", "offloaded"})


def on_block(deed: Deed, block: BlockRow | None, listed: VersionList, strings: Strings) -> Order | Wrong:
    """The command that does ``deed`` to the message of ``block``; a pinned one is unpinned by ``pin``."""
    if listed.recorder:
        return Wrong("versions.recorded", {"by": listed.recorder})
    if block is None:
        return Wrong("blocks.choose")
    entry = block.entry
    if entry is None:
        return Wrong("blocks.not_said")
    if not entry.message_id:
        return Wrong("blocks.no_message")
    if deed == "pin":
        return Order("unpin", {"seqs": entry.pinned}) if entry.pinned else Order("pin", {"seqs": (entry.seq,)})
    if listed.why:
        return Wrong("blocks.because", {"why": listed.why})
    if block.kind != "results":
        return Wrong("blocks.no_result")
    if entry.state in _GIVEN_WAY:
        return Wrong("blocks.short_already", {"state": strings.t(f"blocks.{entry.state}")})
    if entry.protected:
        key = f"protect.{entry.protected}"
        return Wrong("blocks.stays", {"rule": strings.t(key) if strings.has(key) else entry.protected})
    return Order(deed, {"seqs": (entry.seq,)})


def step(what: Literal["undo", "redo"], listed: VersionList) -> Order | Wrong:
    """The command that goes back or forward by one change."""
    if listed.recorder:
        return Wrong("versions.recorded", {"by": listed.recorder})
    wanted = listed.undo if what == "undo" else listed.redo
    if wanted is None:
        return Wrong(f"versions.no_{what}")
    return Order(what, {})
