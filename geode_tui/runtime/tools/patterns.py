"""Path patterns (``src/**/*.py``, ``*.{ts,tsx}``), matched in time linear in the path whatever the pattern."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable

_MAX_ALTERNATIVES = 100
_BRACES = re.compile(r"\{([^{}]*)\}")


class PathPattern:
    """A pattern over paths with slashes. ``*``, ``?`` and ``[a-z]`` stay within a component, ``**`` spans any number
    of them, ``{a,b}`` are alternatives. Without a slash it is matched against the name, in any folder.

    Raises:
        ValueError: the pattern is absolute, has a ``..`` component or over 100 alternatives.
    """

    def __init__(self, pattern: str) -> None:
        if pattern.startswith("/") or ".." in pattern.split("/"):
            raise ValueError("a pattern is relative to its folder, without '..'")
        self._alternatives = [_compile(text) for text in _expand(pattern.removeprefix("./"))]

    def matches(self, path: str) -> bool:
        """Whether ``path``, relative and with slashes, fits."""
        parts = path.split("/")
        return any(_fits(parts, alternative) for alternative in self._alternatives)


def _expand(pattern: str) -> list[str]:
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        text = waiting.pop()
        found = _BRACES.search(text)
        if found is None:
            done.append(text)
        else:
            waiting += [text[: found.start()] + part + text[found.end() :] for part in found[1].split(",")]
        if len(done) + len(waiting) > _MAX_ALTERNATIVES:
            raise ValueError(f"a pattern has at most {_MAX_ALTERNATIVES} alternatives")
    return done


def _compile(pattern: str) -> list[re.Pattern[str] | None]:
    """One matcher a component; None stands for ``**``."""
    parts = pattern.split("/")
    if len(parts) == 1:
        parts = ["**", *parts]
    # The expressions of fnmatch do not backtrack from one star into the one before.
    return [None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts]


def _fits(parts: list[str], components: list[re.Pattern[str] | None]) -> bool:
    states = _with_empty_spans({0}, components)
    for part in parts:
        after: set[int] = set()
        for state in states:
            if state == len(components):
                continue
            component = components[state]
            if component is None:
                after.add(state)
            elif component.match(part):
                after.add(state + 1)
        states = _with_empty_spans(after, components)
    return len(components) in states


def _with_empty_spans(states: Iterable[int], components: list[re.Pattern[str] | None]) -> set[int]:
    reached = set(states)
    for state in sorted(reached):
        following = state
        while following < len(components) and components[following] is None:
            following += 1
            reached.add(following)
    return reached
