"""A small model to look at: it thinks aloud, lists the project, reads a few of its files and says what it saw."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tests.lab.asked import Asked, asked
from tests.lab.scripts import Call, Say, Step, Think

FILES = 3
PACE_S = 0.02
"""Seconds between two pieces of an answer: slow enough to be seen streaming."""
_FILE = re.compile(r"[\w./-]*\w\.(?:md|txt|py|toml|json|ya?ml|cfg|rs|go|js|ts|sh)\b")


def demo(body: dict[str, Any]) -> Step:
    """The next answer, from nothing but the request."""
    request = asked(body)
    if not request.results and "list_dir" in request.tools:
        return (
            Think("I do not know this project yet. First I look at what is there."),
            _say("I begin with what the project holds."),
            Call("list_dir", {}),
        )
    files = files_of(request)
    if len(request.results) == 1 and files and "read_file" in request.tools:
        return (
            Think(f"{len(files)} files look worth reading. They do not depend on each other, so I read them at once."),
            _say(f"I read {', '.join(f'`{name}`' for name in files)}."),
            *(Call("read_file", {"path": name, "max_lines": 40}) for name in files),
        )
    return Think("I have seen enough to answer."), _say(_report(request, files))


def files_of(request: Asked) -> list[str]:
    """The first files that the listing names."""
    return list(dict.fromkeys(_FILE.findall(request.results[0])))[:FILES] if request.results else []


def _report(request: Asked, files: Sequence[str]) -> str:
    if not request.results:
        return f"You wrote: {request.text}\n\nI was offered no tool to look at files with, so this is all I can say."
    rows = [f"| `{name}` | {len(text)} |" for name, text in zip(files, request.results[1:], strict=False)]
    table = "\n".join(["| file | characters read |", "|---|---:|", *rows])
    lines = len(request.results[0].splitlines())
    return f"## What I saw\n\nThe listing has **{lines}** lines.\n\n{table}\n\nYou asked: *{request.text}*"


def _say(text: str) -> Say:
    return Say(text, chunk=12, delay_s=PACE_S)
