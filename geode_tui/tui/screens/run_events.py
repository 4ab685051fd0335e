"""What the run screen does for its Events tab: other panes, files, the clipboard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING

from textual.widget import Widget

from geode_tui.core import format as fmt
from geode_tui.core.events import EventRow
from geode_tui.tui.choices import Choice
from geode_tui.tui.screens.run_view import RunView
from geode_tui.tui.source import SourceError
from geode_tui.view.event_line import About, event_about

if TYPE_CHECKING:
    from geode_tui.log.browse import EventQuery
    from geode_tui.tui.widgets.events import EventsPane

PALETTE = (("search", "/"), ("names", "n"), ("level", "l"), ("jump", "g"), ("pause", "space"), ("export", "e"))
"""Actions of the tab that the palette names, and their keys."""


class RunEvents(RunView):
    """See the module."""

    def on_events_pane_wanted(self, event: EventsPane.Wanted) -> None:
        """Something is to be done with an event, or with all that are shown."""
        event.stop()
        if event.what == "export":
            wanted = self.events.filter
            self.run_worker(self.export(wanted.query, wanted.admits), group="export", exclusive=True)
        elif event.what == "names":
            self.run_worker(self._choose_names(), group="names", exclusive=True)
        elif event.event is not None and event.what == "message":
            self.show_message(event_about(event.event), "events.no_message")
        elif event.event is not None:
            from geode_tui.tui.widgets.event_rows import pretty

            text = self.look.text(pretty(event.event.payload))
            if event.what == "view":
                pairs = [("", line or " ") for line in text.split("\n")]
                self.open_reading(self.look.line(event.event.event, 60), pairs)
            else:
                self.app.copy_to_clipboard(text)
                self.say(self.look.t("screen.copied"))

    def on_event_log_missed(self, event: EventsPane.Missed) -> None:
        """There is no such place."""
        event.stop()
        self.say(event.why)

    def event_choices(self) -> list[Choice]:
        """What the palette offers for the tab."""
        return [Choice(f"events:{name}", self.look.t(f"palette.events_{name}"), key) for name, key in PALETTE]

    def do_event_choice(self, name: str) -> None:
        """Show the tab and do what was chosen."""
        self.do_in_tab("events", self.events, name)

    def do_in_tab(self, tab: str, pane: Widget, action: str) -> None:
        """Show a tab with the focus in it, and do an action of its once it has been told of the focus, on which it
        closes what it asks.
        """
        self.choose_tab(tab)
        pane.focus()
        self.app.call_later(pane.call_later, pane.run_action, action)

    def show_message(self, about: About, missing: str) -> None:
        """Bring a message, or the round it would be in, into view; ``missing`` is the key of what to say without it."""

        def show() -> None:
            if not self.conversation.show_message(about):
                self.say(self.look.t(missing))

        self.choose_tab("conversation")
        self.conversation.focus()
        self.call_after_refresh(show)

    async def _choose_names(self) -> None:
        from geode_tui.tui.screens.names import NamesScreen

        try:
            counts = await asyncio.to_thread(self.source.event_names)
        except SourceError as error:
            self.say(str(error), error=True)
            return
        hidden = self.events.filter.hidden
        self.app.push_screen(
            NamesScreen(self.look, counts, hidden), lambda chosen: self.events.hide(chosen or frozenset())
        )

    async def export(self, query: EventQuery, admits: Callable[[EventRow], bool]) -> None:
        """Write events to a file, in a thread, which gives up where the screen goes first."""
        stop = Event()
        try:
            done = await asyncio.to_thread(self.source.export_events, query, admits, stop)
        except SourceError as error:
            self.say(str(error), error=True)
            return
        finally:
            stop.set()
        self.say(self.look.t("events.exported", n=fmt.number(done.count), path=done.path))
