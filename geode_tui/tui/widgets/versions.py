"""The part of the Context tab that lists what the model saw: the versions of the view, the newest first."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.core.events import ContextFigures
from geode_tui.tui.cells import line_starts, width_of
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.version_rows import VersionLines
from geode_tui.view.version_words import number_text, undo_text
from geode_tui.view.versions import VersionList, VersionRow, rows_of

LEAST = 3
"""Rows of versions that are shown at least."""


class VersionsPart:
    """Holds the list and its cursor, and draws them into the rows that the pane gives it."""

    def __init__(self) -> None:
        self.listed = VersionList()
        self.rows: tuple[VersionRow, ...] = ()
        self.head = 0
        """Rows above the list, as it was drawn last."""
        self.top = 0
        self._at = 0

    @property
    def selected(self) -> VersionRow | None:
        """The version under the cursor."""
        return self.rows[self._at] if self.rows else None

    def take(self, listed: VersionList) -> None:
        """Show a newer list: the cursor stays on its version, or on the newest one."""
        chosen = self.selected.newest.number if self.selected is not None and self._at else None
        self.listed, self.rows = listed, rows_of(listed.entries)
        same = (i for i, one in enumerate(self.rows) if chosen in {entry.number for entry in one.entries})
        self._at = next(same, 0)

    def move(self, rows: int) -> None:
        """Move the cursor."""
        self._at = max(0, min(len(self.rows) - 1, self._at + rows))

    def point(self, y: int) -> bool:
        """Select the version in row ``y`` of the part; whether it was selected already."""
        index = self.top + y - self.head
        if y < self.head or index >= len(self.rows):
            return False
        same, self._at = index == self._at, index
        return same

    # -- drawing ------------------------------------------------------------------------------------------------------
    def wanted(self, most: int) -> int:
        """Rows that it would fill below the blocks, at most ``most``: a blank one, its heading, versions, foot."""
        return min(most, max(LEAST, len(self.rows)) + 5)

    def build(
        self, look: Look, width: int, height: int, figures: ContextFigures | None, *, focused: bool
    ) -> list[Strip]:
        """Heading, a window of rows, and what an undo would do, in exactly ``height`` rows."""
        plane = look.palette.style(look.palette.text, look.palette.base)
        blank = row([], [], width, plane, "", margin=1)
        foot = self._foot(look, width, figures)
        out = [self._heading(look, width, focused=focused)]
        self.head = len(out)
        gap = height > len(out) + len(self.rows) + len(foot)
        room = height - len(out) - len(foot) - gap
        if room < LEAST:
            foot, gap, room = [], False, height - len(out)
        room = max(1, min(room, len(self.rows)))
        self.top = max(0, min(self.top, self._at, len(self.rows) - room), self._at - room + 1)
        number = max((width_of(number_text(one)) for one in self.rows), default=0)
        newest = self.rows[0].newest.number if self.rows else 0
        lines = VersionLines(look, width, focused, number, newest)
        shown = self.rows[self.top : self.top + room]
        out += [lines.line(one, selected=self.top + i == self._at) for i, one in enumerate(shown)]
        out += [*[blank] * gap, *foot]
        return (out + [blank] * height)[:height]

    def _heading(self, look: Look, width: int, *, focused: bool) -> Strip:
        palette, t = look.palette, look.t
        left = [
            Segment(t("versions.title"), palette.style(palette.accent, bold=True, underline=focused)),
            Segment(f" {fmt.number(len(self.listed.entries))}"),
            Segment(f"  {t('versions.hint')}", palette.style(palette.muted)),
        ]
        return row(left, [], width, palette.style(palette.text, palette.base), look.glyphs.cut, margin=1)

    def _foot(self, look: Look, width: int, figures: ContextFigures | None) -> list[Strip]:
        palette = look.palette
        plane = palette.style(palette.text, palette.base)
        said = look.redact(undo_text(self.listed, figures, look.strings, look.glyphs.arrow))
        muted = palette.style(palette.muted)
        lines = [Segment(text) for text in _wrapped(said, width - 2)]
        lines += [Segment(text, muted) for text in _wrapped(look.t("versions.note"), width - 2)]
        return [row([line], [], width, plane, look.glyphs.cut, margin=1) for line in lines]


def _wrapped(text: str, width: int) -> Sequence[str]:
    if not text:
        return ()
    starts = line_starts(text, max(4, width))
    return [text[a:b].rstrip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
