"""A screen as an SVG picture: lines of styled cells in, one text of SVG out.

Every run of text stands at its own cell and states its own width, so that columns hold whatever font draws them and
however wide it draws Hangul or a symbol (SCREENS.md 12). Nothing in the picture depends on the time or the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias
from xml.sax.saxutils import escape

import msgspec
from rich.cells import split_graphemes
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

CELL_WIDTH = 12
CELL_HEIGHT = 24
"""Pixels of a cell; whole numbers, so that neighbouring backgrounds leave no seam."""
FONT_SIZE = 19.93
"""At this size DejaVu Sans Mono advances by 12 px (its advance is 1233/2048 em)."""
WIDE_SPACING = round(2 * CELL_WIDTH - FONT_SIZE, 2)
"""Pixels after a character of two cells, which advances by one em in every font."""
BASELINE = 18
UNDERLINE = 21
STRIKE = 12
FONTS = "'DejaVu Sans Mono', Menlo, 'SF Mono', Consolas, 'Noto Sans Mono CJK KR', D2Coding, 'Noto Sans Mono', monospace"
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Ink(msgspec.Struct, frozen=True):
    """How a run is drawn: ``color`` and ``ground`` are ``#rrggbb``."""

    color: str
    ground: str
    bold: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    dim: bool = False


Kind: TypeAlias = Literal["ascii", "wide", "other"]


class Run(msgspec.Struct, frozen=True):
    """A piece of a line that is drawn at once: ``x`` and ``width`` in cells."""

    x: int
    width: int
    text: str
    kind: Kind = "ascii"


class Box(msgspec.Struct):
    """A filled rectangle, in pixels."""

    x: int
    y: int
    width: int
    height: int
    color: str


def svg(
    lines: Sequence[Iterable[Segment]], width: int, *, ink: str = "#ffffff", ground: str = "#000000", title: str = ""
) -> str:
    """The picture of ``lines`` on a screen ``width`` cells wide.

    Args:
        lines: One iterable of segments a line, control segments and newlines left out.
        width: Cells of a line; what is beyond is not shown.
        ink: Colour of text whose style has none.
        ground: Colour of the plane where a style has none.
        title: What a reader that does not see the picture is told.
    """
    inked = [_inked(line, ink, ground) for line in lines]
    size = f"{width * CELL_WIDTH} {len(lines) * CELL_HEIGHT}"
    root = f'viewBox="0 0 {size}" role="img" font-family="{FONTS}" font-size="{FONT_SIZE}px"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {root}>']
    if title:
        parts.append(f"<title>{_safe(title)}</title>")
    parts.append('<g shape-rendering="crispEdges">')
    parts.append(f'<rect width="100%" height="100%" fill="{ground}"/>')
    parts += (_rect(box) for box in _planes(inked, ground))
    parts += (_rect(box) for y, line in enumerate(inked) for box in _rules(line, y))
    parts.append("</g>")
    for y, line in enumerate(inked):
        row = "".join(_text(run, style) for x, text, style in line for run in runs(text, x))
        if row:
            parts.append(f'<g transform="translate(0 {y * CELL_HEIGHT + BASELINE})">{row}</g>')
    parts.append("</svg>\n")
    return "\n".join(parts)


def runs(text: str, x: int = 0) -> Iterator[Run]:
    """``text`` from cell ``x`` on, cut where the width of a character changes.

    ASCII characters stay together, and so do those of two cells; any other may be drawn with a font of another advance
    and stands alone. Spaces at the ends of a run are left out: they draw nothing.
    """
    found: list[Run] = []
    for start, end, cells in split_graphemes(text)[0]:
        piece, last = text[start:end], found[-1] if found else None
        kind: Kind = "wide" if cells == 2 else "ascii" if piece.isascii() else "other"
        if last is not None and (not cells or (kind == last.kind and kind != "other")):
            found[-1] = Run(last.x, last.width + cells, last.text + piece, last.kind)
        elif cells:
            found.append(Run(x, cells, piece, kind))
        x += cells
    for run in found:
        yield from _trimmed(run)


