"""Recognising what did not fit, the prompt or the output asked for, by the wordings of the backends (RUNTIME.md 2.7).

The two are easily confused: a complaint about the output goes on to name the context length, or the other way round.
"""

from __future__ import annotations

import re

import msgspec

_N = r"\d[\d,]*"
_ASKED_FOR = r"max_(?:completion_|output_)?tokens"
_ACTUAL, _LIMIT = f"(?P<actual>{_N})", f"(?P<limit>{_N})"
_REQUESTED = r"(?:resulted in|requested(?: about)?|a total of(?: at least)?)"

_WORDINGS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"prompt is too long: {_ACTUAL} tokens > {_LIMIT} maximum",
        rf"input length and `?max_tokens`? exceed context limit: {_ACTUAL} \+ (?P<output>{_N}) > {_LIMIT}",
        # "you requested 0 output tokens" must not be read as the size, hence no word between figure and "tokens".
        (
            rf"maximum context length (?:is|of) {_LIMIT} tokens(?:.*?{_REQUESTED} {_ACTUAL} tokens"
            rf"(?: \({_N} in the messages, (?P<included>{_N}) in the completion)?)?"
        ),
        rf"input token count \({_ACTUAL}\) exceeds the maximum number of tokens allowed \({_LIMIT}\)",
        rf"input length \(?{_ACTUAL}\)? exceeds .{{0,40}}(?:input length of|context length) \(?{_LIMIT}",
        rf"input \({_ACTUAL} tokens\) is longer than .{{0,40}}context length \({_LIMIT} tokens\)",
        rf"maximum prompt length is {_LIMIT} but the request contains {_ACTUAL} tokens",
        rf"prompt contains {_ACTUAL} tokens, too large for model with {_LIMIT} maximum context length",
        rf"prompt token count of {_ACTUAL} exceeds the limit of {_LIMIT}",
        rf"request \({_ACTUAL} tokens\) exceeds the available context size \({_LIMIT} tokens\)",
        rf"exceeded model token limit: {_LIMIT} \(requested: {_ACTUAL}\)",
        rf"range of input length should be \[\d+, ?{_LIMIT}\]",
        r"context (?:length|window|limit|size)\s+(?:is |was |has been )?exceed(?:ed|s)",
        r"exceed(?:s|ed)? (?:the |this |its |max(?:imum)? |available )*(?:model's )?(?:max(?:imum)? )?context",
        r"prompt (?:is )?too long|prompt exceeds max(?:imum)? length|input is too long|too many input tokens",
        r"length of history messages exceeds maximum length",
        r"greater than the context length",
    )
)
_OUTPUT_WORDINGS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"{_ASKED_FOR}: {_ACTUAL} > {_LIMIT}, which is the maximum allowed number of output tokens",
        rf"{_ASKED_FOR}\W[^.]{{0,60}}too large: {_ACTUAL}\. *This model supports at most {_LIMIT} completion tokens",
        rf"{_ASKED_FOR}\W[^.]{{0,60}}too large(?:: {_ACTUAL})?",
        rf"{_ASKED_FOR}'?: integer above maximum value\. Expected a value <= {_LIMIT}, but got {_ACTUAL}",
        rf"range (?:of|for) {_ASKED_FOR} (?:is|should be) \[\d+, ?{_LIMIT}\]",
        rf"tokens requested in {_ASKED_FOR}|maximum allowed number of output tokens",
    )
)


class TokenFigures(msgspec.Struct, frozen=True):
    """What a message names: the most that fits and what was sent or asked for, tokens. ``output`` is the part of
    ``actual`` that is the output asked for.
    """

    limit: int | None = None
    actual: int | None = None
    output: int | None = None


def overflow_of(message: str) -> TokenFigures | None:
    """The figures of a prompt that did not fit, or None where ``message`` says something else."""
    if "unsupported parameter" in message.lower() or output_limit_of(message):
        return None
    figures = _figures(message, _WORDINGS)
    if figures is None:
        return None
    actual = figures.get("actual")
    beside = figures.get("output", 0)
    output = beside or figures.get("included")
    return TokenFigures(figures.get("limit"), None if actual is None else actual + beside, output)


def output_limit_of(message: str) -> TokenFigures | None:
    """The figures of an output limit that the model does not have, or None where ``message`` says something else."""
    figures = _figures(message, _OUTPUT_WORDINGS)
    return None if figures is None else TokenFigures(figures.get("limit"), figures.get("actual"))


def _figures(message: str, wordings: tuple[re.Pattern[str], ...]) -> dict[str, int] | None:
    match = next((found for wording in wordings if (found := wording.search(message))), None)
    if match is None:
        return None
    return {name: int(text.replace(",", "")) for name, text in match.groupdict().items() if text}
