"""Lines in the conversation that say what befell the context: a compaction, an undo, a fork."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from textual.strip import Strip

from geode_tui.tui.cells import cut_end
from geode_tui.tui.conversation.items import Canvas, Item
from geode_tui.view.state import NoteKind, WindowNote
from geode_tui.view.window_notes import note_text

_GLYPHS: Mapping[NoteKind, str] = {
    "summarised": "summary",
    "trimmed": "cut",
    "masked": "masked",
    "shrunk": "cut",
    "offloaded": "offloaded",
    "undone": "undo",
    "redone": "arrow",
    "compacted": "summary",
    "native": "summary",
    "failed": "failed",
    "paused": "stopped",
    "observed": "fixed",
    "forked": "arrow",
}
_LOUD = frozenset({"failed", "paused"})


class WindowNoteItem(Item):
    """One quiet line after a message."""

    def __init__(self, note: WindowNote, *, before: int = 0) -> None:
        super().__init__()
        self._note = note
        self.before = before

    @property
    def attention(self) -> bool:
        """See `Item.attention`."""
        return True

    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`."""
        ink, what = canvas.ink, self._note.what
        mark = getattr(ink.glyphs, _GLYPHS[what])
        line = cut_end(f"{mark} {note_text(self._note, canvas.strings, ink.glyphs.arrow)}", canvas.body, ink.glyphs.cut)
        return [canvas.strip([Segment(line, ink.role("warn" if what in _LOUD else "muted", bold=what in _LOUD))])]


class CompactionItem(WindowNoteItem):
    """The line in the place of a provider's own compaction. How large the prompt was is only known from its note."""

    def __init__(self) -> None:
        super().__init__(WindowNote(0, "native"))

    def take(self, note: WindowNote) -> None:
        """Say what ``note`` says."""
        self._note, self.strips = note, None
