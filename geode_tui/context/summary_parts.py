"""The parts of a transcript as text: a message's words, its calls, its result, each with its number and role; and how
they give way where there is no room for all. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from geode_tui.context.view import Item
from geode_tui.core.headings import LATEST_TAG
from geode_tui.core.messages import Block, ImageBlock, OpaqueBlock, TextBlock, ToolCallBlock, ToolResultBlock
from geode_tui.core.text import clean, clean_line

Kind: TypeAlias = Literal["user", "assistant", "result", "call", "runtime"]
Count: TypeAlias = Callable[[str], int]
"""Tokens of a text."""

PER_MESSAGE: Final = 6_000
"""Characters of one message at most: its first 4,000 and its last 1,500 (RUNTIME.md 1.1)."""
LEAST_PER_MESSAGE: Final = 500
ARGUMENT_CHARS: Final = 1_500
"""Characters of a call's arguments at most: its first 1,200 (RUNTIME.md 1.1)."""
TAGS: Final = ("transcript", "previous_summary", "focus", LATEST_TAG)
_TAG: Final = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(TAGS)})\b)", re.IGNORECASE)
_INDENT: Final = "      "
"""More than a label's brackets: what reads labels from a transcript does not take content for one."""
_LEAST_USER_CHARS: Final = 120
_WORK: Final[frozenset[Kind]] = frozenset({"result", "call"})
_PROSE: Final[frozenset[Kind]] = frozenset({"assistant", "runtime"})
_ASKED: Final[frozenset[Kind]] = frozenset({"user"})
_STAGES: Final = (
    (_WORK, 2_000),
    (_WORK, 500),
    (_WORK, 120),
    (_PROSE, 2_000),
    (_WORK, 0),
    (_PROSE, 500),
    (_PROSE, 120),
    (_PROSE, 0),
    (_ASKED, 2_000),
    (_ASKED, 500),
    (_ASKED, _LEAST_USER_CHARS),
)
"""What gives way, in order, oldest first, and to how many characters; 0 leaves it out."""


# -- the transcript's parts --------------------------------------------------------------------------------------------


class Part(msgspec.Struct, frozen=True):
    """A message's text, its calls, or its result. ``cap`` is how many characters of it are shown."""

    label: str
    kind: Kind
    text: str
    cap: int

    @property
    def is_cut(self) -> bool:
        """Whether not all of it is shown."""
        return len(self.text) > self.cap

    @property
    def spent(self) -> bool:
        """Whether it has given all that it may give."""
        return not self.cap or (self.kind == "user" and min(self.cap, len(self.text)) <= _LEAST_USER_CHARS)

    @property
    def line(self) -> str:
        """The part as it stands in the transcript; empty where it is left out."""
        if not self.cap:
            return ""
        shown = material(cut(self.text, self.cap)).replace("\n", "\n" + _INDENT)
        return f"{self.label}: {shown}"


def parts_of(item: Item, chars: int) -> Iterator[Part]:
    """The parts of a message, each of at most so many characters."""
    message, at = item.message, f"[{item.seq}]"
    text = _shown(b for b in message.blocks if not isinstance(b, ToolResultBlock))
    if message.role == "assistant":
        if text:
            yield Part(f"{at} assistant", "assistant", text, chars)
        if message.calls:
            calls = "\n".join(_call(call, chars) for call in message.calls)
            yield Part(f"{at} calls" if text else f"{at} assistant calls", "call", calls, len(calls))
        return
    for block in message.blocks:
        if isinstance(block, ToolResultBlock):
            result = _shown(block.content) or "(no output)"
            yield Part(f"{at} {_result_label(item, block)}", "result", result, chars)
    if text:
        by: tuple[str, Kind] = ("user", "user")
        if message.origin in {"runtime", "resume", "note"}:
            by = ("note of the program", "runtime")
        elif message.origin == "summary":
            by = ("earlier summary", "runtime")
        yield Part(f"{at} {by[0]}", by[1], text, chars)


def _call(call: ToolCallBlock, chars: int) -> str:
    text, most = call.arguments, min(ARGUMENT_CHARS, chars)
    if len(text) > most:
        text = text[: most * 4 // 5] + _note(len(text) - most * 4 // 5)
    return f"{_named(call)} {text}"


def _result_label(item: Item, block: ToolResultBlock) -> str:
    state = ["error"] if block.is_error else []
    if item.result is not None and (code := item.result.facts.get("exit_code")) is not None:
        state.append(f"exit code {code}")
    return f"result of {_named(block)}" + (f" ({', '.join(state)})" if state else "")


def _named(block: ToolCallBlock | ToolResultBlock) -> str:
    return f"{clean_line(block.name, 80)} {clean_line(block.call_id, 80)}"


def _shown(blocks: Iterable[Block]) -> str:
    """The blocks' text; images and what this program does not read are named."""
    shown = []
    for block in blocks:
        if isinstance(block, TextBlock):
            shown.append(block.text)
        elif isinstance(block, ImageBlock):
            shown.append(f"[image: {clean_line(block.media_type, 40)}]")
        elif isinstance(block, OpaqueBlock):
            shown.append(f"[{clean_line(block.provider, 40)} block: {clean_line(block.kind, 40)}]")
    return "\n".join(shown).strip()


# -- making it fit -----------------------------------------------------------------------------------------------------


def fitted(parts: Sequence[Part], room: int, count: Count) -> tuple[list[Part], int]:
    """The parts cut until they take at most ``room`` tokens, or until nothing more may be cut; and what they take."""
    made = list(parts)
    sizes = [count(part.line) + 1 if part.cap else 0 for part in made]
    size = sum(sizes)
    for kinds, cap in _STAGES:
        for place, part in enumerate(made):
            if size <= room:
                return made, size
            if part.kind in kinds and min(part.cap, len(part.text)) > cap:
                made[place] = part = msgspec.structs.replace(part, cap=cap)
                size -= sizes[place]
                sizes[place] = count(part.line) + 1 if cap else 0
                size += sizes[place]
    return made, size


def bounded(text: str, tokens: int, count: Count) -> str:
    """``text`` cut to at most so many tokens."""
    tokens = max(0, tokens)
    while (size := count(text)) > tokens and text:
        text = cut(text, min(len(text) - 1, len(text) * tokens // size * 9 // 10))
    return text


def cut(text: str, limit: int) -> str:
    """Head and tail of ``text`` within ``limit`` characters: of 6,000 the first 4,000 and the last 1,500."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 4
    if limit < LEAST_PER_MESSAGE:
        return f"{text[:head]} … {text[len(text) - tail :]}" if limit >= 40 else text[:limit]
    return text[:head] + _note(len(text) - head - tail) + text[len(text) - tail :]


def _note(chars: int) -> str:
    return f" [... {chars} characters left out ...] "


def material(text: str) -> str:
    """``text`` as what it is: inert, and with no tag of ours in it."""
    return _TAG.sub("\u2039", clean(text))


def section(tag: str, text: str) -> str:
    """``text`` between tags; empty where there is none."""
    return f"<{tag}>\n{text.strip()}\n</{tag}>\n\n" if text.strip() else ""
