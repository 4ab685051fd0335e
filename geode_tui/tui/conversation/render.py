"""Pieces into strips: wrapping, tables, code and diffs, each line exactly as wide as it may be.

Lines begin in column 0 of the widget with the margin, so a strip is drawn as it is. No strip holds a control
character, whatever the text was, and none is wider than the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from geode_tui.tui.cells import chop_starts, cut_segments, expand_tabs, line_starts, segments_width, take, width_of
from geode_tui.tui.conversation.blocks import Code, Piece, Plain, Prose, Run, Table
from geode_tui.tui.conversation.highlight import tokens_of
from geode_tui.tui.conversation.ink import ACCENT, BOLD, MARGIN, QUOTE, RIGHT, Ink

Row = list[Segment]
"""The segments of one line, without margin."""

COLUMN_GAP = 2
RULE = 24
"""Cells of a thematic break."""


class Page:
    """What is drawn on: colours, glyphs and a width in cells, margins included."""

    def __init__(self, ink: Ink, width: int) -> None:
        self.ink = ink
        self.width = max(1, width)
        self.body = max(1, width - MARGIN - RIGHT)
        """Cells for text."""

    def strip(self, row: Sequence[Segment], plane: Style | None = None) -> Strip:
        """A line of the page: margin, ``row``, and with a ``plane`` its background up to the right margin."""
        base = self.ink.base
        room = min(self.body, max(0, self.width - MARGIN))
        if segments_width(row) > room:
            row = cut_segments(row, room, "")
        segments = [Segment(" " * min(MARGIN, self.width), base), *row]
        fill = room - segments_width(row)
        if plane is not None and fill > 0:
            segments.append(Segment(" " * fill, plane))
        return Strip(segments)


def draw_piece(piece: Piece, page: Page) -> list[Strip]:
    """The lines of ``piece``, without the blank ones before it."""
    ink = page.ink
    room = max(1, page.body - _prefix_width(piece, page))
    plane: Style | None = None
    match piece:
        case Prose():
            rows = prose_rows(piece.runs, room, ink, heading=piece.heading)
        case Code():
            rows = code_rows("\n".join(piece.lines), piece.language, room, ink)
            plane = ink.role("text", "surface")
        case Table():
            rows = table_rows(piece, room, ink)
        case Plain():
            rows = plain_rows(piece.text, room, ink.base)
        case _:
            rows = [[Segment("-" * min(room, RULE), ink.muted)]]
    return [page.strip(row, plane) for row in _prefixed(piece, page, rows)]


def _prefix_width(piece: Piece, page: Page) -> int:
    """Cells of what stands before each line; none where it would leave the text less than half of the page."""
    width = sum(width_of(text) for text, _ in piece.rest)
    return width if width * 2 <= page.body else 0


def _prefixed(piece: Piece, page: Page, rows: Iterable[Row]) -> Iterator[Row]:
    shown = _prefix_width(piece, page) > 0
    for number, row in enumerate(rows):
        runs = piece.rest if number else piece.lead
        yield [*(_prefix(run, page.ink) for run in runs), *row] if shown else row


def _prefix(run: Run, ink: Ink) -> Segment:
    text, flags = run
    if flags & QUOTE:
        text = ink.glyphs.mark + " "
    return Segment(text, ink.style(flags, "base"))


def prose_rows(runs: Sequence[Run], room: int, ink: Ink, *, heading: int = 0, plane: str = "base") -> list[Row]:
    """Styled text wrapped at words."""
    extra = 0
    if heading:
        extra = BOLD if heading > 2 else BOLD | ACCENT
    rows: list[Row] = []
    for line in _hard_lines(runs):
        text = "".join(part for part, _ in line)
        starts = line_starts(text, room)
        rows += _slices([(part, ink.style(flags | extra, plane)) for part, flags in line], text, starts)
    return rows


def _hard_lines(runs: Sequence[Run]) -> Iterator[list[Run]]:
    line: list[Run] = []
    for text, flags in runs:
        first, *more = text.split("\n")
        line.append((first, flags))
        for part in more:
            yield line
            line = [(part, flags)]
    yield line


def _slices(parts: Sequence[tuple[str, Style]], text: str, starts: Sequence[int]) -> Iterator[Row]:
    """The styled ``parts`` of ``text`` cut at ``starts``; spaces at a line's end are left out."""
    parts = [part for part in parts if part[0]]
    index, offset = 0, 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        stop = start + len(text[start:end].rstrip(" "))
        row: Row = []
        while index < len(parts) and offset < end:
            part, style = parts[index]
            shown = part[max(0, start - offset) : max(0, stop - offset)]
            if shown:
                row.append(Segment(shown, style))
            if offset + len(part) > end:
                break
            offset += len(part)
            index += 1
        yield row


def plain_rows(text: str, room: int, style: Style) -> list[Row]:
    """Text as it is, wrapped at words."""
    rows: list[Row] = []
    for line in text.split("\n"):
        line = expand_tabs(line)
        starts = line_starts(line, room)
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            shown = line[start:end].rstrip(" ")
            rows.append([Segment(shown, style)] if shown else [])
    return rows


