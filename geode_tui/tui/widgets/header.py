"""The header: product, title, model and route, what needs the person, state, round and time in one row.

Parts leave by width in a fixed order (SCREENS.md 6): route, model, project, then the title is cut. What needs the
person and the state never leave.
"""

from __future__ import annotations

from itertools import chain

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import segments_width, width_of
from geode_tui.tui.look import Look
from geode_tui.tui.rows import GAP, row
from geode_tui.tui.widgets.gauge import chip
from geode_tui.tui.widgets.marks import state_mark
from geode_tui.tui.widgets.paced import Paced
from geode_tui.view.selectors import Status

SHORT_BELOW = 60
"""Width below which words are shortened (``r37``, ``1``)."""
LEAST_TITLE = 8
"""Cells that the title keeps before other parts leave."""


class HeaderView(msgspec.Struct, frozen=True):
    """What the header shows; texts are clean. ``ended`` is how the last turn ended, in words."""

    title: str
    project: str
    model: str
    route: str
    status: Status
    needs: int
    ended: str = ""
    starting: bool = False
    interrupting: bool = False
    upkeep: bool = False
    """Whether the window's upkeep goes on."""


class Header(Paced):
    """See the module. ``frame`` is the spinner's frame. Round and time are paced; all else shows at once."""

    def __init__(self, look: Look, *, id: str = "header") -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self._view: HeaderView | None = None
        self._newest: HeaderView | None = None
        self._frame = 0

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.panel)

    def show(self, view: HeaderView) -> None:
        """Show ``view``; nothing is painted where nothing changed."""
        if view == self._newest:
            return
        self._newest = view
        if self._view is None or _unpaced(view) != _unpaced(self._view):
            self.repaint_now()
        else:
            self.repaint_soon()

    def take_newest(self) -> None:
        """See `Paced.take_newest`."""
        self._view = self._newest

    def spin(self) -> None:
        """The spinner's next frame."""
        self._frame = (self._frame + 1) % len(self.look.glyphs.spinner)
        self.repaint()

    def build(self, size: Size) -> list[Strip]:
        """The one row."""
        view, palette, width = self._view, self.look.palette, size.width
        left = [Segment(self.look.glyphs.product, palette.style(palette.accent))]
        if width >= SHORT_BELOW:
            left.append(Segment(f" {self.look.t('app.product')}", palette.style(palette.text, bold=True)))
        if view is None:
            return [self._row(left, [], width)]
        left.append(Segment(f" {view.title}", palette.style(palette.text)))
        right = self._right(view, width)
        if width >= SHORT_BELOW:
            title = min(width_of(view.title), max(LEAST_TITLE, width // 3))
            taken = segments_width(left) - width_of(view.title) + title + segments_width(right)
            right = [*self._extras(view, width - 2 - GAP - taken), *right]
        return [self._row(left, right, width)]

    def _row(self, left: list[Segment], right: list[Segment], width: int) -> Strip:
        return row(left, right, width, self.plane, self.look.glyphs.cut, margin=1)

    def _extras(self, view: HeaderView, room: int) -> list[Segment]:
        """Project, model and route, as many as fit: the first to leave stands last."""
        palette = self.look.palette
        out: list[Segment] = []
        for text, color in ((view.project, palette.muted), (view.model, palette.text), (view.route, palette.muted)):
            if not text:
                continue
            if segments_width(out) + width_of(text) + 3 > room:
                break
            out.append(Segment(f"{text}   ", palette.style(color)))
        return out

    def _right(self, view: HeaderView, width: int) -> list[Segment]:
        """What needs the person and the state always; round and time where there is room for them."""
        groups = [self._chip(view, width), self._state(view, width), *self._clocks(view.status, width)]
        while len(groups) > 2 and sum(map(segments_width, groups)) > width - 4:
            groups.pop()
        return list(chain.from_iterable(groups))

    def _chip(self, view: HeaderView, width: int) -> list[Segment]:
        if not view.needs:
            return []
        key = "header.needs" if view.needs == 1 else "header.need"
        text = str(view.needs) if width < SHORT_BELOW else self.look.t(key, n=view.needs)
        return [chip(self.look, f" {self.look.glyphs.needs_you} {text} ", self.look.palette.accent), Segment("  ")]

    def _state(self, view: HeaderView, width: int) -> list[Segment]:
        palette, status = self.look.palette, view.status
        works = msgspec.structs.replace(status, kind="running") if view.upkeep else status
        symbol, color = state_mark(self.look, works, self._frame)
        out = [Segment(symbol, palette.style(color, bold=True))]
        if words := self._words(view, width):
            loud = color if status.kind in {"dead", "not_answering"} else ""
            out.append(Segment(f" {words}", palette.style(loud, bold=True)))
        return out

    def _clocks(self, status: Status, width: int) -> list[list[Segment]]:
        short = width < SHORT_BELOW
        out: list[list[Segment]] = []
        if status.round:
            text = self.look.t("round.column" if short else "round.n", n=status.round)
            out.append([Segment(f" {text}", self.look.palette.style(bold=True))])
        if status.elapsed_s:
            clock = fmt.hours(status.elapsed_s) if short else fmt.duration(status.elapsed_s)
            out.append([Segment(f" {clock}")])
        return out

    def _words(self, view: HeaderView, width: int) -> str:
        """The state in words; a plain running state needs none beside its spinner."""
        status, t = view.status, self.look.t
        if view.interrupting:
            return t("state.interrupting")
        if status.retry_in_s is not None:
            return t("state.retry", time=fmt.short_clock(status.retry_in_s))
        if view.upkeep:
            return t("state.upkeep")
        if view.starting:
            return t("state.starting")
        if status.kind in {"running", "waiting"}:
            return ""
        if status.kind in {"idle", "ended"} and status.ending is None:
            return t("state.new")
        if width >= 110 and status.kind in {"idle", "ended"} and view.ended:
            return view.ended
        return t(f"state.{status.kind}")


def _unpaced(view: HeaderView) -> HeaderView:
    return msgspec.structs.replace(view, status=msgspec.structs.replace(view.status, round=0, elapsed_s=0))
