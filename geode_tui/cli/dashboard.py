"""Opening the dashboard: on all runs, on a new one, or on one that is live or has ended."""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from geode_tui.cli.client import Client, fresh_session_id
from geode_tui.cli.env import Env, refuse_inside
from geode_tui.cli.errors import CliError
from geode_tui.cli.event_source import StoreEvents
from geode_tui.cli.leaving import killed, marked, report
from geode_tui.core.limits import RunOptions
from geode_tui.core.text import scrub
from geode_tui.log import presence
from geode_tui.log.rows import StoredMessage
from geode_tui.log.store import StoreError
from geode_tui.log.transcript import Transcript
from geode_tui.tui.completing import MOST_PATHS
from geode_tui.tui.source import Exported, ModelChoice, OpenedOffload, SourceError
from geode_tui.view.follow import Follower

if TYPE_CHECKING:
    from geode_tui.cli.blocks import BlockReader
    from geode_tui.cli.compaction_preview import CompactionReader
    from geode_tui.cli.offload_source import OffloadSource
    from geode_tui.cli.version_list import VersionReader
    from geode_tui.core.strings import Strings
    from geode_tui.tui.app import GeodeApp
    from geode_tui.tui.home_source import HomeSource
    from geode_tui.view.blocks import BlockEntry
    from geode_tui.view.compaction import CompactionPreview
    from geode_tui.view.cost import MonthCost
    from geode_tui.view.dreams import DreamTable
    from geode_tui.view.offloads import OffloadRow, OffloadTable
    from geode_tui.view.state import WindowNote
    from geode_tui.view.versions import VersionDiff, VersionList
    from geode_tui.view.window_history import LostRow

T = TypeVar("T")

MOST_MONTHS = 24
"""Months of the ledger that are read."""
LISTING_S = 10.0
"""Seconds that listing a project's files may take."""


