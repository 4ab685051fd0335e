"""The reducers of what the model is sent: versions of the view, the window's upkeep, a fork. As in `view.reduce`."""

from __future__ import annotations

import msgspec

from geode_tui.core import events as ev
from geode_tui.core.events import LostItem
from geode_tui.core.text import clean_line
from geode_tui.view.state import LOST_TOLD, NOTES, Maintenance, NoteKind, RunState, WindowNote

TOLD_CHARS = 100
"""Characters that a note keeps of each thing that a summary lost."""
_KINDS: tuple[tuple[frozenset[str], NoteKind], ...] = (
    (frozenset({"replay"}), "native"),
    (frozenset({"native"}), "on_demand"),
    (frozenset({"summarise"}), "summarised"),
    (frozenset({"trim", "clear", "max_turns"}), "trimmed"),
    (frozenset({"mask"}), "masked"),
    (frozenset({"offload"}), "offloaded"),
    (frozenset({"shrink"}), "shrunk"),
)
"""Operations of a version, and what it is called after them: the first that it has any of."""
COMPACTIONS: frozenset[NoteKind] = frozenset({"native", "on_demand", "summarised", "trimmed"})
"""Kinds where something stands for a part of the conversation, or nothing does any more."""


def _note(s: RunState, note: WindowNote) -> None:
    s.window_notes.append(note)
    if len(s.window_notes) >= 2 * NOTES:
        del s.window_notes[:-NOTES]


def view_changed(s: RunState, p: ev.ViewChanged, row: ev.EventRow) -> None:
    """Another version of the view is active: the gauge is that of what would be sent now."""
    s.view_version, s.view_cause, s.view_mode = p.version, clean_line(p.cause), clean_line(p.mode)
    s.context, s.prompt_upto = p.context, s.newest_seq
    _replayed(s, p)
    s.upkeep.changed(p, _kind(p)[0] or "", row)
    note = _of_version(s, p, row.id)
    if note is not None and note.what == "native" and _is_native(s, note.seq):
        s.window_notes[-1] = msgspec.structs.replace(note, id=s.window_notes[-1].id)
    elif note is not None:
        _note(s, note)


def _replayed(s: RunState, p: ev.ViewChanged) -> None:
    """Which of the provider's own compactions stand now, and from where on messages are read because of them."""
    if "replay" in p.operations:
        s.replays = (*s.replays, (p.version, s.prompt_from, True))
    elif s.replays and (p.takes_back or p.gives_back):
        s.replays = tuple(
            (version, upto, version in p.gives_back or (holds and version not in p.takes_back))
            for version, upto, holds in s.replays
        )
        s.prompt_from = max((upto for _, upto, holds in s.replays if holds), default=0)


def _is_native(s: RunState, seq: int) -> bool:
    """Whether the provider's compaction in the answer ``seq`` was the last that was noted."""
    return bool(s.window_notes) and (s.window_notes[-1].what, s.window_notes[-1].seq) == ("native", seq)


def _of_version(s: RunState, p: ev.ViewChanged, event: int) -> WindowNote | None:
    """What the conversation says of a version; None for a result that came too large, and for pins."""
    if p.cause in {"arrival", "pin"}:
        return None
    what, count = _kind(p)
    if what is None:
        return None
    note = WindowNote(s.newest_seq, what, p.tokens_before, p.tokens_after, id=event, budget=p.context.budget)
    if what == "undone":
        return msgspec.structs.replace(note, versions=p.takes_back)
    return _compaction(s, p, note) if what in COMPACTIONS else msgspec.structs.replace(note, count=count)


def _kind(p: ev.ViewChanged) -> tuple[NoteKind | None, int]:
    """What the version is called, and how much it is of that."""
    if p.cause == "redo":
        return "redone", 0
    if p.takes_back:
        return "undone", 0
    for operations, what in _KINDS:
        if found := [count for name, count in p.operations.items() if name in operations]:
            return what, sum(found)
    return None, 0


def _compaction(s: RunState, p: ev.ViewChanged, note: WindowNote) -> WindowNote:
    """``note`` with what its version stands for, who wrote that, and what it lost."""
    told = (LostItem(item.kind, clean_line(item.text, TOLD_CHARS), item.seq) for item in p.lost[:LOST_TOLD])
    first, upto = (1, note.seq - 1) if note.what == "native" else (p.first_changed, p.upto)
    note = msgspec.structs.replace(
        note,
        first=first,
        upto=upto,
        local=p.local,
        version=p.version,
        cause=clean_line(p.cause, 40),
        lost=len(p.lost),
        told=tuple(told),
    )
    if note.what in {"summarised", "on_demand"} and not p.local and s.maintenance is not None:
        writer, cost = s.maintenance.model, s.maintenance.cost_micro
        s.maintenance = msgspec.structs.replace(s.maintenance, model="", cost_micro=0)
        note = msgspec.structs.replace(note, writer=writer, cost_micro=cost if writer else None)
    return note


