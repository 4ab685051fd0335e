"""What befell the context, in words: the lines that stand in the conversation, and where the view stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from geode_tui.core import format as fmt
from geode_tui.core.strings import Strings
from geode_tui.core.text import clean_line
from geode_tui.view.blocks import BlockRow, BlockState
from geode_tui.view.reduce_window import COMPACTIONS
from geode_tui.view.selectors import Status, upkeep
from geode_tui.view.state import NoteKind, RunState, WindowNote

_REPEATED: frozenset[NoteKind] = frozenset({"masked", "shrunk", "offloaded", "undone"})
"""Kinds of which several, one after the other, are one line."""


def gathered(notes: Sequence[WindowNote]) -> list[WindowNote]:
    """``notes`` with neighbours of a kind that may repeat as one."""
    made: list[WindowNote] = []
    for note in notes:
        if made and note.what == made[-1].what and note.what in _REPEATED:
            last = made[-1]
            made[-1] = msgspec.structs.replace(
                last,
                after=note.after,
                count=last.count + note.count,
                versions=(*last.versions, *note.versions),
                times=last.times + note.times,
            )
        else:
            made.append(note)
    return made


def is_compaction(note: WindowNote) -> bool:
    """Whether something stands for a part of the conversation since, or nothing does."""
    return note.what in COMPACTIONS


def note_text(note: WindowNote, strings: Strings, arrow: str = "->") -> str:
    """The note as one clean line, without a mark of its own."""
    t = strings.t
    sizes = f"{fmt.tokens(note.before)} {arrow} {fmt.tokens(note.after)}" if note.before or note.after else ""
    times = t("note.times", n=fmt.number(note.times)) if note.times > 1 else ""
    match note.what:
        case "observed":
            return t("window.observed", tokens=fmt.tokens(note.after))
        case "forked":
            return t("window.forked", parent=clean_line(note.detail, 60))
        case "summarised" | "trimmed" | "native" | "on_demand":
            parts = [sizes, *note_facts(note, strings), lost_text(note, strings)]
        case "masked" | "shrunk" | "offloaded":
            parts = [fmt.number(note.count), times, sizes]
        case "undone":
            parts = [t("window.versions", versions=_range(note.versions)), times, sizes]
        case "failed":
            parts = [clean_line(note.detail, 120)]
        case _:
            parts = [sizes]
    said = ", ".join(part for part in parts if part)
    return t("window.line", what=note_head(note, strings), how=said) if said else note_head(note, strings)


def note_head(note: WindowNote, strings: Strings) -> str:
    """What befell the context, without any figure."""
    return strings.t("window.compacted" if note.what == "summarised" else f"window.{note.what}")


def note_facts(note: WindowNote, strings: Strings, rounds: str = "") -> list[str]:
    """Of a compaction: the messages (and ``rounds``, where known) it stands for, who wrote it, and what it cost."""
    t = strings.t
    facts = []
    if note.upto and note.what != "native":
        facts.append(t("window.messages", first=fmt.number(max(1, note.first)), upto=fmt.number(note.upto)))
    if rounds:
        facts.append(t("note.rounds", rounds=rounds))
    if note.local:
        facts.append(t("window.local"))
    elif note.writer and note.what == "summarised":
        facts.append(t("note.by", model=clean_line(note.writer, 40)))
    if note.cost_micro is not None:
        facts.append(t("note.cost", money=fmt.money(note.cost_micro)))
    return facts


def lost_text(note: WindowNote, strings: Strings) -> str:
    """How much a compaction lost; empty for nothing."""
    if not note.lost:
        return ""
    return strings.t("note.lost" if note.lost > 1 else "note.lost_one", n=fmt.number(note.lost))


def _range(numbers: tuple[int, ...]) -> str:
    low, high = min(numbers, default=0), max(numbers, default=0)
    return str(low) if low == high else f"{low}-{high}"


def upkeep_text(state: RunState, status: Status, now: float, strings: Strings) -> str:
    """``compacting since 12 s`` while the window's upkeep goes on, or that it was interrupted; else empty. ``now`` is
    epoch seconds.
    """
    if state.maintenance is None:
        return ""
    if upkeep(state, status) == "interrupted":
        return strings.t("upkeep.interrupted")
    return strings.t("upkeep.running", time=fmt.short_clock(max(0.0, now - state.maintenance.since)))


def view_text(version: int, cause: str, strings: Strings) -> str:
    """``view: version 3, warning``, or that everything is sent as it was said."""
    if not version:
        return strings.t("view.original")
    key = f"view.cause_{cause}"
    why = strings.t(key) if strings.has(key) else clean_line(cause, 30) or "-"
    return strings.t("view.version", n=version, cause=why)


def view_line(version: int, cause: str, rows: Iterable[BlockRow], strings: Strings) -> str:
    """`view_text` with how much of the conversation is not sent as it was said, by the table's ``rows``."""
    counts = dict.fromkeys(_COUNTED, 0)
    for row in rows:
        if row.entry is not None and row.entry.state in counts:
            counts[row.entry.state] += row.entry.hidden.count if row.entry.hidden is not None else 1
    said = [strings.t(f"view.count_{state}", n=fmt.number(count)) for state, count in counts.items() if count]
    return ", ".join([view_text(version, cause, strings), *said])


_COUNTED: tuple[BlockState, ...] = ("summarised", "left_out", "masked", "shrunk", "offloaded")
