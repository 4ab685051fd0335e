"""The frame of the conversation's widget: its size, how it scrolls and what it paints. What is shown is in `stage`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import ClassVar, Self

from rich.color import Color
from rich.style import Style
from textual.events import Resize
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

from geode_tui.core.strings import Strings
from geode_tui.log.rows import StoredMessage
from geode_tui.tui.conversation.highlight import warm
from geode_tui.tui.conversation.ink import Ink
from geode_tui.tui.conversation.items import Canvas
from geode_tui.tui.conversation.loader import Loader
from geode_tui.tui.conversation.model import Place
from geode_tui.tui.conversation.note_places import Past
from geode_tui.tui.conversation.stage import Stage
from geode_tui.tui.glyphs import Glyphs
from geode_tui.tui.lines import handed_over
from geode_tui.tui.palette import Palette

WARM_AFTER_S = 0.5
"""Until then the thread reads what is looked at first."""
FAST_S = 0.35
"""New lines that come closer together than this make the view jump further (PERFORMANCE.md D2)."""
BLANK = Strip([], 0)
"""A line without text."""


class PlainBar(ScrollBarRender):
    """A scroll bar of spaces: the usual one draws glyphs of ambiguous width."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8

    def lines(self, size: Size) -> list[Strip]:
        """The bar's lines. It changes with every line that comes, and a console would draw each cell by itself."""
        style = self.style
        assert isinstance(style, Style)
        cells = self.render_bar(
            size=size.height,
            virtual_size=self.virtual_size,
            window_size=self.window_size,
            position=self.position,
            thickness=size.width,
            back_color=style.bgcolor or Color.default(),
            bar_color=style.color or Color.default(),
        ).segments
        strips = {id(cell): Strip([cell], size.width) for cell in {id(cell): cell for cell in cells}.values()}
        return [strips[id(cell)] for cell in cells]


def _bar_lines(bar: ScrollBar, crop: Region) -> list[Strip]:
    picture = bar.render()
    assert isinstance(picture, PlainBar)
    return handed_over(bar, picture.lines(bar.outer_size), crop)


def _nothing(_: object) -> None:
    """The outcome does not matter: what is missing is imported when it is needed."""


