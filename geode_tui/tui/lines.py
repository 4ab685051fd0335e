"""How widgets that draw their own lines hand them to Textual."""

from __future__ import annotations

from collections.abc import Sequence

from textual.filter import ANSIToTruecolor
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


def handed_over(widget: Widget, lines: Sequence[Strip], crop: Region) -> list[Strip]:
    """The part of ``lines`` in ``crop``, for `Widget.render_lines`; each is as wide as the widget.

    Textual's own way goes through every line of every pane that a paint touches and makes new strips of those that
    changed, a third of a frame while a run streams. Lines without borders, padding or named colours need none of it,
    but for a filter that fits colours to the terminal.
    """
    strips = list(lines[crop.y : crop.bottom])
    for each in widget.app.get_line_filters():
        if not isinstance(each, ANSIToTruecolor):
            background = widget.background_colors[1]
            strips = [strip.apply_filter(each, background) for strip in strips]
    if crop.x or crop.right < widget.outer_size.width:
        strips = [strip.crop(crop.x, crop.right) for strip in strips]
    return strips
