"""The compaction's preview over the run: what it would do, before anybody pays for it. It gives back what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import ClassVar, TypeAlias

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.timer import Timer

from geode_tui.tui.hints import Area, hints
from geode_tui.tui.keys import letter, shown
from geode_tui.tui.look import Look
from geode_tui.tui.slash import KEEP, Local, Order, compaction
from geode_tui.tui.source import RunSource, SourceError
from geode_tui.tui.widgets.compact_body import CompactBody, Deed, Wish
from geode_tui.tui.widgets.compact_diff import CompactDiff
from geode_tui.tui.widgets.compact_lines import round_name
from geode_tui.tui.widgets.field import Field
from geode_tui.tui.widgets.footer import Footer, FooterView
from geode_tui.view.compaction import CompactionPreview

SETTLE_S = 0.25
"""Seconds after the last press of a key that changes the figures in which they are not worked out yet."""
MARGIN = 3
"""Rows that a tall terminal shows of the run above and below."""

Decision: TypeAlias = Order | Local


class CompactScreen(ModalScreen[Decision | None]):
    """See the module. Nothing is sent before it is closed."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape," + letter("q"), "close", "Close, or back to the preview", id="compact.close"),
    ]

    def __init__(self, look: Look, source: RunSource, wish: Wish) -> None:
        super().__init__()
        self.look = look
        self.body = CompactBody(look, wish)
        self.diff = CompactDiff(look)
        self.footer = Footer(look, id="compact-footer")
        self._source = source
        self._settle: Timer | None = None
        self._box = Vertical(self.body, self.diff, id="compact")

    def compose(self) -> ComposeResult:
        """The preview, or the list of changes in its place, and the keys."""
        yield self._box
        yield self.footer

    def on_mount(self) -> None:
        """Ask for the preview."""
        self.diff.display = False
        self.body.focus()
        self._look_ahead()

    # -- the preview --------------------------------------------------------------------------------------------------
    def _look_ahead(self) -> None:
        self._settle = None
        self.run_worker(self._previewed(self.body.wish), group="preview", exclusive=True)

    async def _previewed(self, wish: Wish) -> None:
        try:
            found = await asyncio.to_thread(self._source.compaction, wish.keep, wish.focus, prune=wish.prune)
        except SourceError as error:
            self.body.fail(str(error))
        else:
            self._take(found)
        self._fit()
        self.show_hints()

    def _take(self, found: CompactionPreview) -> None:
        self.body.show(found)
        self.diff.show(found.changes)

    def _wish(self, wish: Wish, *, changes_figures: bool = True) -> None:
        """Ask otherwise; figures are worked out once the keys rest."""
        if wish == self.body.wish:
            return
        self.body.ask(wish, pending=changes_figures)
        self.show_hints()
        if changes_figures:
            if self._settle is not None:
                self._settle.stop()
            self.workers.cancel_group(self, "preview")
            self._settle = self.set_timer(SETTLE_S, self._look_ahead)

    # -- what the person wants ----------------------------------------------------------------------------------------
    def on_compact_body_wanted(self, event: CompactBody.Wanted) -> None:
        """Do it, or close with it."""
        event.stop()
        does: Mapping[Deed, Callable[[], object]] = {
            "do": lambda: self.dismiss(self._order()),
            "mask": lambda: self.dismiss(Order("mask", {})),
            "undo": lambda: self.dismiss(Order("undo", {})),
            "fork": self._fork,
            "diff": lambda: self._show_diff(True),
            "less": lambda: self._keep(-1),
            "more": lambda: self._keep(1),
            "prune": self._prune,
        }
        does.get(event.deed, lambda: self.dismiss(None))()

    def _order(self) -> Order:
        wish = self.body.wish
        return compaction(wish.keep, "" if wish.prune else wish.focus, prune=wish.prune)

    def _fork(self) -> None:
        preview = self.body.shown
        if preview is not None and preview.refusal is not None:
            self.dismiss(Local("fork", round_name(preview.refusal.fork)))

    def _keep(self, step: int) -> None:
        wish, preview = self.body.wish, self.body.shown
        kept = wish.keep or (preview.keep_recent if preview is not None else 0)
        self._wish(msgspec.structs.replace(wish, keep=max(KEEP[0], min(KEEP[-1], kept + step))))

    def _prune(self) -> None:
        wish = self.body.wish
        self._wish(msgspec.structs.replace(wish, prune=not wish.prune, keep=0))

    # -- the focus ----------------------------------------------------------------------------------------------------
    def on_field_entered(self, event: Field.Entered) -> None:
        """The summary must not miss this."""
        event.stop()
        self.body.field.close()
        self.body.focus()
        self._wish(msgspec.structs.replace(self.body.wish, focus=event.text.strip()), changes_figures=False)

    def on_field_left(self, event: Field.Left) -> None:
        """It stays as it was."""
        event.stop()
        self.body.focus()

    # -- the changes --------------------------------------------------------------------------------------------------
    def _show_diff(self, there: bool) -> None:
        self.diff.display, self.body.display = there, not there
        (self.diff if there else self.body).focus()
        self._fit()
        self.show_hints()

    def action_close(self) -> None:
        """Back to the preview, and from there to the run."""
        if self.diff.display:
            self._show_diff(False)
        else:
            self.dismiss(None)

    # -- form and keys ------------------------------------------------------------------------------------------------
    def on_resize(self) -> None:
        """Take the rows that there are."""
        self._fit()

    def _fit(self) -> None:
        """As tall as the preview, where there is room for it."""
        most = self.app.size.height - 1
        most -= 2 * MARGIN if most > 30 else 0
        width = min(96, self.app.size.width)
        wanted = most if self.diff.display else self.body.rows_wanted(width)
        self._box.styles.height = max(1, min(most, wanted))

    def on_descendant_focus(self) -> None:
        """Other keys work now."""
        self.show_hints()

    @property
    def area(self) -> Area:
        """Where the focus is."""
        if self.diff.display:
            return "compact_diff"
        if self.body.field.typing:
            return "compact_field"
        preview = self.body.shown
        refused = bool(self.body.error) or (preview is not None and not preview.allowed)
        return "compact_refused" if refused else "compact"

    def show_hints(self) -> None:
        """The footer's keys; those that can do nothing now are left out."""
        keys = {b.id: shown(b.key) for b in reversed([a.binding for a in self.active_bindings.values()]) if b.id}
        can: Mapping[str, Deed] = {
            "hint.fork": "fork",
            "hint.undo": "undo",
            "hint.mask_only": "mask",
            "hint.diff": "diff",
            "hint.keep": "less",
            "hint.focus": "focus",
            "hint.prune": "prune",
            "hint.wait": "wait",
        }
        missing = {self.look.t(text) for text, deed in can.items() if not self.body.can(deed)}
        made = hints(self.area, self.look, keys, needs=False)
        self.footer.show(FooterView(tuple(hint for hint in made if hint.text not in missing)))
