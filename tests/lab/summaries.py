"""What a model may answer to a request for a summary, well or badly, and how a script tells such requests apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from geode_tui.core.headings import SUMMARY_HEADINGS
from geode_tui.providers.offline.auxiliary import auxiliary_text
from tests.lab.asked import asked
from tests.lab.kinds import Kind, kind_of
from tests.lab.planner import neutral
from tests.lab.scripts import Answer, Cut, Say, ScriptStep, Step, Think
from tests.lab.tokens import count_block, text_blocks

CHUNK = 400


def by_kind(steps: Mapping[Kind, ScriptStep], otherwise: ScriptStep = Say("done")) -> ScriptStep:  # noqa: B008 - frozen
    """A step that answers each request by its kind, so that a script need not know when which comes."""

    def step(body: dict[str, Any]) -> Step:
        chosen = steps.get(kind_of(body), otherwise)
        return chosen(body) if callable(chosen) else chosen

    return step


def in_turn(*steps: ScriptStep) -> ScriptStep:
    """A step that is ``steps`` one after another; the last one stays."""
    left = list(steps)

    def step(body: dict[str, Any]) -> Step:
        chosen = left.pop(0) if len(left) > 1 else left[0]
        return chosen(body) if callable(chosen) else chosen

    return step


def good(task: str, *facts: str) -> Step:
    """A summary with all headings: the task verbatim, and ``facts`` as what was done."""
    rows = {"Active Task": [task], "Completed Actions": list(facts), "Pending User Asks": [task]}
    return _say(_written(rows))


def of_messages(body: dict[str, Any]) -> Step:
    """What the offline planner reads off the messages of ``body``; at most half as long, at four characters a token."""
    request = neutral(body)
    whole = auxiliary_text(request)
    most = 2 * sum(count_block(block) for m in body["messages"] for block in text_blocks(m["content"]))
    if len(whole) <= most:
        return _say(whole)
    short = f"Summary of {len(request.messages)} messages, the last of the person: {asked(body).text}"
    return _say(" ".join(short.split())[: max(1, most)])


def empty() -> Step:
    """No content at all."""
    return Answer(())


def blank() -> Step:
    """White space alone."""
    return Say(" \n")


def thoughts_only() -> Step:
    """A thought and no text."""
    return Think("I should summarise this.")


def cut_before_text() -> Step:
    """The output limit was reached before the first word."""
    return Answer((Think("I should summarise this, and carefully. " * 20),), "max_tokens")


def cut_off(task: str) -> Step:
    """The output limit was reached in the middle: the task and little more."""
    return Answer((_say(_written({"Active Task": [task]})[:200]),), "max_tokens")


def longer_than_source() -> ScriptStep:
    """Twice as long as what it should shorten, under the right headings."""
    return lambda body: _say(_written({"Active Task": [_source(body)], "Critical Context": [_source(body)]}))


def echo() -> ScriptStep:
    """What it was sent, word for word."""
    return lambda body: _say(_source(body))


def skeleton() -> Step:
    """Every heading, and nothing under any of them."""
    return _say(_written({}))


def call_as_text() -> Step:
    """A tool call, written as text."""
    return Say('<tool_call>\n{"name": "read_file", "arguments": {"path": "README.md"}}\n</tool_call>')


def refusal() -> Step:
    """The model declines."""
    return Answer((), "refusal")


def forgetful(*facts: str) -> Step:
    """All headings and what was done, but not what the person asked for last."""
    rows = {"Active Task": ["Go on."], "Completed Actions": list(facts) or ["Several steps were taken."]}
    return _say(_written(rows))


def broken_off(task: str, after_chars: int = 200) -> Step:
    """The connection ends after ``after_chars`` characters of a good summary."""
    return Cut((_say(_written({"Active Task": [task], "Completed Actions": ["Much was done."] * 40})),), after_chars)


BAD: Mapping[str, Callable[[], ScriptStep]] = {
    "empty": empty,
    "blank": blank,
    "thoughts only": thoughts_only,
    "cut before text": cut_before_text,
    "longer than its source": longer_than_source,
    "echo": echo,
    "skeleton": skeleton,
    "call as text": call_as_text,
    "refusal": refusal,
    "forgetful": forgetful,
}
"""Answers that no client may take for a summary, by name."""


def _written(rows: Mapping[str, list[str]]) -> str:
    parts = (
        f"## {name}\n\n" + "\n".join(f"- {row}" for row in rows.get(name) or ["none"]) for name in SUMMARY_HEADINGS
    )
    return "\n\n".join(parts) + "\n"


def _say(text: str) -> Say:
    return Say(text, chunk=CHUNK)


def _source(body: Mapping[str, Any]) -> str:
    return asked(body).text
