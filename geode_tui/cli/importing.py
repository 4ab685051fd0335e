"""`import`: foreign transcripts into this project's log."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec

from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.cli.observer import FoldObserver
from geode_tui.context.estimate import PromptMeter, replayed_output
from geode_tui.context.figures import confirmed
from geode_tui.context.prefix import Prefix
from geode_tui.core import format as fmt
from geode_tui.core.events import ContextFigures, TranscriptImported, decode_payload, event_name
from geode_tui.core.ids import BadId, check_id
from geode_tui.core.messages import Message
from geode_tui.core.usage import usd
from geode_tui.log.lease import Held, Lease, LeaseNote, lock_path
from geode_tui.log.store import StoreError, create
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Writer
from geode_tui.routes.budget import budget_of, planning_reserve
from geode_tui.routes.catalog import Catalog, Route
from geode_tui.routes.rates import Rates
from geode_tui.sources.base import Answer, Compacted, ForeignRun, Thread
from geode_tui.sources.claude_code import read_claude_code
from geode_tui.sources.detect import is_claude_code
from geode_tui.sources.mirror import Mirror
from geode_tui.view.state import RunState

PROVIDER, SOURCE = "anthropic", "subscription"
"""The route of a Claude Code session. Whether a plan or a key paid is not recorded, so its money is at list price."""
_HEAD_LINES = 50


class _File(msgspec.Struct, frozen=True):
    """A file as read: how large it was, and its hash."""

    path: Path
    bytes: int
    sha256: str
    run: ForeignRun


def import_files(env: Env, paths: list[Path], *, json: bool) -> int:
    """Read the transcripts of ``paths`` (a folder: all in it) into the log; twice changes nothing.

    A file that cannot be read costs its own import only, and the exit status where it was named itself. Raises
    `CliError` where there is nothing to import.
    """
    files = _files(paths)
    if not files:
        raise CliError("there is no transcript there: give Claude Code's .jsonl files, or a folder that holds them")
    env.make_store()
    importer = Importer(env)
    entries: list[dict[str, Any]] = []
    failed = 0
    try:
        for path, named in files.items():
            try:
                entries.append(importer.take(path))
            except CliError as error:
                failed = error.status if named else failed
                env.note(str(error))
    finally:
        importer.close()
    if json:
        env.print_json({"files": entries})
    else:
        for entry in entries:
            env.print(_line(entry))
    return failed


def _files(paths: Iterable[Path]) -> dict[Path, bool]:
    """The files, each once, and whether it was named itself: one found in a folder need not be a transcript."""
    found: dict[Path, bool] = {}
    for path in paths:
        if path.is_dir():
            found.update((each, False) for each in sorted(path.rglob("*.jsonl")) if each not in found)
        else:
            found[path] = True
    return found


def _line(entry: dict[str, Any]) -> str:
    cost = "unpriced" if entry["cost_usd"] is None else f"${entry['cost_usd']}"
    skipped = f", {entry['skipped']} rows skipped" if entry["skipped"] else ""
    state = "imported" if entry["changed"] else "unchanged"
    compacted = f", {entry['compactions']} times compacted" if entry["compactions"] else ""
    return (
        f"{entry['session_id']}  {state}: {fmt.number(entry['messages'])} messages{compacted},"
        f" {cost}{skipped}  {entry['path']}"
    )


class Importer:
    """Reads files into one store."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._db = _opened(env)
        self._transcript = Transcript(self._db, env.project.geode)
        self._catalog = Catalog()
        self._routes: dict[str, Route] = {}
        self._rates = Rates()

    def close(self) -> None:
        """Close the store."""
        self._db.close()

    def take(self, path: Path) -> dict[str, Any]:
        """Import a file, and the sub-agents in it that have no file of their own. Returns its row of the report.

        Raises `CliError`.
        """
        file = _read(path)
        run = file.run
        name = self._session_id(file)
        changed = self._mirror(file, name, run.main, run.title, own_file=True)
        agents = []
        for agent in run.agents:
            agent_name = f"{name}.{agent.agent_id}"
            known = self._imported(agent_name)
            if _agent_file(path, agent).exists() or (known is not None and known.own_file):
                continue
            agents.append(agent_name)
            title = f"sub-agent {agent.agent_id} of {run.title}"
            changed |= self._mirror(file, agent_name, agent, title, own_file=False)
        return {
            "path": str(path),
            "format": run.format,
            "session_id": name,
            "changed": changed,
            "rows": run.rows,
            "skipped": run.skipped,
            "unknown": run.unknown,
            "messages": sum(not isinstance(item, Compacted) for item in run.main.items),
            "compactions": sum(isinstance(item, Compacted) for item in run.main.items),
            **self._money(run.main),
            "agents": agents,
        }

    def _session_id(self, file: _File) -> str:
        """The session that the file is, or goes on with: its own id, unless another file has that one already."""
        run = file.run
        stem = run.session_id or file.path.stem
        if run.main.agent_id:
            stem += f".{run.main.agent_id}"
        try:
            name = check_id(stem)
        except BadId:
            name = f"import-{file.sha256[:16]}"
        row = self._transcript.session(name)
        if row is None:
            return name
        if row.origin == "own":
            raise CliError(f"{file.path}: a run of this project has the id {name} already")
        before = self._imported(name)
        if before is None or not before.own_file or before.path == str(file.path.resolve()):
            return name
        if _begins_as(file, before):
            return name
        return f"{name}.{hashlib.sha256(str(file.path.resolve()).encode()).hexdigest()[:6]}"

    def _imported(self, session_id: str) -> TranscriptImported | None:
        """What is known of the file that a session was read from; None where it was not read to its end."""
        row = self._transcript.session(session_id)
        if row is None:
            return None
        found = self._transcript.newest_events(row.number, 1)
        if not found or found[-1].event != event_name(TranscriptImported):
            return None
        payload = decode_payload(found[-1].event, found[-1].payload)
        return payload if isinstance(payload, TranscriptImported) else None

    def _mirror(self, file: _File, session_id: str, thread: Thread, title: str, *, own_file: bool) -> bool:
        """Bring a session up to date with its file; false where nothing had changed."""
        before = self._imported(session_id)
        if before is not None and (before.sha256, before.own_file) == (file.sha256, own_file):
            return False
        run = file.run
        imported = TranscriptImported(
            format=run.format,
            path=str(file.path.resolve()),
            sha256=file.sha256,
            bytes=file.bytes,
            rows=run.rows,
            skipped=run.skipped,
            unknown=run.unknown,
            own_file=own_file,
        )
        geode = self._env.project.geode
        try:
            lease = Lease(lock_path(geode, session_id), LeaseNote())
        except Held as error:
            raise CliError(f"{file.path}: {error}; try again when it has left", 1) from error
        try:
            self._write(session_id, thread, title, imported)
        except StoreError as error:
            raise CliError(str(error), 1) from error
        finally:
            lease.release()
        return True

    def _write(self, session_id: str, thread: Thread, title: str, imported: TranscriptImported) -> None:
        writer = Writer(self._db, self._env.project.store, session_id)
        started = thread.items[0].at if thread.items else 0.0
        writer.raise_epoch(started, title=title, prompt=title, options="{}")
        observer = FoldObserver(RunState())
        mirror = Mirror(writer, thread, _Gauge(), self._route, self._price)

        def seen(rows: list[Any]) -> None:
            observer.seen(rows)
            self._snapshot(writer, observer, turn_ended=False)

        mirror.write(title, imported.format, imported, seen)
        self._snapshot(writer, observer, turn_ended=True)

    def _snapshot(self, writer: Writer, observer: FoldObserver, *, turn_ended: bool) -> None:
        due = observer.snapshot(turn_ended=turn_ended)
        if due is not None:
            writer.write(lambda tx: tx.snapshot(*due), now=time.time(), turn=0, round_=0)

    # -- money --------------------------------------------------------------------------------------------------------
    def _route(self, model: str) -> Route:
        if model not in self._routes:
            self._routes[model] = self._catalog.route(model, PROVIDER, SOURCE)
        return self._routes[model]

    def _price(self, answer: Answer) -> int | None:
        """Micro-dollars of an answer; None where it has no figures or its model no price."""
        if answer.usage is None:
            return None
        return self._rates.cost_micro(self._route(answer.model), answer.usage, answer.at)

    def _money(self, thread: Thread) -> dict[str, Any]:
        """Tokens, and dollars where any answer has a price."""
        used = thread.usage
        prices = [self._price(item) for item in thread.items if isinstance(item, Answer)]
        known = [price for price in prices if price is not None]
        tokens = {
            "input": used.input_tokens,
            "output": used.output_tokens,
            "cache_read": used.cache_read_tokens or 0,
            "cache_write_5m": used.cache_write_5m_tokens or 0,
            "cache_write_1h": used.cache_write_1h_tokens or 0,
            "reasoning": used.reasoning_tokens or 0,
        }
        return {"tokens": tokens, "cost_usd": usd(sum(known)) if known else None}


