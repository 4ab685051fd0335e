"""What the run screen does for its Context and Cost tabs, and for the commands that tell the same figures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from geode_tui.tui.choices import Choice
from geode_tui.tui.screens.run_dreams import RunDreams
from geode_tui.tui.source import SourceError
from geode_tui.view.cost import cost_lines, session_text
from geode_tui.view.event_line import About
from geode_tui.view.gauge import context_line, context_lines
from geode_tui.view.selectors import state_line
from geode_tui.view.servers import server_lines
from geode_tui.view.window_notes import view_text

if TYPE_CHECKING:
    from geode_tui.tui.widgets.context_tab import ContextPane
    from geode_tui.tui.widgets.cost_tab import CostPane
    from geode_tui.view.blocks import BlockRow

PALETTE = (
    ("context", "filter", "filter", "/"),
    ("context", "sort", "sort", "s"),
    ("context", "versions", "turn_to('versions')", "v"),
    ("context", "diff", "diff", "d"),
    ("cost", "rounds", "turn_to('rounds')", "r"),
    ("cost", "months", "turn_to('months')", "m"),
    ("cost", "budget", "want('budget')", "b"),
    ("cost", "export", "want('export')", "e"),
)
"""What the palette names: the tab, a name, the tab's action, its key."""
FIGURE_TABS = frozenset(tab for tab, *_ in PALETTE)


class RunFigures(RunDreams):
    """See the module."""

    # -- Context ------------------------------------------------------------------------------------------------------
    def on_context_pane_wanted(self, event: ContextPane.Wanted) -> None:
        """Something is to be done with a block."""
        event.stop()
        entry = event.block.entry
        if entry is None:
            self.say(self.look.t("blocks.not_said"))
        elif event.what == "copy" and not entry.message_id:
            self.say(self.look.t("blocks.no_message"))
        elif event.what == "copy":
            self.run_worker(self._copy_block(event.block), group="copy", exclusive=True)
        else:
            about = About(entry.message_id, entry.seq, entry.call_id, entry.turn, entry.round)
            self.show_message(about, "events.no_message")

    async def _copy_block(self, block: BlockRow) -> None:
        stage, entry = self.conversation.stage, block.entry
        if stage is None or entry is None:
            return
        try:
            text = await asyncio.to_thread(stage.whole, entry.message_id)
        except SourceError as error:
            self.say(str(error), error=True)
            return
        self.app.copy_to_clipboard(text)
        self.say(self.look.t("screen.copied"))

    # -- Cost ---------------------------------------------------------------------------------------------------------
    def on_cost_pane_wanted(self, event: CostPane.Wanted) -> None:
        """Something is to be done with the cost."""
        event.stop()
        if event.what == "budget":
            self.write("/budget cost ")
        elif event.what == "export":
            from geode_tui.tui.widgets.cost_tab import QUERY

            self.run_worker(self.export(QUERY, lambda _: True), group="export", exclusive=True)
        elif event.what == "jump" and event.round is not None:
            self.show_message(About(0, 0, "", event.round.turn, event.round.round), "cost.no_round")
        elif event.what == "copy":
            self.app.copy_to_clipboard(event.text)
            self.say(self.look.t("screen.copied"))

    def write(self, text: str) -> None:
        """Begin ``text`` in the composer; what stands there can be had back as an earlier prompt."""
        entry = self.composer.entry
        if entry.text:
            entry.remember(entry.whole_text())
            entry.clear_text()
        entry.focus()
        entry.insert(text)

    # -- palette ------------------------------------------------------------------------------------------------------
    def figure_choices(self) -> list[Choice]:
        """What the palette offers for the two tabs."""
        return [Choice(f"{tab}:{act}", self.look.t(f"palette.{tab}_{name}"), key) for tab, name, act, key in PALETTE]

    def do_figure_choice(self, tab: str, action: str) -> None:
        """Show the tab and do what was chosen."""
        self.do_in_tab(tab, self.context if tab == "context" else self.cost, action)

    # -- commands -----------------------------------------------------------------------------------------------------
    def action_status(self) -> None:
        """What the run is doing, how full its context is and what it cost."""
        if self.newest is None or self.presented is None:
            return
        state, t = self.newest.state, self.look.t
        lines = [state_line(state, self.presented.status, self.look.strings), *(n.text for n in self.presented.notices)]
        header = self.presented.header
        lines.append(f"{self.look.line(state.session_id)}  {header.model}  {header.route}")
        if state.context is not None:
            lines.append(f"{t('section.context')}  {context_line(state.context, self.look.strings)}")
        lines.append(f"{t('section.cost')}  {session_text(state, self.look.strings)}")
        self._read("help.status", [("", line) for line in lines if line])

    def action_cost(self) -> None:
        """What it cost."""
        if self.newest is not None:
            self._read("section.cost", cost_lines(self.newest.state, self.look.strings))

    def action_servers(self) -> None:
        """The MCP servers of the run: their state, their tools and what those cost."""
        if self.newest is None:
            return
        strings, servers = self.look.strings, self.newest.state.servers
        lines = [line for name in sorted(servers) for line in server_lines(servers[name], strings)]
        self._read("mcp.title", lines or [("", self.look.t("mcp.none"))])

    def action_context(self) -> None:
        """How full the context is, with what, in which layers it is sent, and what was changed of it."""
        if self.newest is not None:
            state, strings = self.newest.state, self.look.strings
            view = ("", view_text(state.view_version, state.view_cause, strings))
            self._read("section.context", [*context_lines(state, strings), view])

    def show_tiers(self) -> None:
        """What is remembered beside the run, tier by tier."""
        self.run_worker(self._read_tiers(), group="tiers", exclusive=True)

    async def _read_tiers(self) -> None:
        try:
            pairs = await asyncio.to_thread(self.source.tiers, self.look.strings)
        except SourceError as error:
            self.say(self.look.line(str(error)), error=True)
            return
        self._read("tiers.title", pairs)

    def _read(self, title: str, pairs: Sequence[tuple[str, str]]) -> None:
        safe = [(self.look.redact(left), self.look.redact(right)) for left, right in pairs]
        self.open_reading(self.look.t(title), safe)
