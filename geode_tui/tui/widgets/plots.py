"""Thin bars and sparklines: braille, or ASCII where braille cannot be drawn (SCREENS.md 3)."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment

from geode_tui.tui.look import Look

LEVELS = 4
"""Dots in a braille column."""
_LEFT = (0x40, 0x04, 0x02, 0x01)
_RIGHT = (0x80, 0x20, 0x10, 0x08)
"""Bits of a braille cell's columns, lowest dot first."""


def thin_bar(look: Look, part: float, whole: float, width: int, *, mark: float | None = None) -> list[Segment]:
    """``width`` cells, filled up to ``part`` of ``whole``; ``mark`` is a fraction at which a warning mark stands."""
    if width <= 0:
        return []
    palette, glyphs = look.palette, look.glyphs
    share = min(1.0, max(0.0, part / whole)) if whole > 0 else 0.0
    full = round(share * width)
    if part > 0 and not full:
        full = 1
    cells = [Segment(glyphs.thin_full, palette.style(palette.accent))] * full
    cells += [Segment(glyphs.thin_rest, palette.style(palette.muted))] * (width - full)
    if mark is not None:
        cells[min(width - 1, int(mark * width))] = Segment(glyphs.mark, palette.style(palette.warn, bold=True))
    return cells


def sparkline(look: Look, values: Sequence[float], width: int, rows: int) -> list[str]:
    """``rows`` lines of ``width`` cells for the newest values, two to a cell. Zero draws the lowest dot, so that a
    round that cost nothing is seen; a value that is missing draws nothing.
    """
    if look.glyphs.plot:
        return [_ascii(look.glyphs.plot, values, width)] + [" " * width] * (rows - 1)
    shown = values[-2 * width :]
    peak = max(shown, default=0.0)
    steps = rows * LEVELS
    return _braille([max(1, round(value / peak * steps)) if peak else 1 for value in shown], width, rows)


def columns(look: Look, values: Sequence[float], width: int, rows: int, top: float) -> list[str]:
    """As `sparkline`, from nothing to ``top`` at the upper edge, and in ASCII as many rows high as wanted."""
    shown = [min(1.0, value / top) for value in values]
    if not look.glyphs.plot:
        return _braille([max(1, round(share * rows * LEVELS)) for share in shown[-2 * width :]], width, rows)
    levels = look.glyphs.plot
    heights = [max(1, round(share * rows * len(levels))) for share in shown[-width:]]
    lines = []
    for level in range(rows - 1, -1, -1):
        cells = (min(len(levels), height - level * len(levels)) for height in heights)
        lines.append("".join(levels[cell - 1] if cell > 0 else " " for cell in cells).ljust(width))
    return lines


def _braille(heights: Sequence[int], width: int, rows: int) -> list[str]:
    """Columns of so many dots each, two to a cell."""
    paired = [*heights, *([0] * (len(heights) % 2))]
    lines = []
    for level in range(rows - 1, -1, -1):
        base = level * LEVELS
        cells = [_cell(paired[i] - base, paired[i + 1] - base) for i in range(0, len(paired), 2)]
        lines.append("".join(cells).ljust(width))
    return lines


def _cell(left: int, right: int) -> str:
    bits = sum(_LEFT[: max(0, min(LEVELS, left))]) + sum(_RIGHT[: max(0, min(LEVELS, right))])
    return chr(0x2800 + bits) if bits else " "


def _ascii(levels: str, values: Sequence[float], width: int) -> str:
    shown = values[-width:]
    peak = max(shown, default=0.0)
    top = len(levels) - 1
    return "".join(levels[round(value / peak * top) if peak else 0] for value in shown).ljust(width)
