"""What summaries in a conversation say of the part they stand for: the task, the files read, how far it came."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from geode_tui.core.headings import FILES_READ, LAST_READ, ROUNDS_DONE
from geode_tui.core.messages import Message, user_text

ASKED_CHARS: Final = 300
"""How much of an instruction a summary repeats."""
_TASK: Final = "Active Task"
_FILES: Final = "Relevant Files"
_NOTE = re.compile(r"\s*\[(?:The conversation up to|An earlier part of the conversation)\b")
"""How the notes begin that say what was compacted or left out."""


class Earlier(msgspec.Struct, frozen=True):
    """What was done for the turn's task before the messages that are left: rounds, files, and the last file read."""

    rounds: int = 0
    files: int = 0
    last: str = ""


def section(text: str, heading: str) -> list[str]:
    """The rows below ``heading`` in the last summary of ``text`` that has it."""
    found = re.findall(rf"^#+[ \t]*{re.escape(heading)}[ \t]*$(.*?)(?=^#|^</|\Z)", text, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\s*[-*] (.+?)\s*$", found[-1], re.MULTILINE) if found else []
    return [row for row in rows if row != "none"]


def is_summary(text: str) -> bool:
    """Whether a text is a summary of earlier messages."""
    return all(re.search(rf"^#+[ \t]*{heading}[ \t]*$", text, re.MULTILINE) for heading in (_TASK, _FILES))


def is_own(text: str) -> bool:
    """Whether the text of a user message is the program's, not a person's."""
    return is_summary(text) or _NOTE.match(text) is not None


def shortened(text: str) -> str:
    """An instruction as a summary repeats it."""
    return " ".join(text.split())[:ASKED_CHARS]


def figures(text: str) -> Earlier:
    """What the last summary in ``text`` says of its task."""
    rounds, files, last = (
        re.findall(rf"^\s*[-*] {name}: (.+?)\s*$", text, re.MULTILINE)[-1:]
        for name in (ROUNDS_DONE, FILES_READ, LAST_READ)
    )
    return Earlier(_number(rounds), _number(files), last[0].strip("`") if last else "")


def _number(found: Sequence[str]) -> int:
    return int(found[0]) if found and found[0].isdecimal() else 0


def earlier_of(messages: Sequence[Message], inputs: Sequence[str]) -> Earlier:
    """What the newest summary among ``messages`` says of the task that ``inputs`` set; nothing if of another."""
    text = "".join(_summaries(messages)[-1:])
    task = section(text, _TASK)
    return figures(text) if not task or task[0] in {shortened(i) for i in inputs} else Earlier()


def covered_files(messages: Sequence[Message]) -> frozenset[str]:
    """Files that a summary in the conversation names as relevant: read before it, so not read for the first time."""
    texts = [m.text for m in messages if m.role == "user" and m.origin != "user_input"]
    rows = (re.match(r"`([^`]+)`", row) for text in texts for row in section(text, _FILES))
    return frozenset(row[1] for row in rows if row)


def typed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """``messages`` with what a person typed marked as such, where nothing is although there are messages of the
    program: all others, or else the task of the newest summary.
    """
    own = any(m.role == "user" and is_own(m.text) for m in messages)
    if not own or any(m.origin == "user_input" for m in messages):
        return tuple(messages)
    told = [msgspec.structs.replace(m, origin="user_input") if _may_be_typed(m) else m for m in messages]
    if any(m.origin == "user_input" for m in told):
        return tuple(told)
    at = max((i for i, m in enumerate(told) if m.role == "user" and is_own(m.text)), default=-1)
    task = section("\n\n".join(_summaries(told)), _TASK)
    return (*told[: at + 1], user_text(task[0]), *told[at + 1 :]) if task else tuple(messages)


def _may_be_typed(message: Message) -> bool:
    return message.role == "user" and message.origin in {"agent", "import"} and not is_own(message.text)


def _summaries(messages: Sequence[Message]) -> list[str]:
    return [m.text for m in messages if m.role == "user" and m.origin != "user_input" and is_summary(m.text)]
