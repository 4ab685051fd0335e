"""How a run's state is marked: a symbol and its colour, the same in every place."""

from __future__ import annotations

from geode_tui.tui.look import Look
from geode_tui.view.selectors import Status, ending_tone


def state_mark(look: Look, status: Status, frame: int = 0) -> tuple[str, str]:
    """(symbol, colour) of a state; ``frame`` is the spinner's."""
    palette, glyphs = look.palette, look.glyphs
    if status.kind in {"running", "waiting"}:
        return glyphs.spinner[frame % len(glyphs.spinner)], palette.ok
    if status.kind == "dead":
        return glyphs.failed, palette.crit
    if status.kind == "not_answering":
        return glyphs.warning, palette.warn
    return {
        "ok": (glyphs.ok, palette.ok),
        "stopped": (glyphs.stopped, palette.warn),
        "failed": (glyphs.failed, palette.crit),
        "none": (glyphs.pending, palette.muted),
    }[ending_tone(status.ending)]