class StoreSource(StoreEvents):
    """A run in this project's log, as the screens see it. See `tui.source.RunSource`."""

    def __init__(self, env: Env, session_id: str, options: RunOptions | None = None) -> None:
        """``options`` start the session with its first message; None for one that exists."""
        super().__init__(env, session_id)
        self.project = env.project.root.name
        self._client = Client(env, session_id)
        self._options = options
        self._block_reader: BlockReader | None = None
        self._compactions: CompactionReader | None = None
        self._version_reader: VersionReader | None = None
        self._touched = 0.0
        self._terminal = sys.stdin.fileno() if sys.stdin.isatty() else None

    def follower(self, wake: Callable[[], None]) -> Follower:
        """A follower of the run that calls ``wake`` from its own thread."""
        return Follower(self._env.project.store, self.session_id, wake, on_look=self._seen)

    def load(self, message_id: int) -> StoredMessage:
        """A message with its body. Raises `SourceError`."""
        return self._read(lambda t: t.message(message_id))

    def arguments(self, call_id: str) -> str:
        """The whole JSON text of a call's arguments, as it would be run. Raises `SourceError`."""

        def find(transcript: Transcript) -> str:
            rewritten = transcript.asked_arguments(self.session_id, call_id)
            if rewritten is not None:
                return rewritten
            answer = transcript.last_answer(self.session_id)
            calls = answer.message.calls if answer else ()
            found = [c.arguments for c in calls if c.call_id == call_id]
            if not found:
                raise StoreError("that call is no longer open")
            return found[0]

        return self._read(find)

    def inputs(self) -> tuple[str, ...]:
        """What the person said in this session, oldest first. Raises `SourceError`."""

        def find(transcript: Transcript) -> tuple[str, ...]:
            rows = [r for r in transcript.index(self.session_id) if r.origin == "user_input"]
            return tuple(transcript.message(r.id).message.text for r in rows[-100:])

        return self._read(find) if self._env.has_store() else ()

    def paths(self) -> tuple[str, ...]:
        """Files of the project without those that git ignores, relative to its root. Raises `SourceError`."""
        return project_files(self._env.project.root)

    def send(self, kind: str, payload: Mapping[str, Any], key: str | None = None) -> None:
        """Write a command row, and start a worker where none serves. Raises `SourceError`."""
        body = {k: scrub(v) if isinstance(v, str) else v for k, v in payload.items()}
        if kind == "submit" and self._options is not None:
            body["options"] = msgspec.to_builtins(self._options)
        try:
            self._client.send_raw(kind, msgspec.json.encode(body).decode(), key)
        except (CliError, StoreError) as error:
            raise SourceError(str(error)) from error

    def fork(self, turn: int, round_: int) -> StoreSource:
        """A new run that begins as a copy of this one at the end of that round; 0 is the newest turn or round. Waits
        until it is there. Raises `SourceError`.
        """
        from geode_tui.cli.forking import forked

        try:
            return StoreSource(self._env, forked(self._env, self.session_id, turn, round_).session_id)
        except (CliError, StoreError) as error:
            raise SourceError(str(error)) from error

    def blocks(self, version: int) -> tuple[BlockEntry, ...]:
        """All blocks of the run's whole messages as ``version`` of the view has them sent. Raises `SourceError`."""
        if not self._env.has_store():
            return ()
        reader = self._reader_of_blocks()
        return self._read(lambda t: reader.read(t, self.session_id, version))

    def _reader_of_blocks(self) -> BlockReader:
        """Made when first asked for: what it counts with is a good part of the time to the first paint."""
        if self._block_reader is None:
            from geode_tui.cli.blocks import BlockReader

            self._block_reader = BlockReader()
        return self._block_reader

    def versions(self) -> VersionList:
        """Every version of the view, and what an undo or a redo would do. Raises `SourceError`."""
        if not self._env.has_store():
            from geode_tui.view.versions import VersionList

            return VersionList()
        reader = self._reader_of_versions()
        return self._read(lambda t: reader.listed(t, self.session_id))

    def diff(self, before: int, after: int) -> VersionDiff:
        """In what two versions of the view differ. Raises `SourceError`."""
        reader = self._reader_of_versions()
        return self._read(lambda t: reader.diff(t, self.session_id, before, after))

    def _reader_of_versions(self) -> VersionReader:
        if self._version_reader is None:
            from geode_tui.cli.version_list import VersionReader

            self._version_reader = VersionReader(self._reader_of_blocks())
        return self._version_reader

    def compaction(self, keep: int = 0, focus: str = "", *, prune: bool = False) -> CompactionPreview:
        """What a compaction with these wishes would do. Raises `SourceError`."""
        from geode_tui.cli.compaction_preview import CompactionReader, nothing_sent
        from geode_tui.log.commands import Compact

        if not self._env.has_store():
            return nothing_sent()
        if self._compactions is None:
            self._compactions = CompactionReader(self._env.project.geode)
        reader, wish = self._compactions, Compact(keep, focus, prune)
        return self._read(lambda t: reader.read(t, self.session_id, wish, self.clock()))

    def summary(self, version: int) -> str:
        """The text that stands for a part of the conversation since ``version`` of the view. Raises `SourceError`."""
        from geode_tui.cli import window_source

        with self._opened() as (transcript, number):
            return window_source.summary(transcript, self.session_id, number, version)

    def lost(self, version: int) -> tuple[LostRow, ...]:
        """What the summary of ``version`` of the view lost. Raises `SourceError`."""
        from geode_tui.cli import window_source

        with self._opened() as (transcript, number):
            return window_source.lost(transcript, number, version)

    def notes(self, since: tuple[int, int], until: tuple[int, int] | None) -> tuple[WindowNote, ...]:
        """What befell the context in those rounds. Raises `SourceError`."""
        from geode_tui.cli import window_source

        with self._opened() as (transcript, number):
            return window_source.notes(transcript, number, since, until)

    def offloads(self) -> OffloadTable:
        """The results that were put into files, the newest first. Raises `SourceError`."""
        if not self._env.has_store():
            from geode_tui.view.offloads import OffloadTable

            return OffloadTable()
        with self._opened() as (transcript, number):
            return self._stored_results().table(transcript, number)

    def offload_files(self, rows: Sequence[OffloadRow]) -> tuple[OffloadRow, ...]:
        """``rows`` with what their files say."""
        return self._stored_results().looked_into(rows)

    def open_offload(self, ref_id: str) -> OpenedOffload:
        """A stored result to look at. Raises `SourceError`."""
        with self._opened() as (transcript, number):
            return self._stored_results().opened(transcript, number, ref_id)

    def save_offload(self, ref_id: str, path: str, *, replace: bool) -> Exported | None:
        """Write the exact bytes of a stored result to a file; None where one is there. Raises `SourceError`."""
        return self._stored_results().save(ref_id, path, replace=replace)

    def _stored_results(self) -> OffloadSource:
        from geode_tui.cli.offload_source import OffloadSource

        return OffloadSource(self._env, self.session_id)

    def dreams(self) -> DreamTable:
        """The dreams and summaries that are kept, the newest first. Raises `SourceError`."""
        from geode_tui.cli import dream_source
        from geode_tui.view.dreams import DreamTable

        if not self._env.has_store():
            return DreamTable()
        with self._opened() as (transcript, _):
            row = transcript.session(self.session_id)
            recorder = row.origin if row is not None and row.origin != "own" else ""
            return dream_source.table(transcript, self.session_id, recorder)

    def tiers(self, strings: Strings) -> Sequence[tuple[str, str]]:
        """What is remembered beside the run, tier by tier. Raises `SourceError`."""
        from geode_tui.cli.tiers import assembled, tier_pairs

        if not self._env.has_store():
            return ()
        with self._opened() as (transcript, _):
            return tier_pairs(assembled(self._env, transcript, self.session_id), strings)

    def months(self) -> tuple[MonthCost, ...]:
        """The person's ledger by month: the present one, then those before it. Raises `SourceError`."""
        from geode_tui.cli.months import months_until

        present = f"{datetime.now().astimezone():%Y-%m}"
        try:
            return months_until(self._env.folders.usage, present, MOST_MONTHS)
        except OSError as error:
            raise SourceError(f"the ledger of {present} could not be read ({error.strerror})") from error

    def models(self) -> tuple[ModelChoice, ...]:
        """Every model that can be chosen; blocks while this machine's endpoints are asked."""
        from geode_tui.cli.models import offered

        return offered(self._env)

    def clock(self) -> float:
        """UTC epoch seconds."""
        return time.time()

    def _read(self, work: Callable[[Transcript], T]) -> T:
        with self._opened() as (transcript, _):
            return work(transcript)

    def _seen(self) -> None:
        """Somebody watches: told to the worker by a file, so that it waits longer before it leaves."""
        leave_with_terminal(self._terminal)
        now = time.monotonic()
        if self._touched and now - self._touched < presence.TOUCH_S:
            return
        if self._env.has_store():
            self._touched = now
            try:
                presence.touch(self._env.project.geode, self.session_id)
            except (OSError, StoreError):
                return


