"""Rows of a pane as strips: laid out from the right, the left part gets what remains (SCREENS.md 12)."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from geode_tui.tui.cells import chop_starts, expand_tabs, segments_width, spread

GAP = 2
"""Cells between parts of a row."""


def row(
    left: Sequence[Segment], right: Sequence[Segment], width: int, fill: Style, glyph: str, *, margin: int = 0
) -> Strip:
    """One row of exactly ``width`` cells on ``fill``, with ``margin`` cells free at both ends."""
    inner = max(0, width - 2 * margin)
    edge = Segment(" " * min(margin, width))
    cells = [edge, *spread(left, right, inner, glyph), edge]
    return Strip([Segment(c.text, fill + c.style if c.style else fill) for c in cells if c.text]).crop(0, width)


def fit(groups: Sequence[Sequence[Segment]], width: int, gap: int = GAP) -> list[Segment]:
    """As many of ``groups``, in order, as fit in ``width`` cells with ``gap`` between them."""
    out: list[Segment] = []
    for group in groups:
        lead = [Segment(" " * gap)] if out else []
        if segments_width(out) + segments_width(lead) + segments_width(group) > width:
            break
        out += [*lead, *group]
    return out


def chop(text: str, width: int) -> list[str]:
    """The lines of ``text``, broken wherever they are full: for arguments and JSON, where every character counts."""
    lines: list[str] = []
    for line in text.split("\n"):
        flat = expand_tabs(line)
        starts = chop_starts(flat, width)
        lines += [flat[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)]
    return lines
