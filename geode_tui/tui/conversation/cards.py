"""Tool calls as one row each: what is asked, how it stands, what came of it (SCREENS.md 1, 6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher
from typing import Any, Literal, TypeAlias

import msgspec
from rich.segment import Segment
from rich.style import Style

from geode_tui.core import format as fmt
from geode_tui.core.strings import Strings
from geode_tui.core.text import clean, clean_line
from geode_tui.log.rows import MessageRow
from geode_tui.tui.cells import cut_end, cut_front, cut_segments, pad, spread, width_of
from geode_tui.tui.conversation.ink import Ink
from geode_tui.tui.conversation.summaries import summary_words
from geode_tui.view.state import OpenTool

BODY_LINES = 200
"""Lines of a result that an opened card shows."""
BODY_CHARS = 20_000
"""Characters of it, however few the lines."""
ARGUMENT_LINES = 20
"""Lines of one argument that are listed."""
ARGUMENT_CHARS = 20_000
"""Characters of one argument that are kept."""
HEAD_LINES = 2
"""Lines of a failed call's result that are shown without opening it."""
NARROW = 56
"""Cells below which a card has no duration and no tokens (SCREENS.md 6)."""
_DIFF_LINES = 400
_DURATION, _TOKENS, _WORD = 5, 9, 22

Place: TypeAlias = Literal["", "offloaded", "not_stored"]
"""Where a result is that is too large for the context: in a file of its own, or in none, so that it was cut."""
Kind: TypeAlias = Literal[
    "writing", "queued", "waiting", "running", "ok", "failed", "refused", "not_run", "interrupted", "unknown"
]

ATTENTION: frozenset[Kind] = frozenset({"waiting", "failed", "refused", "not_run", "interrupted", "unknown"})
"""States that ``[`` and ``]`` stop at."""

ENDED: frozenset[Kind] = frozenset({"ok", "failed", "refused", "not_run", "interrupted", "unknown"})
"""States of a call that has its result."""

_ROLES: dict[Kind, str] = {
    "writing": "muted",
    "queued": "muted",
    "waiting": "accent",
    "running": "ok",
    "ok": "ok",
    "failed": "crit",
    "refused": "warn",
    "not_run": "muted",
    "interrupted": "warn",
    "unknown": "warn",
}


class Call(msgspec.Struct, frozen=True):
    """A tool call as the model wrote it. ``brief`` is one clean line of what it is about."""

    call_id: str
    name: str
    brief: str
    is_path: bool
    arguments: tuple[tuple[str, str], ...] = ()
    """Argument names and clean values, long ones cut."""


class Standing(msgspec.Struct, frozen=True):
    """How a call stands. ``since`` is the epoch second it began to run or to wait."""

    kind: Kind
    word: str = ""
    since: float | None = None
    duration_ms: int | None = None
    tokens: int | None = None
    place: Place = ""


class Output(msgspec.Struct, frozen=True):
    """The beginning of a result, clean. ``more_lines`` were left out, or the last line was cut by ``more_chars``."""

    lines: tuple[str, ...]
    more_lines: int = 0
    more_chars: int = 0

    @property
    def head(self) -> tuple[str, ...]:
        """The first lines that say something."""
        return tuple(line for line in self.lines if line.strip())[:HEAD_LINES]


_BRIEF_KEYS = ("command", "pattern", "query", "path", "file_path", "url", "name")
_PATH_KEYS = {"path", "file_path"}
_PARTIAL = re.compile(r'"(\w{1,40})"\s*:\s*"((?:[^"\\]|\\.){1,200})')


def read_call(call_id: str, name: str, arguments: str, redact: Callable[[str], str]) -> Call:
    """A call from its raw argument text, which may be malformed."""
    try:
        decoded: Any = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        decoded = None
    if not isinstance(decoded, dict):
        return Call(call_id, name_line(name), clean_line(redact(arguments[:800])), is_path=False)
    texts = {str(key): value if isinstance(value, str) else _json(value) for key, value in decoded.items()}
    shown = tuple((clean_line(key, 40), redact(clean(_cut(value)))) for key, value in texts.items())
    brief, is_path = _brief({key: redact(value[:800]) for key, value in texts.items()})
    return Call(call_id, name_line(name), brief, is_path, shown)


def _cut(value: str) -> str:
    return value if len(value) <= ARGUMENT_CHARS else value[:ARGUMENT_CHARS] + "\u22ef"


