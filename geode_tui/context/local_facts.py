"""What messages say without a model reading them: what was asked, which files, commands and errors there were, how the
plan stands. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from geode_tui.context.view import Item
from geode_tui.core.messages import ToolCallBlock, ToolResultBlock
from geode_tui.core.text import clean_line

ASK_CHARS: Final = 300
_SENTENCE_CHARS: Final = 240
_COMMAND_CHARS: Final = 160
_STATE_CHARS: Final = 400
_SENTENCES_A_MESSAGE: Final = 3
_READ_CHARS: Final = 20_000
"""Of a result that failed, its line is looked for in this much."""

_READING: Final = frozenset({"read_file", "read", "notebookread"})
_WRITING: Final = frozenset({"write_file", "edit_file", "write", "edit", "multiedit", "notebookedit"})
_RUNNING: Final = frozenset({"run_shell", "bash", "shell"})
_PLANNING: Final = frozenset({"update_plan", "todowrite"})
"""Tools by what they do, in lower case: ours, and those of imported conversations."""
_STATES: Final = {"completed": "done", "in_progress": "active"}
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。])\s+|\n+")
_DECIDES: Final = re.compile(
    r"\b(?:decided?|decision|because|instead of|rather than|chose|chosen|opted?|going with|will use|the reason)\b"
    r"|하기로|결정|대신|때문|선택|이유는|따라서",
    re.IGNORECASE,
)
_CONSTRAINS: Final = re.compile(
    r"\b(?:never|don['’]?t|do not|must|only|always|avoid|without|prefer|make sure|no longer)\b"
    r"|절대|하지 ?마|마세요|말고|말아|말 것|금지|반드시|꼭 |항상|[가-힣\w]만 |않도록|유지",
    re.IGNORECASE,
)
_EXIT: Final = re.compile(r"\W*exit code\b", re.IGNORECASE)
_SAYS_ERROR: Final = re.compile(r"error|fatal|fail|exception|denied|refused|not found|오류|실패", re.IGNORECASE)


class FileUse(msgspec.Struct, frozen=True):
    """How often a file was read and written, and in which messages first and last."""

    path: str
    read: int
    written: int
    first: int
    last: int


class Command(msgspec.Struct, frozen=True):
    """A command that ended. ``exit_code`` is None where none is recorded."""

    seq: int
    text: str
    exit_code: int | None
    failed: bool


class Facts(msgspec.Struct, frozen=True):
    """What a number of messages say, oldest first. Texts are single lines with the message they are from. ``plan`` are
    steps with their states (pending, active, done); None where no plan was made.
    """

    asks: tuple[tuple[int, str], ...]
    constraints: tuple[tuple[int, str], ...]
    decisions: tuple[tuple[int, str], ...]
    errors: tuple[tuple[int, str], ...]
    commands: tuple[Command, ...]
    files: tuple[FileUse, ...]
    plan: tuple[tuple[str, str], ...] | None
    state: tuple[int, str] | None


def facts_of(items: Sequence[Item]) -> Facts:
    """The facts of ``items``."""
    asked = [i for i in items if is_ask(i)]
    said = [(i.seq, i.message.text) for i in items if i.message.role == "assistant" and i.message.text.strip()]
    ended = list(_ended(items))
    return Facts(
        asks=tuple((i.seq, clean_line(i.message.text, ASK_CHARS)) for i in asked),
        constraints=tuple(f for i in asked for f in _sentences(i.seq, i.message.text, _CONSTRAINS)),
        decisions=tuple(f for seq, text in said for f in _sentences(seq, text, _DECIDES)),
        errors=tuple((item.seq, _error(block)) for _, _, item, block in ended if block.is_error),
        commands=tuple(_commands(ended)),
        files=tuple(_files(ended)),
        plan=_plan(items),
        state=(said[-1][0], clean_line(said[-1][1], _STATE_CHARS)) if said else None,
    )


class Progress(msgspec.Struct, frozen=True):
    """How far the newest task came: answers, files that were read, and the last of them."""

    rounds: int = 0
    files: int = 0
    last: str = ""


def progress_of(items: Sequence[Item]) -> Progress:
    """That of the part of ``items`` that follows what was typed last."""
    asked = max((n for n, item in enumerate(items) if item.message.origin == "user_input"), default=-1)
    since = items[asked + 1 :]
    reads = [use.path for use in _files(list(_ended(since))) if use.read]
    rounds = sum(item.message.role == "assistant" for item in since)
    return Progress(rounds, len(reads), reads[-1] if reads else "")


def is_ask(item: Item) -> bool:
    """Whether a person, or whoever set the task, wrote the message."""
    message = item.message
    told = message.origin not in {"runtime", "resume", "summary", "note"}
    return message.role == "user" and told and bool(message.text.strip())


def _ended(items: Sequence[Item]) -> Iterator[tuple[int, ToolCallBlock, Item, ToolResultBlock]]:
    """The seq of each call's message, the call, and the message and block of its result; by the results' order."""
    calls = {call.call_id: (item.seq, call) for item in items for call in item.message.calls}
    for item in items:
        for block in item.message.blocks:
            if isinstance(block, ToolResultBlock) and block.call_id in calls:
                yield *calls[block.call_id], item, block


def _sentences(seq: int, text: str, marker: re.Pattern[str]) -> list[tuple[int, str]]:
    """The first sentences of a message that have a marker's words."""
    found = (s for s in _SENTENCE_END.split(text) if 8 <= len(s) <= 2 * _SENTENCE_CHARS and marker.search(s))
    return [(seq, clean_line(s.lstrip("-*#> "), _SENTENCE_CHARS)) for s in islice(found, _SENTENCES_A_MESSAGE)]


