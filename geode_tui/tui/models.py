"""Models that can be chosen, as entries of a list: those that can be asked first, then what the others need."""

from __future__ import annotations

from collections.abc import Iterable

from geode_tui.core import format as fmt
from geode_tui.tui.choices import Choice
from geode_tui.tui.look import Look
from geode_tui.tui.source import ModelChoice
from geode_tui.view.state import RunState


def entries(models: Iterable[ModelChoice], look: Look, state: RunState | None) -> list[Choice]:
    """The list for a conversation in ``state``, None where there is none yet."""
    used = state.context.used if state is not None and state.context is not None else 0
    now = (state.model, f"{state.provider}/{state.source}") if state is not None else ("", "")
    return [_entry(m, look, used, chosen=(m.model, m.route) == now) for m in models]


def _entry(choice: ModelChoice, look: Look, used: int, *, chosen: bool) -> Choice:
    t = look.t
    if choice.why:
        needs = t("models.needs", variable=look.line(choice.lacks, 40))
        return Choice(f"why:{choice.why}", look.line(choice.service, 30), needs)
    known = f"provenance.{choice.provenance}"
    window = f"{fmt.tokens(choice.window)} {t(known) if look.strings.has(known) else ''}".strip()
    notes = [choice.route, window]
    if chosen:
        notes.insert(0, t("models.now"))
    elif used > choice.budget:
        notes.insert(0, t("models.too_small", tokens=fmt.tokens(used)))
    elif used >= choice.warning:
        notes.insert(0, t("models.near"))
    return Choice(f"{choice.service}:{choice.model}", look.line(choice.model, 60), "  ".join(notes))
