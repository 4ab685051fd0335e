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
    "offloads",
    "recall",
    "compact",
    "undo",
    "redo",
    "lost",
    "dream",
    "dreams",
    "fork",
    "interrupt",
    "retry",
    "later",
    "budget",
    "mcp",
    "model",
    "approve",
    "deny",
    "theme",
    "language",
    "middle",
    "zoom",
    "quit",
)
WINDOW_KINDS = frozenset({"compact", "mask", "offload", "pin", "unpin", "undo", "redo"})
"""Orders about what the model is sent: a run that goes on takes them up between two rounds."""
ROUND_KINDS = WINDOW_KINDS | {"recall", "pin_ref"}
"""Orders that a run that goes on takes up between two rounds."""
KEEP = range(1, 1_001)
"""How many of the newest messages a compaction may be asked to keep (RUNTIME.md 2.5)."""
LIMITS = ("rounds", "time", "session", "cost")
_COMPACT = re.compile(r"(?:keep\s+([0-9]{1,6})(?:\s+|\Z))?(?:focus\s+(.+))?\Z", re.DOTALL)
_ROUND = re.compile(r"(?:([0-9]{1,9})\.)?([0-9]{1,9})\Z")
_STORED = re.compile(r"(\S{1,128})(?:\s+([0-9]{1,12}))?\Z")
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
    if name in {"interrupt", "retry", "undo", "redo"}:
        return Order(name, {})
    if name == "dream":
        return Order("dream", {}) if rest in {"", "now"} else Wrong("slash.dream")
    if name == "compact":
        return _compact(rest)
    if name == "lost" and rest and not _version(rest):
        return Wrong("slash.lost")
    if name == "fork" and rest and round_of(rest) is None:
        return Wrong("slash.fork")
    if name == "context" and rest not in {"", "tiers"}:
        return Wrong("slash.context")
    if name == "recall":
        return _recall(rest)
    if name == "budget":
        return _budget(rest)
    if name == "model" and rest:
        return _model(rest)
    if name == "mcp" and rest:
        return _server(rest)
    if name == "theme" and not rest:
        return Wrong("slash.theme")
    if name == "language" and rest not in NAMES:
        return Wrong("slash.language")
    return Local(name, rest)


def _compact(rest: str) -> Parsed:
    """``[keep N] [focus TEXT]``, or ``--prune``."""
    if rest == "--prune":
        return compaction(prune=True)
    match = _COMPACT.match(rest)
    if match is None or (match[1] and int(match[1]) not in KEEP):
        return Wrong("slash.compact")
    return compaction(int(match[1] or 0), match[2] or "")


def compaction(keep: int = 0, focus: str = "", *, prune: bool = False) -> Order:
    """Replace the older part of what the model is sent; see `log.commands.Compact`."""
    return Order("compact", {"keep": keep, "focus": focus, "prune": prune})


def _version(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def put_back(version: int, index: int) -> Order:
    """Tell the model again what a summary lost; see `log.commands.Keep`."""
    return Order("keep", {"version": version, "index": index})


def round_of(text: str) -> tuple[int, int] | None:
    """(turn, round) of ``12`` or ``2.12``; 0 is the newest. None for anything else."""
    match = _ROUND.match(text)
    return (int(match[1] or 0), int(match[2])) if match else None


def _recall(rest: str) -> Parsed:
    """``REF [OFFSET]``; see `log.commands.Recall`."""
    match = _STORED.match(rest)
    if match is None:
        return Wrong("slash.recall")
    return Order("recall", {"ref_id": match[1], "offset": int(match[2] or 0), "limit": 0})


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


def _server(rest: str) -> Parsed:
    """``restart [NAME]``."""
    words = rest.split(maxsplit=1)
    if words[0] != "restart":
        return Wrong("slash.mcp")
    return Order("mcp", {"restart": words[1] if len(words) > 1 else ""})


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
