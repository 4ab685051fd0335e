"""How events are drawn: a row each, and the payload of one that is open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.core.events import EventRow
from geode_tui.tui.cells import chop_starts, cut_end, expand_tabs, pad, segments_width
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.view.event_line import event_level, event_line

OPEN_BYTES = 65_536
"""Most characters of a payload that is opened."""
NARROW = 60
"""Cells below which the columns are shorter."""
LEAST_TEXT = 12
"""Cells below which an event's own words are left out."""
_KEY = re.compile(r'(\s*)("(?:[^"\\]|\\.)*")(: )(.*)\Z')


class EventLines(msgspec.Struct, frozen=True):
    """Draws rows of ``width`` cells; ``focused`` when keys work the list."""

    look: Look
    width: int
    focused: bool

    @property
    def _time(self) -> int:
        return 8 if self.width < NARROW else 12

    @property
    def _name(self) -> int:
        return 20 if self.width < NARROW else 25

    def heads(self) -> Strip:
        """The names of the columns."""
        palette, t = self.look.palette, self.look.t
        text = f" {pad(t('events.time'), self._time)} {pad(t('events.round'), 4, right=True)}   {t('events.event')}"
        return self._row([Segment(text, palette.style(palette.muted))], palette.style(palette.text, palette.base))

    def line(self, event: EventRow, *, selected: bool) -> Strip:
        """One event: time, round, symbol, name, and what it says."""
        palette, glyphs = self.look.palette, self.look.glyphs
        symbol, color = self._mark(event)
        lit = selected and self.focused
        dim = palette.style(palette.text if lit else palette.muted)
        at = datetime.fromtimestamp(event.ts).astimezone().strftime("%H:%M:%S.%f")[: self._time]
        bar = Segment(glyphs.prompt if glyphs.ascii else " ", palette.style(palette.base, palette.accent, reverse=True))
        name = pad(cut_end(self.look.line(event.event, 40), self._name, glyphs.cut), self._name)
        cells = [
            bar if lit else Segment(" "),
            Segment(f"{at} {event.round or '-':>4} ", dim),
            Segment(pad(symbol, 2), palette.style(color, bold=True)),
            Segment(f"{name} ", palette.style(palette.text, bold=bool(symbol))),
        ]
        if self.width - 2 - segments_width(cells) >= LEAST_TEXT:
            cells.append(Segment(self.look.line(event_line(event.event, event.payload), 300), dim))
        fill = palette.style(palette.text, palette.base)
        if selected:
            fill = palette.style(palette.text, palette.select if self.focused else palette.panel, reverse=lit)
        return self._row(cells, fill)

    def _mark(self, event: EventRow) -> tuple[str, str]:
        palette, glyphs = self.look.palette, self.look.glyphs
        if event.event == "tool_approval_requested":
            return glyphs.needs_you, palette.accent
        marks = {"warning": (glyphs.warning, palette.warn), "error": (glyphs.failed, palette.crit)}
        return marks.get(event_level(event.event, event.payload), ("", palette.text))

    def payload(self, event: EventRow, session: str, room: int) -> list[Strip]:
        """The open event in at most ``room`` rows: its name and place, then its JSON."""
        palette, look = self.look.palette, self.look
        fill = palette.style(palette.text, palette.surface)
        title = f"{look.glyphs.open} {look.line(event.event, 40)}"
        where = look.t(
            "events.where", id=fmt.number(event.id), session=session, turn=event.turn, round=event.round or "-"
        )
        head = [
            Segment(title, palette.style(palette.accent, bold=True)),
            Segment(f"  {where}", palette.style(palette.muted)),
        ]
        lines = self._json(event.payload, max(2, self.width - 4))
        if len(lines) > room - 1:
            lines = lines[: max(0, room - 2)]
            lines.append([Segment(look.t("events.more_lines"), palette.style(palette.muted))])
        return [self._row(cells, fill, margin=2) for cells in [head, *lines]][:room]

    def _json(self, payload: str, width: int) -> list[list[Segment]]:
        lines = self.look.text(pretty(payload)).split("\n")
        return [part for line in lines for part in _chopped(self._coloured(expand_tabs(line)), width)]

    def _coloured(self, line: str) -> list[Segment]:
        palette = self.look.palette
        match = _KEY.match(line)
        if match is None:
            return [Segment(line, self._value(line.lstrip()))]
        space, key, colon, value = match.groups()
        return [
            Segment(space + key, palette.style(palette.info)),
            Segment(colon, palette.style(palette.muted)),
            Segment(value, self._value(value)),
        ]

    def _value(self, value: str) -> Style:
        palette = self.look.palette
        if value[:1] == '"':
            return palette.style(palette.code)
        return palette.style(palette.muted if value[:1] in "{}[]" else palette.warn)

    def _row(self, cells: Sequence[Segment], fill: Style, *, margin: int = 1) -> Strip:
        return row(cells, [], self.width, fill, self.look.glyphs.cut, margin=margin)


def pretty(payload: str) -> str:
    """A payload's JSON as a person reads it; what is no JSON stays as it is. At most `OPEN_BYTES` of it."""
    text = payload[:OPEN_BYTES]
    try:
        return msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:
        return text


def _chopped(cells: Sequence[Segment], width: int) -> list[list[Segment]]:
    """``cells`` broken wherever a line of ``width`` cells is full."""
    starts = chop_starts("".join(cell.text for cell in cells), width)
    lines: list[list[Segment]] = []
    for begin, end in zip(starts, [*starts[1:], None], strict=True):
        line, at = [], 0
        for text, style, _ in cells:
            part = text[max(0, begin - at) : None if end is None else max(0, end - at)]
            at += len(text)
            if part:
                line.append(Segment(part, style))
        lines.append(line)
    return lines
