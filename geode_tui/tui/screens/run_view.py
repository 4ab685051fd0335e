"""What the run screen shows: one state at a time, each part repainted only where its slice changed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.events import Resize
from textual.message import Message
from textual.timer import Timer

from geode_tui.tui.alerts import FLASH_S, Alert, Standing, alerts, standing
from geode_tui.tui.conversation.view import Conversation
from geode_tui.tui.frames import FramePump
from geode_tui.tui.hints import Area, hints
from geode_tui.tui.layout import Form, form_for, panel_height
from geode_tui.tui.look import Look
from geode_tui.tui.presenter import Presented, draft_notices, present
from geode_tui.tui.screens.base import BaseScreen, TooSmall
from geode_tui.tui.screens.columns import CONVERSATION, Columns
from geode_tui.tui.source import Feed, RunSource
from geode_tui.tui.steering import Steering
from geode_tui.tui.widgets.approval import ApprovalPanel
from geode_tui.tui.widgets.composer import Composer
from geode_tui.tui.widgets.edge import Edge, PolicyLine
from geode_tui.tui.widgets.find import FindBar
from geode_tui.tui.widgets.footer import Footer, FooterView
from geode_tui.tui.widgets.header import Header
from geode_tui.tui.widgets.notice import Line, Notices
from geode_tui.tui.widgets.side import Side, flashed
from geode_tui.tui.widgets.strip import FigureStrip
from geode_tui.tui.widgets.tabs import TABS, TabRow
from geode_tui.view.follow import Batch, Op
from geode_tui.view.state import OpenApproval

if TYPE_CHECKING:  # loaded when the tab is first wanted
    from geode_tui.tui.widgets.context_tab import ContextPane
    from geode_tui.tui.widgets.cost_tab import CostPane
    from geode_tui.tui.widgets.dream_tab import DreamsPane
    from geode_tui.tui.widgets.events import EventsPane
    from geode_tui.tui.widgets.offload_tab import OffloadsPane
    from geode_tui.tui.widgets.tab_pane import TabPane

OPENING_S = 0.3
"""Seconds without data after which the screen says that it is opening (SCREENS.md 10)."""
CLOCK_S = 1.0
SPINNER_S = 1 / 8


class RunView(BaseScreen):
    """See the module. `RunScreen` adds what the person can do."""

    class Alerted(Message):
        """Something has come about that the person may want to be called for; a clean line for each."""

        def __init__(self, lines: tuple[str, ...]) -> None:
            super().__init__()
            self.lines = lines

    def __init__(self, source: RunSource, look: Look, *, motion: bool = True, home: bool = False) -> None:
        """With ``home`` there is a home screen to go to."""
        super().__init__(look)
        self.source = source
        self.steering = Steering(source)
        self.newest: Batch | None = None
        self.presented: Presented | None = None
        self.form = Form()
        self.has_home = home
        self._motion = motion
        self._armed = False
        self._feed: Feed | None = None
        self._pump: FramePump | None = None
        self._clock: Timer | None = None
        self._spinner: Timer | None = None
        self._standing: Standing | None = None
        self._flash: tuple[Alert, ...] = ()
        """What came about within the last second."""
        self._flash_end: Timer | None = None
        self.header = Header(look)
        self.tabs = TabRow(look)
        self.conversation = Conversation(source.load, look.strings, look.glyphs, look.palette, look.redact, source)
        self.conversation.id = "conversation"
        self.find = FindBar(look, self.conversation)
        self.strip = FigureStrip(look)
        self.notices = Notices(look)
        self.approval = ApprovalPanel(look, source.arguments)
        self.composer = Composer(look, source.paths)
        self.side = Side(look)
        self.edge = Edge(look, id="edge")
        self.policy = PolicyLine(look)
        self.columns = Columns(
            main=(self.conversation, self.find),
            make=self._make_pane,
            beside=TABS[1],
            side=self.side,
            lower=(self.strip, self.approval, self.edge, self.notices, self.composer, self.policy),
        )
        self.footer = Footer(look)
        self.too_small = TooSmall(look, id="too-small")

    def compose(self) -> ComposeResult:
        """All parts; which of them are shown depends on the size."""
        yield self.header
        yield self.tabs
        yield self.columns
        yield self.footer
        yield self.too_small

    # -- tabs ---------------------------------------------------------------------------------------------------------
    def _make_pane(self, tab: str) -> TabPane:
        """The pane of a tab, hidden, with the newest state."""
        pane: TabPane
        if tab == "events":
            from geode_tui.tui.widgets.events import EventsPane

            pane = EventsPane(self.look, self.source)
        elif tab == "offloads":
            from geode_tui.tui.widgets.offload_tab import OffloadsPane

            pane = OffloadsPane(self.look, self.source, id="offloads")
        elif tab == "dreams":
            from geode_tui.tui.widgets.dream_tab import DreamsPane

            pane = DreamsPane(self.look, self.source, id="dreams")
        elif tab == "context":
            from geode_tui.tui.widgets.context_tab import ContextPane

            pane = ContextPane(self.look, self.source)
        else:
            from geode_tui.tui.widgets.cost_tab import CostPane

            pane = CostPane(self.look, self.source, self.source.months)
        pane.display = False
        if self.newest is not None:
            pane.show_state(self.newest.state)
        return pane

    @property
    def events(self) -> EventsPane:
        """The pane of the Events tab."""
        return cast("EventsPane", self.columns.pane("events"))

    @property
    def offloads(self) -> OffloadsPane:
        """The pane of the Offloads tab."""
        return cast("OffloadsPane", self.columns.pane("offloads"))

    @property
    def dreams(self) -> DreamsPane:
        """The pane of the Dreams tab."""
        return cast("DreamsPane", self.columns.pane("dreams"))

    @property
    def context(self) -> ContextPane:
        """The pane of the Context tab."""
        return cast("ContextPane", self.columns.pane("context"))

    @property
    def cost(self) -> CostPane:
        """The pane of the Cost tab."""
        return cast("CostPane", self.columns.pane("cost"))

    def on_mount(self) -> None:
        """Show the empty screen at once; data comes after the first paint."""
        self.notices.show(())
        self._take_form(form_for(self.app.size.width, self.app.size.height))
        self.bindings_updated_signal.subscribe(self, self.learn_keys)
        self.watch(self.app, "app_focus", self.represent, init=False)
        self.set_timer(OPENING_S, self._say_opening)
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        self._pump = FramePump(self._take, self._show, self._apply, self.app._handle_exception)
        self._feed = self.source.follower(self._pump.wake)
        self._feed.start()

    async def on_unmount(self) -> None:
        """Stop following."""
        if self._pump is not None:
            self._pump.stop()
        if self._feed is not None:
            await asyncio.to_thread(self._feed.stop)

    @property
    def parting(self) -> str | None:
        """That the run goes on, while it has a worker."""
        if self.newest is None or self.newest.liveness.state == "free":
            return None
        return self.look.t("leave.goes_on", session=self.look.line(self.source.session_id))

    def nudge(self) -> None:
        """A command was written."""
        if self._feed is not None:
            self._feed.nudge()

    # -- data ---------------------------------------------------------------------------------------------------------
    def _take(self, limit: int) -> Batch:
        assert self._feed is not None
        return self._feed.take(limit)

    def _apply(self, ops: Sequence[Op]) -> None:
        self.conversation.apply(ops)

    def _show(self, batch: Batch) -> None:
        self.newest = batch
        self.conversation.show_state(batch.state)
        self.tabs.count("offloads", batch.state.offloaded)
        self.tabs.count("dreams", batch.state.dreams)
        for pane in self.columns.panes.values():
            pane.show_state(batch.state)
        self.approval.show(self._approvals(batch))
        self.settle(batch)
        self.represent()

    def _approvals(self, batch: Batch) -> tuple[OpenApproval, ...]:
        """Questions that an answer would still reach: a dead worker's are asked again, or dropped, when it resumes."""
        return () if batch.liveness.state == "free" else tuple(batch.state.approvals.values())

    def settle(self, batch: Batch) -> None:
        """Look at what became of the person's commands."""

    def represent(self) -> None:
        """Show the newest state at the present time."""
        if self.newest is None:
            return
        now = self.source.clock()
        interrupting = self.steering.interrupting(self.newest.state)
        shown_now = present(self.newest, self.look, self.source.project, now, interrupting=interrupting)
        self.presented = shown_now
        self._look_for_alerts(shown_now)
        self.header.show(shown_now.header)
        side = flashed(shown_now.side, self._flash)
        self.side.show(side)
        self.strip.show(side)
        self.policy.show(self.newest.state.approve)
        self.show_hints()
        self._keep_time(ticks=shown_now.ticks)

    def _look_for_alerts(self, shown: Presented) -> None:
        """Call the person where something has come about, and mark it for a second."""
        assert self.newest is not None
        before = self._standing
        self._standing = standing(self.newest.state, shown.status, shown.side.guards, shown.header.needs)
        found = alerts(before, self._standing) if before is not None else ()
        if not found:
            return
        over = shown.header.ended or self.look.t("state.dead")
        lines = [over if alert == "ended" else self.look.t(f"alert.{alert}") for alert in found]
        self.post_message(self.Alerted(tuple(f"{shown.header.title}: {line}" for line in lines)))
        if self._motion:
            self._flash = found
            if self._flash_end is not None:
                self._flash_end.stop()
            self._flash_end = self.set_timer(FLASH_S, self._end_flash)

    def _end_flash(self) -> None:
        self._flash, self._flash_end = (), None
        self.represent()

    def on_composer_written(self, event: Composer.Written) -> None:
        """It may have become too large, or small enough again."""
        event.stop()
        self._show_notices()

    def _say_opening(self) -> None:
        if self.newest is None:
            self.notices.show((Line(self.look.t("screen.opening")),))

    # -- time ---------------------------------------------------------------------------------------------------------
    def _keep_time(self, *, ticks: bool) -> None:
        """Clocks run only while a turn or the window's upkeep does, the spinner only while the terminal has the focus
        too.
        """
        if ticks and self._clock is None:
            self._clock = self.set_interval(CLOCK_S, self._tick)
        elif not ticks and self._clock is not None:
            self._clock.stop()
            self._clock = None
        spinning = ticks and self._motion and self.app.app_focus and len(self.look.glyphs.spinner) > 1
        if spinning and self._spinner is None:
            self._spinner = self.set_interval(SPINNER_S, self._spin)
        elif not spinning and self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def _tick(self) -> None:
        self.represent()
        if self._spinner is None:
            self.conversation.tick(self.source.clock())

    def _spin(self) -> None:
        self.header.spin()
        self.conversation.tick(self.source.clock())

    # -- form ---------------------------------------------------------------------------------------------------------
    def on_resize(self, event: Resize) -> None:
        """Take the form that fits."""
        self._take_form(form_for(event.size.width, event.size.height))

    def _take_form(self, form: Form) -> None:
        self.form = form
        self.too_small.display = form.too_small
        self.columns.display = self.header.display = not form.too_small
        self.tabs.display = form.tabs and not form.too_small
        self.footer.display = form.footer and not form.too_small
        self.columns.take(form)
        self.tabs.choose(self.columns.visible_tabs)
        self.strip.display = form.strip > 0
        self.strip.styles.height = form.strip or 1
        self.edge.display = form.roomy or (self.look.flat and form.footer)
        self.policy.display = form.roomy
        self.composer.set_rows(form.composer)
        self.fit_approval()
        self.show_hints()
        if not form.too_small and self.focused is None:  # what had the focus has been hidden
            self.composer.entry.focus()

    def fit_approval(self) -> None:
        """Give the approval panel the rows it may have."""
        if self.approval.display:
            wanted, whole = self.approval.rows_wanted, self.approval.body.whole
            self.approval.styles.height = panel_height(self.app.size.height, wanted, whole=whole)

    @property
    def tab(self) -> str:
        """The tab that is shown; where there are three columns, the one that was chosen last."""
        return self.columns.tab

    def choose_tab(self, tab: str) -> None:
        """Show a tab, with the focus in it unless something is being written."""
        typing = self.area == "composer"
        self.columns.choose(tab)
        if "main" not in self.columns.shown:
            self.find.action_close()
        self.columns_changed()
        if not typing:
            (self.conversation if tab == CONVERSATION else self.columns.pane(tab)).focus()

    def columns_changed(self) -> None:
        """Say which tabs are on screen now, and which keys work."""
        self.tabs.choose(self.columns.visible_tabs)
        self.show_hints()

    # -- footer -------------------------------------------------------------------------------------------------------
    @property
    def area(self) -> Area:
        """Where the focus is."""
        if self.approval.answering:
            return "approval"
        if self.composer.entry.has_focus:
            return "composer"
        for pane in self.columns.panes.values():
            if (area := pane.area) is not None:
                return area
        if self.find.entry.has_focus:
            return "find"
        return "side" if self.side.has_focus else "conversation"

    def on_descendant_focus(self) -> None:
        """A pane that was only just made has the focus later than its keys are known."""
        self.show_hints()

    def show_hints(self) -> None:
        """The footer's keys for where the focus is."""
        running = self.newest is not None and self.newest.state.turn_open
        needs = self.presented is not None and self.presented.header.needs > 0
        columns = 1 + bool(self.form.middle) + bool(self.form.side)
        keys = hints(
            self.area, self.look, self._keys, needs=needs, running=running, home=self.has_home, columns=columns
        )
        tab = "" if self.form.tabs else f"{TABS.index(self.tab) + 1}/{len(TABS)}"
        self.footer.show(FooterView(keys, self._asked, tab))
        self._show_notices()

    @property
    def _asked(self) -> str:
        """What another press of a key does now; empty where it does nothing more than before."""
        return self.look.t("esc.armed") if self._armed else ""

    def _show_notices(self) -> None:
        """What the person must know now, of what is about to be sent too; without a footer also what another press of
        a key does.
        """
        lines = (Line(self._asked, "warn"),) if self._asked and not self.form.footer else ()
        self.notices.set_room(max(self.form.notices, len(lines)))
        if self.presented is not None and self.newest is not None:
            draft = draft_notices(self.composer.entry.weight, self.newest.state.context, self.look)
            self.notices.show((*lines, *draft, *self.presented.notices))

    # -- look ---------------------------------------------------------------------------------------------------------
    def set_look(self, look: Look) -> None:
        """Take another look everywhere."""
        super().set_look(look)
        self.conversation.set_look(look.palette, look.strings)
        self.approval.set_look(look)
        self.represent()
        self.show_hints()
