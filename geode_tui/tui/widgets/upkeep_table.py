"""What the steps of the window's upkeep cost and saved, as a table of the Cost tab. Nothing here has state."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.segment import Segment

from geode_tui.core import format as fmt
from geode_tui.tui.cells import cut_end, pad, width_of
from geode_tui.tui.look import Look
from geode_tui.view.cost import place_text, price_text, signed, step_name, upkeep_sum, verdict_text
from geode_tui.view.upkeep import Standing, Upkeep, total_of, verdict_of
from geode_tui.view.upkeep_step import Step

ROWS = 20
"""Steps that are listed, the newest."""
_PLACE, _LEAST = 9, 12
_COLUMNS = (("own", 9), ("break", 9), ("saved", 10), ("net", 9), ("pays", 19))
_KEPT_LONGEST = (3, 4, 2, 0, 1)
"""Columns by what is dropped last where there is no room."""


class UpkeepTable(msgspec.Struct, frozen=True):
    """Makes lines of at most ``width`` cells; ``place`` is the present turn and round."""

    look: Look
    width: int
    upkeep: Upkeep
    place: tuple[int, int]

    def head(self, title: Segment) -> tuple[list[Segment], list[Segment]]:
        """The sum of all steps at the left, and what is left of the savings at the right."""
        palette = self.look.palette
        total = total_of(self.upkeep)
        net = signed(total.net_micro if total.priced else None, self.look.strings)
        text = Segment(f"  {upkeep_sum(self.upkeep, self.look.strings)}", palette.style(palette.muted))
        return [title, text], [Segment(net, palette.style(bold=True))]

    def lines(self) -> list[list[Segment]]:
        """The names of the columns, and the steps, the newest first; nothing where there is no step."""
        steps, t = self.upkeep.steps, self.look.t
        if not steps:
            return []
        muted = self.look.palette.style(self.look.palette.muted)
        names = [t(f"upkeep.head_{name}") for name, _ in _COLUMNS]
        heads = [pad("", _PLACE), pad(t("upkeep.head_step"), self._rest), *self._cells(names)]
        out = [[Segment("".join(heads), muted)]]
        out += [self._line(step) for step in reversed(steps[-ROWS:])]
        if earlier := self.upkeep.older.steps + max(0, len(steps) - ROWS):
            out.append([Segment(t("upkeep.earlier", n=fmt.number(earlier)), muted)])
        return out

    def _line(self, step: Step) -> list[Segment]:
        palette, strings, now = self.look.palette, self.look.strings, self.upkeep.now
        verdict = verdict_of(step, self.upkeep, self.place)
        figures = [
            price_text(step.own_micro, strings),
            price_text(step.break_micro, strings),
            fmt.tokens(step.saved_by(now).tokens),
            signed(step.net_micro(now), strings),
            verdict_text(verdict, strings),
        ]
        name = step_name(step, strings)
        if width_of(name) >= self._rest:
            name = cut_end(step_name(step, strings, why=False), self._rest - 1, self.look.glyphs.cut)
        colours: dict[Standing, str] = {"paid_back": palette.ok, "never": palette.warn}
        styles = [palette.style(palette.muted)] * 3 + [
            palette.style(bold=True),
            palette.style(colours.get(verdict.standing, palette.text)),
        ]
        place = place_text(step.turn, step.round, strings)
        head = [Segment(pad(place, _PLACE), palette.style(bold=True)), Segment(pad(name, self._rest))]
        cells = zip(self._shown, self._cells(figures), strict=True)
        return [*head, *(Segment(text, styles[index]) for index, text in cells)]

    @property
    def _shown(self) -> list[int]:
        """The columns there is room for."""
        room, shown = self.width - _PLACE - _LEAST, []
        for index in _KEPT_LONGEST:
            room -= _COLUMNS[index][1]
            if room < 0:
                break
            shown.append(index)
        return sorted(shown)

    @property
    def _rest(self) -> int:
        """Cells that are left for what the step is."""
        return self.width - _PLACE - sum(_COLUMNS[index][1] for index in self._shown)

    def _cells(self, texts: Sequence[str]) -> list[str]:
        return [self._cell(texts[index], _COLUMNS[index][1]) for index in self._shown]

    def _cell(self, text: str, width: int) -> str:
        return pad(cut_end(text, width - 1, self.look.glyphs.cut), width, right=True)
