"""What the run screen does to the window: a compaction's preview, and going on in a fork of the run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from textual.message import Message

from geode_tui.tui.screens.run_figures import RunFigures
from geode_tui.tui.slash import ROUND_KINDS, WINDOW_KINDS, Local, Order, compaction, round_of
from geode_tui.tui.source import RunSource, SourceError
from geode_tui.view.window_notes import note_text

WINDOW_ORDERS: Mapping[str, Order] = {"compact": compaction(), "undo": Order("undo", {}), "redo": Order("redo", {})}
"""Commands about what the model is sent, as the palette gives them."""


class RunWindow(RunFigures):
    """See the module."""

    class RunWanted(Message):
        """The person wants to go on in another run."""

        def __init__(self, source: RunSource) -> None:
            super().__init__()
            self.source = source

    async def _send(self, order: Order, typed: str = "") -> None:
        """Write a command; what was typed comes back where that fails."""
        raise NotImplementedError

    # -- compacting ---------------------------------------------------------------------------------------------------
    def action_compact(self) -> None:
        """Show what a compaction would do."""
        self.open_compaction(WINDOW_ORDERS["compact"])

    def open_compaction(self, order: Order) -> None:
        """Show what ``order``, which compacts, would do; what the person then decides is done."""
        from geode_tui.tui.screens.compact import CompactScreen
        from geode_tui.tui.widgets.compact_body import Wish

        if not self.form.too_small:
            self.app.push_screen(CompactScreen(self.look, self.source, Wish(**order.payload)), self._decided)

    def _decided(self, decision: Order | Local | None) -> None:
        if isinstance(decision, Local):
            self.fork(decision.value)
        elif decision is not None:
            self.run_worker(self._send(decision), group="send")

    # -- outcomes -----------------------------------------------------------------------------------------------------
    def order_sent(self, order: Order) -> None:
        """A command is written: a run that goes on takes up some of them only between two rounds."""
        if order.kind in ROUND_KINDS and self.presented is not None and self.presented.status.ticks:
            self.say(self.look.t("outcome.next_round", kind=self.look.t(f"command.{order.kind}")))

    def order_done(self, kind: str) -> None:
        """A command was carried out: of one about the window it is said, as the conversation says it."""
        if kind in WINDOW_KINDS and self.newest is not None:
            notes = self.newest.state.window_notes
            word = self.look.t("outcome.done", kind=self.look.t(f"command.{kind}"))
            self.say(note_text(notes[-1], self.look.strings, self.look.glyphs.arrow) if notes else word)

    # -- forking ------------------------------------------------------------------------------------------------------
    def fork(self, value: str) -> None:
        """Go on in a copy of the run, as it stood at the end of round ``value``; empty: as it stands."""
        turn, round_ = round_of(value) or (0, 0)
        self.run_worker(self._fork(turn, round_), group="fork", exclusive=True)

    async def _fork(self, turn: int, round_: int) -> None:
        self.say(self.look.t("fork.opening"))
        try:
            made = await asyncio.to_thread(self.source.fork, turn, round_)
        except SourceError as error:
            self.say(str(error), error=True)
            return
        self.post_message(self.RunWanted(made))