def project_files(root: Path, most: int = MOST_PATHS) -> tuple[str, ...]:
    """The first ``most`` files below ``root`` that git does not ignore. Raises `SourceError`."""
    from geode_tui.runtime.tools.background import Stop, Stopped
    from geode_tui.runtime.tools.base import ToolContext
    from geode_tui.runtime.tools.confine import locate
    from geode_tui.runtime.tools.walk import files_below

    context = ToolContext(root.resolve(), (), "")
    files = files_below(context, locate(context, "."), Stop(LISTING_S))
    try:
        return tuple(file.relative for file in islice(files, most))
    except (OSError, Stopped) as error:
        raise SourceError(f"the files of {root} could not be listed ({error}): type the path") from error


def leave_with_terminal(terminal: int | None) -> None:
    """End this program where ``terminal`` is gone without a word: a closed pty sends no signal to a screen that is not
    its session's leader, which would spin on its input for ever.
    """
    if terminal is not None and _hung_up(terminal):
        os.kill(os.getpid(), signal.SIGHUP)


def _hung_up(terminal: int) -> bool:
    """Whether nobody holds the other end of ``terminal`` any more."""
    watch = select.poll()
    watch.register(terminal, 0)
    return any(flags & select.POLLHUP for _, flags in watch.poll(0))


