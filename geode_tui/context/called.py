"""What a tool call was about and what came of it, in a few words for the model. Pure.

It is read from the call's arguments and from what the result's row says, so it holds for tools of other programs too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from geode_tui.context.protect import SKILL, batches, result_of
from geode_tui.context.view import Item
from geode_tui.core.format import number
from geode_tui.core.messages import ImageBlock, ToolCallBlock
from geode_tui.core.text import clean_line
from geode_tui.log.rows import ResultMeta

COMMAND_CHARS, TASK_CHARS, ARGUMENT_CHARS = 120, 100, 40
"""Characters of a command, of a handed-over task, and of any other argument that are told (RUNTIME.md 3.5)."""
SUBJECT_CHARS = 120
_SUBJECTS = ("command", "cmd", "pattern", "query", "url", "path", "file_path", "name", "ref_id", "task", "prompt")
"""The argument that says what a call is about: the first of these that it has."""
_NAME_CHARS = 60
_COUNTS = (("matches", "matches"), ("entries", "entries"), ("lines", "lines"), ("chars", "chars"))


def calls_of(items: Iterable[Item]) -> dict[int, ToolCallBlock]:
    """Seq of each result, and the call that it answers."""
    made: dict[int, ToolCallBlock] = {}
    for answer, *results in batches(items):
        calls = {call.call_id: call for call in answer.message.calls}
        for item in results:
            result = result_of(item)
            if result is not None and result.call_id in calls:
                made[item.seq] = calls[result.call_id]
    return made


def arguments_of(call: ToolCallBlock | None) -> dict[str, Any]:
    """The arguments of a call; empty where they are no JSON object."""
    try:
        fields = msgspec.json.decode(call.arguments) if call is not None else None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        fields = None
    return fields if isinstance(fields, dict) else {}


def about(item: Item, call: ToolCallBlock | None, limit: int = SUBJECT_CHARS) -> str:
    """Tool and subject of a result on one line: ``grep "TODO" in src``. The subject takes at most about ``limit``
    characters.
    """
    result = result_of(item)
    name = clean_line(result.name if result is not None else "", _NAME_CHARS) or "tool"
    subject = _subject(arguments_of(call) or _recorded(item.result), limit)
    return f"{name} {subject}" if subject else name


def came_of(item: Item) -> str:
    """What came of a call, in figures: ``exit 1, 812 lines``. Of an error, its first line."""
    result, facts = result_of(item), _facts(item.result)
    text = result.text if result is not None else ""
    parts = [f"exit {facts['exit_code']}"] if "exit_code" in facts else []
    if facts.get("timeout"):
        parts.append("timed out")
    if facts.get("start_line", 1) != 1:
        parts.append(f"from line {facts['start_line']}")
    counted = [f"{_count(facts[key])} {unit}" for key, unit in _COUNTS if key in facts]
    summary = clean_line(item.result.summary, ARGUMENT_CHARS) if item.result is not None else ""
    parts += counted or [summary or f"{number(text.count(chr(10)) + 1)} lines", f"{number(len(text))} chars"]
    error = first_line(item)
    return ", ".join([*parts, error] if error else parts)


def first_line(item: Item) -> str:
    """The first line of an error result that says something, cut; empty where the result is no error."""
    result = result_of(item)
    if result is None or not result.is_error:
        return ""
    line = next((line for line in result.text.splitlines() if line.strip()), "")
    return f"error: {clean_line(line, COMMAND_CHARS)}" if line else "error"


def images_in(item: Item) -> int:
    """How many images a result holds."""
    result = result_of(item)
    return sum(isinstance(block, ImageBlock) for block in result.content) if result is not None else 0


def skill_gone(item: Item, call: ToolCallBlock | None) -> str:
    """What stands for a skill's text: which skill it was, and that it has to be loaded again (RUNTIME.md 2.8)."""
    skill = about(item, call, ARGUMENT_CHARS)
    return f"{skill}: the text of this skill is not sent any more; call {SKILL} again before you follow it"


def _subject(arguments: dict[str, Any], limit: int) -> str:
    key = next((key for key in _SUBJECTS if isinstance(arguments.get(key), str)), "")
    if not key:
        first = list(arguments.items())[:2]
        return ", ".join(f"{clean_line(k, ARGUMENT_CHARS)}={_value(v)}" for k, v in first)
    room = min(limit, TASK_CHARS) if key in {"task", "prompt"} else limit
    subject = clean_line(arguments[key], room)
    if key not in {"pattern", "query"}:
        return subject
    where = arguments.get("path")
    within = f" in {clean_line(where, max(ARGUMENT_CHARS, room - len(subject)))}" if isinstance(where, str) else ""
    return f'"{subject}"{within}'


def _value(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return clean_line(text, ARGUMENT_CHARS)


def _facts(meta: ResultMeta | None) -> dict[str, Any]:
    return dict(meta.facts) if meta is not None else {}


def _recorded(meta: ResultMeta | None) -> dict[str, Any]:
    """What the record says of a call whose arguments cannot be read."""
    return {key: value for key, value in _facts(meta).items() if key in _SUBJECTS}


def _count(value: object) -> str:
    return number(value) if isinstance(value, int) else clean_line(str(value), ARGUMENT_CHARS)
