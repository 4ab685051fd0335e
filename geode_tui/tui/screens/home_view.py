"""What the home screen shows: the list or the welcome, the peek, and what must be known."""

from __future__ import annotations

import asyncio

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message

from geode_tui.tui.hints import Area, hints
from geode_tui.tui.home_rows import home_rows
from geode_tui.tui.home_source import HomeFeed, HomeSource, Readiness
from geode_tui.tui.layout import Form, form_for
from geode_tui.tui.look import Look
from geode_tui.tui.presenter import draft_notices
from geode_tui.tui.screens.base import BaseScreen, TooSmall
from geode_tui.tui.source import SourceError
from geode_tui.tui.widgets.edge import Edge
from geode_tui.tui.widgets.footer import Footer, FooterView
from geode_tui.tui.widgets.home_composer import HomeComposer
from geode_tui.tui.widgets.home_header import HomeHeader, HomeHeaderView
from geode_tui.tui.widgets.notice import Line, Notices
from geode_tui.tui.widgets.peek import Peek, PeekView
from geode_tui.tui.widgets.ready import ReadyLine
from geode_tui.tui.widgets.runs import RunList
from geode_tui.tui.widgets.welcome import Welcome
from geode_tui.view.overview import Listing

OPENING_S = 0.3
"""Seconds without data after which the screen says that it is opening (SCREENS.md 10)."""


def peek_width(width: int) -> int:
    """Cells of the peek on a screen of ``width`` cells; 0 where there is no room for it."""
    if width < 110:
        return 0
    return 36 if width < 120 else 40 if width < 160 else 60