def _trimmed(run: Run) -> Iterator[Run]:
    if run.kind == "other":  # a space here carries an accent
        yield run
        return
    text = run.text.rstrip(" ")
    width = run.width - (len(run.text) - len(text))
    left = len(text) - len(text.lstrip(" "))
    if text:
        yield Run(run.x + left, width - left, text[left:], run.kind)


Inked: TypeAlias = list[tuple[int, str, Ink]]
"""A line: where each piece begins (in cells), its text, and how it is drawn."""


def _inked(line: Iterable[Segment], ink: str, ground: str) -> Inked:
    out: Inked = []
    x = 0
    for text, style, control in line:
        if control or not text:
            continue
        drawn = _ink(style or Style.null(), ink, ground)
        if out and out[-1][2] == drawn:
            out[-1] = (out[-1][0], out[-1][1] + text, drawn)
        else:
            out.append((x, text, drawn))
        x += split_graphemes(text)[1]
    return out


def _ink(style: Style, ink: str, ground: str) -> Ink:
    color, plane = _hex(style.color, ink), _hex(style.bgcolor, ground)
    if style.reverse:
        color, plane = plane, color
    marks = (style.bold, style.italic, style.underline, style.strike, style.dim)
    return Ink(color, plane, *map(bool, marks))


def _hex(color: Color | None, default: str) -> str:
    return default if color is None or color.is_default else color.get_truecolor().hex


def _planes(lines: Sequence[Inked], ground: str) -> list[Box]:
    """Backgrounds that differ from ``ground``; equal ones below each other are one box."""
    boxes: list[Box] = []
    above: dict[tuple[int, int, str], Box] = {}
    for y, line in enumerate(lines):
        here: dict[tuple[int, int, str], Box] = {}
        for x, cells, color in _stretches(line):
            if color == ground:
                continue
            box = above.get((x, cells, color))
            if box is None:
                box = Box(x * CELL_WIDTH, y * CELL_HEIGHT, cells * CELL_WIDTH, 0, color)
                boxes.append(box)
            box.height += CELL_HEIGHT
            here[x, cells, color] = box
        above = here
    return boxes


def _stretches(line: Inked) -> Iterator[tuple[int, int, str]]:
    """(x, cells, colour) of each stretch of a line with one background."""
    start, cells, color = 0, 0, ""
    for x, text, ink in line:
        if ink.ground != color:
            if cells:
                yield start, cells, color
            start, cells, color = x, 0, ink.ground
        cells += split_graphemes(text)[1]
    if cells:
        yield start, cells, color


def _rules(line: Inked, y: int) -> Iterator[Box]:
    """Lines under and through text, drawn as a terminal does: over the spaces as well."""
    for x, text, ink in line:
        for wanted, offset in ((ink.underline, UNDERLINE), (ink.strike, STRIKE)):
            if wanted:
                cells = split_graphemes(text)[1]
                yield Box(x * CELL_WIDTH, y * CELL_HEIGHT + offset, cells * CELL_WIDTH, 1, ink.color)


def _rect(box: Box) -> str:
    return f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" fill="{box.color}"/>'


def _text(run: Run, ink: Ink) -> str:
    marks = "".join(
        mark
        for wanted, mark in (
            (ink.bold, ' font-weight="bold"'),
            (ink.italic, ' font-style="italic"'),
            (ink.dim, ' fill-opacity="0.6"'),
            (run.kind == "other", ' lengthAdjust="spacingAndGlyphs"'),
            (run.kind == "wide", f' letter-spacing="{WIDE_SPACING}"'),
            ("  " in run.text, ' xml:space="preserve"'),
        )
        if wanted
    )
    shift = WIDE_SPACING / 2 if run.kind == "wide" else 0  # half of the space after the last one goes before the first
    place = f'x="{run.x * CELL_WIDTH + shift:g}" textLength="{run.width * CELL_WIDTH}"'
    return f'<text {place} fill="{ink.color}"{marks}>{_safe(run.text)}</text>'


def _safe(text: str) -> str:
    """``text`` as XML may hold it."""
    return escape(_UNWRITABLE.sub("\ufffd", text))
