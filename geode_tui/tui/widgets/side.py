"""The side column: gauge, cost, guards and plan in one pane, so that a new figure never lays anything out.

Sections leave from the bottom where room is short (SCREENS.md 6): what lies ahead, growth, the plan, the guards but
for their heading, the plot, the legend.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.tui.cells import segments_width
from geode_tui.tui.look import Look
from geode_tui.tui.rows import GAP, row
from geode_tui.tui.widgets.cost import CostView, cost_rows, hit_text
from geode_tui.tui.widgets.gauge import Gauge, GaugeView
from geode_tui.tui.widgets.growth import PLOT_ROWS, growth_rows, next_rows
from geode_tui.tui.widgets.guards import first_text, guard_rows
from geode_tui.tui.widgets.paced import Paced
from geode_tui.tui.widgets.plan import plan_count, plan_rows
from geode_tui.view.selectors import GuardLine, GuardName

TALL_FROM = 34
"""Rows of the column from which the bar is two rows tall."""


class SideView(msgspec.Struct, frozen=True):
    """Everything the column shows."""

    gauge: GaugeView
    cost: CostView
    guards: tuple[GuardLine, ...]
    first: GuardName | None
    plan: tuple[tuple[str, str], ...]
    live: bool = False
    """Whether its clocks move."""
    flash: frozenset[str] = frozenset()
    """Limits of which 80 % were reached just now."""

    @property
    def flashes(self) -> tuple[object, ...]:
        """All that is reversed for a moment."""
        return self.flash, self.gauge.flash, self.cost.flash


def flashed(view: SideView, alerts: Collection[str]) -> SideView:
    """``view`` with the chips of what ``alerts`` name reversed (see `tui.alerts`)."""
    if not alerts:
        return view
    crossed = not {"warning", "critical", "over"}.isdisjoint(alerts)
    return msgspec.structs.replace(
        view,
        gauge=msgspec.structs.replace(view.gauge, flash=crossed),
        cost=msgspec.structs.replace(view.cost, flash="cost" in alerts),
        flash=frozenset(line.name for line in view.guards if line.name in alerts),
    )


class _Form(msgspec.Struct, frozen=True):
    """Which parts are shown below the gauge's bar."""

    guards: bool = True
    plot: bool = True
    legend: bool = True


FORMS = (_Form(), _Form(guards=False), _Form(guards=False, plot=False), _Form(guards=False, plot=False, legend=False))
"""Largest first; the plan gets the rows that the first form leaves."""
LEAST_PLAN = 3
"""Steps below which a plan is not shown, unless it has no more."""


class _Section(msgspec.Struct, frozen=True):
    """A section's lines and everything that they were made of: another round must not redraw the plan."""

    made_of: tuple[object, ...]
    lines: list[Strip]


