"""What is ready, in one line below the composer."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.tui.home_source import ProviderReady, Readiness
from geode_tui.tui.look import Look
from geode_tui.tui.rows import fit, row
from geode_tui.tui.widgets.pane import Pane


class ReadyLine(Pane):
    """See the module. Parts leave from the right."""

    def __init__(self, look: Look) -> None:
        super().__init__(look, id="ready")
        self._readiness = Readiness(())

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.muted, palette.panel)

    def show(self, readiness: Readiness) -> None:
        """Show what is ready."""
        if readiness != self._readiness:
            self._readiness = readiness
            self.repaint()

    def build(self, size: Size) -> list[Strip]:
        """The line."""
        palette, ready = self.look.palette, self._readiness
        groups = [provider_parts(p, self.look) for p in ready.providers]
        if ready.problem:
            mark = Segment(f"{self.look.glyphs.failed} ", palette.style(palette.crit, bold=True))
            groups.insert(0, [mark, Segment(self.look.line(ready.problem), palette.style(palette.text))])
        elif ready.model:
            model = self.look.line(ready.model, 40)
            groups.insert(
                0, [Segment(f"{self.look.t('ready.new_runs')} "), Segment(model, palette.style(palette.text))]
            )
        parts = fit(groups, size.width - 4, gap=3) or groups[0] if groups else []
        return [row(parts, [], size.width, self.plane, self.look.glyphs.cut, margin=2)]


def provider_parts(provider: ProviderReady, look: Look) -> list[Segment]:
    """``anthropic ready``, or what it needs, with its mark."""
    palette, glyphs = look.palette, look.glyphs
    if provider.missing:
        text = look.t("ready.missing", name=provider.name, variable=provider.missing)
        return [Segment(f"{glyphs.warning} ", palette.style(palette.warn, bold=True)), Segment(text)]
    text = look.t("ready.ready", name=provider.name)
    return [Segment(f"{glyphs.ok} ", palette.style(palette.ok, bold=True)), Segment(text)]