class HomeView(BaseScreen):
    """See the module. `HomeScreen` adds what the person can do."""

    class Woken(Message):
        """The list has changed."""

    def __init__(self, source: HomeSource, look: Look, selected: str = "") -> None:
        """``selected`` is the session that the cursor shall stand on."""
        super().__init__(look)
        self.source = source
        self.listing: Listing | None = None
        self.form = Form()
        self._feed: HomeFeed | None = None
        self._resting = False
        self._greeted = False
        self._wanted = selected
        """The session that the cursor shall stand on once it is listed."""
        self._peeked: tuple[str, int] = ("", 0)
        """The run whose words are shown, and its event id as of then."""
        self.header = HomeHeader(look, look.line(source.project))
        self.runs = RunList(look)
        self.welcome = Welcome(look)
        self.peek = Peek(look)
        self.edge = Edge(look, id="edge")
        self.notices = Notices(look)
        self.composer = HomeComposer(look, source.paths)
        self.ready = ReadyLine(look)
        self.footer = Footer(look)
        self.too_small = TooSmall(look, id="too-small")

    def compose(self) -> ComposeResult:
        """All parts; which of them are shown depends on the size and on what there is."""
        yield self.header
        with Horizontal(id="home-body"):
            with Vertical(id="home-main"):
                yield self.runs
                yield self.welcome
                yield self.edge
                yield self.notices
                yield self.composer
                yield self.ready
            yield self.peek
        yield self.footer
        yield self.too_small

    def on_mount(self) -> None:
        """Show the frame at once; the runs come after the first paint."""
        self.welcome.display = False
        self.notices.show(())
        self._take_form(form_for(self.app.size.width, self.app.size.height))
        self.ready.show(self.source.readiness())
        self.bindings_updated_signal.subscribe(self, self.learn_keys)
        self.set_timer(OPENING_S, self._say_opening)
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        self._feed = self.source.feed(self._wake)
        self._feed.start()
        self.run_worker(self._look_around(), group="ready")

    async def _look_around(self) -> None:
        """Ask what this machine serves, now that the screen is there."""
        self.show_ready(await asyncio.to_thread(self.source.look_around))

    def show_ready(self, readiness: Readiness) -> None:
        """Show what new runs use and what is ready."""
        self.ready.show(readiness)
        self.welcome.update_ready(readiness)

    def _wake(self) -> None:
        """Called from the feed's thread."""
        self.post_message(self.Woken())

    async def on_unmount(self) -> None:
        """Stop following."""
        if self._feed is not None:
            await asyncio.to_thread(self._feed.stop)

    @property
    def parting(self) -> str | None:
        """How many runs go on, where any does."""
        live = self.header.view.live
        return self.look.t("leave.all_go_on", n=live) if live else None

    def rest(self) -> None:
        """A run is on screen instead."""
        self._resting = True
        if self._feed is not None:
            self._feed.rest()

    def resume(self, session_id: str = "") -> None:
        """On screen again, with the cursor on the run that was left."""
        self._resting = False
        self._wanted = session_id
        self.composer.entry.focus()
        if self._feed is not None:
            self._feed.resume()
        if self.listing is not None:
            self.show(self.listing)

    # -- data ---------------------------------------------------------------------------------------------------------
    def on_home_view_woken(self) -> None:
        """Take the newest list; it is drawn when it is on screen."""
        if self._feed is not None:
            self.listing = self._feed.take()
            if not self._resting:
                self.show(self.listing)

    def show(self, listing: Listing) -> None:
        """Show the runs as of now."""
        now = self.source.clock()
        rows = home_rows(listing.runs, now)
        self.runs.show(rows, now)
        if self._wanted and self.runs.select(self._wanted):
            self._wanted = ""
        rows = self.runs.rows
        needs, live = sum(r.needs > 0 for r in rows), sum(r.run.liveness.state != "free" for r in rows)
        first_run = not rows and not listing.trouble
        self.header.show(HomeHeaderView(needs, live, first_run))
        if first_run != self.welcome.display or not self._greeted:
            self._greeted = True
            self._greet(first_run)
        self.say_known()
        self._show_peek()
        self.show_hints()

    def set_look(self, look: Look) -> None:
        """Take another look everywhere."""
        super().set_look(look)
        if self.listing is not None:
            self.show(self.listing)

    def _greet(self, first_run: bool) -> None:
        """Show the welcome in place of the list, or the list."""
        self.runs.display, self.welcome.display = not first_run, first_run
        if first_run:
            self.welcome.show(self.source.readiness(), self.source.trust_question())
            if self.welcome.asking and not self.composer.entry.text:
                self.welcome.focus()
        elif self.focused is None or self.focused is self.welcome:
            self.composer.entry.focus()
        self._fit_peek()

    def say_known(self) -> None:
        """What must be known: a store that cannot be read, and settings that do not count."""
        if self.listing is None:
            return
        lines = [*draft_notices(self.composer.entry.weight, None, self.look)]
        if self.listing.trouble:
            lines.append(Line(self.look.line(self.listing.trouble), "crit"))
        if self.source.readiness().read_only:
            lines.append(Line(self.look.t("home.read_only"), "warn"))
        if not self.welcome.display and self.source.trust_question() is not None:
            lines.append(Line(self.look.t("home.untrusted"), "warn"))
        self.notices.show(tuple(lines))

    def _say_opening(self) -> None:
        if self.listing is None:
            self.notices.show((Line(self.look.t("home.opening")),))

    def _show_peek(self) -> None:
        """The selected run's figures at once; its words are read in a thread when they may be others."""
        row = self.runs.selected
        if row is None or not self.peek.display:
            self.peek.show(PeekView())
            self._peeked = ("", 0)
            return
        key = (row.session_id, row.run.state.last_id if row.run.state else 0)
        same = key[0] == self._peeked[0]
        self.peek.show(PeekView(row, self.peek.view.said if same else None))
        if key != self._peeked:
            self._peeked = key
            self.run_worker(self._read_words(row.session_id), group="peek", exclusive=True)

    async def _read_words(self, session_id: str) -> None:
        try:
            said = await asyncio.to_thread(self.source.peek, session_id)
        except SourceError as error:
            said = str(error)
        view = self.peek.view
        if view.row is not None and view.row.session_id == session_id:
            self.peek.show(PeekView(view.row, said))

    # -- form ---------------------------------------------------------------------------------------------------------
    def on_resize(self, event: events.Resize) -> None:
        """Take the form that fits."""
        self._take_form(form_for(event.size.width, event.size.height))

    def _take_form(self, form: Form) -> None:
        self.form = form
        self.too_small.display = form.too_small
        self.query_one("#home-body").display = self.header.display = not form.too_small
        self.ready.display = self.footer.display = form.footer and not form.too_small
        self._fit_peek()
        self.edge.display = form.roomy or (self.look.flat and form.footer)
        self.notices.set_room(form.notices)
        self.composer.set_rows(form.composer)
        if not form.too_small and self.focused is None:  # what had the focus has been hidden
            self.composer.entry.focus()
        self.show_hints()

    def _fit_peek(self) -> None:
        """Give the peek its column, if there is room for it and something to show."""
        width = 0 if self.form.too_small or self.welcome.display else peek_width(self.app.size.width)
        self.peek.display = width > 0
        self.peek.styles.width = width or 1
        self._show_peek()

    @property
    def area(self) -> Area:
        """Where the focus is."""
        if self.welcome.display:
            return "trust" if self.welcome.has_focus and self.welcome.asking else "welcome"
        if self.runs.field.typing:
            return "runs_field"
        return "runs" if self.runs.has_focus else "start"

    def show_hints(self) -> None:
        """The footer's keys for where the focus is, and whether they work the list."""
        entry = self.composer.entry
        self.runs.light(self.runs.has_focus or self.runs.field.typing or (entry.has_focus and not entry.text))
        keys = hints(self.area, self.look, self._keys, needs=self.header.view.needs > 0)
        self.footer.show(FooterView(keys))
