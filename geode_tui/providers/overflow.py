"""Recognising that a prompt did not fit, by the wordings of the backends, with their figures (RUNTIME.md 2.7)."""

from __future__ import annotations

import re

import msgspec

_N = r"\d[\d,]*"
_ACTUAL, _LIMIT = f"(?P<actual>{_N})", f"(?P<limit>{_N})"
_REQUESTED = r"(?:resulted in|requested(?: about)?|a total of(?: at least)?)"

_WORDINGS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"prompt is too long: {_ACTUAL} tokens > {_LIMIT} maximum",
        rf"input length and `?max_tokens`? exceed context limit: {_ACTUAL} \+ (?P<output>{_N}) > {_LIMIT}",
        # "you requested 0 output tokens" must not be read as the size, hence no word between figure and "tokens".
        rf"maximum context length (?:is|of) {_LIMIT} tokens(?:.*?{_REQUESTED} {_ACTUAL} tokens)?",
        rf"input token count \({_ACTUAL}\) exceeds the maximum number of tokens allowed \({_LIMIT}\)",
        rf"input length \(?{_ACTUAL}\)? exceeds .{{0,40}}(?:input length of|context length) \(?{_LIMIT}",
        rf"input \({_ACTUAL} tokens\) is longer than .{{0,40}}context length \({_LIMIT} tokens\)",
        rf"maximum prompt length is {_LIMIT} but the request contains {_ACTUAL} tokens",
        rf"prompt contains {_ACTUAL} tokens, too large for model with {_LIMIT} maximum context length",
        rf"prompt token count of {_ACTUAL} exceeds the limit of {_LIMIT}",
        rf"exceeded model token limit: {_LIMIT} \(requested: {_ACTUAL}\)",
        rf"range of input length should be \[\d+, ?{_LIMIT}\]",
        r"context (?:length|window|limit|size)\s+(?:is |was |has been )?exceed(?:ed|s)",
        r"exceed(?:s|ed)? (?:the |this |its |max(?:imum)? |available )*(?:model's )?(?:max(?:imum)? )?context",
        r"prompt (?:is )?too long|prompt exceeds max(?:imum)? length|input is too long|too many input tokens",
        r"length of history messages exceeds maximum length",
        r"greater than the context length",
    )
)
_OUTPUT_PARAMETER = re.compile(
    r"unsupported parameter|max_(?:completion_|output_)?tokens\W[^.]*too large"
    r"|tokens requested in max_tokens|maximum allowed number of output tokens",
    re.IGNORECASE,
)
"""Complaints about a parameter, though they may go on to name the context length."""


class OverflowFigures(msgspec.Struct, frozen=True):
    """What an overflow message names: the most that fits and what was sent, tokens."""

    limit: int | None = None
    actual: int | None = None


def overflow_of(message: str) -> OverflowFigures | None:
    """The figures of an overflow message, or None where ``message`` says something else."""
    if _OUTPUT_PARAMETER.search(message):
        return None
    match = next((found for wording in _WORDINGS if (found := wording.search(message))), None)
    if match is None:
        return None
    figures = {name: int(text.replace(",", "")) for name, text in match.groupdict().items() if text}
    actual = figures.get("actual")
    return OverflowFigures(figures.get("limit"), None if actual is None else actual + figures.get("output", 0))
