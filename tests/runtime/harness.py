"""A worker over a real store, in this process: steered by real command rows, with a clock that tests move.

::

    async with bench(ScriptedProvider(call("read_file", path="a.txt"), say("done"))) as run:
        await run.turn("look")
        assert run.ending == "natural"
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from geode_tui.cli.observer import FoldObserver, resume_point
from geode_tui.core.limits import DreamRules, Limits, ResultBounds, Retention, RunOptions
from geode_tui.core.messages import Block, Message, TextBlock, ToolCallBlock
from geode_tui.core.text import Redactor
from geode_tui.core.tools import Safety, ToolSpec
from geode_tui.core.usage import Usage
from geode_tui.log import commands as cmd
from geode_tui.log.lease import Lease, LeaseNote, lock_path
from geode_tui.log.rows import MessageRow, StoredMessage
from geode_tui.log.store import connect, create, fetch
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Writer
from geode_tui.providers.base import Delta, Finished, Opened, Provider, Request, StreamEvent
from geode_tui.providers.errors import ErrorKind, ProviderError
from geode_tui.routes.catalog import Catalog, Route
from geode_tui.runtime.inbox import Inbox
from geode_tui.runtime.journal import Journal, Observer
from geode_tui.runtime.opened import RouteOpener
from geode_tui.runtime.session import Session
from geode_tui.runtime.tools.base import Prepared, Simple, Tool, ToolContext, ToolOutcome
from geode_tui.runtime.tools.processes import kill_group
from geode_tui.runtime.tools.registry import builtin_tools
from geode_tui.runtime.worker import Worker
from geode_tui.view.follow import state_at
from geode_tui.view.state import RunState
from tests.memory import in_memory

Event: TypeAlias = tuple[str, dict[str, Any]]
SESSION = "s-1"
PATIENCE_S = 120.0
"""How long a test waits for what must happen: only a defect makes it wait that long."""


@cache
def catalog() -> Catalog:
    """The catalogue; reading it takes longer than most turns here."""
    return Catalog()


class FakeClock:
    """Time that only passes when something sleeps, and then at once. A held clock makes sleepers wait."""

    def __init__(self, now: float = 1_790_000_000.0) -> None:
        self.wall = now
        self.mono = 1_000.0
        self.reads = 0
        self.slept: list[float] = []
        self.sleeping = asyncio.Event()
        self._open = asyncio.Event()
        self._open.set()

    def now(self) -> float:
        self.reads += 1
        return self.wall

    def monotonic(self) -> float:
        return self.mono

    def advance(self, seconds: float) -> None:
        self.wall += seconds
        self.mono += seconds

    def hold(self) -> None:
        """From now on sleepers wait for `release`."""
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.sleeping.set()
        await self._open.wait()
        self.advance(seconds)
        await asyncio.sleep(0)


# -- the model --------------------------------------------------------------------------------------------------------
_numbers = itertools.count(1)


def say(text: str, stop_reason: str = "end_turn", usage: Usage = Usage(100, 10)) -> Finished:  # noqa: B008 - frozen
    """An answer of text."""
    return Finished((TextBlock(text),), stop_reason, usage)


def asks(tool: str, call_id: str = "", /, **arguments: Any) -> ToolCallBlock:
    """One tool call; its id is numbered unless given."""
    return ToolCallBlock(call_id or f"call_{next(_numbers)}", tool, json.dumps(arguments))


def call(tool: str, /, **arguments: Any) -> Finished:
    """An answer of one tool call."""
    return calls(asks(tool, **arguments))


def calls(*blocks: Block, stop_reason: str = "tool_use", usage: Usage = Usage(100, 10)) -> Finished:  # noqa: B008
    """An answer of several blocks."""
    return Finished(blocks, stop_reason, usage)


def fail(kind: ErrorKind, message: str = "no", **facts: Any) -> ProviderError:
    """A failed attempt."""
    return ProviderError(kind, message, **facts)


class Held(msgspec.Struct):
    """Streams ``text``, opens ``reached`` and goes on once ``release`` is set: to ``then``, or to the whole answer."""

    text: str
    then: ProviderError | None = None
    reached: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    release: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


Step: TypeAlias = "Finished | ProviderError | Held | Callable[[Request], Step]"


class ScriptedProvider:
    """Answers with its steps, one a request, then with ``done``. A step that is a function may look at the request."""

    source = "adapter"
    simulated = True

    def __init__(self, *steps: Step, name: str = "offline", source: str = "adapter") -> None:
        self.name = name
        self.source = source
        self.steps = list(steps)
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.requests.append(request)
        step = self.steps.pop(0) if self.steps else say("done")
        while callable(step):
            step = step(request)
        if isinstance(step, Held):
            yield Opened(usage=Usage(100, 1))
            yield Delta(0, "text", step.text)
            step.reached.set()
            await step.release.wait()
            step = step.then or say(step.text)
        if isinstance(step, ProviderError):
            if step.usage is not None:
                yield Opened(usage=step.usage)
            raise step
        for index, block in enumerate(step.blocks):
            if isinstance(block, TextBlock):
                yield Delta(index, "text", block.text)
            elif isinstance(block, ToolCallBlock):
                yield Delta(index, "tool_call", block.arguments, block.name)
        yield step

    async def aclose(self) -> None:
        pass


# -- tools ------------------------------------------------------------------------------------------------------------
class StubTool:
    """A tool made of one coroutine function of its raw arguments."""

    def __init__(
        self,
        name: str,
        effect: Callable[[str], Awaitable[ToolOutcome]],
        safety: Safety = Safety.READ,
        *,
        polls: bool = False,
    ) -> None:
        self.spec = ToolSpec(name, "A tool of a test.", {"type": "object"})
        self.safety = safety
        self.polls = polls
        self._effect = effect

    def brief(self, arguments: str) -> str:
        return arguments

    async def prepare(self, arguments: str, context: ToolContext) -> Prepared:
        return Simple(lambda: self._effect(arguments))


def stub(name: str, text: str = "ok", safety: Safety = Safety.READ, **facts: Any) -> StubTool:
    """A tool that always gives ``text``; ``polls`` and ``is_error`` may be given."""
    polls = bool(facts.pop("polls", False))

    async def effect(_arguments: str) -> ToolOutcome:
        return ToolOutcome(text, **facts)

    return StubTool(name, effect, safety, polls=polls)


# -- the run ----------------------------------------------------------------------------------------------------------
class Bench:
    """One session of one project. Workers come and go with `worker`; the log stays."""

    def __init__(self, folder: Path, provider: Provider, options: RunOptions, tools: Mapping[str, Tool]) -> None:
        self.root = folder / "project"
        self.root.mkdir(exist_ok=True)
        self.geode = self.root / ".geode"
        self.store = self.geode / "sessions.db"
        self.provider: Any = provider
        self.options = options
        self.tools = dict(tools)
        self.clock = FakeClock()
        self.deadline_s = 600.0
        self.observer: Observer | None = None
        self.opener: RouteOpener | None = None
        """Opens another route for a switch."""
        self.route: Route | None = None
        self.redact = Redactor()
        self.bounds = ResultBounds()
        self.retention = Retention()
        self.dreams = DreamRules()
        self.session: Session | None = None
        self._keys = itertools.count(1)
        create(self.store).close()
        self.db = connect(self.store)
        self.transcript = Transcript(self.db, self.geode)

    # -- workers ----------------------------------------------------------------------------------------------------
    @contextlib.asynccontextmanager
    async def worker(self, *, leave_s: float = 0.0) -> AsyncIterator[Worker]:
        """A new worker that owns the session. Its `run` returns once nothing waits any more."""
        lease = Lease(lock_path(self.geode, SESSION), LeaseNote(os.getpid(), time.time()))
        reading = connect(self.store)
        writer = Writer(create(self.store), self.store, SESSION)
        options = self.stored_options() or self.options
        encoded = msgspec.json.encode(options).decode()
        writer.raise_epoch(self.clock.now(), title="", prompt="", options=encoded)
        state = state_at(Transcript(reading, self.geode), writer.number)
        point = resume_point(state)
        journal = Journal(writer, self.clock, self.observer or FoldObserver(state))
        model = getattr(self.provider, "model", "") or options.model
        session = self.session = Session(
            session_id=SESSION,
            journal=journal,
            clock=self.clock,
            root=self.root,
            options=options,
            route=self.route or catalog().route(model, self.provider.name, self.provider.source),
            provider=self.provider,
            tools=self.tools,
            context=ToolContext(self.root.resolve(), (self.geode.resolve(),), SESSION, self.deadline_s),
            point=point,
        )
        session.open_route, session.bounds = self.opener, self.bounds
        session.stored.retention = self.retention
        session.dreams = self.dreams
        inbox = Inbox(reading, SESSION)
        made = Worker(
            session, lease, inbox, point, pid=os.getpid(), title="", end_group=kill_group, redact=self.redact,
            leave_s=leave_s,
        )  # fmt: skip
        try:
            yield made
        finally:
            lease.release()
            reading.close()
            await journal.close()

    async def serve(self) -> None:
        """A worker takes what waits, and leaves."""
        async with self.worker() as made:
            await asyncio.wait_for(made.run(), PATIENCE_S)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[asyncio.Task[None]]:
        """A worker that serves while the body runs; afterwards it is waited for."""
        async with self.worker() as made:
            task = asyncio.create_task(made.run())
            try:
                yield task
                await asyncio.wait_for(asyncio.shield(task), PATIENCE_S)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def die(self, task: asyncio.Task[None]) -> None:
        """End a serving worker the hard way, as far as the log can tell: it writes nothing more."""
        assert self.session is not None
        self.session.journal.writer.epoch = -1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def turn(self, text: str = "go", options: RunOptions | None = None) -> list[Event]:
        """One turn from ``text`` to its end; returns its events."""
        before = self.last_event
        self.submit(text, options)
        await self.serve()
        return self.events(after=before)

    # -- commands ---------------------------------------------------------------------------------------------------
    def send(self, command: cmd.Command) -> str:
        """Write a command row; returns its key."""
        return self.send_raw(*cmd.encode(command))

    def send_raw(self, kind: str, payload: str) -> str:
        key = f"k{next(self._keys)}"
        cmd.send(self.db, SESSION, kind, payload, client_id="test", key=key, now=self.clock.now())
        return key

    def submit(self, text: str = "go", options: RunOptions | None = None, *, later: bool = False) -> str:
        return self.send(cmd.Submit(text, later, options))

    def interrupt(self) -> str:
        return self.send(cmd.Interrupt())

    def decide(self, verdict: str = "allow", approval_id: str = "", *, always: bool = False, why: str = "") -> str:
        return self.send(cmd.Decide(verdict, approval_id, always, why))

    def outcome(self, key: str) -> str | None:
        """The command's outcome, None while it has none; its one event must say the same."""
        outcome = cmd.outcome_of(self.db, key)
        if outcome is not None:
            assert [p["outcome"] for p in self.payloads("command_finished") if p["key"] == key] == [outcome]
        return outcome

    def claimed(self, key: str) -> bool:
        return self.db.execute("SELECT claimed_epoch FROM commands WHERE key=?", (key,)).get is not None

    def detail(self, key: str) -> str:
        return next(str(p["detail"]) for name, p in self.events() if name == "command_finished" and p["key"] == key)

    # -- the log ----------------------------------------------------------------------------------------------------
    @property
    def last_event(self) -> int:
        return int(self.db.execute("SELECT coalesce(max(id), 0) FROM events").get)

    def events(self, *names: str, after: int = 0) -> list[Event]:
        """(name, payload) of the session's events in order; of these names, if any are given."""
        rows = fetch(self.db, "SELECT event, payload FROM events WHERE id>? ORDER BY id", (after,))
        return [(name, msgspec.json.decode(payload)) for name, payload in rows if not names or name in names]

    def payloads(self, name: str) -> list[dict[str, Any]]:
        return [payload for _, payload in self.events(name)]

    def named(self, name: str) -> dict[str, Any]:
        """The one event of that name."""
        found = self.payloads(name)
        assert len(found) == 1, f"{len(found)} events {name}"
        return found[0]

    @property
    def end(self) -> dict[str, Any]:
        """The newest turn's end."""
        return self.payloads("turn_completed")[-1]

    @property
    def ending(self) -> str:
        return str(self.end["termination_reason"])

    @property
    def state(self) -> RunState:
        """The fold of the log as it stands."""
        row = self.transcript.session(SESSION)
        assert row is not None
        return state_at(self.transcript, row.number)

    def messages(self) -> list[Message]:
        """The conversation as a model may be sent it."""
        return [stored.message for stored in self.transcript.messages(SESSION)]

    def rows(self) -> list[MessageRow]:
        return self.transcript.index(SESSION)

    def stored(self, row: MessageRow) -> StoredMessage:
        return self.transcript.message(row.id)

    def results(self) -> list[tuple[str, str, bool]]:
        """(call id, text, is error) of every result, as stored."""
        found = []
        for row in self.rows():
            if row.role == "tool":
                block: Any = self.stored(row).message.blocks[0]
                found.append((block.call_id, block.text, block.is_error))
        return found

    def stored_options(self) -> RunOptions | None:
        row = self.transcript.session(SESSION)
        return None if row is None else msgspec.json.decode(row.options, type=RunOptions)

    # -- waiting ----------------------------------------------------------------------------------------------------
    async def seen(self, name: str, count: int = 1) -> list[dict[str, Any]]:
        """The payloads of event ``name`` once there are ``count`` of them."""
        await self.until(lambda: len(self.payloads(name)) >= count)
        return self.payloads(name)

    async def until(self, holds: Callable[[], object]) -> None:
        """Return once ``holds()`` is true."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await asyncio.sleep(0.005)

    async def settled(self, key: str) -> str:
        """The command's outcome, waited for."""
        await self.until(lambda: self.outcome(key))
        return str(self.outcome(key))


@contextlib.contextmanager
def bench(
    provider: Provider,
    *,
    tools: Mapping[str, Tool] | None = None,
    approve: Any = "all",
    limits: Limits = Limits(),  # noqa: B008 - frozen
    **options: Any,
) -> Iterator[Bench]:
    """A fresh project and session. Extra keywords are those of `RunOptions`."""
    model = options.pop("model", "offline-planner" if provider.name == "offline" else "claude-sonnet-5")
    chosen = RunOptions(model=model, provider=provider.name, approve=approve, limits=limits, **options)
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        made = Bench(Path(folder), provider, chosen, builtin_tools() if tools is None else tools)
        try:
            yield made
        finally:
            made.db.close()


def toolbox(*tools: StubTool) -> dict[str, Tool]:
    """Tools by name."""
    return {tool.spec.name: tool for tool in tools}


def names(events: list[Event]) -> list[str]:
    """The events' names."""
    return [name for name, _ in events]