def _error(block: ToolResultBlock) -> str:
    """The line of a failed result that says most: one that names an error, or else the first."""
    lines = [line for line in block.text[:_READ_CHARS].splitlines() if line.strip() and not _EXIT.match(line)]
    said = next((line for line in lines if _SAYS_ERROR.search(line)), lines[0] if lines else "failed")
    return f"{clean_line(block.name, 80)}: {clean_line(said, _COMMAND_CHARS)}"


def _commands(ended: Sequence[tuple[int, ToolCallBlock, Item, ToolResultBlock]]) -> Iterator[Command]:
    for _, call, item, block in ended:
        command = _text_of(call, "command", "cmd") if call.name.lower() in _RUNNING else ""
        if command:
            code = item.result.facts.get("exit_code") if item.result is not None else None
            known = code if isinstance(code, int) else None
            yield Command(item.seq, _ticked(command, _COMMAND_CHARS), known, block.is_error)


def _files(ended: Sequence[tuple[int, ToolCallBlock, Item, ToolResultBlock]]) -> Iterator[FileUse]:
    """Files that were read or written without an error, the one touched last at the end."""
    found: dict[str, FileUse] = {}
    for seq, call, _, block in ended:
        name = call.name.lower()
        path = _text_of(call, "path", "file_path") if name in _READING | _WRITING and not block.is_error else ""
        if path:
            path = _ticked(path, 200)
            use = FileUse(path, int(name in _READING), int(name in _WRITING), seq, seq)
            found[path] = joined(found.pop(path, None), use)
    yield from found.values()


def joined(before: FileUse | None, after: FileUse) -> FileUse:
    """Two uses of one file as one."""
    if before is None:
        return after
    return FileUse(
        after.path,
        before.read + after.read,
        before.written + after.written,
        min(before.first, after.first),
        max(before.last, after.last),
    )


def _plan(items: Sequence[Item]) -> tuple[tuple[str, str], ...] | None:
    """The steps of the last plan that can be read."""
    calls = [call for item in items for call in item.message.calls if call.name.lower() in _PLANNING]
    for call in reversed(calls):
        made = _arguments(call)
        steps = made.get("steps", made.get("todos"))
        if isinstance(steps, list):
            return tuple(_step(step) for step in steps if isinstance(step, dict))
    return None


def _step(step: dict[str, object]) -> tuple[str, str]:
    state = str(step.get("status", "pending"))
    return clean_line(str(step.get("step", step.get("content", ""))), _SENTENCE_CHARS), _STATES.get(state, state)


def _arguments(call: ToolCallBlock) -> dict[str, object]:
    """A call's arguments; none where they cannot be read."""
    try:
        return msgspec.json.decode(call.arguments, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return {}


def _text_of(call: ToolCallBlock, *names: str) -> str:
    made = _arguments(call)
    return next((value for name in names if isinstance(value := made.get(name), str) and value.strip()), "")


def _ticked(text: str, limit: int) -> str:
    """One line that can stand between backticks."""
    return clean_line(text, limit).replace("`", "'")