def name_line(name: str) -> str:
    """A tool's name, inert and short."""
    return clean_line(name, 60) or "?"


def partial_call(name: str, beginning: str, redact: Callable[[str], str]) -> Call:
    """A call of which only the beginning of its arguments has come."""
    found = {key: redact(value) for key, value in _PARTIAL.findall(beginning)}
    brief, is_path = _brief(found)
    return Call("", name_line(name), brief, is_path)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _brief(texts: dict[str, str]) -> tuple[str, bool]:
    plain = (key for key, value in texts.items() if not value.startswith(("[", "{")))
    key = next((key for key in _BRIEF_KEYS if texts.get(key)), None) or next(plain, None)
    if key is None:
        return "", False
    text = clean_line(texts[key])
    if key in {"pattern", "query"}:
        return " ".join((f'"{text}"', clean_line(texts.get("path", "")))).rstrip(), False
    return text, key in _PATH_KEYS


def read_output(text: str, redact: Callable[[str], str]) -> Output:
    """The first lines of a result, cut before it is cleaned so that its size does not matter."""
    raw: list[str] = []
    start = size = 0
    while len(raw) < BODY_LINES and size < BODY_CHARS and start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        shown = text[start : min(end, start + BODY_CHARS - size)]
        raw.append(shown)
        size += len(shown)
        if start + len(shown) < end:
            rest = len(text) - start - len(shown)
            return Output(_cleaned(raw, redact), more_chars=rest)
        start = end + 1
    left = text.count("\n", start) + (not text.endswith("\n")) if start < len(text) else 0
    return Output(_cleaned(raw, redact), more_lines=left)


def _cleaned(lines: list[str], redact: Callable[[str], str]) -> tuple[str, ...]:
    return tuple(redact(clean("\n".join(lines))).split("\n"))


def standing(result: MessageRow | None, tool: OpenTool | None, *, asked: bool, turn_open: bool) -> Standing:
    """How a call stands, by its result's row, else by what the run says of it now."""
    if result is not None and result.result is not None:
        meta = result.result
        kind: Kind = "ok"
        if meta.denied:
            kind = "refused"
        elif not meta.executed:
            kind = "not_run"
        elif meta.fate in {"unknown", "interrupted"}:
            kind = "unknown" if meta.fate == "unknown" else "interrupted"
        elif meta.is_error:
            kind = "failed"
        word = clean_line(meta.summary, _WORD) if kind in {"ok", "failed"} else ""
        timed = kind in {"ok", "failed"}  # when one that was stopped had ended is not known
        place: Place = "offloaded" if "ref" in meta.facts else "not_stored" if "not_stored" in meta.facts else ""
        return Standing(kind, word, None, meta.duration_ms if timed else None, meta.tokens or None, place)
    if result is not None:
        return Standing("ok")
    if asked or (tool is not None and tool.state == "waiting"):
        return Standing("waiting", since=tool.since if tool else None)
    if tool is not None:
        return Standing("running", since=tool.since)
    return Standing("queued" if turn_open else "unknown")


class Moment(msgspec.Struct, frozen=True):
    """When a card is drawn: ``now`` in epoch seconds (0 while not known), ``frame`` numbers the spinner's frames."""

    now: float = 0.0
    frame: int = 0


