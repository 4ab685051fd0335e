"""The pages of the Cost tab as lines: the overview, the rounds, the months. Nothing here has state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TypeAlias

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import cut_end, pad, segments_width, spread, width_of
from geode_tui.tui.look import Look
from geode_tui.tui.rows import fit, row
from geode_tui.tui.widgets.plots import columns, thin_bar
from geode_tui.tui.widgets.upkeep_table import UpkeepTable
from geode_tui.view.cost import (
    MonthCost,
    RoundCost,
    amount,
    break_text,
    cause_text,
    has_upkeep,
    largest_first,
    note_lines,
    place_text,
    price_text,
    purpose_name,
    token_rows,
)
from geode_tui.view.forecast import Forecast, forecast_of
from geode_tui.view.gauge import span_text
from geode_tui.view.selectors import cache_hit_of
from geode_tui.view.state import CacheBreak, CacheLoss, Money, RoundFigures, RunState
from geode_tui.view.upkeep import Upkeep

TWO_COLUMNS_FROM = 76
"""Cells of the pane from which the overview has two columns."""
PLOT_ROWS = 5
BREAKS = 6
"""Cache breaks that are listed, the newest."""
BAR = 8
_AXIS, _GAP, _FIGURE = 8, 3, 9

Line: TypeAlias = list[Segment]


class CostTabView(msgspec.Struct, frozen=True):
    """What the tab shows of a run; money in micro-dollars, rounds and breaks the newest, oldest first."""

    money: Money = Money()
    turn: Money = Money()
    budget: int = 0
    simulated: bool = False
    by_model: dict[str, Money] = {}
    by_purpose: dict[str, Money] = {}
    rounds: tuple[RoundFigures, ...] = ()
    breaks: tuple[CacheBreak, ...] = ()
    loss: CacheLoss = CacheLoss()
    ahead: Forecast | None = None
    upkeep: Upkeep = msgspec.field(default_factory=Upkeep)
    place: tuple[int, int] = (0, 0)
    """The present turn and round."""

    @classmethod
    def of(cls, state: RunState) -> CostTabView:
        """The tab's slice of ``state``."""
        return cls(
            state.money,
            state.turn_money,
            state.limits.cost_budget_micro,
            state.simulated,
            dict(state.by_model),
            dict(state.by_purpose),
            tuple(state.rounds),
            tuple(state.cache_breaks),
            state.cache_loss,
            forecast_of(state),
            state.upkeep,
            (state.turn, state.round),
        )


