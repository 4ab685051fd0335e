"""What is written while something is measured: Markdown as models write it, the events of long runs, and marks.

A mark is a word that is looked for in what reaches the terminal: ``Zq00012z`` in a text, ``Mk00012m`` in a plan.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random

from geode_tui.core import events as ev
from tests.view.runs import round_events

NOWHERE = 10**9
"""Ids of messages that made-up events name: there are none in any store."""
_LEFT_OUT = (ev.PlanUpdated, ev.ToolApprovalRequested, ev.ApprovalTransition, ev.CommandFinished)
"""A plan would replace a mark, and a question takes the keys."""
_LATIN = """the worker appends a row and leaves the screen reads it again once what stands before is folded a late
reader sees the same state because nothing else crosses the line and every figure travels in the event that made it"""
_HANGUL = "실행기는 기록만 남기고 화면은 그 기록을 접어서 만든다 다시 붙어도 같은 화면이 나온다"
_WORDS, _HANGUL_WORDS = _LATIN.split(), _HANGUL.split()


def text_mark(number: int) -> str:
    """A mark in a text."""
    return f"Zq{number:05d}z"


def plan_mark(number: int) -> str:
    """A mark in a plan."""
    return f"Mk{number:05d}m"


def _words(random: Random, count: int) -> str:
    chosen = random.choices(_HANGUL_WORDS if random.random() < 0.1 else _WORDS, k=count)
    return " ".join(chosen)


def _block(random: Random) -> str:
    kind = random.random()
    if kind < 0.10:
        return f"## {_words(random, 4).capitalize()}"
    if kind < 0.25:
        return "\n".join(f"- **{_words(random, 2)}**: {_words(random, 9)}" for _ in range(random.randrange(2, 6)))
    if kind < 0.35:
        body = "\n".join(f"    total_{n} = fold(state, rows[{n}:])  # {_words(random, 4)}" for n in range(5))
        return f"```python\ndef step(state, rows):\n{body}\n    return state\n```"
    if kind < 0.40:
        rows = "\n".join(f"| {_words(random, 2)} | {random.randrange(9_999)} |" for _ in range(4))
        return f"| figure | value |\n|---|---:|\n{rows}"
    return f"{_words(random, random.randrange(20, 70)).capitalize()}, as `{random.choice(_WORDS)}` says."


def markdown(seed: int, chars: int) -> str:
    """So many characters of an answer."""
    random, made, size = Random(seed), [], 0
    while size < chars:
        made.append(_block(random))
        size += len(made[-1]) + 2
    return "\n\n".join(made)[:chars]


def stream(seed: int) -> Iterator[str]:
    """An endless answer, block by block, each other one a paragraph that begins with the next mark."""
    random = Random(seed)
    for number in itertools.count(1):
        yield f"{_block(random)}\n\n{text_mark(number)} {_words(random, 12)}.\n\n"


def facts(seed: int) -> Iterator[tuple[int, ev.Payload]]:
    """Endless events of one long turn, each with its round."""
    random, calls = Random(seed), 0
    for number in itertools.count(1):
        for payload in round_events(random, number % 150, NOWHERE, calls):
            if not isinstance(payload, _LEFT_OUT):
                yield number, payload
                calls += isinstance(payload, ev.ToolExecEnded)
