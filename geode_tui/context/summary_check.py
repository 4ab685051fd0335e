"""Whether what a model wrote may stand for the conversation (RUNTIME.md 3.3). Pure; nothing here asks a model.

A summary that is refused changes nothing: the messages stay as they are.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

import msgspec

from geode_tui.context.rendering import marker_text, summary_text
from geode_tui.context.summary_form import content, has_all_headings, normalised, unwrapped
from geode_tui.context.summary_parts import Count
from geode_tui.context.summary_source import Source, transcript_of
from geode_tui.context.summary_terms import keeps_instruction
from geode_tui.core.views import Summarise

Why: TypeAlias = Literal["empty", "inflated", "lost_instruction", "tool_call", "refusal", "echo", "cut", "skeleton"]

_COMPLETE: Final = frozenset({"end_turn", "stop_sequence"})
_REFUSED: Final = frozenset({"refusal", "content_filter"})
_LEAST_CONTENT: Final = 40
"""Characters, of letters and digits, without which nothing was said; a syllable of Hangul or Han counts twice."""
_LEAST_GAIN_PERCENT: Final = 10
_ECHO_PERCENT: Final = 50
_SHINGLE: Final = 8
"""Words in a row that two texts hardly share by chance."""
_LEAST_SHINGLES: Final = 40
"""Shorter texts are not asked whether they are copies: a summary of a line may be that line."""

_PROTOCOL: Final = re.compile(
    r"^[ \t]*(?:<\s*/?\s*(?:\w+:)?(?:tool_calls?|function_calls?|invoke|tool_use|function=)[\s>\w=]"
    r"|<\|\s*(?:tool|python_tag|channel)|\[TOOL_CALLS?\]|```(?:tool_code|tool_call)\b"
    r"|\{\s*\"(?:name|tool|function|tool_name)\"\s*:\s*\"[^\"]+\"\s*,\s*\"(?:arguments|parameters|input|args)\"\s*:)",
    re.MULTILINE | re.IGNORECASE,
)
"""A call written out as text, at the start of a line, in the spellings that models use."""
_DECLINES: Final = re.compile(
    r"\s*(?:(?:i['’]?m|i am) (?:really |very |so )?(?:sorry|unable|afraid)|(?:sorry|unfortunately|apologies)\b"
    r"|i (?:cannot|can['’]?t|can not|won['’]?t|am not able to)\b|as an ai\b"
    r"|죄송|미안|도와드릴 수 없|요청을? (?:처리|수행)할 수 없)",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(
    r"^\[\d+\] (?:user|assistant|calls|assistant calls|result of \S+.*?|note of the program): ", re.MULTILINE
)
_MOST_LABELS: Final = 2


class Accepted(msgspec.Struct, frozen=True):
    """``text`` may stand, as it is here: brought into form. ``tokens`` are those it is sent with."""

    text: str
    tokens: int


class Refused(msgspec.Struct, frozen=True):
    """It may not. ``line`` says why in one line."""

    why: Why
    line: str


def accept(
    text: str, *, source: Source, replaced_tokens: int, latest: str, stop_reason: str, count: Count
) -> Accepted | Refused:
    """Judge a summary.

    Args:
        text: What the model wrote: its visible text alone.
        source: What it was given.
        replaced_tokens: What it would stand for, by ``count``, with the summary that stands now.
        latest: The person's latest instruction; may be empty.
        stop_reason: What ended the answer, in the words of ``providers.base.StopReason``.
        count: Counts tokens of a text.
    """
    if stop_reason in _REFUSED:
        return Refused("refusal", "the model refused to write the summary")
    written = unwrapped(text)
    if not written:
        return Refused("empty", "the summary is empty")
    if stop_reason == "tool_use" or _calls(written):
        return Refused("tool_call", "the model called a tool instead of writing the summary")
    if stop_reason not in _COMPLETE and not has_all_headings(written):
        return Refused("cut", f"the summary ended before it was complete ({stop_reason or 'no reason given'})")
    said = content(written)
    if not source.upto or _weight(said) < _LEAST_CONTENT:
        return Refused("skeleton", "the summary says nothing of what it stands for")
    if _DECLINES.match(said) and not has_all_headings(written):
        return Refused("refusal", "the model refused to write the summary")
    if _echoes(written, source):
        return Refused("echo", "the summary repeats what it was given instead of summarising it")
    formed = normalised(written)
    tokens = _sent_tokens(formed, source, count)
    if tokens > source.cap_tokens:
        return Refused("inflated", f"the summary has {tokens} tokens, and may have {source.cap_tokens}")
    if tokens * 100 > replaced_tokens * (100 - _LEAST_GAIN_PERCENT):
        return Refused("inflated", f"the summary would take {tokens} tokens in place of {replaced_tokens}")
    if not keeps_instruction(formed, latest):
        return Refused("lost_instruction", "the summary does not keep the latest instruction")
    return Accepted(formed, tokens)


def _calls(text: str) -> bool:
    """Whether calls are written out. A summary with all its headings may quote one, unless it begins with it."""
    return (_PROTOCOL.match if has_all_headings(text) else _PROTOCOL.search)(text) is not None


def _sent_tokens(text: str, source: Source, count: Count) -> int:
    """What a summary takes in a request, with all that is said around it."""
    standing = Summarise(source.first, source.upto, text)
    return count(summary_text(standing)) + count(marker_text(standing))


def _weight(text: str) -> int:
    return sum(1 if char.isascii() else 2 for char in text if char.isalnum())


def _echoes(text: str, source: Source) -> bool:
    """Whether a text is mostly a copy: it has most of the transcript or of the request's rules in it, most of it is the
    transcript's, or it goes on with the transcript's own labels.
    """
    if len(_LABEL.findall(text)) > _MOST_LABELS:
        return True
    said, given, rules = _shingles(text), _shingles(transcript_of(source)), _shingles(source.system)
    return (
        _share(given, said) > _ECHO_PERCENT
        or _share(said, given) > _ECHO_PERCENT
        or _share(rules, said) > _ECHO_PERCENT
    )


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return frozenset(tuple(words[at : at + _SHINGLE]) for at in range(len(words) - _SHINGLE + 1))


def _share(of: frozenset[tuple[str, ...]], found_in: frozenset[tuple[str, ...]]) -> int:
    """Percent of ``of`` that stand in ``found_in``; 0 where there are too few to tell."""
    return 100 * len(of & found_in) // len(of) if len(of) >= _LEAST_SHINGLES else 0