def open_new(env: Env, prompt: str | None) -> int:
    """The dashboard; with a prompt it starts a run and shows it. Raises `CliError`."""
    refuse_inside(env.environment, "the dashboard")
    if prompt is not None:
        _sure(prompt)
    if not _has_person():
        if prompt is None:
            raise CliError("the dashboard needs a terminal; without one: geode-tui run PROMPT, geode-tui status")
        from geode_tui.cli.options import Wishes
        from geode_tui.cli.run import run

        return run(env, prompt, Wishes(), session=None, json=False)
    if prompt is None:
        return _open(env, None)
    from geode_tui.cli.options import new_options

    source = StoreSource(env, fresh_session_id(), new_options(env))
    try:
        source.send("submit", {"text": prompt, "later": False})
    except SourceError as error:
        raise CliError(str(error), 1) from error
    return _open(env, source)


def open_session(env: Env, session: str | None) -> int:
    """The dashboard on a session of this project; the newest without an id. Raises `CliError`."""
    transcript = env.transcript()
    row = env.session(transcript, session)
    transcript.db.close()
    if not _has_person():
        from geode_tui.cli import reports

        return reports.status(env, row.session_id, json=False)
    refuse_inside(env.environment, "the dashboard")
    return _open(env, StoreSource(env, row.session_id))


def _open(env: Env, source: StoreSource | None) -> int:
    """The dashboard as a screen, or as lines where there can be none or the person wants none."""
    if _has_screen(env):
        return _show(env, source)
    from geode_tui.cli.plain import open_plain

    return open_plain(env, source)


def _sure(prompt: str) -> None:
    """One word is more often a mistyped command than a task: ask. Raises `CliError`."""
    if len(prompt.split()) != 1:
        return
    line = f"{prompt!r} is no command (geode-tui --help lists them)"
    if not sys.stdin.isatty():
        raise CliError(f"{line}; to run it as a prompt: geode-tui run {prompt}")
    print(f"geode-tui: {line}. Start a run with it as the prompt? [y/N]", file=sys.stderr)
    if input().strip().lower() not in {"y", "yes"}:
        raise CliError("nothing was started")


def _has_person() -> bool:
    """Whether somebody types and reads here."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _has_screen(env: Env) -> bool:
    """Whether there is a terminal to draw on; Textual draws on stderr."""
    wants_lines = env.environment.get("GEODE_TUI_A11Y", "0") not in {"", "0"}
    return sys.stderr.isatty() and not wants_lines and env.environment.get("TERM", "") not in {"", "dumb"}


def _show(env: Env, source: StoreSource | None) -> int:
    """Open the screen: on a run, or on all of them."""
    gc.disable()  # nothing of a start is garbage; the app lets it collect once it is there
    from geode_tui.tui.app import GeodeApp
    from geode_tui.tui.depth import depth_of
    from geode_tui.tui.glyphs import glyphs_for

    settings = env.settings
    warning = killed(env)
    for line in (*env.resolved.ignored, *filter(None, (warning,))):
        env.note(line)
    app = GeodeApp(
        source,
        env.strings,
        glyphs_for(env.environment, sys.stdout.encoding or "", force_ascii=settings.ascii),
        theme_name=settings.theme,
        user_theme_dirs=(env.folders.themes,),
        redact=env.redact,
        motion=settings.motion,
        bell=settings.bell,
        notify=settings.notify,
        depth=depth_of(env.environment),
        home=lambda: _home(env),
        warnings=filter(None, (warning,)),
    )
    with marked(env), app.watching_threads():
        left = app.run()
    if app.return_code == 128 + signal.SIGHUP:
        _forget_terminal()
        return app.return_code
    if app.failure is not None:
        env.note(report(env, app.failure, _way_back(app)))
    if left:
        env.print(left)
    return app.return_code or os.EX_OK


def _home(env: Env) -> HomeSource:
    """All runs. What it loads is a good part of the time to the first paint of a run, which may never leave for it."""
    from geode_tui.cli.home import StoreHome

    return StoreHome(env)


def _forget_terminal() -> None:
    """Nobody is there to be told anything, and what could not be written is no error of the program."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _way_back(app: GeodeApp) -> str:
    """The command that shows again what was on screen last."""
    try:
        return f"geode-tui attach {app.run_screen.source.session_id}"
    except LookupError:
        return "geode-tui"