def card_row(call: Call, state: Standing, ink: Ink, strings: Strings, width: int, moment: Moment) -> list[Segment]:
    """The card's row in ``width`` cells."""
    role = _ROLES[state.kind]
    cut = ink.glyphs.cut
    word, word_style = _word(state, ink, strings)
    right = [Segment(cut_end(word, min(_WORD, max(1, width // 3)), cut), word_style)]
    if width + 3 >= NARROW:
        figures = (
            f"  {pad(_duration(state, moment.now), _DURATION, right=True)}  {pad(_tokens(state), _TOKENS, right=True)}"
        )
        right.append(Segment(figures, ink.muted))
    room = width - sum(width_of(segment.text) for segment in right) - 2
    left = [
        Segment(pad(_glyph(state.kind, ink, moment.frame), 2), ink.role(role, bold=True)),
        Segment(call.name, ink.role("text", bold=True)),
    ]
    rest = room - sum(width_of(segment.text) for segment in left) - 2
    if call.brief and rest >= 3:
        brief = cut_front(call.brief, rest, cut) if call.is_path else cut_end(call.brief, rest, cut)
        left.append(Segment("  " + brief, ink.role("code")))
    return [s if s.style else Segment(s.text, ink.base) for s in spread(left, right, width, cut)]


def _word(state: Standing, ink: Ink, strings: Strings) -> tuple[str, Style]:
    """What came of the call, and its style; of one that went well, where its result is if that is out of the way."""
    if state.kind == "ok" and state.place == "offloaded":
        return f"{ink.glyphs.offloaded} {strings.t('card.offloaded')}", ink.role("info")
    if state.kind == "ok" and state.place == "not_stored":
        return strings.t("card.not_stored"), ink.role("warn", bold=True)
    word = summary_words(state.word, strings) or strings.t(f"card.{state.kind}")
    bold = state.kind not in {"ok", "queued", "writing", "not_run"}
    return word, ink.role("muted" if state.kind == "ok" else _ROLES[state.kind], bold=bold)


def _glyph(kind: Kind, ink: Ink, frame: int) -> str:
    glyphs = ink.glyphs
    match kind:
        case "running":
            return glyphs.spinner[frame % len(glyphs.spinner)]
        case "waiting":
            return glyphs.needs_you
        case "ok":
            return glyphs.ok
        case "failed":
            return glyphs.failed
        case "refused":
            return glyphs.refused
        case "unknown" | "interrupted":
            return glyphs.warning
        case _:
            return glyphs.pending


def _duration(state: Standing, now: float) -> str:
    if state.duration_ms is not None:
        return fmt.elapsed(state.duration_ms / 1000)
    return fmt.short_clock(now - state.since) if state.since is not None and now else ""


def _tokens(state: Standing) -> str:
    mark = "~" if state.kind == "writing" else ""
    return f"{mark}{fmt.tokens(state.tokens)} tok" if state.tokens else ""


def hint_row(ink: Ink, strings: Strings, width: int) -> list[Segment]:
    """What answers a call that waits."""
    row = [Segment("  ctrl+g ", ink.role("accent", bold=True)), Segment(strings.t("card.answer"), ink.muted)]
    return cut_segments(row, width, ink.glyphs.cut)


_CHANGES = {"content", "old", "new", "old_string", "new_string"}


def argument_lines(call: Call, strings: Strings, *, values: bool) -> list[tuple[str, str]]:
    """The arguments by name as unsigned lines; without ``values`` those that `argument_diff` shows are left out."""
    lines: list[tuple[str, str]] = []
    for name, value in call.arguments:
        if values or name not in _CHANGES:
            first, *more = value.split("\n")
            lines.append(("", f"{name}: {first}"))
            lines += [("", "  " + line) for line in more[:ARGUMENT_LINES]]
            if len(more) > ARGUMENT_LINES:
                lines.append(("", "  " + strings.t("card.more_lines", n=f"{len(more) - ARGUMENT_LINES:,}")))
    return lines


def argument_diff(call: Call) -> list[tuple[str, str]] | None:
    """What a write or an edit would change, as (sign, line) pairs; None for other calls."""
    texts = dict(call.arguments)
    if "content" in texts and _PATH_KEYS & texts.keys():
        return [("+", line) for line in texts["content"].split("\n")]
    old, new = texts.get("old", texts.get("old_string")), texts.get("new", texts.get("new_string"))
    if old is None or new is None:
        return None
    return line_diff(old.split("\n")[:_DIFF_LINES], new.split("\n")[:_DIFF_LINES])


def line_diff(before: list[str], after: list[str]) -> list[tuple[str, str]]:
    """The lines of both as (sign, line) pairs."""
    lines: list[tuple[str, str]] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [(" ", line) for line in before[a:b]]
        else:
            lines += [("-", line) for line in before[a:b]]
            lines += [("+", line) for line in after[c:d]]
    return lines


def output_diff(output: Output) -> list[tuple[str, str]] | None:
    """The result's lines as (sign, line) pairs where it is a unified diff, else None."""
    heads = [line[:4] for line in output.lines[:6]]
    if "--- " not in heads or "+++ " not in heads:
        return None
    return [_signed(line) for line in output.lines]


def _signed(line: str) -> tuple[str, str]:
    if line[:1] in {"+", "-", " "} and line[:3] not in {"+++", "---"}:
        return line[:1], line[1:]
    return "", line
