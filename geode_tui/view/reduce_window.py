"""The reducers of what the model is sent: versions of the view, the window's upkeep, a fork. As in `view.reduce`."""

from __future__ import annotations

from geode_tui.core import events as ev
from geode_tui.core.text import clean_line
from geode_tui.view.state import NOTES, Maintenance, NoteKind, RunState, WindowNote

_KINDS: tuple[tuple[frozenset[str], NoteKind], ...] = (
    (frozenset({"summarise"}), "summarised"),
    (frozenset({"trim", "clear", "max_turns"}), "trimmed"),
    (frozenset({"mask"}), "masked"),
    (frozenset({"offload"}), "offloaded"),
    (frozenset({"shrink"}), "shrunk"),
)
"""Operations of a version, and what it is called after them: the first that it has any of."""


def _note(s: RunState, note: WindowNote) -> None:
    s.window_notes.append(note)
    if len(s.window_notes) >= 2 * NOTES:
        del s.window_notes[:-NOTES]


def view_changed(s: RunState, p: ev.ViewChanged, row: ev.EventRow) -> None:
    """Another version of the view is active: the gauge is that of what would be sent now."""
    s.view_version, s.view_cause = p.version, clean_line(p.cause)
    s.context, s.prompt_upto = p.context, s.newest_seq
    if (note := _of_version(s, p)) is not None:
        _note(s, note)


def _of_version(s: RunState, p: ev.ViewChanged) -> WindowNote | None:
    """What the conversation says of a version; None for a result that came too large, and for pins."""
    if p.cause in {"arrival", "pin"}:
        return None
    if p.cause == "redo":
        return WindowNote(s.newest_seq, "redone", p.tokens_before, p.tokens_after)
    if p.takes_back:
        return WindowNote(s.newest_seq, "undone", p.tokens_before, p.tokens_after, versions=p.takes_back)
    for operations, what in _KINDS:
        if found := [count for name, count in p.operations.items() if name in operations]:
            sizes = p.tokens_before, p.tokens_after
            if what in {"summarised", "trimmed"}:
                return WindowNote(s.newest_seq, what, *sizes, first=p.first_changed, upto=p.upto, local=p.local)
            return WindowNote(s.newest_seq, what, *sizes, count=sum(found))
    return None


def maintenance_started(s: RunState, p: ev.MaintenanceStarted, row: ev.EventRow) -> None:
    """The window's upkeep began."""
    s.maintenance = Maintenance(clean_line(p.trigger), row.ts)


def maintenance_ended(s: RunState, p: ev.MaintenanceEnded, row: ev.EventRow) -> None:
    """The window's upkeep ended. It rests from the end that says so until one that changed something."""
    s.maintenance = None
    if p.status == "failed":
        s.warnings += 1
        _note(s, WindowNote(s.newest_seq, "failed", detail=clean_line(p.detail or p.error_type, 120)))
    if p.paused:
        if not s.maintenance_paused:
            _note(s, WindowNote(s.newest_seq, "paused"))
            s.maintenance_paused = row.ts
    elif p.status == "changed":
        s.maintenance_paused = 0.0


def context_critical(s: RunState, p: ev.ContextCritical, row: ev.EventRow) -> None:
    """The next prompt has reached the critical threshold."""
    s.warnings += 1


def context_compacted(s: RunState, p: ev.ContextCompacted, row: ev.EventRow) -> None:
    """Another program does not send any more what was said so far."""
    s.prompt_from = s.newest_seq
    _note(s, WindowNote(s.newest_seq, "compacted", p.tokens_before or 0, p.tokens_after or 0))


def provider_compacted(s: RunState, p: ev.ProviderCompacted, row: ev.EventRow) -> None:
    """The provider's own block, at the beginning of the answer ``p.seq``, stands for all that was said before it."""
    s.prompt_from = p.seq - 1
    s.last_estimate_error = None
    _note(s, WindowNote(p.seq, "native", p.tokens_before, p.tokens_after))


def provider_cleared(s: RunState, p: ev.ProviderCleared, row: ev.EventRow) -> None:
    """The provider counted less than it was sent: that says nothing of how well its prompt was estimated."""
    s.last_estimate_error = None


def window_observed(s: RunState, p: ev.WindowObserved, row: ev.EventRow) -> None:
    """The provider said how much fits."""
    s.window_observed = p.limit
    _note(s, WindowNote(s.newest_seq, "observed", after=p.limit))


def session_forked(s: RunState, p: ev.SessionForked, row: ev.EventRow) -> None:
    """The session begins where another one stood: its messages are there without events of their own."""
    s.forked_from = clean_line(p.parent)
    s.newest_seq = s.prompt_upto = p.seq
    s.view_version, s.view_cause = p.view_version, clean_line(p.view_cause)
    s.context = p.context or s.context
    _note(s, WindowNote(p.seq, "forked", detail=s.forked_from))
