"""What is typed in the composer: words for the agent, or a slash command. Pure."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec

from geode_tui.core.strings import NAMES

COMMANDS = (
    "help",
    "status",
    "cost",
    "context",
    "interrupt",
    "retry",
    "later",
    "budget",
    "model",
    "approve",
    "deny",
    "theme",
    "language",
    "middle",
    "zoom",
    "quit",
)
LIMITS = ("rounds", "time", "session", "cost")
_WORD = re.compile(r"/([A-Za-z]*)(?:\s+(.*))?\Z", re.DOTALL)
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d\d)\Z")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)\Z")
_MONEY = re.compile(r"\$?(\d+(?:\.\d+)?)\Z")


class Order(msgspec.Struct, frozen=True):
    """A command for the run: its kind and payload, as `RunSource.send` takes them."""

    kind: str
    payload: dict[str, Any]


class Local(msgspec.Struct, frozen=True):
    """Something the screen does by itself."""

    name: str
    value: str = ""


class Wrong(msgspec.Struct, frozen=True):
    """Not understood, and not sent: the string key of one line that says so, and its values."""

    key: str
    values: dict[str, str] = {}


Parsed: TypeAlias = Order | Local | Wrong


def parse(text: str) -> Parsed:
    """What ``text`` asks for. A first word with a second slash in it is a path, and so words for the agent."""
    match = _WORD.match(text)
    if match is None:
        return Order("submit", {"text": text, "later": False})
    name, rest = match[1].lower(), (match[2] or "").strip()
    if name not in COMMANDS:
        return Wrong("slash.unknown", {"name": name})
    if name == "later":
        return Order("submit", {"text": rest, "later": True}) if rest else Wrong("slash.later")
    if name in {"interrupt", "retry"}:
        return Order(name, {})
    if name == "budget":
        return _budget(rest)
    if name == "model" and rest:
        return _model(rest)
    if name == "theme" and not rest:
        return Wrong("slash.theme")
    if name == "language" and rest not in NAMES:
        return Wrong("slash.language")
    return Local(name, rest)


def _budget(rest: str) -> Parsed:
    parts = rest.split()
    if len(parts) != 2 or parts[0] not in LIMITS:
        return Wrong("slash.budget")
    limit, value = parts
    figure = {"rounds": _count, "cost": _dollars}.get(limit, _seconds)(value)
    if figure is None:
        return Wrong(f"slash.budget_{limit}", {"value": value})
    return Order("budget", {"limit": limit, "value": figure})


def _model(rest: str) -> Parsed:
    """``NAME [PROVIDER] [effort WORD]``; the effort alone keeps the model."""
    words = rest.split()
    effort = ""
    if "effort" in words:
        at = words.index("effort")
        if len(words) != at + 2:
            return Wrong("slash.model")
        effort, words = words[at + 1], words[:at]
    if len(words) > 2:
        return Wrong("slash.model")
    model, provider = [*words, "", ""][:2]
    return Order("model", {"model": model, "provider": provider, "effort": effort})


def _count(value: str) -> str | None:
    return value if value.isascii() and value.isdigit() else None


def _dollars(value: str) -> str | None:
    match = _MONEY.match(value)
    return match[1] if match else None


def _seconds(value: str) -> str | None:
    if clock := _CLOCK.match(value):
        return str(int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + int(clock[3]))
    match = _SPAN.match(value)
    if match is None:
        return None
    return f"{float(match[1]) * {'': 1, 's': 1, 'm': 60, 'h': 3600}[match[2]]:g}"
