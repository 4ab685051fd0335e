"""The limits of a run in the side column, and which one stops it first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.segment import Segment

from geode_tui.core import format as fmt
from geode_tui.tui.cells import pad, width_of
from geode_tui.tui.look import Look
from geode_tui.tui.widgets.gauge import chip
from geode_tui.tui.widgets.plots import thin_bar
from geode_tui.view.selectors import GuardLine, GuardName, Unit

BAR = 10
"""Most cells of a guard's bar."""


def figure(value: float, unit: Unit) -> str:
    """A guard's figure as people read it."""
    if unit == "seconds":
        return fmt.duration(value)
    return fmt.money(int(value)) if unit == "micro" else fmt.number(int(value))


def first_text(first: GuardName | None, look: Look) -> str:
    """``first to stop it: session``."""
    return look.t("guard.none") if first is None else look.t("guard.first", name=look.t(f"guard.{first}"))


def guard_parts(line: GuardLine, look: Look, *, flash: bool = False) -> list[Segment]:
    """``0:42:10 of 2:00:00``, or ``37 no limit``; ``flash`` where 80 % were reached just now."""
    muted = look.palette.style(look.palette.muted)
    limit = figure(line.limit, line.unit)
    rest = look.t("guard.of", limit=limit) if line.limit else look.t("guard.no_limit")
    text = figure(line.used, line.unit)
    used = chip(look, text, look.palette.warn) if flash else Segment(text, look.palette.style(bold=True))
    return [used, Segment(f" {rest}", muted)]


def guard_rows(
    lines: Sequence[GuardLine], look: Look, width: int, flash: Collection[str] = ()
) -> list[tuple[list[Segment], list[Segment]]]:
    """One row a guard: its name, a thin bar, its figures. All bars have the same place and length."""
    names = {line.name: look.t(f"guard.{line.name}") for line in lines}
    label = max((width_of(name) for name in names.values()), default=0) + 2
    figures = [guard_parts(line, look, flash=line.name in flash) for line in lines]
    room = width - label - max((sum(width_of(s.text) for s in parts) for parts in figures), default=0) - 2
    bar = max(0, min(BAR, room))
    rows = []
    for line, right in zip(lines, figures, strict=True):
        left = [Segment(pad(names[line.name], label))]
        rows.append((left + (thin_bar(look, line.used, line.limit, bar) if line.limit else []), right))
    return rows