def summary_paid(s: RunState, cost_micro: int | None, model: str = "") -> None:
    """A request for a summary ended, or with no ``model`` failed: the next version that holds one bears its cost."""
    if (kept := s.maintenance) is not None:
        cost = None if kept.cost_micro is None or cost_micro is None else kept.cost_micro + cost_micro
        s.maintenance = msgspec.structs.replace(kept, model=clean_line(model, 60) or kept.model, cost_micro=cost)


def maintenance_started(s: RunState, p: ev.MaintenanceStarted, row: ev.EventRow) -> None:
    """The window's upkeep began."""
    s.maintenance = Maintenance(clean_line(p.trigger), row.ts)
    s.upkeep.started()


def maintenance_ended(s: RunState, p: ev.MaintenanceEnded, row: ev.EventRow) -> None:
    """The window's upkeep ended. It rests from the end that says so until one that changed something."""
    s.maintenance = None
    s.upkeep.ended()
    if p.status == "failed":
        s.warnings += 1
        _note(s, WindowNote(s.newest_seq, "failed", detail=clean_line(p.detail or p.error_type, 120), id=row.id))
    if p.paused:
        if not s.maintenance_paused:
            _note(s, WindowNote(s.newest_seq, "paused", id=row.id))
            s.maintenance_paused = row.ts
    elif p.status == "changed":
        s.maintenance_paused = 0.0


def context_critical(s: RunState, p: ev.ContextCritical, row: ev.EventRow) -> None:
    """The next prompt has reached the critical threshold."""
    s.warnings += 1


def context_compacted(s: RunState, p: ev.ContextCompacted, row: ev.EventRow) -> None:
    """Another program does not send any more what was said so far."""
    s.prompt_from = s.newest_seq
    _note(s, WindowNote(s.newest_seq, "compacted", p.tokens_before or 0, p.tokens_after or 0, id=row.id))


def provider_compacted(s: RunState, p: ev.ProviderCompacted, row: ev.EventRow) -> None:
    """The provider's own block, at the beginning of the answer ``p.seq``, stands for all that was said before it. The
    version that says so too comes with it, and gives the note that they share its number.
    """
    s.prompt_from = p.seq - 1
    s.last_estimate_error = None
    s.upkeep.compacted(p, row)
    if not _is_native(s, p.seq):
        budget = s.context.budget if s.context is not None else 0
        _note(s, WindowNote(p.seq, "native", p.tokens_before, p.tokens_after, id=row.id, budget=budget))


def provider_cleared(s: RunState, p: ev.ProviderCleared, row: ev.EventRow) -> None:
    """The provider counted less than it was sent: that says nothing of how well its prompt was estimated."""
    s.last_estimate_error = None
    s.upkeep.cleared(p, row)


def window_observed(s: RunState, p: ev.WindowObserved, row: ev.EventRow) -> None:
    """The provider said how much fits."""
    s.window_observed = p.limit
    _note(s, WindowNote(s.newest_seq, "observed", after=p.limit, id=row.id))


def session_forked(s: RunState, p: ev.SessionForked, row: ev.EventRow) -> None:
    """The session begins where another one stood: its messages are there without events of their own."""
    s.forked_from = clean_line(p.parent)
    s.newest_seq = s.prompt_upto = p.seq
    s.view_version, s.view_cause = p.view_version, clean_line(p.view_cause)
    s.context = p.context or s.context
    _note(s, WindowNote(p.seq, "forked", detail=s.forked_from, id=row.id))


def tool_result_offloaded(s: RunState, p: ev.ToolResultOffloaded, row: ev.EventRow) -> None:
    """A result stands in a file now."""
    s.offloaded += 1
    s.offloads_touched = row.id


def tool_result_recalled(s: RunState, p: ev.ToolResultRecalled, row: ev.EventRow) -> None:
    """A stored result was read again."""
    s.offloads_touched = row.id


def offloads_swept(s: RunState, p: ev.OffloadsSwept, row: ev.EventRow) -> None:
    """Stored results left."""
    s.offloads_touched = row.id


def dream_ended(s: RunState, p: ev.DreamEnded, row: ev.EventRow) -> None:
    """A dream was written, or was not."""
    s.dreams += p.status == "written"
    s.dreams_touched = row.id


def artifact_forgotten(s: RunState, p: ev.ArtifactForgotten, row: ev.EventRow) -> None:
    """A kept text was deleted."""
    s.dreams_touched = row.id


def artifact_approved(s: RunState, p: ev.ArtifactApproved, row: ev.EventRow) -> None:
    """A person found a kept text right."""
    s.dreams_touched = row.id
