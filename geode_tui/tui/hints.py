"""The keys of the footer, by where the focus is, in the order of use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from geode_tui.tui.look import Look
from geode_tui.tui.widgets.footer import Hint

Area: TypeAlias = Literal["composer", "conversation", "events", "side", "approval"]

_HINTS: dict[Area, tuple[tuple[str, str, str], ...]] = {
    "composer": (
        ("composer.send", "enter", "hint.send"),
        ("run.needs", "ctrl+g", "hint.answer"),
        ("run.escape", "esc esc", "hint.interrupt"),
        ("", "/", "hint.commands"),
        ("run.next_pane", "tab", "hint.panes"),
        ("composer.newline", "ctrl+j", "hint.newline"),
        ("run.palette", "ctrl+p", "hint.palette"),
        ("app.leave", "ctrl+q", "hint.leave"),
        ("run.help", "f1", "hint.help"),
    ),
    "conversation": (
        ("conversation.toggle", "enter", "hint.open"),
        ("run.needs", "ctrl+g", "hint.answer"),
        ("conversation.end", "G", "hint.live"),
        ("", "{ }", "hint.rounds"),
        ("conversation.copy", "y", "hint.copy"),
        ("run.escape", "esc esc", "hint.interrupt"),
        ("run.next_pane", "tab", "hint.panes"),
        ("run.help", "f1", "hint.help"),
    ),
    "events": (
        ("events.open", "enter", "hint.open"),
        ("run.needs", "ctrl+g", "hint.answer"),
        ("events.pause", "space", "hint.pause"),
        ("events.level", "l", "hint.level"),
        ("events.last", "G", "hint.live"),
        ("run.next_pane", "tab", "hint.panes"),
        ("run.help", "f1", "hint.help"),
    ),
    "side": (
        ("run.needs", "ctrl+g", "hint.answer"),
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
}


def hints(area: Area, look: Look, keys: Mapping[str, str], *, needs: bool, running: bool) -> tuple[Hint, ...]:
    """The keys for ``area``. ``keys`` maps binding ids to the keys they have now; others have their usual one."""
    out = []
    for binding, usual, text in _HINTS[area]:
        if (text == "hint.answer" and not needs) or (text == "hint.interrupt" and not running):
            continue
        key = usual if binding == "run.escape" else keys.get(binding, usual)
        out.append(Hint(key, look.t(text)))
    return tuple(out)
