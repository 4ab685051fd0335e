"""The versions of a run's view in words. Every line is clean."""

from __future__ import annotations

from geode_tui.core import format as fmt
from geode_tui.core.events import ContextFigures
from geode_tui.core.strings import Strings
from geode_tui.core.text import clean_line
from geode_tui.view.versions import Step, VersionEntry, VersionList, VersionRow, room

_PLAIN = frozenset({"arrival", "pin", "undo", "redo", "provider"})
"""Causes that need no word beside what was done."""
_OF_A_PART = {"summarise": "summary", "trim": "left_out", "clear": "left_out", "max_turns": "left_out"}
_COUNTED = frozenset({"mask", "shrink", "offload"})
_PINNING = frozenset({"pin", "unpin"})
_PROVIDERS = frozenset({"native", "replay"})


def number_text(row: VersionRow) -> str:
    """``v3``, or ``v4-v9``."""
    first, last = row.numbers
    return f"v{first}" if first == last else f"v{first}-v{last}"


def what_text(row: VersionRow, strings: Strings) -> str:
    """What was done: ``masked 6 old results``, ``summary of rounds 1 to 14``, ``undo of v3``."""
    entry = row.newest
    if not entry.number:
        return strings.t("versions.start")
    if entry.others:
        key = "versions.redone" if entry.cause == "redo" else "versions.undone"
        return strings.t(key, versions=_names(entry.others))
    if len(row.entries) > 1:
        return _count("offload", row.count, strings)
    parts = [_done(kind, count, entry, strings) for kind, count in entry.operations.items()]
    return ", ".join(parts) or strings.t("versions.nothing")


def why_text(entry: VersionEntry, strings: Strings) -> str:
    """What it was done for, and how the conversation is compacted where that is not by texts of ours."""
    why, mode = entry.cause, entry.mode
    parts = []
    if why and why not in _PLAIN:
        key = f"view.cause_{why}"
        parts.append(strings.t(key) if strings.has(key) else clean_line(why, 30))
    if mode != "text":
        key = f"versions.mode_{mode}"
        parts.append(strings.t(key) if strings.has(key) else clean_line(mode, 30))
    return ", ".join(parts)


def undo_text(listed: VersionList, figures: ContextFigures | None, strings: Strings, arrow: str = "->") -> str:
    """What an undo and a redo would do now, with the gauge ``figures``; why nothing can be done where that is so."""
    t = strings.t
    if listed.recorder:
        return t("versions.recorded", by=clean_line(listed.recorder, 30))
    if not listed.entries:
        return ""
    said = [t("versions.no_undo") if listed.undo is None else _undo(listed.undo, figures, strings, arrow)]
    if listed.redo is not None:
        said.append(t("versions.redo", versions=_names(listed.redo.versions)))
    return "  ".join(said)


def no_room(step: Step, figures: ContextFigures | None, strings: Strings) -> str:
    """Why the step is refused; empty where what it leads to fits."""
    if figures is None or room(figures.used + step.more, figures) != "over":
        return ""
    tokens, budget = fmt.tokens(figures.used + step.more), fmt.tokens(figures.budget)
    return strings.t("versions.no_room", versions=_names(step.versions), tokens=tokens, budget=budget)


def _undo(step: Step, figures: ContextFigures | None, strings: Strings, arrow: str) -> str:
    t = strings.t
    to = "versions.undo" if step.to is None else "versions.undo_to"
    head = t(to, versions=_names(step.versions), to=f"v{step.to}")
    if figures is None:
        return t("versions.undo_plain", what=head)
    if refused := no_room(step, figures, strings):
        return refused
    after = figures.used + step.more
    sizes = f"{fmt.tokens(figures.used)} {arrow} ~{fmt.tokens(max(0, after))}"
    return t("versions.undo_sizes", what=head, sizes=sizes, where=t(f"versions.room_{room(after, figures)}"))


def _done(kind: str, count: int, entry: VersionEntry, strings: Strings) -> str:
    if kind in _COUNTED:
        return _count(kind, count, strings)
    if kind in _OF_A_PART:
        local = "_local" if entry.local and kind == "summarise" else ""
        return strings.t(f"versions.{_OF_A_PART[kind]}{local}", part=_part(entry, strings))
    if kind in _PINNING:
        key = f"versions.{kind}" if count > 1 else f"versions.{kind}_one"
        return strings.t(key, n=fmt.number(count if count > 1 else entry.first))
    return strings.t(f"versions.{kind}") if kind in _PROVIDERS else clean_line(kind, 30)


def _count(kind: str, count: int, strings: Strings) -> str:
    return strings.t(f"versions.{kind}_one" if count == 1 else f"versions.{kind}", n=fmt.number(count))


def _part(entry: VersionEntry, strings: Strings) -> str:
    """The rounds, or the messages, that it is about."""
    first, last = entry.rounds
    if not last:
        return strings.t("versions.messages", first=fmt.number(entry.first), upto=fmt.number(entry.upto))
    if first == last:
        return strings.t("versions.round", n=first)
    return strings.t("versions.rounds", first=first, upto=last)


def _names(numbers: tuple[int, ...]) -> str:
    low, high = min(numbers, default=0), max(numbers, default=0)
    return f"v{low}" if low == high else f"v{low}-v{high}"