class CostPage(msgspec.Struct, frozen=True):
    """Draws lines of ``width`` cells; ``focused`` when keys work the pane."""

    look: Look
    width: int
    focused: bool

    # -- rows ---------------------------------------------------------------------------------------------------------
    def strip(self, left: Sequence[Segment], right: Sequence[Segment] = (), fill: Style | None = None) -> Strip:
        """One row on the base plane, or on ``fill``."""
        palette = self.look.palette
        return row(
            left, right, self.width, fill or palette.style(palette.text, palette.base), self.look.glyphs.cut, margin=1
        )

    def _muted(self) -> Style:
        return self.look.palette.style(self.look.palette.muted)

    def _heading(self, key: str) -> Segment:
        palette = self.look.palette
        return Segment(self.look.t(key), palette.style(palette.accent, bold=True, underline=self.focused))

    def _pair(self, name: str, figure: str, width: int, *, bold: bool = False) -> Line:
        """A name at the left and a figure at the right of ``width`` cells."""
        style = self.look.palette.style(self.look.palette.text, bold=bold)
        return spread([Segment(name)], [Segment(figure, style)], width, self.look.glyphs.cut)

    # -- overview -----------------------------------------------------------------------------------------------------
    def overview(self, view: CostTabView, month: MonthCost | None) -> list[Strip]:
        """Session, turn and month; what rounds cost; tokens, purposes, models; the cache."""
        inner = self.width - 2
        two = self.width >= TWO_COLUMNS_FROM
        left = (inner - _GAP) * 3 // 5 if two else inner
        right = inner - _GAP - left if two else inner
        lines = [self.strip(self.total(view, month))]
        if ahead := self._lasts(view):
            lines.append(self.strip([Segment(ahead, self._muted())]))
        lines.append(self.strip([]))
        plot, purposes = self._plot(view, left), self._parts("cost.by_purpose", view.by_purpose, right, bars=True)
        tokens, models = self._tokens(view.money, left), self._parts("cost.by_model", view.by_model, right)
        for one, other in ((plot, purposes), (tokens, models)):
            lines += self._beside(one, other, left) if two else self._stacked(one, other)
        lines += [self.strip(parts, tail) for parts, tail in self._cache(view)]
        if has_upkeep(view.upkeep):
            table = UpkeepTable(self.look, inner, view.upkeep, view.place)
            lines += [self.strip([]), self.strip(*table.head(self._heading("upkeep.title")))]
            lines += [self.strip(line) for line in table.lines()]
        if notes := note_lines(view.money, self.look.strings):
            lines += [self.strip([]), *(self.strip([Segment(note, self._muted())]) for note in notes)]
        return lines

    def total(self, view: CostTabView, month: MonthCost | None) -> Line:
        """``Cost  this session $1.84 of $5.00   this turn $0.41   month $42.10``, as much as fits."""
        t, palette = self.look.t, self.look.palette
        bold, muted = palette.style(bold=True), self._muted()
        session = [
            self._heading("section.cost"),
            Segment(f"  {t('cost.this_session')} ", muted),
            Segment(amount(view.money, self.look.strings), bold),
        ]
        if view.simulated:
            session.append(Segment(f" {t('cost.simulated')}", palette.style(palette.warn, bold=True)))
        if view.budget:
            share = fmt.percent(view.money.cost_micro, view.budget)
            session.append(Segment(f" {t('cost.of', budget=fmt.money(view.budget))}  {share}", muted))
        groups = [session]
        groups.append([Segment(f"{t('cost.this_turn')} ", muted), Segment(amount(view.turn, self.look.strings), bold)])
        if month is not None:
            text = amount(month.money, self.look.strings)
            groups.append([Segment(f"{t('cost.month')} ", muted), Segment(text, bold)])
        return fit(groups, self.width - 2, _GAP)

    def _lasts(self, view: CostTabView) -> str:
        if view.ahead is None or view.ahead.cost is None:
            return ""
        return self.look.t("cost.lasts", n=span_text(view.ahead.cost))

    def _beside(self, one: list[Line], other: list[Line], left: int) -> list[Strip]:
        none: Line = []
        rows = zip_longest(one, other, fillvalue=none)
        cut = self.look.glyphs.cut
        return [self.strip([*spread(a, [], left, cut), Segment(" " * _GAP), *b]) for a, b in rows] + [self.strip([])]

    def _stacked(self, one: list[Line], other: list[Line]) -> list[Strip]:
        made: list[Strip] = []
        for lines in (one, other):
            made += [*(self.strip(line) for line in lines), self.strip([])] if lines else []
        return made

    def _plot(self, view: CostTabView, width: int) -> list[Line]:
        """What each of the newest rounds cost, from nothing to the dearest, and where caches broke."""
        known = [r for r in view.rounds if r.cost_micro is not None]
        room = width - _AXIS
        if len(known) < 2 or room < 10:
            return []
        palette, a_cell = self.look.palette, 1 if self.look.glyphs.plot else 2
        shown = known[-room * a_cell :]
        costs = [float(r.cost_micro or 0) for r in shown]
        top = max(costs) or 1.0
        labels = {0: top, PLOT_ROWS // 2: top / 2, PLOT_ROWS - 1: 0.0}
        ink = palette.style(palette.accent)
        out: list[Line] = [[self._heading("cost.plot")]]
        for number, line in enumerate(columns(self.look, costs, room, PLOT_ROWS, top)):
            label = fmt.money(round(labels[number])) if number in labels else ""
            out.append([Segment(pad(label, _AXIS), self._muted()), Segment(line, ink)])
        return [*out, self._axis(shown, a_cell, view.breaks)]

    def _axis(self, shown: Sequence[RoundFigures], a_cell: int, breaks: Sequence[CacheBreak]) -> Line:
        """The numbers of the first and the last round, and of those with a cache break, where they do not touch."""
        palette, glyphs = self.look.palette, self.look.glyphs
        broken = {(one.turn, one.round) for one in breaks}
        marks = [(i // a_cell, r) for i, r in enumerate(shown) if (r.turn, r.round) in broken]
        cells = -(-len(shown) // a_cell)
        last = self.look.t("round.column", n=shown[-1].round)
        first = self.look.t("round.column", n=shown[0].round)
        out, at, end = [Segment(" " * _AXIS), Segment(first, self._muted())], width_of(first), cells - width_of(last)
        for column, one in marks:
            text = f"{glyphs.masked}{one.round}"
            if at < column and column + width_of(text) < end:
                out += [Segment(" " * (column - at)), Segment(text, palette.style(palette.crit))]
                at = column + width_of(text)
        return [*out, Segment(" " * max(1, end - at)), Segment(last, self._muted())]

    def _tokens(self, money: Money, width: int) -> list[Line]:
        rows = token_rows(money.usage)
        none = self.look.glyphs.none
        width = min(width, 44)
        out: list[Line] = [[self._heading("cost.tokens")]]
        for kind, tokens in rows:
            figure = none if tokens is None else fmt.tokens(tokens)
            out.append(self._pair(self.look.t(f"tokens.{kind}"), figure, width))
        return out

    def _parts(self, title: str, parts: Mapping[str, Money], width: int, *, bars: bool = False) -> list[Line]:
        """Parts of the cost with a bar each, the dearest first."""
        if not parts:
            return []
        known = largest_first(parts)
        whole = sum(part.cost_micro for _, part in known)
        width = min(width, 60)
        out: list[Line] = [[self._heading(title)]]
        for number, (name, part) in enumerate(known):
            shown = purpose_name(name, self.look.strings) if bars else self.look.line(name, 40)
            figure = pad(amount(part, self.look.strings), _FIGURE, right=True)
            style = self.look.palette.style(self.look.palette.text, bold=not number)
            right = [Segment(figure, style)]
            if bars and whole and width >= 30:
                right = [*thin_bar(self.look, part.cost_micro, whole, BAR), *right]
            out.append(spread([Segment(shown)], right, width, self.look.glyphs.cut))
        return out

    def _cache(self, view: CostTabView) -> list[tuple[Line, Line]]:
        """How much was read from the cache, and each time it was not."""
        t, palette, glyphs = self.look.t, self.look.palette, self.look.glyphs
        hit = cache_hit_of(view.money.usage)
        muted = self._muted()
        head = [self._heading("cost.cache"), Segment("  ")]
        if hit is None:
            return [([*head, Segment(t("cost.cache_unknown"), muted)], [])]
        head.append(Segment(t("cost.hit_rate", percent=fmt.percent(hit, 1))))
        if not view.loss.breaks:
            return [([*head, Segment(f"  {t('cost.no_breaks')}", muted)], [])]
        tokens = fmt.tokens(view.loss.tokens)
        head.append(Segment(f"  {t('cost.breaks', n=fmt.number(view.loss.breaks), tokens=tokens)}", muted))
        cost = [Segment(fmt.money(view.loss.cost_micro), palette.style(bold=True))]
        out: list[tuple[Line, Line]] = [(head, cost)]
        for one in reversed(view.breaks[-BREAKS:]):
            left = [
                Segment(f"{glyphs.masked} ", palette.style(palette.crit, bold=True)),
                Segment(pad(place_text(one.turn, one.round, self.look.strings), 9), palette.style(bold=True)),
                Segment(break_text(one, self.look.strings)),
            ]
            price = price_text(one.cost_micro, self.look.strings)
            out.append((left, [Segment(f"{fmt.tokens(one.tokens)} tok", muted), Segment(pad(price, 9, right=True))]))
        return out

    # -- rounds -------------------------------------------------------------------------------------------------------
    def round_heads(self) -> Strip:
        """The names of the columns."""
        t = self.look.t
        names = ("round", "prompt", "read", "written", "out", "hit", "cost")
        return self.strip([Segment(self._columns([t(f"cost.head_{name}") for name in names]), self._muted())])

    def round_line(self, one: RoundCost, *, selected: bool) -> Strip:
        """One round."""
        palette, glyphs = self.look.palette, self.look.glyphs
        lit = selected and self.focused
        usage = one.money.usage
        written = (usage.cache_write_5m_tokens or 0) + (usage.cache_write_1h_tokens or 0)
        hit = cache_hit_of(usage)
        figures = [
            place_text(one.turn, one.round, self.look.strings),
            fmt.tokens(usage.prompt_tokens),
            glyphs.none if usage.cache_read_tokens is None else fmt.tokens(usage.cache_read_tokens),
            fmt.tokens(written) if written else glyphs.none,
            fmt.tokens(usage.output_tokens),
            glyphs.none if hit is None else fmt.percent(hit, 1),
            amount(one.money, self.look.strings),
        ]
        text = Segment(self._columns(figures)[1:], palette.style(palette.text))
        bar = Segment(glyphs.prompt if glyphs.ascii else " ", palette.style(palette.base, palette.accent, reverse=True))
        left = [bar if lit else Segment(" "), text]
        note = self._round_note(one)
        if segments_width(left) + width_of(note) + 4 <= self.width:
            left.append(Segment(f"  {note}", palette.style(palette.warn)))
        fill = palette.style(palette.text, palette.base)
        if selected:
            fill = palette.style(palette.text, palette.select if self.focused else palette.panel, reverse=lit)
        return self.strip(left, fill=fill)

    def _columns(self, cells: Sequence[str]) -> str:
        """Cells of a row of the table; the figures that do not fit are dropped from the middle (SCREENS.md 6)."""
        widths = (11, 9, 9, 9, 9, 7, 11)
        order = (0, 6, 1, 4, 2, 5, 3)
        kept, room = set(), self.width - 2
        for index in order:
            room -= widths[index]
            if room < 0:
                break
            kept.add(index)
        shown = [pad(cut_end(cells[i], widths[i] - 1, ""), widths[i], right=True) for i in sorted(kept) if i]
        return " " + pad(cut_end(cells[0], widths[0] - 1, ""), widths[0] - 1) + "".join(shown)

    def _round_note(self, one: RoundCost) -> str:
        parts = [cause_text(cause, self.look.strings) for cause in one.breaks]
        if one.money.failed_calls:
            parts.insert(0, self.look.t("cost.failed_short", n=one.money.failed_calls))
        return f"{self.look.glyphs.masked} {', '.join(parts)}" if parts else ""

    # -- months -------------------------------------------------------------------------------------------------------
    def months(self, months: Sequence[MonthCost]) -> list[Strip]:
        """Each month of the ledger, and its models."""
        palette, width = self.look.palette, min(self.width - 2, 64)
        lines: list[Strip] = []
        for one in months:
            calls = self.look.t("cost.calls", n=fmt.number(one.money.calls))
            head = [Segment(one.month, palette.style(bold=True)), Segment(f"  {calls}", self._muted())]
            total = [Segment(amount(one.money, self.look.strings), palette.style(bold=True))]
            lines.append(self.strip(spread(head, total, width, self.look.glyphs.cut)))
            for name, part in largest_first(one.by_model):
                text = f"  {self.look.line(name, 40)}"
                lines.append(self.strip(self._pair(text, amount(part, self.look.strings), width)))
        return lines