def _opened(env: Env) -> apsw.Connection:
    try:
        return create(env.project.store)
    except StoreError as error:
        raise CliError(str(error), 1) from error


def _read(path: Path) -> _File:
    """Read and decode a file. Raises `CliError` for one that is no transcript."""
    digest = hashlib.sha256()
    size = 0

    def lines(file: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal size
        for line in file:
            digest.update(line)
            size += len(line)
            yield line

    try:
        with path.open("rb") as file:
            if not is_claude_code(line for _, line in zip(range(_HEAD_LINES), file, strict=False)):
                raise CliError(f"{path} is no transcript that geode-tui reads: it reads Claude Code's .jsonl files")
            file.seek(0)
            run = read_claude_code(lines(file))
    except OSError as error:
        raise CliError(f"{path} cannot be read: {error.strerror}") from error
    return _File(path, size, digest.hexdigest(), run)


def _begins_as(file: _File, before: TranscriptImported) -> bool:
    """Whether the file is the one that was imported from elsewhere, possibly grown since."""
    if file.bytes < before.bytes:
        return False
    with file.path.open("rb") as opened:
        return hashlib.sha256(opened.read(before.bytes)).hexdigest() == before.sha256


def _agent_file(main: Path, agent: Thread) -> Path:
    """Where Claude Code keeps a sub-agent's own transcript."""
    return main.with_suffix("") / "subagents" / f"agent-{agent.agent_id}.jsonl"


def without_window(figures: ContextFigures) -> ContextFigures:
    """``figures`` of a run of another program whose window is not known: there is nothing to give a percentage of."""
    return msgspec.structs.replace(figures, window=0, output_reserve=0, budget=0, warning=0, critical=0)


class _Gauge:
    """The context gauge of a foreign run. Its system prompt and tools are in no transcript: they are unattributed."""

    def __init__(self) -> None:
        self._meter = PromptMeter()
        self._asked: ContextFigures | None = None

    def add(self, message: Message, *, summary: bool) -> int:
        """See `sources.mirror.Gauge`."""
        return self._meter.append(message, summary=summary)

    def asked(self, route: Route) -> ContextFigures:
        """See `sources.mirror.Gauge`."""
        budget = budget_of(route, planning_reserve(route.window))
        made = self._meter.figures(route, budget, Prefix(), simulated=False)
        self._asked = without_window(made) if route.provenance == "unknown_fallback" else made
        return self._asked

    def answered(self, route: Route, answer: Answer) -> ContextFigures:
        """See `sources.mirror.Gauge`."""
        shown = self._asked
        assert shown is not None
        output = None
        if answer.usage is not None:
            output = replayed_output(answer.message, answer.usage)
            if self._meter.confirm(answer.prompt_tokens, self._meter.messages, route, Prefix()):
                shown = confirmed(shown, answer.prompt_tokens)
            else:
                shown = msgspec.structs.replace(shown, suspect=True)
        self._meter.append(answer.message, counted=output, route=route)
        return shown

    def compacted(self) -> None:
        """See `sources.mirror.Gauge`."""
        self._meter.retake(())
