"""What the screens read of a run's context out of the store: texts of summaries, what they lost, old notes."""

from __future__ import annotations

from geode_tui.core.events import ViewChanged, event_name
from geode_tui.core.messages import OpaqueBlock
from geode_tui.core.native import content_of, is_native
from geode_tui.core.views import Native, Operation, Replay, Summarise, Trim
from geode_tui.log import views
from geode_tui.log.browse import EventQuery, every, of_rounds
from geode_tui.log.store import StoreError
from geode_tui.log.transcript import Transcript
from geode_tui.view.state import WindowNote
from geode_tui.view.window_history import NOTE_EVENTS, LostRow, lost_rows, notes_of


def summary(transcript: Transcript, session_id: str, number: int, version: int) -> str:
    """The text that stands for a part of the conversation since ``version`` of session ``number``'s view; empty where
    none does, or nobody here can read it. Raises `StoreError`.
    """
    made = next((one for one in views.versions(transcript, number) if one.number == version), None)
    if made is None:
        raise StoreError(f"version {version} of the view is not in the log")
    texts = (_text(transcript, session_id, operation) for operation in reversed(made.operations))
    return next((text for text in texts if text), "")


def _text(transcript: Transcript, session_id: str, operation: Operation) -> str:
    match operation:
        case Summarise(text=text):
            return text
        case Trim(note=note):
            return note
        case Native(raw=raw):
            return content_of(raw)
        case Replay(seq=seq):
            stored = transcript.messages(session_id, seq - 1, 1)
            blocks = [block for one in stored if one.row.seq == seq for block in one.message.blocks]
            raws = [block.raw for block in blocks if isinstance(block, OpaqueBlock) and is_native(block)]
            return content_of(raws[-1]) if raws else ""
        case _:
            return ""


def lost(transcript: Transcript, number: int, version: int) -> tuple[LostRow, ...]:
    """What the summary of ``version`` lost. Raises `StoreError`."""
    query = EventQuery(only=frozenset({event_name(ViewChanged)}))
    return lost_rows(version, [row for page in every(transcript.db, number, query) for row in page])


def notes(
    transcript: Transcript, number: int, since: tuple[int, int], until: tuple[int, int] | None
) -> tuple[WindowNote, ...]:
    """The notes of the rounds from ``since`` to ``until``, both included; None: to the end. Raises `StoreError`."""
    return notes_of(of_rounds(transcript.db, number, NOTE_EVENTS, since, until))
