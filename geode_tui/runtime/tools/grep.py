"""grep: lines that match a regular expression, searched in a process that can be ended."""

from __future__ import annotations

import errno
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec
from msgspec import Meta

from geode_tui.core.tools import Safety
from geode_tui.runtime.tools.arguments import Arguments
from geode_tui.runtime.tools.background import Stop, Stopped
from geode_tui.runtime.tools.base import Tool, ToolContext, ToolOutcome, ToolRefused
from geode_tui.runtime.tools.builtin import Builtin, Facts, threaded
from geode_tui.runtime.tools.confine import Place, locate, refusal
from geode_tui.runtime.tools.listing import path_pattern
from geode_tui.runtime.tools.texts import counted, one_line, quoted
from geode_tui.runtime.tools.walk import files_below

_CHILD = Path(__file__).with_name("grep_child.py")
_POLL_S = 0.005

_DESCRIPTION = """\
Search the project's text files for a regular expression (Python syntax), line by line. Answers with path:line: text, \
context lines with dashes. glob narrows the files, e.g. *.py or src/**/*.ts. What .gitignore leaves out, links, binary \
files and lines over 10,000 characters are not searched."""


class GrepArguments(Arguments, frozen=True):
    """Arguments of grep."""

    pattern: Annotated[str, Meta(min_length=1, max_length=1_000, description="Regular expression.")]
    path: Annotated[str, Meta(min_length=1, description="Folder or file, relative to the project.")] = "."
    glob: Annotated[str, Meta(min_length=1, max_length=500, description="Pattern for the files.")] | None = None
    ignore_case: bool = False
    context: Annotated[int, Meta(ge=0, le=10, description="Lines to show around a match.")] = 0
    max_matches: Annotated[int, Meta(ge=1, le=1_000, description="Stop after so many matching lines.")] = 200


class _Figures(msgspec.Struct, frozen=True):
    """How far a search got. ``current`` is the file it is in, empty at the end."""

    searched: int = 0
    matches: int = 0
    files: int = 0
    long: int = 0
    current: str = ""
    full: bool = False


def grep_tool() -> Tool:
    """The tool grep."""
    return Builtin("grep", _DESCRIPTION, Safety.READ, GrepArguments, _brief, threaded(_check, _grep))


def _brief(arguments: GrepArguments) -> str:
    where = "" if arguments.path == "." else f" in {one_line(arguments.path, 60)}"
    return f'"{one_line(arguments.pattern, 50)}"{where}'


def _check(arguments: GrepArguments, context: ToolContext) -> None:
    try:
        re.compile(arguments.pattern)
    except (re.error, RecursionError, OverflowError) as error:
        reason = one_line(str(error), 200)
        raise ToolRefused(f"{quoted(arguments.pattern)} is not a regular expression: {reason}") from None
    if arguments.glob is not None:
        path_pattern(arguments.glob)
    place = locate(context, arguments.path)
    try:
        place.real.stat()
    except OSError as error:
        raise refusal(arguments.path, error) from None


def _grep(arguments: GrepArguments, context: ToolContext, stop: Stop) -> ToolOutcome:
    place = locate(context, arguments.path)
    with tempfile.TemporaryFile() as request, tempfile.TemporaryFile() as found, tempfile.TemporaryFile() as figures:
        _write_request(request, arguments, context, place, stop)
        in_time = _search(request, found, figures, stop)
        found.seek(0)
        figures.seek(0)
        raw = figures.read()
        lines = found.read().decode("utf-8", "replace").split("\n")[:-1]
    return _outcome(arguments, place, lines, msgspec.json.decode(raw or b"{}", type=_Figures), in_time, stop)


def _write_request(
    request: IO[bytes], arguments: GrepArguments, context: ToolContext, place: Place, stop: Stop
) -> None:
    """Write what `grep_child` reads: the request and the files."""
    head: dict[str, Any] = {
        "pattern": arguments.pattern,
        "ignore_case": arguments.ignore_case,
        "context": arguments.context,
        "max_matches": arguments.max_matches,
        "limit_s": context.deadline_s,
    }
    pattern = None if arguments.glob is None else path_pattern(arguments.glob)
    request.write(json.dumps(head).encode() + b"\n")
    for file in files_below(context, place, stop):
        if pattern is None or pattern.matches(file.below):
            request.write(json.dumps([str(file.path), file.relative]).encode() + b"\n")
    request.seek(0)


def _search(request: IO[bytes], found: IO[bytes], figures: IO[bytes], stop: Stop) -> bool:
    """Run the search; False if it had to be ended because of ``stop``. Raises `OSError` if it failed."""
    command = [sys.executable, "-I", "-S", str(_CHILD)]
    with subprocess.Popen(command, stdin=request, stdout=found, stderr=figures) as child:
        try:
            while child.poll() is None:
                stop.check()
                time.sleep(_POLL_S)
        except Stopped:
            return False
        finally:
            child.kill()
    if child.returncode != 0:
        raise ChildProcessError(errno.ECHILD, "the search process ended unexpectedly")
    return True


def _outcome(
    arguments: GrepArguments, place: Place, lines: list[str], figures: _Figures, in_time: bool, stop: Stop
) -> ToolOutcome:
    note = f"[{counted(figures.matches, 'match', 'matches')} in {counted(figures.files, 'file')}"
    note += f", {counted(figures.searched, 'file')} searched"
    if figures.long:
        note += f", {counted(figures.long, 'line')} over 10,000 characters not searched"
    if not in_time:
        note += f"; stopped early after {stop.limit_s:g} s"
        note += f" in {figures.current}: simplify the pattern or narrow the path" if figures.current else ""
    elif figures.full:
        note += f"; stopped early at {arguments.max_matches}: narrow the pattern or raise max_matches"
    facts: Facts = {
        "pattern": one_line(arguments.pattern),
        "path": place.relative,
        "matches": figures.matches,
    }
    if not in_time:
        facts["timeout"] = True
    text = "\n".join([*lines, note + "]"])
    summary = counted(figures.matches, "match", "matches")
    return ToolOutcome(text, is_error=not in_time and not lines, summary=summary, facts=facts)
