"""What the composer offers, in a few rows above its text. It takes no room when there is nothing to offer."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.tui.cells import cut_front
from geode_tui.tui.completing import Kind, Offer
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.pane import Pane

MOST_ROWS = 6


class Suggestions(Pane):
    """Offers of one kind, one of them chosen. Without any, the list of earlier prompts says so."""

    def __init__(self, look: Look) -> None:
        super().__init__(look, id="suggestions")
        self.display = False
        self.kind: Kind | None = None
        """None while closed."""
        self.offers: tuple[Offer, ...] = ()
        self._at = 0
        self._most = MOST_ROWS

    @property
    def plane(self) -> Style:
        """The raised plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.raised)

    @property
    def rows(self) -> int:
        """Rows it takes."""
        return 0 if self.kind is None else max(1, min(self._most, len(self.offers)))

    @property
    def chosen(self) -> Offer | None:
        """The offer that enter takes."""
        return self.offers[self._at] if self.offers else None

    def set_rows(self, most: int) -> None:
        """Let it take at most ``most`` rows."""
        self._most = max(1, min(MOST_ROWS, most))

    def show(self, kind: Kind, offers: Sequence[Offer]) -> None:
        """Offer ``offers``, the first of them chosen."""
        self.kind, self.offers, self._at = kind, tuple(offers), 0
        self._resize()

    def close(self) -> None:
        """Offer nothing."""
        if self.kind is not None:
            self.kind, self.offers = None, ()
            self._resize()

    def move(self, step: int) -> None:
        """Choose another offer, round the ends."""
        if self.offers:
            self._at = (self._at + step) % len(self.offers)
            self.repaint()

    def _resize(self) -> None:
        self.display = self.rows > 0
        self.styles.height = self.rows
        self.repaint()

    def build(self, size: Size) -> list[Strip]:
        """A window on the offers."""
        palette, cut = self.look.palette, self.look.glyphs.cut
        if not self.offers:
            none = [Segment(self.look.t("composer.no_prompt"), palette.style(palette.muted))]
            return [row(none, [], size.width, self.plane, cut, margin=2)]
        top = max(0, self._at - size.height + 1)
        out = []
        for index, offer in enumerate(self.offers[top : top + size.height], start=top):
            here = index == self._at
            fill = palette.style(palette.text, palette.select, bold=True, reverse=True) if here else self.plane
            shown = cut_front(offer.shown, max(1, size.width - 4), cut) if self.kind == "path" else offer.shown
            note = [Segment(offer.note, palette.style(palette.text if here else palette.muted))] if offer.note else []
            out.append(row([Segment(shown)], note, size.width, fill, cut, margin=2))
        return out
