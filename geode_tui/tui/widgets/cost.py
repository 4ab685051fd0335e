"""The cost meter of the side column: what the run and this turn cost, against which budget."""

from __future__ import annotations

import msgspec
from rich.segment import Segment

from geode_tui.core import format as fmt
from geode_tui.core.usage import Usage
from geode_tui.tui.look import Look
from geode_tui.tui.rows import fit
from geode_tui.tui.widgets.gauge import chip
from geode_tui.tui.widgets.plots import sparkline, thin_bar
from geode_tui.view.cost import amount, break_text, price_text
from geode_tui.view.selectors import cache_hit
from geode_tui.view.state import CacheBreak, Money, RoundFigures, RunState

WARN_AT = 0.8
"""The part of a budget at which the run is warned (RUNTIME.md 8.2)."""
PLOT_ROWS = 2


class CostView(msgspec.Struct, frozen=True):
    """What the meter shows; money in micro-dollars. ``rounds`` are the newest, oldest first."""

    money: Money
    turn: Money
    budget: int
    rounds: tuple[RoundFigures, ...]
    hit: float | None
    simulated: bool
    broke: CacheBreak | None = None
    """The newest cache break."""
    flash: bool = False
    """Whether 80 % of the budget were reached just now."""


def cost_view(state: RunState) -> CostView:
    """The meter's slice of a state."""
    return CostView(
        state.money,
        state.turn_money,
        state.limits.cost_budget_micro,
        tuple(state.rounds),
        cache_hit(state),
        state.simulated,
        state.cache_breaks[-1] if state.cache_breaks else None,
    )


def session_parts(view: CostView, look: Look) -> list[Segment]:
    """``$1.84 of $5.00  37 %``. What is not priced at all reads ``unpriced``; simulated money is marked."""
    palette = look.palette
    muted = palette.style(palette.muted)
    parts = [Segment(amount(view.money, look.strings), palette.style(bold=True))]
    if view.simulated:
        parts.append(Segment(f" {look.t('cost.simulated')}", palette.style(palette.warn, bold=True)))
    if view.budget:
        percent = fmt.percent(view.money.cost_micro, view.budget)
        parts += [
            Segment(f" {look.t('cost.of', budget=fmt.money(view.budget))}", muted),
            Segment("  "),
            chip(look, percent, palette.warn) if view.flash else Segment(percent),
        ]
    return parts


def hit_text(view: CostView, look: Look) -> str:
    """``cache hit 91 %``, empty where nothing is known."""
    return "" if view.hit is None else look.t("cost.hit", percent=fmt.percent(view.hit, 1))


def cost_rows(view: CostView, look: Look, width: int, *, plot: bool) -> list[tuple[list[Segment], list[Segment]]]:
    """Rows below the heading, each as its left and right part."""
    muted = look.palette.style(look.palette.muted)
    if not view.money.calls and not view.money.failed_calls:
        return [
            ([Segment(fmt.money(0), look.palette.style(bold=True)), Segment(f"  {look.t('cost.empty')}", muted)], [])
        ]
    turn = Segment(look.t("cost.turn", amount=amount(view.turn, look.strings)), muted)
    rows = [(session_parts(view, look), [turn])]
    if view.budget:
        rows.append((thin_bar(look, view.money.cost_micro, view.budget, width, mark=WARN_AT), []))
    if plot and len(view.rounds) > 1:
        rows += _plot_rows(view, look, width)
    rows.append((_tokens(view.money.usage, look, width), []))
    if view.broke is not None:
        rows.append(_break_row(view.broke, look))
    if view.money.unpriced_calls:
        text = look.t("cost.unpriced", n=view.money.unpriced_calls)
        mark = Segment(f"{look.glyphs.warning} ", look.palette.style(look.palette.warn))
        rows.append(([mark, Segment(text)], []))
    if view.money.equivalent_micro:
        text = look.t("cost.equivalent", amount=fmt.money(view.money.equivalent_micro))
        rows.append(([Segment(text, muted)], []))
    if view.money.failed_micro:
        rows.append(([Segment(look.t("cost.failed", amount=fmt.money(view.money.failed_micro)), muted)], []))
    return rows


def _break_row(one: CacheBreak, look: Look) -> tuple[list[Segment], list[Segment]]:
    palette = look.palette
    mark = Segment(f"{look.glyphs.masked} ", palette.style(palette.crit, bold=True))
    text = look.t("cost.break", why=break_text(one, look.strings))
    note = f"{look.t('round.column', n=one.round)} {price_text(one.cost_micro, look.strings)}"
    return [mark, Segment(text)], [Segment(note, palette.style(palette.muted))]


def _plot_rows(view: CostView, look: Look, width: int) -> list[tuple[list[Segment], list[Segment]]]:
    palette = look.palette
    costs = [float(r.cost_micro or 0) for r in view.rounds]
    peak = max(view.rounds, key=lambda r: r.cost_micro or 0)
    notes = (
        look.t("cost.peak", amount=fmt.money(peak.cost_micro or 0), round=look.t("round.column", n=peak.round)),
        look.t("cost.last", amount=fmt.money(view.rounds[-1].cost_micro or 0)),
    )
    lines = sparkline(look, costs, min(22, width // 2), PLOT_ROWS)
    style, muted = palette.style(palette.accent), palette.style(palette.muted)
    return [([Segment(line, style)], [Segment(note, muted)]) for line, note in zip(lines, notes, strict=True)]


def _tokens(usage: Usage, look: Look, width: int) -> list[Segment]:
    """Tokens by kind, as many as fit."""
    written = (usage.cache_write_5m_tokens or 0) + (usage.cache_write_1h_tokens or 0)
    texts = [
        look.t("cost.in", tokens=fmt.tokens(usage.input_tokens)),
        look.t("cost.out", tokens=fmt.tokens(usage.output_tokens)),
    ]
    if usage.cache_read_tokens is not None:
        texts.append(look.t("cost.read", tokens=fmt.tokens(usage.cache_read_tokens)))
    if written:
        texts.append(look.t("cost.written", tokens=fmt.tokens(written)))
    muted = look.palette.style(look.palette.muted)
    return fit([[Segment(text, muted)] for text in texts], width)
