"""Reads an SVG picture of a screen back into rows of text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

from geode_tui.tui.svg import BASELINE, CELL_HEIGHT, CELL_WIDTH

NAMESPACE = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Piece:
    """A text element: its place and width in cells."""

    row: int
    x: int
    width: int
    text: str
    fill: str


class Picture:
    """See the module. Fails for anything that is not well-formed XML."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.root = ElementTree.fromstring(source)
        _, _, width, height = map(int, self.root.attrib["viewBox"].split())
        self.size = (width // CELL_WIDTH, height // CELL_HEIGHT)

    @property
    def names(self) -> set[str]:
        """Names of all elements."""
        return {element.tag.removeprefix(NAMESPACE) for element in self.root.iter()}

    @property
    def title(self) -> str:
        return self.root.findtext(f"{NAMESPACE}title") or ""

    @property
    def rects(self) -> list[dict[str, str]]:
        return [element.attrib for element in self.root.iter(f"{NAMESPACE}rect")]

    @property
    def ground(self) -> str:
        """The colour of the plane below everything."""
        return self.rects[0]["fill"]

    @property
    def pieces(self) -> list[Piece]:
        """All text elements, row by row."""
        out = []
        for group in self.root.iter(f"{NAMESPACE}g"):
            moved = re.fullmatch(r"translate\(0 (\d+)\)", group.get("transform", ""))
            for text in group.iter(f"{NAMESPACE}text"):
                assert moved is not None
                x, width = float(text.attrib["x"]), int(text.attrib["textLength"])
                row = (int(moved[1]) - BASELINE) // CELL_HEIGHT
                out.append(Piece(row, int(x) // CELL_WIDTH, width // CELL_WIDTH, text.text or "", text.attrib["fill"]))
        return out

    def rows(self) -> list[str]:
        """The text of each row; a gap between pieces reads as spaces."""
        rows = [""] * self.size[1]
        ends = [0] * self.size[1]
        for piece in self.pieces:
            assert piece.x >= ends[piece.row], f"overlaps what is before it: {piece}"
            rows[piece.row] += " " * (piece.x - ends[piece.row]) + piece.text
            ends[piece.row] = piece.x + piece.width
        return rows

    def sees(self, text: str) -> bool:
        return any(text in row for row in self.rows())