def code_rows(text: str, language: str, room: int, ink: Ink) -> list[Row]:
    """Code on its plane, broken where a line is full."""
    return list(_code_lines(tokens_of(text, language), room, ink))


def _code_lines(tokens: Iterable[tuple[str, str, bool]], room: int, ink: Ink) -> Iterator[Row]:
    mark = _code_mark(ink, room)
    inner = max(1, room - width_of(mark.text))
    line: list[tuple[str, Style]] = []
    column = 0
    for text, role, italic in tokens:
        style = ink.role(role, "surface", italic=italic)
        first, *more = text.split("\n")
        first = expand_tabs(first, column)
        line.append((first, style))
        column += width_of(first)
        for part in more:
            yield from _chopped(line, inner, mark)
            part = expand_tabs(part)
            line, column = [(part, style)], width_of(part)
    yield from _chopped(line, inner, mark)


def _code_mark(ink: Ink, room: int) -> Segment:
    """What stands before a line of code: two cells of its plane, or a mark where planes cannot be seen."""
    text = ink.glyphs.mark + " " if ink.flat else "  "
    return Segment(text if room >= 12 else "", ink.role("muted", "surface"))


def _chopped(line: Sequence[tuple[str, Style]], room: int, mark: Segment) -> Iterator[Row]:
    text = "".join(part for part, _ in line)
    for row in _slices(line, text, chop_starts(text, room)):
        yield [mark, *row] if mark.text else row


def table_rows(piece: Table, room: int, ink: Ink) -> list[Row]:
    """A table with its columns aligned by cells; cells wrap where the table is wider than the page, and a table of
    more columns than fit is shown as lines of text.
    """
    widths = _fit_columns(piece.widths, room)
    records = [(row, BOLD) for row in (piece.header,) if row] + [(row, 0) for row in piece.rows]
    if not widths:
        return [
            row
            for cells, extra in records
            for row in prose_rows([(t, f | extra) for cell in cells for t, f in (*cell, ("  ", 0))], room, ink)
        ]
    return [row for cells, extra in records for row in _record(cells, extra, widths, piece.aligns, ink)]


def _fit_columns(natural: Sequence[int], room: int) -> list[int]:
    """Column widths that fit into ``room``: the widest give way first. Empty where nothing readable fits."""
    space = room - COLUMN_GAP * (len(natural) - 1)
    if space < 3 * len(natural):
        return []
    widths = [max(1, width) for width in natural]
    over = sum(widths) - space
    while over > 0:
        widest = max(widths)
        wide = [index for index, width in enumerate(widths) if width == widest]
        below = max((width for width in widths if width < widest), default=0)
        step = max(1, min(widest - below, -(-over // len(wide))))
        for index in wide:
            widths[index] -= min(step, over)
            over -= min(step, over)
    return widths


def _record(cells: Sequence[Sequence[Run]], extra: int, widths: Sequence[int], aligns: str, ink: Ink) -> Iterator[Row]:
    columns = [
        prose_rows([(text, flags | extra) for text, flags in cell], width, ink)
        for cell, width in zip(cells, widths, strict=True)
    ]
    for number in range(max(len(column) for column in columns)):
        row: Row = []
        for column, width, align in zip(columns, widths, aligns, strict=True):
            content = column[number] if number < len(column) else []
            content = cut_segments(content, width, "") if content else []
            free = width - segments_width(content)
            left = free if align == "r" else free // 2 if align == "c" else 0
            row += [Segment(" " * left, ink.base), *content, Segment(" " * (free - left + COLUMN_GAP), ink.base)]
        yield row


def code_strips(line: str, language: str, indent: int, page: Page) -> list[Strip]:
    """One line of code, ``indent`` cells in."""
    rows = code_rows(line, language, max(1, page.body - indent), page.ink)
    return _indented(rows, indent, page, page.ink.role("text", "surface"))


def plain_strips(line: str, indent: int, page: Page) -> list[Strip]:
    """One line of plain text, ``indent`` cells in."""
    return _indented(plain_rows(line, max(1, page.body - indent), page.ink.base), indent, page, None)


def _indented(rows: Iterable[Row], indent: int, page: Page, plane: Style | None) -> list[Strip]:
    space = [Segment(" " * indent, page.ink.base)] if indent else []
    return [page.strip([*space, *row], plane) for row in rows]


def diff_row(sign: str, text: str, page: Page) -> list[Strip]:
    """One line that was added (``+``), removed (``-``) or kept (a space), on its plane."""
    ink = page.ink
    plane_name = {"+": "addbg", "-": "delbg"}.get(sign, "surface")
    plane = ink.role("text", plane_name)
    mark = Segment(
        take(f"{sign} ", page.body), ink.role({"+": "ok", "-": "crit"}.get(sign, "muted"), plane_name, bold=True)
    )
    inner = max(1, page.body - 2)
    text = expand_tabs(text)
    starts = chop_starts(text, inner)
    return [
        page.strip([mark, Segment(text[a:b], plane)], plane)
        for a, b in zip(starts, [*starts[1:], len(text)], strict=True)
    ]
