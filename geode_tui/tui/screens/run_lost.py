"""What the run screen does with what a summary lost: it lists that, shows messages, and puts things back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from geode_tui.tui.conversation.view import Conversation
from geode_tui.tui.screens.run_window import RunWindow
from geode_tui.tui.slash import put_back
from geode_tui.tui.source import SourceError
from geode_tui.view.event_line import About
from geode_tui.view.window_notes import is_compaction

if TYPE_CHECKING:
    from geode_tui.tui.screens.lost import LostScreen
    from geode_tui.view.window_history import LostRow


class RunLost(RunWindow):
    """See the module."""

    _lost_list: LostScreen | None = None

    def on_conversation_lost_wanted(self, event: Conversation.LostWanted) -> None:
        """The conversation's own key for it."""
        event.stop()
        self.show_lost(event.version)

    def show_lost(self, version: int = 0) -> None:
        """List what the summary of ``version`` of the view lost; 0 is the newest."""
        notes = self.newest.state.window_notes if self.newest is not None else []
        made = [note.version for note in notes if is_compaction(note) and note.version]
        version = version or (made[-1] if made else 0)
        if version:
            self.run_worker(self._open_lost(version), group="lost", exclusive=True)
        else:
            self.say(self.look.t("lost.no_summary"))

    async def _open_lost(self, version: int) -> None:
        from geode_tui.tui.screens.lost import LostScreen

        def put(version: int, index: int) -> None:
            self.run_worker(self._put_back(version, index), group="send")

        def opened(things: tuple[LostRow, ...]) -> None:
            self._lost_list = LostScreen(self.look, version, things, put)
            self.app.push_screen(self._lost_list, self._left_lost)

        await self._read_lost(version, opened)

    async def _read_lost(self, version: int, done: Callable[[tuple[LostRow, ...]], None]) -> None:
        try:
            things = await asyncio.to_thread(self.source.lost, version)
        except SourceError as error:
            self.say(str(error), error=True)
            return
        done(things)

    def _left_lost(self, thing: LostRow | None) -> None:
        self._lost_list = None
        if thing is not None:
            self.show_message(About(0, thing.seq, "", 0, 0), "events.no_message")

    # -- putting back -------------------------------------------------------------------------------------------------
    async def _put_back(self, version: int, index: int) -> None:
        await self._send(put_back(version, index))
        self.renew_lost()

    def order_done(self, kind: str) -> None:
        """As before; of a thing that was put back the list says it, while that is open."""
        super().order_done(kind)
        if kind == "keep" and self._lost_list is None:
            self.say(self.look.t("outcome.done", kind=self.look.t("command.keep")))

    def renew_lost(self) -> None:
        """Let the list say what became of what was asked for, once the last of that has its outcome."""
        screen = self._lost_list
        if screen is None or not screen.list.asked or self.steering.waits_for("keep"):
            return
        things = screen.list
        self.run_worker(self._read_lost(things.version, lambda now: things.take(now, frozenset())), group="lost")