class Window(ScrollView):
    """A view of a `Stage` that follows the end only from the end, and paints only lines that differ.

    Subclasses say what covers a line (`overlay`) and how the cursor shows (`decorate`).
    """

    def __init__(
        self,
        load: Callable[[int], StoredMessage],
        strings: Strings,
        glyphs: Glyphs,
        palette: Palette,
        redact: Callable[[str], str],
        past: Past | None = None,
    ) -> None:
        super().__init__()
        self.strings = strings
        self.ink = Ink(palette, glyphs)
        self.stage: Stage | None = None
        """None until there is a size to draw for."""
        self.following = True
        """Whether the view keeps to the end."""
        self.unseen = 0
        """Lines that came while the end was out of view."""
        self._load = load
        self._past = past
        self._redact = redact
        self._loader: Loader | None = None
        self._lines: list[Strip] = []
        """What is on screen, or will be with the next paint."""
        self._lines_at: tuple[int, Size] | None = None
        """The scroll offset and the size that they are for; None where they must be composed anew."""
        self._pumping = False
        self._jump = 1
        self._jumped = 0.0

    @property
    def busy(self) -> bool:
        """Whether something near the view is still to be loaded or drawn."""
        if self.stage is None:
            return self.area.width > 0
        return self._pumping or (self._loader is not None and self._loader.waiting > 0)

    def begun(self) -> None:
        """There is a stage now."""

    def drawn(self) -> bool:
        """A slice of drawing is done; True where that made the view go elsewhere."""
        return False

    def overlay(self, y: int) -> Strip | None:
        """What covers line ``y`` of the view."""
        raise NotImplementedError

    def decorate(self, strip: Strip, line: int) -> Strip:
        """The picture of a line with what is marked in it: the cursor, a selection, matches."""
        raise NotImplementedError

    @property
    def area(self) -> Size:
        """Cells for text: the widget less its scroll bar."""
        return Size(max(0, self.size.width - self.scrollbar_size_vertical), self.size.height)

    # -- size ------------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Draw a scroll bar without glyphs."""
        bar = self.vertical_scrollbar
        bar.renderer = PlainBar  # type: ignore[misc]  # Textual's documented way for one widget
        bar.render_lines = partial(_bar_lines, bar)  # type: ignore[method-assign]

    def on_unmount(self) -> None:
        """End the thread."""
        if self._loader is not None:
            self._loader.close()

    def on_resize(self, _: Resize) -> None:
        """Wrap anew what is in view; the rest follows when it is looked at."""
        if not self.area.width:
            return
        if self.stage is None:
            self._begin()
        elif self.stage.canvas.width != self.area.width:
            self.new_canvas()
        else:
            self.settle(self.place_at_top())
            self.pump()

    def _begin(self) -> None:
        self._loader = Loader(asyncio.get_running_loop())
        canvas = Canvas(self.ink, self.area.width, self.strings)
        self.stage = Stage(self._load, self._redact, canvas, self._loader, self._delivered, self._past)
        self.begun()
        self.set_timer(WARM_AFTER_S, partial(self._loader.ask, warm, _nothing, _nothing))

    def new_canvas(self) -> None:
        """The width or the colours are others."""
        assert self.stage is not None
        anchor, old = self.place_at_top(), self.stage.canvas
        canvas = Canvas(self.ink, self.area.width, self.strings)
        canvas.now, canvas.frame = old.now, old.frame
        self.stage.set_canvas(canvas, same_width=canvas.width == old.width)
        self.prepare()
        self.settle(anchor)
        self.pump()

    def place_at_top(self) -> Place | None:
        """What stands at the top of the view."""
        return self.stage.transcript.locate(self.scroll_offset.y) if self.stage is not None else None

    def settle(self, anchor: Place | None, *, exact: bool = True, first: int = 0) -> None:
        """Heights changed: keep ``anchor`` at the top, or the end in view, and paint the lines that differ.

        Unless ``exact``, fast growth leaves room below the end, so that the view scrolls a few times a second only.
        Lines before ``first`` are as they were.
        """
        stage = self.stage
        if stage is None:
            return
        following, before = self.following, self.scroll_offset.y
        if exact or not following:
            self._jump, lines = 1, stage.total
        else:
            lines = self._lines_ahead(stage.total)
        size = Size(self.area.width, max(1, lines))
        if size != self.virtual_size:
            self.set_reactive(Window.virtual_size, size)
            self._scroll_update(size)
        top = self.max_scroll_y if following else stage.transcript.line_of(anchor) if anchor is not None else 0
        if top != self.scroll_offset.y:  # else a scroll that is being animated goes on
            self.scroll_to(y=top, animate=False, immediate=True)
        self.following = following or (self.scroll_offset.y >= self.max_scroll_y and not stage.opening)
        if self.scroll_offset.y == before:
            self.repaint(max(0, first - before))

    def _lines_ahead(self, total: int) -> int:
        """The height to scroll over while lines come: the more, the faster they come, up to two thirds of a page."""
        have = self.virtual_size.height
        if total <= have:
            return have if have - total < max(2, self._jump) else total
        now = monotonic()
        fast, self._jumped = now - self._jumped < FAST_S, now
        page = max(1, self.size.height * 2 // 3)
        self._jump = min(page, self._jump * 2) if fast else max(1, self._jump // 2)
        return total + self._jump - 1

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling to the end follows it again; away from it stops that."""
        super().watch_scroll_y(old_value, new_value)
        self.following = new_value >= self.max_scroll_y
        if self.following:
            self.unseen = 0
        self.pump()

    # -- loading and drawing in slices -----------------------------------------------------------------------------

    def _delivered(self) -> None:
        self.settle(self.place_at_top())
        self.pump()

    def pump(self) -> None:
        """Load and draw what is missing near the view, in slices between which keys are read."""
        if not self._pumping and self.stage is not None and self.is_attached:
            self._pumping = True
            self.call_later(self._slice)

    def _slice(self) -> None:
        self._pumping = False
        if self.stage is None:
            return
        anchor, total = self.place_at_top(), self.stage.total
        more = self.prepare()
        if self.drawn():
            anchor = self.place_at_top()
        if more or self.stage.total != total:
            self.settle(anchor)
            self.pump()
        else:
            self.repaint()

    def prepare(self) -> bool:
        """One slice; True where there is more to do now."""
        assert self.stage is not None
        return self.stage.prepare(self.scroll_offset.y, max(1, self.size.height), upwards=self.following)

    # -- painting --------------------------------------------------------------------------------------------------

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """As Textual's: without regions, everything is composed and painted anew."""
        if not regions:
            self._lines_at = None
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines as they are."""
        return handed_over(self, self._current(), crop)

    def render_line(self, y: int) -> Strip:
        """The line at ``y`` of the view."""
        return self._current()[y].crop(0, self.area.width)

    def _current(self) -> list[Strip]:
        at = self._place
        if self._lines_at != at:
            self._lines = [self._compose_line(y, *at) for y in range(at[1].height)]
            self._lines_at = at
        return self._lines

    @property
    def _place(self) -> tuple[int, Size]:
        return self.scroll_offset.y, self.outer_size

    def repaint(self, first: int = 0) -> None:
        """Paint the lines from row ``first`` of the view on that differ from what is on screen."""
        top, size = at = self._place
        if self._lines_at != at or not self.size.area:  # none while it is hidden, unlike the outer one
            self.refresh()
            return
        changed = []
        for y in range(first, size.height):
            line = self._compose_line(y, top, size)
            if line is not self._lines[y] and line != self._lines[y]:
                self._lines[y] = line
                changed.append(Region(0, y, size.width, 1))
        if changed:
            self.refresh(*changed)

    def repaint_line(self, line: int) -> None:
        """Paint ``line`` of the conversation where it is in view."""
        top, size = at = self._place
        y = line - top
        if 0 <= y < size.height and self._lines_at == at:
            self._lines[y] = self._compose_line(y, top, size)
            self.refresh(Region(0, y, size.width, 1))

    def _compose_line(self, y: int, top: int, size: Size) -> Strip:
        """One line, also of the cells below the scroll bar."""
        base = self.ink.base
        if self.stage is None:
            return Strip.blank(size.width, base)
        strip = self.overlay(y)
        if strip is None:
            strip = self.decorate(self.stage.strip_at(top + y) or BLANK, top + y)
        return strip.adjust_cell_length(size.width, base)
