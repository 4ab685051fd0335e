"""What a person is told of at once: a limit that is near, a question, the end of a turn (SCREENS.md 9). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from geode_tui.core.text import clean_line
from geode_tui.tui.widgets.cost import WARN_AT
from geode_tui.view.selectors import GuardLine, Level, Status, context_level
from geode_tui.view.state import RunState

Alert: TypeAlias = Literal["warning", "critical", "over", "session", "time", "rounds", "cost", "needs", "ended"]

FLASH_S = 1.0
"""Seconds for which the chip of what was crossed is reversed."""
MOST_CHARS = 120
"""Characters of a notification."""

_RANK: Mapping[Level | None, int] = {None: 0, "ok": 0, "warning": 1, "critical": 2, "over": 3}


class Standing(msgspec.Struct, frozen=True):
    """How near a run is to what is told. ``budgets`` are those of which 80 % are used."""

    level: Level | None
    budgets: frozenset[str]
    needs: int
    open: bool
    """Whether a turn goes on."""


def standing(state: RunState, status: Status, guards: tuple[GuardLine, ...], needs: int) -> Standing:
    """The standing of ``state``, in which ``needs`` questions wait. A turn without a worker is as good as over."""
    level = context_level(state.context) if state.context is not None and state.context.budget > 0 else None
    near = frozenset(line.name for line in guards if line.limit > 0 and line.used >= WARN_AT * line.limit)
    return Standing(level, near, needs, status.ticks)


def alerts(before: Standing, after: Standing) -> tuple[Alert, ...]:
    """What has come about from one standing to the next: only what got nearer, never what went away."""
    out: list[Alert] = []
    if _RANK[after.level] > _RANK[before.level] and after.level is not None and after.level != "ok":
        out.append(after.level)
    out += sorted(after.budgets - before.budgets)  # type: ignore[arg-type]  # names of guards
    if after.needs > before.needs:
        out.append("needs")
    if before.open and not after.open:
        out.append("ended")
    return tuple(out)


def notification(text: str, environ: Mapping[str, str]) -> str:
    """The escape sequence by which this terminal shows ``text``, in which nothing can end it early."""
    inert = "".join(char for char in clean_line(text, MOST_CHARS) if char.isprintable()).replace(";", ",")
    urxvt = environ.get("TERM", "").startswith(("foot", "rxvt")) or "VTE_VERSION" in environ
    return f"\x1b]777;notify;geode-tui;{inert}\x07" if urxvt else f"\x1b]9;{inert}\x07"
