"""The rows around the composer: its upper edge, and the policy the run asks by."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.pane import Pane


class Edge(Pane):
    """A row between the conversation and the composer: blank, or a rule where there are no planes."""

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.muted, palette.panel)

    def build(self, size: Size) -> list[Strip]:
        """The row."""
        return [Strip([Segment(("-" if self.look.flat else " ") * size.width, self.plane)])]


class PolicyLine(Pane):
    """What the run asks about before it acts, below the composer."""

    def __init__(self, look: Look, *, id: str = "policy") -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self._approve = ""

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.muted, palette.panel)

    def show(self, approve: str) -> None:
        """Show the policy named ``approve`` (`core.limits.Approve`)."""
        if approve != self._approve:
            self._approve = approve
            self.repaint()

    def build(self, size: Size) -> list[Strip]:
        """The row; blank for a policy that is not known."""
        key = f"policy.{self._approve}"
        text = self.look.t(key) if self.look.strings.has(key) else ""
        return [row([Segment(text)], [], size.width, self.plane, self.look.glyphs.cut, margin=4)]