class Side(Paced, can_focus=True):
    """See the module. Figures are paced; the plan and what flashes show at once."""

    def __init__(self, look: Look, *, id: str = "side") -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self._view: SideView | None = None
        self._newest: SideView | None = None
        self._sections: dict[str, _Section] = {}

    @property
    def plane(self) -> Style:
        """The surface plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.surface)

    def show(self, view: SideView) -> None:
        """Show ``view``; nothing is painted where nothing changed."""
        if view == self._newest:
            return
        self._newest, shown = view, self._view
        if shown is None or view.flashes != shown.flashes:
            self.repaint_now()
            return
        if view.plan != shown.plan:
            self._view = msgspec.structs.replace(shown, plan=view.plan)
            self.repaint()
        self.repaint_soon()

    def take_newest(self) -> None:
        """See `Paced.take_newest`."""
        self._view = self._newest

    def on_focus(self) -> None:
        """Underline the headings."""
        self.repaint()

    def on_blur(self) -> None:
        """Take the underline away."""
        self.repaint()

    def build(self, size: Size) -> list[Strip]:
        """The largest form that fits."""
        if self._view is None or size.width < 4:
            return []
        column = _Column(self, self._view, size, self._sections)
        lines: list[Strip] = []
        for form in FORMS:
            lines = column.lines(form)
            if len(lines) <= size.height:
                break
        if form is not FORMS[0]:
            return column.filled(lines, size.height)
        lines += column.plan(size.height - len(lines))
        if growth := column.growth(size.height - len(lines)):
            lines += growth
            lines += column.ahead(size.height - len(lines))
        return column.filled(lines, size.height)


class _Column:
    """Builds the column's lines in one form."""

    def __init__(self, pane: Side, view: SideView, size: Size, sections: dict[str, _Section]) -> None:
        self.view = view
        self.look = pane.look
        self.plane = pane.plane
        self.focused = pane.has_focus
        self.width = size.width
        self.inner = size.width - (3 if pane.look.flat else 2)
        self.tall = size.height >= TALL_FROM
        self._sections = sections

    def section(self, name: str, slice_: object, *form: object, make: Callable[[], list[Strip]]) -> list[Strip]:
        """The lines of section ``name``, made again only when its slice, its form or the look has changed."""
        made_of = (slice_, self.look, self.focused, self.width, self.tall, *form)
        known = self._sections.get(name)
        if known is None or known.made_of != made_of:
            known = self._sections[name] = _Section(made_of, make())
        return known.lines

    def lines(self, form: _Form) -> list[Strip]:
        view, blank = self.view, self.blank()
        gauge = self.section("gauge", view.gauge, form.legend, make=lambda: self.gauge(form))
        cost = self.section("cost", view.cost, form.plot, make=lambda: self.cost(form))
        limits = (view.guards, view.first, view.flash)
        guards = self.section("guards", limits, form.guards, make=lambda: self.guards(form))
        return [blank, *gauge, blank, *cost, blank, *guards]

    # -- rows ---------------------------------------------------------------------------------------------------------
    def blank(self) -> Strip:
        return self.row([])

    def filled(self, lines: list[Strip], height: int) -> list[Strip]:
        """``lines`` to the bottom of the column."""
        return lines + [self.blank()] * (height - len(lines))

    def row(self, left: list[Segment], right: list[Segment] | None = None) -> Strip:
        if not self.look.flat:
            return row(left, right or [], self.width, self.plane, self.look.glyphs.cut, margin=1)
        # Without planes a line keeps the column apart from what is left of it.
        line = row(left, right or [], self.width - 1, self.plane, self.look.glyphs.cut, margin=1)
        return Strip([Segment("|", self.plane), *line])

    def apart(self, left: list[Segment], right: list[Segment]) -> list[Strip]:
        """A row, or two where both parts do not fit into one."""
        if segments_width(left) + GAP + segments_width(right) <= self.inner:
            return [self.row(left, right)]
        return [self.row(left), self.row([], right)]

    def heading(self, key: str, note: str) -> Strip:
        palette = self.look.palette
        style = palette.style(palette.accent, bold=True, underline=self.focused)
        return self.row([Segment(self.look.t(key), style)], [Segment(note, palette.style(palette.muted))])

    # -- sections -----------------------------------------------------------------------------------------------------
    def gauge(self, form: _Form) -> list[Strip]:
        gauge = Gauge(self.view.gauge, self.look)
        out = [self.heading("section.context", gauge.measured()), *self.apart(gauge.head(), gauge.amount())]
        if marks := gauge.marks(self.inner):
            out.append(self.row(marks))
        if self.tall and not self.look.flat:
            out += [self.row(list(gauge.bar(self.inner))), self.row(list(gauge.bar(self.inner, letters=False)))]
        else:
            out.append(self.row(list(gauge.bar(self.inner))))
        if labels := gauge.labels(self.inner):
            out.append(self.row(labels))
        if outlook := gauge.outlook(self.inner):
            out += [self.blank(), self.row(outlook)] if form.legend else [self.row(outlook)]
        if form.legend and (legend := gauge.legend(self.inner)):
            out += [self.blank(), *(self.row(parts) for parts in legend)]
        if provenance := gauge.provenance():
            out.append(self.row([Segment(provenance, self.look.palette.style(self.look.palette.muted))]))
        return out

    def cost(self, form: _Form) -> list[Strip]:
        rows = cost_rows(self.view.cost, self.look, self.inner, plot=form.plot)
        heading = self.heading("section.cost", hit_text(self.view.cost, self.look))
        return [heading, *(strip for left, right in rows for strip in self.apart(left, right))]

    def guards(self, form: _Form) -> list[Strip]:
        out = [self.heading("section.guards", first_text(self.view.first, self.look))]
        if form.guards:
            out += [self.row(left, right) for left, right in self._guard_rows()]
        return out

    def _guard_rows(self) -> list[tuple[list[Segment], list[Segment]]]:
        return guard_rows(self.view.guards, self.look, self.inner, self.view.flash)

    def growth(self, rows: int) -> list[Strip]:
        """How the context grew, where there are ``rows`` rows for it."""
        view = self.view
        if rows < PLOT_ROWS + 3:
            return []
        made_of = (view.cost.rounds, view.gauge.figures)
        return self.section("growth", made_of, make=lambda: self._growth())

    def _growth(self) -> list[Strip]:
        made = growth_rows(self.view.cost.rounds, self.view.gauge.figures, self.look, self.inner)
        heading = self.heading("section.growth", self.look.t("growth.note"))
        return [self.blank(), heading, *(self.row(parts) for parts in made)] if made else []

    def ahead(self, rows: int) -> list[Strip]:
        """When each limit is met, where there are ``rows`` rows for it."""
        view = self.view
        made_of = (view.gauge.forecast, view.guards, view.live)
        made = self.section("next", made_of, make=lambda: self._ahead())
        return made if len(made) <= rows else []

    def _ahead(self) -> list[Strip]:
        view = self.view
        made = next_rows(view.gauge.forecast, view.guards, self.look, self.inner, live=view.live)
        heading = self.heading("section.next", self.look.t("next.note"))
        return [self.blank(), heading, *(self.row(left, right) for left, right in made)] if made else []

    def plan(self, rows: int) -> list[Strip]:
        """The plan in at most ``rows`` rows, with a blank one before it."""
        steps = self.view.plan
        room = min(len(steps), rows - 2)
        if room < min(len(steps), LEAST_PLAN) or not steps:
            return []
        return self.section("plan", steps, room, make=lambda: self._plan(room))

    def _plan(self, room: int) -> list[Strip]:
        steps = self.view.plan
        out = [self.blank(), self.heading("section.plan", plan_count(steps, self.look))]
        return out + [self.row(parts) for parts in plan_rows(steps, self.look, room)]
