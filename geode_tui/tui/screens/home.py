"""The home screen: this project's runs, what is ready, and a composer to start a run."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from geode_tui.tui.choices import Choice
from geode_tui.tui.home_source import HomeSource
from geode_tui.tui.look import Look
from geode_tui.tui.screens.home_view import HomeView
from geode_tui.tui.slash import Local, Order, Wrong, parse
from geode_tui.tui.source import RunSource, SourceError
from geode_tui.tui.widgets.composer import Composer, Entry
from geode_tui.tui.widgets.field import Field
from geode_tui.tui.widgets.home_composer import HomeEntry
from geode_tui.tui.widgets.runs import RunList
from geode_tui.tui.widgets.welcome import Welcome

READINGS = ("model", "help", "quit")
"""Slash commands that need no run."""


class HomeScreen(HomeView):
    """See the module."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", "Next pane", id="home.next_pane"),
        Binding("shift+tab", "app.focus_previous", "Pane before", id="home.previous_pane"),
        Binding("ctrl+g", "needs", "To the next run that needs you", id="home.needs", priority=True),
        Binding("escape", "escape", "Close the topmost thing", id="home.escape"),
        Binding("ctrl+c", "copy_or_clear", "Copy a selection, or clear the composer", id="home.copy", priority=True),
        Binding("ctrl+p", "palette", "Everything you can do here", id="home.palette", priority=True),
        Binding("f3", "models", "Choose the model of new runs", id="home.models"),
        Binding("f1,question_mark", "help", "Help", id="home.help"),
        Binding("ctrl+l", "app.redraw", "Redraw the screen", id="home.redraw", priority=True),
    ]

    class RunWanted(Message):
        """The person wants to see a run; ``first`` is what they say to a new one."""

        def __init__(self, source: RunSource, first: str = "") -> None:
            super().__init__()
            self.source = source
            self.first = first

    def __init__(self, source: HomeSource, look: Look, themes: tuple[str, ...] = (), selected: str = "") -> None:
        super().__init__(source, look, selected)
        self._themes = tuple(sorted(themes))

    # -- what the person does -----------------------------------------------------------------------------------------
    def on_composer_written(self, event: Composer.Written) -> None:
        """Something is written, or nothing any more."""
        event.stop()
        self.say_known()
        self.show_hints()

    def on_home_entry_moved(self, event: HomeEntry.Moved) -> None:
        """Up or down in an empty composer."""
        event.stop()
        (self.welcome if self.welcome.display else self.runs).action_move(event.step)

    def on_home_entry_entered(self, event: HomeEntry.Entered) -> None:
        """Enter in an empty composer."""
        event.stop()
        if self.welcome.display:
            self.welcome.action_take()
        else:
            self.runs.action_open()

    def on_entry_sent(self, event: Entry.Sent) -> None:
        """Enter in the composer: start a run, or do what a slash command asks."""
        event.stop()
        parsed = parse(event.text)
        if not event.text.strip():
            return
        if isinstance(parsed, Wrong):
            self._refuse(event.text, self.look.t(parsed.key, **parsed.values))
        elif isinstance(parsed, Order) and parsed.kind == "submit":
            self.run_worker(self._begin(event.text, str(parsed.payload["text"])), group="begin")
        elif isinstance(parsed, Order) and parsed.kind == "model":
            self.run_worker(self._use(**parsed.payload), group="models")
        elif isinstance(parsed, Local) and (parsed.name in READINGS or parsed.name in {"theme", "language"}):
            self._chosen(f"{parsed.name}:{parsed.value}")
        else:
            self._refuse(event.text, self.look.t("home.needs_run"))

    def _refuse(self, typed: str, why: str) -> None:
        self.say(why, error=True)
        self.composer.entry.give_back(typed)

    async def _begin(self, typed: str, text: str) -> None:
        try:
            source = await asyncio.to_thread(self.source.new)
        except SourceError as error:
            self._refuse(typed, str(error))
            return
        self.post_message(self.RunWanted(source, text))

    def on_run_list_opened(self, event: RunList.Opened) -> None:
        """A run is wanted."""
        event.stop()
        try:
            source = self.source.open(event.session_id)
        except SourceError as error:
            self.say(str(error), error=True)
            return
        self.post_message(self.RunWanted(source))

    def on_run_list_selected(self, event: RunList.Selected) -> None:
        """The cursor moved."""
        event.stop()
        self._wanted = ""
        self._show_peek()

    def on_run_list_copied(self, event: RunList.Copied) -> None:
        """Ids of runs are in the clipboard."""
        event.stop()
        self.say(self.look.t("home.copied", n=event.count))

    def on_welcome_taken(self, event: Welcome.Taken) -> None:
        """An example goes into the composer; it is the person who sends it."""
        event.stop()
        self.composer.entry.put(event.text)
        self.composer.entry.focus()

    def on_welcome_answered(self, event: Welcome.Answered) -> None:
        """The trust question was answered."""
        event.stop()
        self.composer.entry.focus()
        if event.trusted:
            self.run_worker(self._trust(event), group="trust")
        else:
            self.welcome.show(self.source.readiness(), event.question, left_off=True)

    async def _trust(self, event: Welcome.Answered) -> None:
        try:
            await asyncio.to_thread(self.source.trust, event.question)
        except SourceError as error:
            self.say(str(error), error=True)
        self.welcome.show(self.source.readiness(), self.source.trust_question())
        self.ready.show(self.source.readiness())
        self.show_hints()

    async def _use(self, model: str, provider: str, effort: str) -> None:
        """Let new runs use another model."""
        try:
            ready = await asyncio.to_thread(self.source.use, model, provider, effort)
        except SourceError as error:
            self.say(str(error), error=True)
            return
        self.show_ready(ready)
        self.say(self.look.t("home.new_model", model=self.look.line(ready.model, 40)))

    async def _pick_model(self) -> None:
        from geode_tui.tui.screens.models import pick_model

        picked = await pick_model(self, self.source.models, None)
        if picked is not None:
            await self._use(picked[1], picked[0], "")

    # -- actions ------------------------------------------------------------------------------------------------------
    def action_needs(self) -> None:
        """To the next run that needs the person."""
        row = self.runs.next_needing()
        if row is None:
            self.say(self.look.t("slash.nothing_waits"))
            return
        self.runs.select(row.session_id)
        self.runs.action_open()

    def close_topmost(self) -> bool:
        """Close what every screen closes, else show all runs again."""
        return super().close_topmost() or self.runs.drop_filter()

    def action_escape(self) -> None:
        """Close the topmost thing; it never leaves."""
        if not self.close_topmost():
            self.composer.entry.focus()

    def action_models(self) -> None:
        """Choose the model of new runs."""
        self.run_worker(self._pick_model(), group="models", exclusive=True)

    def action_help(self) -> None:
        """What every key and command does."""
        from geode_tui.tui.screens.help import help_lines

        panes = (type(self), type(self.app), Entry, RunList, Field, Welcome)
        self.open_reading(self.look.t("help.title"), help_lines(panes, self.look))

    def action_palette(self) -> None:
        """Everything that can be done here, by name."""
        t = self.look.t
        choices = [Choice("needs", t("hint.answer"), "ctrl+g")] if self.header.view.needs else []
        if self.runs.display:
            keys = (("filter", "/"), ("sort", "s"), ("mark", "space"), ("copy", "y"))
            choices += [Choice(f"runs:{name}", t(f"key.runs.{name}"), key) for name, key in keys]
        choices += [Choice(name, t(f"slash.help_{name}"), f"/{name}") for name in READINGS]
        choices += [Choice(f"theme:{name}", t("palette.theme", name=name), "/theme") for name in self._themes]
        choices += self.language_choices()
        self.open_palette(choices, self._chosen)

    def _chosen(self, value: str | None) -> None:
        name, _, rest = (value or "").partition(":")
        if name == "theme":
            self.post_message(self.ThemeChosen(rest))
        elif name == "language":
            self.post_message(self.LanguageChosen(rest))
        elif name == "needs":
            self.action_needs()
        elif name == "runs":
            self.runs.focus()
            self.run_worker(self.runs.run_action(rest), group="runs")
        elif name == "model":
            self.action_models()
        elif name == "help":
            self.action_help()
        elif name == "quit":
            self.run_worker(self.app.action_quit())
