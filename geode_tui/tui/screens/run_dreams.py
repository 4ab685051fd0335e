"""What the run screen does for its Dreams tab: commands, the injected text, the clipboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geode_tui.core import format as fmt
from geode_tui.tui.choices import Choice
from geode_tui.tui.screens.run_offloads import RunOffloads
from geode_tui.view.event_line import About

if TYPE_CHECKING:
    from geode_tui.tui.widgets.dream_tab import DreamsPane
    from geode_tui.view.dreams import DreamTable

PALETTE = (
    ("injected", "want('injected')", "i"),
    ("diff", "diff", "d"),
    ("dream", "want('dream')", "n"),
    ("approve", "want('approve')", "a"),
    ("forget", "forget", "x"),
)
"""What the palette names: a name, the tab's action, its key."""
KEPT_KINDS = frozenset({"dream", "approve", "forget"})
"""Commands about kept texts."""


class RunDreams(RunOffloads):
    """See the module."""

    def on_dreams_pane_turned(self, event: DreamsPane.Turned) -> None:
        """Other keys work now."""
        event.stop()
        self.show_hints()

    def on_dreams_pane_wanted(self, event: DreamsPane.Wanted) -> None:
        """Something is to be done with a kept text, or with all of them."""
        event.stop()
        one = event.one
        if event.what == "injected":
            self._show_injected(self.dreams.table)
        elif event.what == "jump":
            if event.seq:
                self.show_message(About(0, event.seq, "", 0, 0), "events.no_message")
            else:
                self.say(self.look.t("dreams.no_citation"))
        elif event.what == "copy" and one is not None:
            self.app.copy_to_clipboard(self.look.text(one.text))
            self.say(self.look.t("screen.copied"))
        elif (why := self._why_not(event)) is not None:
            self.say(why)
        elif event.what == "dream":
            self._order("dream", {})
        elif one is not None:
            payload: dict[str, object] = {"artifact_id": one.artifact_id}
            if event.what == "forget":
                payload["why"] = event.text
            self._order(event.what, payload)

    def _why_not(self, event: DreamsPane.Wanted) -> str | None:
        """Why a command would change nothing; None where it may be sent."""
        t, table = self.look.t, self.dreams.table
        if table.recorder:
            return t("dreams.recorded", by=self.look.line(table.recorder, 40))
        if event.what == "dream":
            return t("dreams.up_to_date") if not self.dreams.lag else None
        return t("dreams.forgotten_already") if event.one is not None and event.one.forgotten is not None else None

    def _show_injected(self, table: DreamTable) -> None:
        """The exact text that the next assembly will inject."""
        if not table.injection:
            self.say(self.look.t("dreams.none_injected"))
            return
        size = self.look.t("dreams.injected_size", n=fmt.number(len(table.injection)))
        lines = [size, " ", *self.look.text(table.injection).split("\n")]
        self.open_reading(self.look.t("dreams.injected_title"), [("", line) for line in lines])

    # -- palette ------------------------------------------------------------------------------------------------------
    def dream_choices(self) -> list[Choice]:
        """What the palette offers for the tab."""
        return [Choice(f"dreams:{act}", self.look.t(f"palette.dreams_{name}"), key) for name, act, key in PALETTE]

    def do_dream_choice(self, action: str) -> None:
        """Show the tab and do what was chosen."""
        self.do_in_tab("dreams", self.dreams, action)
