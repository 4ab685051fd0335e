"""The run screen: what the person can do with a run."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer

from geode_tui.core.text import clean
from geode_tui.tui.choices import Choice
from geode_tui.tui.conversation.view import Conversation
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.screens.run_figures import FIGURE_TABS
from geode_tui.tui.screens.run_versions import RunVersions
from geode_tui.tui.screens.run_window import WINDOW_ORDERS
from geode_tui.tui.slash import Local, Order, Wrong, parse
from geode_tui.tui.source import RunSource, SourceError
from geode_tui.tui.widgets.approval import ApprovalPanel
from geode_tui.tui.widgets.approval_body import ApprovalBody
from geode_tui.tui.widgets.composer import Entry
from geode_tui.tui.widgets.find import FindBar
from geode_tui.tui.widgets.tabs import TABS, TabRow
from geode_tui.view.follow import Batch
from geode_tui.view.state import OpenApproval

ARMED_S = 3.0
"""Seconds in which a second esc interrupts."""


class RunScreen(RunVersions):
    """See the module."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", "Next pane", id="run.next_pane"),
        Binding("shift+tab", "app.focus_previous", "Pane before", id="run.previous_pane"),
        Binding("ctrl+g", "needs", "To what needs you", id="run.needs", priority=True),
        Binding("escape", "escape", "Close, or interrupt when pressed twice", id="run.escape"),
        Binding("ctrl+c", "copy_or_clear", "Copy a selection, or clear the composer", id="run.copy", priority=True),
        Binding("ctrl+p", "palette", "Everything you can do here", id="run.palette", priority=True),
        Binding("ctrl+f", "find", "Find in the conversation", id="run.find", priority=True),
        Binding("f3", "models", "Choose another model", id="run.models"),
        Binding("f1,question_mark", "help", "Help", id="run.help"),
        Binding("ctrl+l", "app.redraw", "Redraw the screen", id="run.redraw", priority=True),
        Binding("1,alt+1", "tab('conversation')", "Conversation", id="run.tab_1"),
        Binding("2,alt+2", "tab('events')", "Events", id="run.tab_2"),
        Binding("3,alt+3", "tab('offloads')", "Offloads", id="run.tab_3"),
        Binding("4,alt+4", "tab('dreams')", "Dreams", id="run.tab_4"),
        Binding("5,alt+5", "tab('context')", "Context", id="run.tab_5"),
        Binding("6,alt+6", "tab('cost')", "Cost", id="run.tab_6"),
        Binding("backslash", "middle", "Hide or show the middle column", id="run.middle"),
        Binding("ctrl+o", "zoom", "Give the pane the whole width", id="run.zoom", priority=True),
        Binding("0,alt+0,f2", "home", "All runs", id="run.home"),
        Binding(letter("r"), "retry", "Ask the provider again now", id="run.retry"),
        Binding(letter("c"), "compact", "Compact the context", id="run.compact"),
    ]

    class HomeWanted(Message):
        """The person wants to see all runs."""

    def __init__(
        self,
        source: RunSource,
        look: Look,
        themes: tuple[str, ...] = (),
        *,
        motion: bool = True,
        first: str = "",
        home: bool = False,
    ) -> None:
        """``first`` is sent as soon as the screen is there. For ``home`` see `RunView`."""
        super().__init__(source, look, motion=motion, home=home)
        self._first = first
        self._themes = tuple(sorted(themes))
        self._disarm: Timer | None = None

    def on_mount(self) -> None:
        """Bring earlier prompts into the composer's history. Textual calls the base's handler by itself."""
        self.run_worker(self._seed(), group="seed")
        if self._first:
            self.composer.entry.remember(self._first)
            order = Order("submit", {"text": self._first, "later": False})
            self.run_worker(self._send(order, typed=self._first), group="send")

    async def _seed(self) -> None:
        try:
            inputs = await asyncio.to_thread(self.source.inputs)
        except SourceError as error:
            self.say(str(error), error=True)
            return
        self.composer.entry.seed(clean(text) for text in inputs)

    # -- commands -----------------------------------------------------------------------------------------------------
    def on_entry_sent(self, event: Entry.Sent) -> None:
        """Enter in the composer: send, do what a slash command asks, or resume when it is empty."""
        event.stop()
        text = event.text
        if not text.strip():
            self._resume()
            return
        parsed = parse(text)
        if isinstance(parsed, Wrong):
            self.say(self.look.t(parsed.key, **parsed.values), error=True)
            self._give_back(text)
        elif isinstance(parsed, Local):
            self._do(parsed)
        elif parsed.kind == "compact" and not parsed.payload["prune"]:
            self.open_compaction(parsed)
        else:
            self.run_worker(self._send(parsed, typed=text), group="send")

    def _resume(self) -> None:
        if self.presented is not None and self.presented.status.resumable and not (self.newest and self.newest.pending):
            self.run_worker(self._send(Order("resume", {})), group="send")

    def action_retry(self) -> None:
        """Ask the provider again now instead of waiting longer."""
        if self.presented is not None and self.presented.status.retry_in_s is not None:
            self.run_worker(self._send(Order("retry", {})), group="send")

    async def _send(self, order: Order, typed: str = "") -> None:
        """Write a command; what was typed comes back where that fails."""
        if order.kind == "interrupt":
            self._interrupt_asked()
        try:
            await self.steering.send(order.kind, order.payload)
        except SourceError as error:
            self.say(str(error), error=True)
            self._give_back(typed)
            if order.kind == "interrupt":
                self.steering.interrupt_failed()
            if order.kind == "decide":
                self.approval.body.answered(sent=False)
            self.represent()
            return
        self.nudge()
        self.order_sent(order)

    def _give_back(self, typed: str) -> None:
        if typed:
            self.composer.entry.give_back(typed)

    def settle(self, batch: Batch) -> None:
        """Say what became of commands that were not done; words that were refused come back."""
        for sent, outcome in self.steering.settled(batch.state):
            if outcome.outcome == "done":
                self.order_done(sent.kind)
                continue
            word = self.look.t(f"outcome.{outcome.outcome}", kind=self.look.t(f"command.{sent.kind}"))
            self.say(f"{word} {self.look.line(outcome.detail)}".strip(), error=True)
            self._give_back(sent.text)
        self.renew_lost()

    def _do(self, local: Local) -> None:
        {
            "help": self.action_help,
            "quit": lambda: self.run_worker(self.app.action_quit()),
            "status": self.action_status,
            "cost": self.action_cost,
            "context": self.show_tiers if local.value else self.action_context,
            "offloads": lambda: self.choose_tab("offloads"),
            "dreams": lambda: self.choose_tab("dreams"),
            "mcp": self.action_servers,
            "model": self.action_models,
            "lost": lambda: self.show_lost(int(local.value or 0)),
            "fork": lambda: self.fork(local.value),
            "middle": self.action_middle,
            "zoom": self.action_zoom,
        }.get(local.name, lambda: self._do_with_value(local))()

    def _do_with_value(self, local: Local) -> None:
        if local.name == "theme":
            self.post_message(self.ThemeChosen(local.value))
        elif local.name == "language":
            self.post_message(self.LanguageChosen(local.value))
        elif local.name in {"approve", "deny"}:
            waiting = self.waiting
            if not waiting:
                self.say(self.look.t("slash.nothing_waits"))
                return
            self._decide(waiting[0], "allow" if local.name == "approve" else "deny", always=False, why=local.value)

    @property
    def waiting(self) -> tuple[OpenApproval, ...]:
        """The questions that wait, oldest first."""
        return () if self.newest is None else self._approvals(self.newest)

    def _decide(self, approval: OpenApproval, verdict: str, *, always: bool, why: str) -> None:
        payload = {"approval_id": approval.approval_id, "verdict": verdict, "always": always, "why": why}
        self.run_worker(self._send(Order("decide", payload)), group="send")

    def action_models(self) -> None:
        """Choose the model that goes on with the run."""
        self.run_worker(self._pick_model(), group="models", exclusive=True)

    async def _pick_model(self) -> None:
        from geode_tui.tui.screens.models import pick_model

        picked = await pick_model(self, self.source.models, self.newest.state if self.newest else None)
        if picked is not None:
            await self._send(Order("model", {"model": picked[1], "provider": picked[0], "effort": ""}))

    # -- approvals ----------------------------------------------------------------------------------------------------
    def on_approval_body_decided(self, event: ApprovalBody.Decided) -> None:
        """An answer from the panel."""
        event.stop()
        self._decide(event.approval, event.verdict, always=event.always, why=event.why)

    def on_approval_panel_changed(self, event: ApprovalPanel.Changed) -> None:
        """The panel wants another height."""
        event.stop()
        self.fit_approval()
        self.show_hints()

    def on_approval_panel_left(self, event: ApprovalPanel.Left) -> None:
        """Back to writing."""
        event.stop()
        self.composer.entry.focus()

    def action_needs(self) -> None:
        """To what needs the person; when there already, to the next."""
        if not self.waiting:
            self.say(self.look.t("slash.nothing_waits"))
        elif self.approval.answering:
            self.approval.next()
        else:
            self.approval.body.focus()

    # -- interrupting -------------------------------------------------------------------------------------------------
    def action_escape(self) -> None:
        """Close the topmost thing, and with nothing to close go home; while a turn runs, arm and then interrupt."""
        if self.close_topmost():
            return
        entry = self.composer.entry
        if self.newest is None or not self.newest.state.turn_open:
            if self._armed:  # the turn ended while the second esc was on its way
                self._arm(False)
            elif entry.has_focus and not entry.text:
                self.action_home()
            entry.focus()
        elif self._armed:
            self.run_worker(self._send(Order("interrupt", {})), group="send")
        elif not self.steering.interrupting(self.newest.state):
            self._arm(True)

    def action_home(self) -> None:
        """To all runs, where there is such a screen."""
        if self.has_home:
            self.post_message(self.HomeWanted())

    def _arm(self, armed: bool) -> None:
        if self._disarm is not None:
            self._disarm.stop()
        self._armed = armed
        self._disarm = self.set_timer(ARMED_S, lambda: self._arm(False)) if armed else None
        self.show_hints()

    def _interrupt_asked(self) -> None:
        self._arm(False)
        if self.newest is not None:
            self.steering.interrupt_asked(self.newest.state.turn)
        self.represent()

    # -- finding and copying ------------------------------------------------------------------------------------------
    def action_find(self) -> None:
        """Ask what to look for in the conversation."""
        self.choose_tab("conversation")
        self.find.open()

    def on_conversation_find_wanted(self, event: Conversation.FindWanted) -> None:
        """The conversation's own key for it."""
        event.stop()
        self.action_find()

    def on_conversation_find_changed(self, event: Conversation.FindChanged) -> None:
        """The search has got on."""
        event.stop()
        self.find.show(event.state)

    def close_topmost(self) -> bool:
        """Drop a selection, the search, else what every screen closes."""
        if self.conversation.has_selection:
            self.conversation.pick(None)
        elif self.find.opened:
            self.find.action_close()
        elif not self._drop_filter():
            return super().close_topmost()
        return True

    def _drop_filter(self) -> bool:
        """Take away what narrows the pane with the focus; False where nothing does."""
        return any(pane.has_focus and pane.widen() for pane in self.columns.panes.values())

    def action_copy_or_clear(self) -> None:
        """Copy what is selected in the conversation; else as on every screen."""
        if self.conversation.has_selection:
            self.conversation.action_copy()
        else:
            super().action_copy_or_clear()

    # -- panes --------------------------------------------------------------------------------------------------------
    def on_tab_row_chosen(self, event: TabRow.Chosen) -> None:
        """A tab was clicked."""
        event.stop()
        self.choose_tab(event.tab)

    def action_tab(self, tab: str) -> None:
        """Show a tab."""
        self.choose_tab(tab)

    def action_middle(self) -> None:
        """Hide the tab beside the conversation, or show it again."""
        if not self.form.middle:
            self.say(self.look.t("screen.no_middle"))
            return
        left = self.columns.part_of(self.focused) == "middle"
        self.columns.toggle_middle()
        if left:
            self.conversation.focus()
        self.columns_changed()

    def action_zoom(self) -> None:
        """Give the column with the focus the whole width, or each its own again."""
        if not self.form.side:
            self.say(self.look.t("screen.one_column"))
            return
        self.columns.toggle_zoom(self.columns.part_of(self.focused))
        self.columns_changed()

    def action_help(self) -> None:
        """What every key and command does."""
        from geode_tui.tui.screens.help import help_lines
        from geode_tui.tui.screens.lost import LostList
        from geode_tui.tui.screens.names import NameList
        from geode_tui.tui.widgets.compact_body import CompactBody
        from geode_tui.tui.widgets.context_tab import ContextPane
        from geode_tui.tui.widgets.cost_tab import CostPane
        from geode_tui.tui.widgets.dream_tab import DreamsPane
        from geode_tui.tui.widgets.events import EventsPane
        from geode_tui.tui.widgets.field import Field
        from geode_tui.tui.widgets.offload_tab import OffloadsPane
        from geode_tui.tui.widgets.version_diff import DiffPane

        panes = (
            type(self),
            type(self.app),
            Entry,
            type(self.conversation),
            FindBar,
            EventsPane,
            OffloadsPane,
            DreamsPane,
            ContextPane,
            DiffPane,
            CostPane,
            Field,
            NameList,
            LostList,
            CompactBody,
            ApprovalBody,
        )
        self.open_reading(self.look.t("help.title"), help_lines(panes, self.look))

    # -- palette ------------------------------------------------------------------------------------------------------
    def action_palette(self) -> None:
        """Everything that can be done here, by name."""
        self.open_palette(self._choices(), self._chosen)

    def _choices(self) -> list[Choice]:
        t = self.look.t
        running = self.newest is not None and self.newest.state.turn_open
        out = [Choice(f"tab:{tab}", t(f"tab.{tab}"), t("palette.tab")) for tab in TABS]
        if self.waiting:
            out.insert(0, Choice("needs", t("hint.answer"), "ctrl+g"))
        if running:
            out.append(Choice("interrupt", t("hint.interrupt"), "esc esc"))
        if self.presented is not None and self.presented.status.retry_in_s is not None:
            out.insert(0, Choice("retry", t("key.run.retry"), "r"))
        if self.has_home:
            out.append(Choice("home", t("key.run.home"), "f2"))
        columns = [name for name, there in (("middle", self.form.middle), ("zoom", self.form.side)) if there]
        out += [*self.event_choices(), *self.offload_choices(), *self.dream_choices(), *self.figure_choices()]
        figures = ("status", "cost", "context", "mcp")
        readings = (*columns, *figures, *WINDOW_ORDERS, "lost", "fork", "model", "help", "quit")
        out += [Choice(name, t(f"slash.help_{name}"), f"/{name}") for name in readings]
        out += [Choice(f"theme:{name}", t("palette.theme", name=name), "/theme") for name in self._themes]
        out += self.language_choices()
        return out

    def _chosen(self, value: str | None) -> None:
        name, _, rest = (value or "").partition(":")
        if name == "tab":
            self.choose_tab(rest)
        elif name == "events":
            self.do_event_choice(rest)
        elif rest and name == "offloads":
            self.do_offload_choice(rest)
        elif rest and name == "dreams":
            self.do_dream_choice(rest)
        elif rest and name in FIGURE_TABS:
            self.do_figure_choice(name, rest)
        elif name == "theme":
            self.post_message(self.ThemeChosen(rest))
        elif name == "language":
            self.post_message(self.LanguageChosen(rest))
        elif name == "needs":
            self.action_needs()
        elif name == "interrupt":
            self.run_worker(self._send(Order("interrupt", {})), group="send")
        elif name == "retry":
            self.action_retry()
        elif name == "compact":
            self.action_compact()
        elif name in WINDOW_ORDERS:
            self.run_worker(self._send(WINDOW_ORDERS[name]), group="send")
        elif name == "home":
            self.action_home()
        elif name:
            self._do(Local(name))
