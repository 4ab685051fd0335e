"""The keys of the footer, by where the focus is, in the order of use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from geode_tui.tui.look import Look
from geode_tui.tui.widgets.footer import Hint

Area: TypeAlias = Literal[
    "composer",
    "conversation",
    "events",
    "events_field",
    "context",
    "context_field",
    "cost",
    "side",
    "approval",
    "find",
    "start",
    "runs",
    "runs_field",
    "welcome",
    "trust",
]

_HINTS: dict[Area, tuple[tuple[str, str, str], ...]] = {
    "composer": (
        ("composer.send", "enter", "hint.send"),
        ("run.needs", "ctrl+g", "hint.answer"),
        ("run.escape", "esc esc", "hint.interrupt"),
        ("", "/", "hint.commands"),
        ("run.next_pane", "tab", "hint.panes"),
        ("run.home", "f2", "hint.home"),
        ("composer.newline", "ctrl+j", "hint.newline"),
        ("run.palette", "ctrl+p", "hint.palette"),
        ("app.leave", "ctrl+q", "hint.leave"),
        ("run.help", "f1", "hint.help"),
        ("run.zoom", "ctrl+o", "hint.zoom"),
    ),
    "conversation": (
        ("conversation.toggle", "enter", "hint.open"),
        ("run.needs", "ctrl+g", "hint.answer"),
        ("conversation.end", "G", "hint.live"),
        ("", "{ }", "hint.rounds"),
        ("conversation.find", "/", "hint.find"),
        ("conversation.copy", "y", "hint.copy"),
        ("run.compact", "c", "hint.compact"),
        ("run.escape", "esc esc", "hint.interrupt"),
        ("run.next_pane", "tab", "hint.panes"),
        ("run.help", "f1", "hint.help"),
        ("run.middle", "\\", "hint.middle"),
        ("run.zoom", "ctrl+o", "hint.zoom"),
    ),
    "events": (
        ("events.open", "enter", "hint.open"),
        ("run.needs", "ctrl+g", "hint.answer"),
        ("events.jump", "g", "hint.jump"),
        ("events.pause", "space", "hint.pause"),
        ("events.level", "l", "hint.level"),
        ("events.names", "n", "hint.names"),
        ("events.search", "/", "hint.search"),
        ("events.last", "G", "hint.live"),
        ("events.message", "m", "hint.message"),
        ("events.copy", "y", "hint.copy"),
        ("events.export", "e", "hint.export"),
        ("run.next_pane", "tab", "hint.panes"),
        ("run.help", "f1", "hint.help"),
    ),
    "events_field": (
        ("", "enter", "hint.take"),
        ("field.close", "esc", "hint.close"),
        ("run.needs", "ctrl+g", "hint.answer"),
        ("run.help", "f1", "hint.help"),
    ),
    "context": (
        ("context.jump", "enter", "hint.show"),
        ("run.needs", "ctrl+g", "hint.answer"),
        ("context.sort", "s", "hint.sort"),
        ("context.filter", "/", "hint.filter"),
        ("context.copy", "y", "hint.copy"),
        ("run.compact", "c", "hint.compact"),
        ("run.next_pane", "tab", "hint.panes"),
        ("run.zoom", "ctrl+o", "hint.zoom"),
        ("run.help", "f1", "hint.help"),
    ),
    "context_field": (
        ("", "enter", "hint.take"),
        ("field.close", "esc", "hint.close"),
        ("run.needs", "ctrl+g", "hint.answer"),
        ("run.help", "f1", "hint.help"),
    ),
    "cost": (
        ("cost.budget", "b", "hint.budget"),
        ("run.needs", "ctrl+g", "hint.answer"),
        ("cost.rounds", "r", "hint.by_round"),
        ("cost.months", "m", "hint.by_month"),
        ("cost.export", "e", "hint.export"),
        ("cost.copy", "y", "hint.copy"),
        ("run.next_pane", "tab", "hint.panes"),
        ("run.zoom", "ctrl+o", "hint.zoom"),
        ("run.help", "f1", "hint.help"),
    ),
    "find": (
        ("find.leave", "enter", "hint.match"),
        ("", "up down", "hint.matches"),
        ("find.close", "esc", "hint.close"),
        ("run.needs", "ctrl+g", "hint.answer"),
        ("run.help", "f1", "hint.help"),
    ),
    "side": (
        ("run.needs", "ctrl+g", "hint.answer"),
        ("run.compact", "c", "hint.compact"),
        ("run.middle", "\\", "hint.middle"),
        ("run.zoom", "ctrl+o", "hint.zoom"),
        ("run.next_pane", "tab", "hint.panes"),
        ("run.palette", "ctrl+p", "hint.palette"),
        ("run.help", "f1", "hint.help"),
    ),
    "approval": (
        ("approval.once", "y", "approve.once"),
        ("approval.always", "a", "approve.always"),
        ("approval.refuse", "n", "approve.no"),
        ("approval.why", "r", "approve.why"),
        ("approval.view", "v", "approve.view"),
        ("approval.later", "esc", "hint.decide_later"),
    ),
    "start": (
        ("composer.send", "enter", "hint.start"),
        ("", "up down", "hint.list"),
        ("home.needs", "ctrl+g", "hint.answer"),
        ("home.palette", "ctrl+p", "hint.palette"),
        ("home.next_pane", "tab", "hint.panes"),
        ("app.leave", "ctrl+q", "hint.leave_all"),
        ("home.help", "f1", "hint.help"),
    ),
    "runs": (
        ("runs.open", "enter", "hint.open_run"),
        ("runs.filter", "/", "hint.filter"),
        ("runs.sort", "s", "hint.sort"),
        ("runs.mark", "space", "hint.mark"),
        ("runs.copy", "y", "hint.copy_id"),
        ("home.needs", "ctrl+g", "hint.answer"),
        ("home.next_pane", "tab", "hint.panes"),
        ("home.palette", "ctrl+p", "hint.palette"),
        ("app.leave", "ctrl+q", "hint.leave_all"),
        ("home.help", "f1", "hint.help"),
    ),
    "runs_field": (
        ("", "enter", "hint.take"),
        ("field.close", "esc", "hint.close"),
        ("home.needs", "ctrl+g", "hint.answer"),
        ("home.help", "f1", "hint.help"),
    ),
    "welcome": (
        ("composer.send", "enter", "hint.send"),
        ("", "up down", "hint.examples"),
        ("home.palette", "ctrl+p", "hint.palette"),
        ("home.next_pane", "tab", "hint.panes"),
        ("app.leave", "ctrl+q", "hint.leave_all"),
        ("home.help", "f1", "hint.help"),
    ),
    "trust": (
        ("welcome.trust", "y", "trust.yes"),
        ("welcome.leave", "n", "trust.no"),
        ("home.next_pane", "tab", "hint.panes"),
        ("app.leave", "ctrl+q", "hint.leave_all"),
    ),
}

_FIXED = frozenset({"run.escape", "run.home"})
"""Bindings that are named by one of their keys: esc twice, and of three keys the one that works in the composer."""


def hints(
    area: Area,
    look: Look,
    keys: Mapping[str, str],
    *,
    needs: bool,
    running: bool = False,
    home: bool = False,
    columns: int = 1,
) -> tuple[Hint, ...]:
    """The keys for ``area``. ``keys`` maps binding ids to the keys they have now; others have their usual one. What is
    not possible now (``needs``: nothing waits, ``running``: no turn, ``home``: no home screen, ``columns``: too few)
    is left out.
    """
    possible = {
        "hint.answer": needs,
        "hint.interrupt": running,
        "hint.home": home,
        "hint.middle": columns > 2,
        "hint.zoom": columns > 1,
    }
    out = []
    for binding, usual, text in _HINTS[area]:
        if not possible.get(text, True):
            continue
        key = usual if binding in _FIXED else keys.get(binding, usual)
        out.append(Hint(key, look.t(text)))
    return tuple(out)
