"""The selected run at a glance: its state and why, its figures, and the end of what its agent said."""

from __future__ import annotations

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import expand_tabs, line_starts
from geode_tui.tui.home_rows import HomeRow, mark
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.cost import cost_view, session_parts
from geode_tui.tui.widgets.gauge import Gauge, GaugeView
from geode_tui.tui.widgets.pane import Pane
from geode_tui.tui.widgets.runs import AIRY_FROM
from geode_tui.view.selectors import Status, state_line
from geode_tui.view.state import RunState

MOST_REASON = 4
"""Lines of a reason."""


class PeekView(msgspec.Struct, frozen=True):
    """What the column shows. ``said`` is raw text; None while it is not read yet."""

    row: HomeRow | None = None
    said: str | None = None


class Peek(Pane):
    """See the module."""

    def __init__(self, look: Look) -> None:
        super().__init__(look, id="peek")
        self.view = PeekView()

    @property
    def plane(self) -> Style:
        """The surface plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.surface)

    def show(self, view: PeekView) -> None:
        """Show ``view``; lines that do not differ are not painted."""
        if view != self.view:
            self.view = view
            if self.display:
                self.repaint()

    def build(self, size: Size) -> list[Strip]:
        """The parts from the top, and in what remains the last lines that were said."""
        one = self.view.row
        if one is None:
            return []
        width = size.width - 2
        parts: list[list[Segment]] = [[]] if size.height >= AIRY_FROM else []
        parts += [self._heading(self.look.t("home.peek")), *self._wrapped(self._title(one), width, bold=True, most=2)]
        if one.status is not None and one.run.state is not None:
            parts += self._facts(one, one.status, one.run.state, width)
        room = size.height - len(parts) - 2
        said = self._said(width)
        if said and room > 0:
            parts += [[], self._heading(self.look.t("home.said")), *said[-room:]]
        return [row(p, [], size.width, self.plane, self.look.glyphs.cut, margin=1) for p in parts]

    def _heading(self, text: str) -> list[Segment]:
        palette = self.look.palette
        return [Segment(text, palette.style(palette.accent, bold=True))]

    def _title(self, one: HomeRow) -> str:
        return self.look.line(one.run.title) or self.look.t("header.untitled")

    def _facts(self, one: HomeRow, status: Status, state: RunState, width: int) -> list[list[Segment]]:
        palette, look = self.look.palette, self.look
        symbol, color = mark(one, look)
        words = self._wrapped(state_line(state, status, look.strings), width - 2)
        route = f"{look.line(state.model, 40)}  {look.line(f'{state.provider}/{state.source}', 40)}"
        out = [[Segment(route, palette.style(palette.muted))], []]
        out += [[Segment("  "), *line] for line in words]
        out[2][0] = Segment(f"{symbol} ", palette.style(color, bold=True))
        for approval in list(state.approvals.values())[:3] if one.needs else ():
            text = look.t("home.wants", tool=look.line(approval.tool, 40), brief=look.line(approval.brief))
            out += self._wrapped(text, width, most=MOST_REASON)
        if state.ended_detail and not state.turn_open:
            out += self._wrapped(look.line(state.ended_detail, 400), width, muted=True, most=MOST_REASON)
        gauge = Gauge(GaugeView(state.context), look)
        out += [[], [*gauge.head(), Segment("  "), *gauge.amount()]]
        if state.money.calls:
            out.append(session_parts(cost_view(state), look))
        rounds = look.t("home.rounds", n=fmt.number(state.rounds_total), messages=fmt.number(state.messages))
        return [*out, [Segment(rounds, palette.style(palette.muted))]]

    def _said(self, width: int) -> list[list[Segment]]:
        if self.view.said is None:
            return []
        if not self.view.said.strip():
            return self._wrapped(self.look.t("home.said_nothing"), width, muted=True)
        lines: list[list[Segment]] = []
        for line in self.look.text(self.view.said).strip().split("\n"):
            lines += self._wrapped(expand_tabs(line), width) if line.strip() else [[]]
        return lines

    def _wrapped(
        self, text: str, width: int, *, bold: bool = False, muted: bool = False, most: int = 0
    ) -> list[list[Segment]]:
        palette = self.look.palette
        style = palette.style(palette.muted if muted else palette.text, bold=bold)
        starts = line_starts(text, max(1, width))
        lines = [text[a:b].rstrip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        if most and len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1]}{self.look.glyphs.cut}"]
        return [[Segment(line, style)] for line in lines]
