"""write_file and edit_file: atomic changes to files the run has read."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from geode_tui.core.tools import Safety
from geode_tui.runtime.tools.arguments import A, Arguments
from geode_tui.runtime.tools.background import Stop
from geode_tui.runtime.tools.base import Tool, ToolContext, ToolOutcome, ToolRefused
from geode_tui.runtime.tools.builtin import Builtin, Facts, threaded
from geode_tui.runtime.tools.changes import Change, change_between
from geode_tui.runtime.tools.confine import Place, locate, opened_folder, refusal
from geode_tui.runtime.tools.encoded import EncodedText
from geode_tui.runtime.tools.stamps import read_unchanged, stamp_of
from geode_tui.runtime.tools.texts import one_line, quoted

_NEW_MODE = 0o644
_MAX_COUNTED = 100

_WRITE_DESCRIPTION = """\
Write a file of the project, whole. Missing folders are made. A file that exists must have been read in this run and \
be unchanged since. Use edit_file for a change to a part of a file."""
_EDIT_DESCRIPTION = """\
Replace a piece of text in a file that was read in this run. old must occur exactly once, so include enough of the \
lines around it, without line numbers; or set replace_all to replace every occurrence."""


class WriteArguments(Arguments, frozen=True):
    """Arguments of write_file."""

    path: Annotated[str, Meta(min_length=1, description="File, relative to the project.")]
    content: Annotated[str, Meta(description="The whole new content.")]


class EditArguments(Arguments, frozen=True):
    """Arguments of edit_file."""

    path: Annotated[str, Meta(min_length=1, description="File, relative to the project.")]
    old: Annotated[str, Meta(min_length=1, description="The text to replace, exactly as in the file.")]
    new: Annotated[str, Meta(description="The text to put in its place.")]
    replace_all: bool = False


class _Planned(msgspec.Struct, frozen=True):
    """A checked write: where, what is to be there, and what changes by it. ``exists`` is what was found."""

    place: Place
    content: bytes
    change: Change
    exists: bool


def write_file_tool() -> Tool:
    """The tool write_file."""
    return _writing_tool("write_file", _WRITE_DESCRIPTION, WriteArguments, lambda a: a.path, _plan_write)


def edit_file_tool() -> Tool:
    """The tool edit_file."""
    return _writing_tool("edit_file", _EDIT_DESCRIPTION, EditArguments, lambda a: a.path, _plan_edit)


def _writing_tool(
    name: str,
    description: str,
    kind: type[A],
    path_of: Callable[[A], str],
    plan: Callable[[A, ToolContext], _Planned],
) -> Tool:
    """A tool that plans its write twice: to refuse early, and again when it happens, since a person may have taken
    hours to approve it."""

    def work(arguments: A, context: ToolContext, stop: Stop) -> ToolOutcome:
        planned = plan(arguments, context)
        _replace(planned, context, stop)
        return _outcome(planned)

    return Builtin(name, description, Safety.WRITE, kind, lambda a: one_line(path_of(a)), threaded(plan, work))


def _plan_write(arguments: WriteArguments, context: ToolContext) -> _Planned:
    place = locate(context, arguments.path, for_writing=True)
    if not _exists(place):
        change = change_between("", arguments.content, place.relative)
        return _Planned(place, arguments.content.encode(), change, exists=False)
    present = read_unchanged(context, place)
    try:
        stored = EncodedText.of(present)
    except UnicodeDecodeError:
        stored = EncodedText(present.decode("utf-8", "replace"))
    after = stored.with_text(arguments.content)
    return _Planned(place, after.encode(), change_between(stored.text, after.text, place.relative), exists=True)


def _plan_edit(arguments: EditArguments, context: ToolContext) -> _Planned:
    place = locate(context, arguments.path, for_writing=True)
    present = read_unchanged(context, place)
    try:
        stored = EncodedText.of(present)
    except UnicodeDecodeError:
        raise ToolRefused(f"{quoted(arguments.path)} is not UTF-8 text: change it with a command") from None
    text = _edited(stored, arguments)
    change = change_between(stored.text, text, place.relative)
    return _Planned(place, msgspec.structs.replace(stored, text=text).encode(), change, exists=True)


def _edited(stored: EncodedText, arguments: EditArguments) -> str:
    old, new = stored.adopted(arguments.old), stored.adopted(arguments.new)
    if old == new:
        raise ToolRefused("old and new are the same: nothing to change")
    count = _occurrences(stored.text, old)
    if count == 0:
        raise ToolRefused(_not_found(stored.text, old, arguments.path))
    if count > 1 and not arguments.replace_all:
        times = f"{count} times" if count < _MAX_COUNTED else f"{_MAX_COUNTED} times or more"
        raise ToolRefused(f"old occurs {times} in {quoted(arguments.path)}: include more lines or set replace_all")
    return stored.text.replace(old, new)


def _occurrences(text: str, old: str) -> int:
    """How often ``old`` occurs, overlapping ones included, counted up to a bound."""
    count, position = 0, text.find(old)
    while position >= 0 and count < _MAX_COUNTED:
        count += 1
        position = text.find(old, position + 1)
    return count


def _not_found(text: str, old: str, path: str) -> str:
    refused = f"old does not occur in {quoted(path)}"
    first = next((line.strip() for line in old.split("\n") if line.strip()), "")
    position = text.find(first) if first else -1
    if position < 0:
        return f"{refused}: read the file again and copy the text without line numbers"
    line = text.count("\n", 0, position) + 1
    return f"{refused}, though its first line is found in line {line}: check spaces and line ends there"


def _exists(place: Place) -> bool:
    try:
        place.real.lstat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise refusal(place.given, error) from None
    return True


def _replace(planned: _Planned, context: ToolContext, stop: Stop) -> None:
    """Put the planned content in place in one step: the old file or the new one is there, never a part."""
    place = planned.place
    try:
        with opened_folder(context, place.real.parent, create=True) as folder:
            temporary = f".geode-tui-{secrets.token_hex(8)}.tmp"
            try:
                status = _write_temporary(folder, temporary, place.real, planned)
                stop.check()
                _require_as_planned(planned, context)
                os.replace(temporary, place.real.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            os.fsync(folder)
    except OSError as error:
        raise refusal(place.given, error) from None
    context.seen[str(place.real)] = stamp_of(planned.content, status)


def _write_temporary(folder: int, name: str, target: Path, planned: _Planned) -> os.stat_result:
    """Write and sync the content under ``name``, with owner and mode of ``target`` if that exists."""
    mode = 0o600 if planned.exists else _NEW_MODE
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(planned.content)
        file.flush()
        if planned.exists:
            present = os.stat(target.name, dir_fd=folder, follow_symlinks=False)
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, present.st_uid, present.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(present.st_mode))
        os.fsync(descriptor)
        return os.fstat(descriptor)


def _require_as_planned(planned: _Planned, context: ToolContext) -> None:
    """Raises `ToolRefused` if the target is not as it was when the write was planned a moment ago."""
    if planned.exists:
        read_unchanged(context, planned.place)
    elif _exists(planned.place):
        raise ToolRefused(f"{quoted(planned.place.given)} exists by now: read it first")


def _outcome(planned: _Planned) -> ToolOutcome:
    change = planned.change
    summary = f"+{change.added} -{change.removed}"
    verb = "changed" if planned.exists else "created"
    facts: Facts = {
        "path": planned.place.relative,
        "added": change.added,
        "removed": change.removed,
    }
    return ToolOutcome(f"{verb} {planned.place.relative} ({summary})\n{change.diff}", summary=summary, facts=facts)
