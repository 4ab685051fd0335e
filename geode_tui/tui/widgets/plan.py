"""The agent's task list in the side column."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment

from geode_tui.tui.look import Look

Steps = Sequence[tuple[str, str]]


def plan_count(steps: Steps, look: Look) -> str:
    """``2 of 4``."""
    done = sum(1 for _, status in steps if status == "done")
    return look.t("plan.count", done=done, all=len(steps))


def plan_rows(steps: Steps, look: Look, rows: int) -> list[list[Segment]]:
    """At most ``rows`` steps, with the first unfinished one in view; what is left out is said in the last row."""
    palette, glyphs = look.palette, look.glyphs
    shown = list(steps)
    if len(shown) > rows:
        room = max(1, rows - 1)
        active = next((i for i, (_, status) in enumerate(shown) if status != "done"), len(shown) - 1)
        first = max(0, min(active - 1, len(shown) - room))
        shown = shown[first : first + room]
    out: list[list[Segment]] = []
    for step, status in shown:
        symbol, color, bold = {
            "done": (glyphs.ok, palette.ok, False),
            "active": (glyphs.closed, palette.accent, True),
        }.get(status, (glyphs.pending, palette.muted, False))
        text_color = palette.text if status == "active" else palette.muted
        out.append(
            [
                Segment(f"{symbol} ", palette.style(color)),
                Segment(look.line(step), palette.style(text_color, bold=bold)),
            ]
        )
    if len(out) < len(steps) and len(out) < rows:
        more = look.t("plan.more", n=len(steps) - len(shown))
        out.append([Segment(f"  {more}", palette.style(palette.muted))])
    return out
