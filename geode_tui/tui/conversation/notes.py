"""Lines in the conversation that say what befell the context: a masking, an undo, a fork. Compactions are cards."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from textual.strip import Strip

from geode_tui.tui.cells import cut_end
from geode_tui.tui.conversation.items import Canvas, Item
from geode_tui.view.state import NoteKind, WindowNote
from geode_tui.view.window_notes import note_text

GLYPHS: Mapping[NoteKind, str] = {
    "summarised": "summary",
    "trimmed": "cut",
    "masked": "masked",
    "shrunk": "cut",
    "offloaded": "offloaded",
    "undone": "undo",
    "redone": "arrow",
    "compacted": "summary",
    "native": "summary",
    "on_demand": "summary",
    "failed": "failed",
    "paused": "stopped",
    "observed": "fixed",
    "forked": "arrow",
}
"""The mark of each kind."""
_LOUD = frozenset({"failed", "paused"})


class WindowNoteItem(Item):
    """One quiet line after a message."""

    follows = True
    """Whether it stands after its message, and is no part of it."""

    def __init__(self, note: WindowNote) -> None:
        super().__init__()
        self.note = note

    @property
    def attention(self) -> bool:
        """See `Item.attention`."""
        return True

    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`."""
        ink, what = canvas.ink, self.note.what
        mark = getattr(ink.glyphs, GLYPHS[what])
        line = cut_end(f"{mark} {note_text(self.note, canvas.strings, ink.glyphs.arrow)}", canvas.body, ink.glyphs.cut)
        return [canvas.strip([Segment(line, ink.role("warn" if what in _LOUD else "muted", bold=what in _LOUD))])]
