"""What befell the context long ago: notes that no state holds any more, and all that a summary lost. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from geode_tui.core import events as ev
from geode_tui.core.text import clean_line
from geode_tui.view.reduce import fold
from geode_tui.view.state import RunState, WindowNote

_TOLD = (
    ev.SessionStarted,
    ev.ModelSwitched,
    ev.UserInputReceived,
    ev.MessageCompleted,
    ev.ToolExecEnded,
    ev.LlmCallEnded,
    ev.LlmCallFailed,
    ev.MaintenanceStarted,
    ev.MaintenanceEnded,
    ev.ViewChanged,
    ev.ContextCompacted,
    ev.ProviderCompacted,
    ev.WindowObserved,
    ev.SessionForked,
)
_NAMES = frozenset(map(ev.event_name, _TOLD))
NOTE_EVENTS = _NAMES | {old for old, new in ev.LEGACY_NAMES.items() if new in _NAMES}
"""The events that notes are made of."""
LOST_CHARS = 160
"""Characters of something lost (`core.events.LostItem`)."""


class LostRow(msgspec.Struct, frozen=True):
    """Something that a summary lost: as in `core.events.LostItem`, ``text`` one clean line. ``pinned``: it was told
    again in a pinned note.
    """

    kind: ev.LostKind
    text: str
    seq: int
    pinned: bool = False


def notes_of(rows: Iterable[ev.EventRow]) -> tuple[WindowNote, ...]:
    """The notes that the fold makes of ``rows``, a part of a run's `NOTE_EVENTS`, oldest first.

    Those before the first message in them are left out: they belong to one that is not there.
    """
    state, notes = RunState(), list[WindowNote]()
    for row in rows:
        fold(state, (row,))
        notes += state.window_notes[:-1]
        del state.window_notes[:-1]
    return tuple(note for note in (*notes, *state.window_notes) if note.seq)


def lost_rows(version: int, rows: Sequence[ev.EventRow]) -> tuple[LostRow, ...]:
    """What the summary of ``version`` lost, the weightiest first, by ``rows``: all changes of the view. Damaged ones
    say nothing.
    """
    told = [change for row in rows if (change := _change(row)) is not None]
    back = {change.back[1] for change in told if change.back is not None and change.back[0] == version}
    lost = next((change.lost for change in told if change.version == version), ())
    return tuple(
        LostRow(item.kind, clean_line(item.text, LOST_CHARS), item.seq, index in back)
        for index, item in enumerate(lost)
    )


def _change(row: ev.EventRow) -> ev.ViewChanged | None:
    try:
        payload = ev.decode_payload(row.event, row.payload)
    except msgspec.DecodeError:
        return None
    return payload if isinstance(payload, ev.ViewChanged) else None
