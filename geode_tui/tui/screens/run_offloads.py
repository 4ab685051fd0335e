"""What the run screen does for its Offloads tab: commands, files, the clipboard."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from geode_tui.core import format as fmt
from geode_tui.tui.choices import Choice
from geode_tui.tui.screens.run_events import RunEvents
from geode_tui.tui.slash import Order
from geode_tui.tui.source import SourceError

if TYPE_CHECKING:
    from geode_tui.tui.widgets.offload_tab import OffloadsPane
    from geode_tui.view.offloads import OffloadRow


PALETTE = (("find", "/"), ("goto", ":"), ("recall", "r"), ("pin", "p"), ("save", "s"), ("turn", "t"), ("sort", "o"))
"""Actions of the tab that the palette names, and their keys."""


class RunOffloads(RunEvents):
    """See the module."""

    _may_replace = ""
    """The file that was there when the person wanted to write it: asked for again, it is replaced."""

    async def _send(self, order: Order, typed: str = "") -> None:
        """Write a command; what was typed comes back where that fails."""
        raise NotImplementedError

    def on_offloads_pane_wanted(self, event: OffloadsPane.Wanted) -> None:
        """Something is to be done with a stored result."""
        event.stop()
        one = event.one
        match event.what:
            case "recall":
                offset, limit = event.part
                self._order("recall", {"ref_id": one.ref_id, "offset": offset, "limit": limit})
            case "pin":
                self._order("pin_ref", {"ref_id": one.ref_id, "pinned": not one.pinned})
            case "copy":
                self.app.copy_to_clipboard(event.text)
                self.say(self.look.t("screen.copied"))
            case "seen":
                self.run_worker(self._show_seen(one), group="seen", exclusive=True)
            case "save":
                self.run_worker(self._save(one, event.text), group="save", exclusive=True)
            case "zoom" | "narrow":
                self._zoom_to(wide=event.what == "zoom")

    def on_offloads_pane_said(self, event: OffloadsPane.Said) -> None:
        """Tell it."""
        event.stop()
        self.say(event.text)

    def on_offloads_pane_turned(self, event: OffloadsPane.Turned) -> None:
        """Other keys work now."""
        event.stop()
        self.show_hints()

    def _order(self, kind: str, payload: dict[str, object]) -> None:
        self.run_worker(self._send(Order(kind, payload)), group="send")

    def _zoom_to(self, *, wide: bool) -> None:
        """Give the tab's column the whole width, or each column its own."""
        if self.form.side and (self.columns.zoomed is not None) != wide:
            self.columns.toggle_zoom("middle")
            self.columns_changed()

    async def _show_seen(self, one: OffloadRow) -> None:
        try:
            opened = await asyncio.to_thread(self.source.open_offload, one.ref_id)
        except SourceError as error:
            self.say(str(error), error=True)
            return
        from geode_tui.tui.widgets.offload_view import seen_parts, seen_text

        parts = seen_parts(seen_text(opened.seen, self.look))
        pairs = [("", self.look.text(line)) for name, text in parts for line in (name, *text.split("\n"), " ") if line]
        self.open_reading(self.look.t("offload.sees"), pairs)

    async def _save(self, one: OffloadRow, path: str) -> None:
        """Write a result's bytes to a file; what is there is replaced only when the same name is given again."""
        replace, self._may_replace = self._may_replace == path, ""
        try:
            done = await asyncio.to_thread(self.source.save_offload, one.ref_id, path, replace=replace)
        except SourceError as error:
            self.say(str(error), error=True)
            return
        if done is None:
            self._may_replace = path
            self.say(self.look.t("offload.exists", path=path))
        else:
            self.say(self.look.t("offload.saved", size=fmt.size_bytes(done.count), path=done.path))

    # -- palette ------------------------------------------------------------------------------------------------------
    def offload_choices(self) -> list[Choice]:
        """What the palette offers for the tab."""
        return [Choice(f"offloads:{act}", self.look.t(f"palette.offloads_{act}"), key) for act, key in PALETTE]

    def do_offload_choice(self, action: str) -> None:
        """Show the tab and do what was chosen."""
        self.do_in_tab("offloads", self.offloads, action)
