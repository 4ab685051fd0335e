"""What a request shows of the conversation so far: turns, their inputs, the calls made and what came back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from geode_tui.core.messages import Message, ToolResultBlock
from geode_tui.providers.offline.mentions import normalise


class Step(msgspec.Struct, frozen=True):
    """One tool call and its result; ``result`` is None while it has none."""

    round: int
    """1-based within the turn."""
    call_id: str
    name: str
    args: Mapping[str, Any]
    result: str | None
    is_error: bool

    @property
    def path(self) -> str:
        """The path argument, empty if there is none."""
        value = self.args.get("path", "")
        return value if isinstance(value, str) else ""


class Turn(msgspec.Struct, frozen=True):
    """One user input, what was typed while it ran, and everything done for it."""

    inputs: tuple[str, ...]
    fresh: int
    """How many of the last inputs no assistant message has followed yet."""
    steps: tuple[Step, ...]
    rounds: int


class Line(msgspec.Struct, frozen=True):
    """A line of a file, exactly as a tool showed it."""

    path: str
    number: int
    text: str


_NUMBERED = re.compile(r"^ *(\d+)\t(.*)$")
_HIT = re.compile(r"^(.+?):(\d+): (.*)$")
CUT_AT = 300
"""grep cuts a line's text at this many characters; lines so long are never quoted."""


def call_key(name: str, args: Mapping[str, Any]) -> str:
    """What makes two calls the same: the tool and its arguments in a canonical order."""
    return f"{name} {json.dumps(args, sort_keys=True, ensure_ascii=False)}"


def read_turns(messages: tuple[Message, ...]) -> tuple[Turn, ...]:
    """The turns of a conversation. An input opens a turn when the assistant had finished speaking before it,
    otherwise it joins the turn that runs. Without any typed input every user message counts as one, since a
    sub-agent's brief is not typed by a person."""
    typed = any(m.role == "user" and m.origin == "user_input" for m in messages)
    results = {b.call_id: b for m in messages for b in m.blocks if isinstance(b, ToolResultBlock)}
    groups: list[list[Message]] = []
    closed = True
    for message in messages:
        if message.role == "user" and (message.origin == "user_input" or not typed):
            if closed or not groups:
                groups.append([])
            groups[-1].append(message)
            closed = False
        elif message.role == "assistant":
            closed = not message.calls
            if groups:
                groups[-1].append(message)
        elif message.role == "tool":
            closed = False
    return tuple(_turn(group, results) for group in groups)


def _turn(messages: list[Message], results: Mapping[str, ToolResultBlock]) -> Turn:
    inputs: list[str] = []
    steps: list[Step] = []
    fresh = rounds = 0
    for message in messages:
        if message.role == "user":
            inputs.append(message.text)
            fresh += 1
            continue
        fresh, rounds = 0, rounds + 1
        for call in message.calls:
            result = results.get(call.call_id)
            steps.append(
                Step(
                    rounds,
                    call.call_id,
                    call.name,
                    _arguments(call.arguments),
                    result.text if result else None,
                    bool(result and result.is_error),
                )
            )
    return Turn(tuple(inputs), fresh, tuple(steps), rounds)


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def numbered_lines(path: str, text: str) -> list[Line]:
    """The numbered lines of a read result; the last is left out where the note says that it goes on."""
    lines: list[Line] = []
    for raw in text.split("\n"):
        match = _NUMBERED.match(raw)
        if match:
            lines.append(Line(path, int(match.group(1)), match.group(2).removesuffix("\r")))
    return lines[:-1] if re.search(r"start_char=\d+\]\s*$", text[-80:]) else lines


def grep_hits(text: str) -> list[Line]:
    """The hits of a grep result."""
    hits = []
    for raw in text.split("\n"):
        match = _HIT.match(raw)
        if match and not raw.startswith("["):
            hits.append(Line(match.group(1), int(match.group(2)), match.group(3).removesuffix("\r")))
    return hits


def glob_paths(text: str) -> list[str]:
    """The paths of a glob result: every line that is not a note."""
    return [line.rstrip("\r") for line in text.split("\n") if line.strip() and not _is_note(line)]


_ENTRY = re.compile(r"(?P<name>.+?)(?:  (?P<size>[\d.,]+) ?(?P<unit>[kKMGT]?)i?(?:B|bytes)?| \(link\))?")
_SIZED = re.compile(r"  [\d.,]+ ?[kKMGT]?i?B$")
_UNITS = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000, "T": 1_000_000_000_000}


def list_entries(base: str, text: str) -> tuple[dict[str, int], list[str]]:
    """Files with their sizes in bytes, and folders, of a list result; paths are joined to ``base``."""
    files: dict[str, int] = {}
    folders: list[str] = []
    parents: list[str] = [_join(base, "")]
    for raw in text.split("\n"):
        body = raw.lstrip(" ")
        if not body or _is_note(body):
            continue
        parents = parents[: (len(raw) - len(body)) // 2 + 1]
        if body.endswith("/"):
            folders.append(parents[-1] + body[:-1])
            parents.append(parents[-1] + body)
        elif match := _ENTRY.fullmatch(body):
            size = float((match["size"] or "0").replace(",", "")) if (match["size"] or "0")[0].isdigit() else 0.0
            files[parents[-1] + match["name"]] = int(size * _UNITS[(match["unit"] or "").upper()])
    return files, folders


def is_listing(text: str) -> bool:
    """Whether a text is what list_dir says of a folder, rather than something that stands for it."""
    rows = [line for line in text.split("\n") if line.strip()]
    shown = [line for line in rows if line.endswith(("/", " (link)")) or _SIZED.search(line)]
    notes = sum(line.lstrip().startswith("[") for line in rows)
    return len(shown) + notes == len(rows) and (bool(shown) or text.strip() == "[empty folder]")


def _join(base: str, name: str) -> str:
    base = base.removeprefix("./").strip("/")
    return name if base in {"", "."} else f"{base}/{name}"


_NOTE = re.compile(r"\[.*\]$|\{\"|.*\[[^\]]*\btokens?\b[^\]]*\]")


def _is_note(line: str) -> bool:
    """Whether a line of a listing is no path: a tool's note, or what stands for a result that left the context."""
    return _NOTE.match(line) is not None


def offload_ref(text: str) -> str:
    """The reference of a result that was offloaded (RUNTIME.md 4.3), else empty."""
    if not text.startswith("{"):
        return ""
    try:
        value = json.loads(text)
    except ValueError:
        return ""
    ref = value.get("_ref_id") if isinstance(value, dict) and value.get("_offloaded") else None
    return ref if isinstance(ref, str) else ""


def recalled_text(text: str) -> str:
    """The text of a recalled result: as it is, or a page of it, then without its first and last line, which the page's
    bounds may have cut."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    content = (value.get("content") or value.get("result")) if isinstance(value, dict) else value
    return "\n".join(content.split("\n")[1:-1]) if isinstance(content, str) else ""


def same_name(a: str, b: str) -> bool:
    """Whether two names are one, letter case and the composition of letters aside."""
    return normalise(a).casefold() == normalise(b).casefold()
