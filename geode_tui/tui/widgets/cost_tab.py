"""The Cost tab: what the run cost, by round, model and purpose, and what the months did."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, TypeAlias

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from geode_tui.log.browse import EventQuery
from geode_tui.tui.hints import Area
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.source import EventSource, SourceError
from geode_tui.tui.widgets.cost_page import CostPage, CostTabView
from geode_tui.tui.widgets.tab_pane import TabPane
from geode_tui.tui.widgets.wheel import Wheeled
from geode_tui.view.cost import COST_EVENTS, MonthCost, RoundCost, followed, round_costs
from geode_tui.view.state import RunState

MOST_ROUNDS = 2_000
"""Most rounds held: the newest."""
NEWEST = 1 << 62
"""An event id after every other."""
QUERY = EventQuery(only=COST_EVENTS)

Page: TypeAlias = Literal["overview", "rounds", "months"]


class CostPane(Wheeled, TabPane, can_focus=True):
    """See the module. What is not in the state is read in a thread, and only while it is shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "move(1)", "Down", id="cost.down"),
        Binding(letter("k", "up"), "move(-1)", "Up", id="cost.up"),
        Binding("pagedown,ctrl+d", "page(1)", "A page down", id="cost.page_down"),
        Binding("pageup,ctrl+u", "page(-1)", "A page up", id="cost.page_up"),
        Binding(letter("g", "home"), "first", "To the beginning", id="cost.first"),
        Binding("G,end", "last", "To the end", id="cost.last"),
        Binding(letter("b"), "want('budget')", "Set a cost budget", id="cost.budget"),
        Binding(letter("r"), "turn_to('rounds')", "By round, or back", id="cost.rounds"),
        Binding(letter("m"), "turn_to('months')", "By month, or back", id="cost.months"),
        Binding("enter", "want('jump')", "Show the round in the conversation", id="cost.jump"),
        Binding(letter("e"), "want('export')", "Export the calls", id="cost.export"),
        Binding(letter("y"), "want('copy')", "Copy the page", id="cost.copy"),
    ]

    class Wanted(Message):
        """The screen shall set a ``budget``, ``jump`` to a round, ``export`` the calls, or ``copy`` the page."""

        def __init__(self, what: str, one: RoundCost | None, text: str) -> None:
            super().__init__()
            self.what = what
            self.round = one
            self.text = text

    def __init__(
        self,
        look: Look,
        source: EventSource,
        months: Callable[[], Sequence[MonthCost]],
        *,
        id: str = "cost",  # noqa: A002  Textual's own name
    ) -> None:
        """``months`` reads the ledger's months, the present one first; it is called in a thread and may raise
        `SourceError`.
        """
        super().__init__(look, id=id)
        self._source = source
        self._read_months = months
        self.view = CostTabView()
        self._newest = RunState()
        self._behind = False
        """Whether ``view`` is of a state before the newest."""
        self.page: Page = "overview"
        self.months: tuple[MonthCost, ...] | None = None
        """None until they were read."""
        self.rounds: tuple[RoundCost, ...] = ()
        """The newest first, as they are listed."""
        self.trouble = ""
        self._held: tuple[RoundCost, ...] = ()
        """The same, oldest first."""
        self._last = 0
        """Id of the newest event that was read for them; 0 before any was."""
        self._made_of: tuple[Page, CostTabView] | None = None
        """The page and the state that what was read belongs to."""
        self._reading = False
        self._at = 0
        """The cursor's row of the rounds, else the first line in view."""
        self._top = 0
        self._head = 0

    # -- data ---------------------------------------------------------------------------------------------------------
    @property
    def reading(self) -> bool:
        """Whether something is being read."""
        return self._reading

    @property
    def selected(self) -> RoundCost | None:
        """The round under the cursor."""
        return self.rounds[self._at] if self.page == "rounds" and self.rounds else None

    @property
    def area(self) -> Area | None:
        """The page, while it has the focus."""
        return "cost" if self.has_focus else None

    def show_state(self, state: RunState) -> None:
        """Take a newer state."""
        self._newest, self._behind = state, True
        if self.display:
            self._take_newest()

    def on_show(self) -> None:
        """Catch up with what came while another tab was shown."""
        self._take_newest()

    def _take_newest(self) -> None:
        before = self.view
        if self._catch_up() != before:
            self.repaint()
        self._renew()

    def _catch_up(self) -> CostTabView:
        """The newest state's slice, which is made only while it is shown."""
        if self._behind:
            self.view, self._behind = CostTabView.of(self._newest), False
        return self.view

    def _renew(self) -> None:
        if self.display and not self._reading and self._made_of != (self.page, self.view):
            self._reading = True
            self.run_worker(self._read(), group="cost", exclusive=True)

    async def _read(self) -> None:
        """Read the months, and the rounds where they are shown, until they are those of the newest state."""
        try:
            while self.display and (made_of := (self.page, self.view)) != self._made_of:
                if self.months is None or self.page == "months":
                    self.months = tuple(await asyncio.to_thread(self._read_months))
                if self.page == "rounds":
                    await self._read_rounds()
                self._made_of, self.trouble = made_of, ""
                self.repaint()
        except SourceError as error:
            self.trouble = str(error)
        finally:
            self._reading = False
        self.repaint()

    async def _read_rounds(self) -> None:
        """Read the newest rounds from the log, or those that came since."""
        if self._last:
            done = False
            while not done:
                page = await asyncio.to_thread(self._source.events, QUERY, after=self._last)
                self._hold(followed(self._held, round_costs(page.rows)))
                self._last, done = max(self._last, page.reached), page.done
            return
        before, newest, done = NEWEST, 0, False
        while not done and len(self._held) < MOST_ROUNDS:
            page = await asyncio.to_thread(self._source.events, QUERY, before=before)
            self._hold(followed(round_costs(page.rows), self._held))
            newest = newest or (page.rows[-1].id if page.rows else 0)
            before, done = page.reached, page.done
        self._last = newest

    def _hold(self, rounds: tuple[RoundCost, ...]) -> None:
        chosen = self.selected
        self._held = rounds[-MOST_ROUNDS:]
        self.rounds = tuple(reversed(self._held))
        if chosen is not None and self._at:
            place = (chosen.turn, chosen.round)
            self._at = next((i for i, one in enumerate(self.rounds) if (one.turn, one.round) == place), self._at)

    # -- drawing ------------------------------------------------------------------------------------------------------
    def build(self, size: Size) -> list[Strip]:
        """A window of the page that is shown."""
        if self._made_of != (self.page, self.view) and not self._reading and not self.trouble:
            self.call_later(self._renew)  # it was hidden, for a moment, when it wanted to read
        page = CostPage(self.look, size.width, self.has_focus)
        if self.page == "rounds":
            return self._rounds(page, size)
        month = self.months[0] if self.months else None
        lines = page.overview(self._catch_up(), month) if self.page == "overview" else self._months(page)
        self._head = 0
        room = size.height - (len(lines) > size.height > 1)
        self._top = max(0, min(self._top, len(lines) - room))
        below = len(lines) - self._top - room
        shown = lines[self._top : self._top + room]
        return [*shown, self._below(page, below)] if below > 0 else shown

    def _below(self, page: CostPage, lines: int) -> Strip:
        text = self.look.t("cost.below", n=lines)
        return page.strip([Segment(text, self.look.palette.style(self.look.palette.muted))])

    def _title(self, page: CostPage, key: str) -> Strip:
        palette = self.look.palette
        left = [Segment(self.look.t(key), palette.style(palette.accent, bold=True, underline=self.has_focus))]
        if self.trouble:
            left.append(Segment(f"  {self.look.line(self.trouble)}", palette.style(palette.crit)))
        elif self._reading:
            left.append(Segment(f"  {self.look.t('cost.reading')}", palette.style(palette.muted)))
        elif key == "cost.by_round" and len(self._held) >= MOST_ROUNDS:
            left.append(Segment(f"  {self.look.t('cost.newest_rounds', n=MOST_ROUNDS)}", palette.style(palette.muted)))
        return page.strip(left)

    def _rounds(self, page: CostPage, size: Size) -> list[Strip]:
        head = [self._title(page, "cost.by_round")]
        if not self.rounds:
            text = "" if self._reading or self.trouble else self.look.t("cost.no_rounds")
            return [*head, page.strip([]), page.strip([Segment(text)])]
        head.append(page.round_heads())
        self._head = len(head)
        room = max(1, size.height - len(head))
        self._at = max(0, min(self._at, len(self.rounds) - 1))
        self._top = max(0, min(self._top, self._at, len(self.rounds) - room), self._at - room + 1)
        shown = self.rounds[self._top : self._top + room]
        return head + [page.round_line(one, selected=self._top + i == self._at) for i, one in enumerate(shown)]

    def _months(self, page: CostPage) -> list[Strip]:
        head = [self._title(page, "cost.by_month"), page.strip([])]
        if self.months is None:
            return head
        if not any(one.money.calls for one in self.months):
            keys = ("cost.no_months", "cost.no_months_why")
            return [*head, *(page.strip([Segment(self.look.t(key))]) for key in keys)]
        return head + page.months(self.months)

    # -- keys and mouse -----------------------------------------------------------------------------------------------
    def on_focus(self) -> None:
        """Underline the headings."""
        self.repaint()

    def on_blur(self) -> None:
        """Take the underline away."""
        self.repaint()

    def turn_to(self, page: Page) -> None:
        """Show ``page`` from its beginning."""
        if page != self.page:
            self.page, self._at, self._top = page, 0, 0
            self.repaint()
            self._renew()

    def action_turn_to(self, page: Page) -> None:
        """Show ``page``, or the overview again."""
        self.turn_to("overview" if self.page == page else page)

    def widen(self) -> bool:
        """Back to the overview; False where it is shown."""
        elsewhere = self.page != "overview"
        self.turn_to("overview")
        return elsewhere

    def action_move(self, rows: int) -> None:
        """Move the cursor, or the page where there is none."""
        if self.page == "rounds":
            self._at = max(0, min(len(self.rounds) - 1, self._at + rows))
        else:
            self._top = max(0, self._top + rows)
        self.repaint()

    def action_page(self, pages: int) -> None:
        """Move by a page."""
        self.action_move(pages * max(1, self.size.height - self._head - 1))

    def action_first(self) -> None:
        """To the beginning."""
        self.action_move(-(len(self.rounds) + self._top))

    def action_last(self) -> None:
        """To the end."""
        self.action_move(len(self.rounds) if self.page == "rounds" else 1_000)

    def action_want(self, what: str) -> None:
        """Have the screen do something."""
        if what == "jump" and self.selected is None:
            return
        text = "\n".join(strip.text.strip() for strip in self._strips).strip() if what == "copy" else ""
        self.post_message(self.Wanted(what, self.selected, text))

    def on_click(self, event: events.Click) -> None:
        """Select the round under the pointer; a click on the selected one jumps to it, one on a title goes back."""
        index = self._top + event.y - self._head
        if event.y == 0:
            self.widen()
        elif self.page == "rounds" and event.y >= self._head and index < len(self.rounds):
            if index == self._at:
                self.action_want("jump")
            self._at = index
            self.repaint()
