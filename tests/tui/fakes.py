"""A run that tests drive by hand: states and operations go in, commands come out."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from geode_tui.core.events import ContextFigures, EventRow
from geode_tui.core.limits import Limits
from geode_tui.core.messages import Message, TextBlock
from geode_tui.core.strings import Strings
from geode_tui.core.text import Redactor
from geode_tui.core.usage import Usage
from geode_tui.log.browse import PAGE, EventPage, EventQuery
from geode_tui.log.rows import Liveness, MessageRow, PendingCommand, StoredMessage
from geode_tui.tui.app import GeodeApp
from geode_tui.tui.glyphs import UNICODE, Glyphs
from geode_tui.tui.source import Exported, ModelChoice, OpenedOffload, SourceError
from geode_tui.tui.viewer.document import Bytes
from geode_tui.view.blocks import BlockEntry
from geode_tui.view.compaction import CompactionPreview
from geode_tui.view.cost import MonthCost
from geode_tui.view.dreams import DreamTable
from geode_tui.view.follow import Batch, Op
from geode_tui.view.offloads import OffloadRow, OffloadTable
from geode_tui.view.state import Money, OpenApproval, RoundFigures, RunState, WindowNote
from geode_tui.view.versions import VersionDiff, VersionList
from geode_tui.view.window_history import LostRow

NOW = 1_790_000_000.0
HELD = Liveness("held", pid=4711)
FREE = Liveness("free")

FIGURES = ContextFigures(
    used=264_900,
    window=400_000,
    output_reserve=32_768,
    budget=367_232,
    warning=257_062,
    critical=330_508,
    warning_percent=70,
    critical_percent=90,
    provenance="catalog",
    measured="confirmed",
    parts={
        "system": 6_100,
        "tools": 9_800,
        "summaries": 8_600,
        "user": 3_000,
        "agent": 31_400,
        "thinking": 18_200,
        "results": 185_500,
        "images": 2_300,
    },
)


def running_state(**changes: Any) -> RunState:
    """A run in its 37th round, streaming."""
    rounds = [RoundFigures(1, n, 150_000 + n * 3_100, 50_000 + 1_000 * (n % 5)) for n in range(1, 38)]
    state = RunState(
        session_id="s-1",
        title="Streaming parser",
        model="gpt-5.2",
        provider="openai",
        source="payg",
        limits=Limits(cost_budget_micro=5_000_000),
        events=4_218,
        turn=3,
        round=37,
        turn_open=True,
        turn_started_at=NOW - 511,
        active_s=2_530 - 511,
        last_ts=NOW,
        context=FIGURES,
        last_estimate_error=0.8,
        money=Money(1_840_000, 37, 0, Usage(120_000, 18_300, 1_090_000)),
        turn_money=Money(310_000, 6, 0, Usage(20_000, 3_300, 90_000)),
        plan=(
            ("Find every caller", "done"),
            ("Read it", "done"),
            ("Yield tokens", "active"),
            ("Update tests", "pending"),
        ),
        rounds=rounds,
    )
    return msgspec.structs.replace(state, **changes)


def approval(number: int = 1, **changes: Any) -> OpenApproval:
    """A question about a shell command."""
    one = OpenApproval(f"a-{number}", f"call-{number}", "run_shell", "execute", "make docs", "approval is ask", 9, NOW)
    return msgspec.structs.replace(one, **changes)


def event(number: int, name: str = "message_opened", payload: str = '{"message_id":1,"seq":1}') -> EventRow:
    return EventRow(number, NOW + number / 1000, 3, 37, name, payload)


class FakeFeed:
    """A follower without a log."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._batch: Batch | None = None
        self._ops: list[Op] = []
        self.taken = 0
        self.nudges = 0

    def start(self) -> None:
        if self._batch is not None:
            self._wake()

    def nudge(self) -> None:
        self.nudges += 1

    def take(self, limit: int = 10_000) -> Batch:
        with self._lock:
            self.taken += 1
            ops, self._ops = self._ops[:limit], self._ops[limit:]
            assert self._batch is not None
            return msgspec.structs.replace(self._batch, ops=tuple(ops))

    def stop(self) -> None:
        self._wake = lambda: None

    def push(self, batch: Batch) -> None:
        with self._lock:
            self._batch = batch
            self._ops += batch.ops
        self._wake()


MODELS = (
    ModelChoice("openai", "openai/payg", "gpt-5.2", 400_000, "catalog", 367_232, 257_062),
    ModelChoice("openai", "openai/payg", "gpt-6-sol", 1_050_000, "catalog", 922_000, 737_600),
    ModelChoice("anthropic", "anthropic/payg", "claude-haiku-4-5", 200_000, "catalog", 151_232, 75_616),
    ModelChoice("openrouter", "openrouter/payg", lacks="OPENROUTER_API_KEY", why="set OPENROUTER_API_KEY to use it"),
)
"""To choose from: the run's own model, a larger one, one that is too small, and a service without a key."""


class FakeSource:
    """A `RunSource` over a `FakeFeed`."""

    session_id = "s-1"
    project = "parser"

    def __init__(self, state: RunState | None = None, liveness: Liveness = HELD) -> None:
        self.now = NOW
        self.sent: list[tuple[str, dict[str, Any], str]] = []
        self.fails = ""
        self.earlier: tuple[str, ...] = ()
        self.argument_text = '{"command": "make docs"}'
        self.feed: FakeFeed | None = None
        self.first = None if state is None else Batch(state, (), liveness, ())
        self.bodies: dict[int, StoredMessage] = {}
        self.files: tuple[str, ...] = ()
        self.log: list[EventRow] = []
        """The whole log; the state's feed is its end."""
        self.read: list[tuple[int | None, int | None]] = []
        self.entries: tuple[BlockEntry, ...] = ()
        self.blocks_read = 0
        self.version_read = 0
        self.listed = VersionList()
        self.lists_read = 0
        self.diffs: dict[tuple[int, int], VersionDiff] = {}
        self.forked: list[tuple[int, int]] = []
        self.ledger: tuple[MonthCost, ...] = ()
        self.preview = CompactionPreview(False, "none", "")
        self.previews: list[tuple[int, str, bool]] = []
        """What was asked of `compaction`."""
        self.may_preview = threading.Event()
        """Cleared, `compaction` waits for it."""
        self.may_preview.set()
        self.summaries: dict[int, str] = {}
        self.stored = OffloadTable()
        self.offloads_read = 0
        self.files_read: list[str] = []
        self.results: dict[str, Bytes] = {}
        self.stubs: dict[str, str | None] = {}
        self.saved: dict[str, bytes] = {}
        self.kept = DreamTable()
        self.dreams_read = 0
        self.losses: dict[int, tuple[LostRow, ...]] = {}
        self.lost_read: list[int] = []

    def follower(self, wake: Callable[[], None]) -> FakeFeed:
        assert self.feed is None, "one follower is enough"
        self.feed = FakeFeed(wake)
        if self.first is not None:
            self.feed._batch = self.first
        return self.feed

    def show(
        self,
        state: RunState,
        liveness: Liveness = HELD,
        pending: Sequence[PendingCommand] = (),
        ops: Sequence[Op] = (),
        trouble: str = "",
    ) -> None:
        assert self.feed is not None
        self.feed.push(Batch(state, tuple(ops), liveness, tuple(pending), trouble))

    def load(self, message_id: int) -> StoredMessage:
        return self.bodies[message_id]

    def arguments(self, call_id: str) -> str:
        return self.argument_text

    def inputs(self) -> tuple[str, ...]:
        return self.earlier

    def paths(self) -> tuple[str, ...]:
        return self.files

    def fork(self, turn: int, round_: int) -> FakeSource:
        if self.fails:
            raise SourceError(self.fails)
        self.forked.append((turn, round_))
        made = FakeSource(running_state(session_id="s-2", title="Fork of it"))
        made.session_id = "s-2"
        return made

    def blocks(self, version: int) -> tuple[BlockEntry, ...]:
        if self.fails:
            raise SourceError(self.fails)
        self.blocks_read += 1
        self.version_read = version
        return self.entries

    def compaction(self, keep: int = 0, focus: str = "", *, prune: bool = False) -> CompactionPreview:
        if self.fails:
            raise SourceError(self.fails)
        self.previews.append((keep, focus, prune))
        self.may_preview.wait(10)
        return msgspec.structs.replace(self.preview, keep=keep, keep_recent=keep or self.preview.keep_recent)

    def summary(self, version: int) -> str:
        if self.fails:
            raise SourceError(self.fails)
        return self.summaries[version]

    def lost(self, version: int) -> tuple[LostRow, ...]:
        if self.fails:
            raise SourceError(self.fails)
        self.lost_read.append(version)
        return self.losses.get(version, ())

    def notes(self, since: tuple[int, int], until: tuple[int, int] | None) -> tuple[WindowNote, ...]:
        return ()

    def versions(self) -> VersionList:
        if self.fails:
            raise SourceError(self.fails)
        self.lists_read += 1
        return self.listed

    def diff(self, before: int, after: int) -> VersionDiff:
        if self.fails:
            raise SourceError(self.fails)
        return self.diffs[before, after]

    def months(self) -> tuple[MonthCost, ...]:
        if self.fails:
            raise SourceError(self.fails)
        return self.ledger

    def offloads(self) -> OffloadTable:
        if self.fails:
            raise SourceError(self.fails)
        self.offloads_read += 1
        return self.stored

    def offload_files(self, rows: Sequence[OffloadRow]) -> tuple[OffloadRow, ...]:
        self.files_read += [row.ref_id for row in rows]
        return tuple(msgspec.structs.replace(row, bytes=row.tokens * 4) for row in rows)

    def open_offload(self, ref_id: str) -> OpenedOffload:
        if ref_id not in self.results:
            raise SourceError(f"there is no stored result {ref_id}")
        return OpenedOffload(ref_id, self.results[ref_id], self.stubs.get(ref_id, ""))

    def save_offload(self, ref_id: str, path: str, *, replace: bool) -> Exported | None:
        if path in self.saved and not replace:
            return None
        self.saved[path] = self.results[ref_id].read(0, self.results[ref_id].size)
        return Exported(path, len(self.saved[path]))

    def dreams(self) -> DreamTable:
        if self.fails:
            raise SourceError(self.fails)
        self.dreams_read += 1
        return self.kept

    def tiers(self, strings: Strings) -> Sequence[tuple[str, str]]:
        if self.fails:
            raise SourceError(self.fails)
        return (("", strings.t("tiers.not_sent")), ("0 identity", "read  GEODE.md"))

    def models(self) -> tuple[ModelChoice, ...]:
        if self.fails:
            raise SourceError(self.fails)
        return MODELS

    def events(
        self, query: EventQuery, *, before: int | None = None, after: int | None = None, limit: int = PAGE
    ) -> EventPage:
        if self.fails:
            raise SourceError(self.fails)
        self.read.append((before, after))
        log = self.log or [EventRow(0, 0.0, 0, 0, "", "")]
        if before is not None:
            rows = [r for r in self.log if r.id < before and query.matches(r)][-limit:]
            reached = rows[0].id if len(rows) == limit else log[0].id
            return EventPage(tuple(rows), reached, reached - log[0].id)
        rows = [r for r in self.log if r.id > (after or 0) and query.matches(r)][:limit]
        reached = rows[-1].id if len(rows) == limit else log[-1].id
        return EventPage(tuple(rows), reached, log[-1].id - reached)

    def event_names(self) -> Counter[str]:
        return Counter(row.event for row in self.log)

    def export_events(self, query: EventQuery, admits: Callable[[EventRow], bool], stop: threading.Event) -> Exported:
        if self.fails:
            raise SourceError(self.fails)
        return Exported("/tmp/x.jsonl", sum(query.matches(r) and admits(r) for r in self.log))

    def send(self, kind: str, payload: Mapping[str, Any], key: str | None = None) -> None:
        if self.fails:
            raise SourceError(self.fails)
        self.sent.append((kind, dict(payload), key or ""))

    def clock(self) -> float:
        return self.now

    def add_message(self, number: int, text: str, role: str = "assistant") -> MessageRow:
        row = MessageRow(number, number, 3, 37, role, "agent", "complete", len(text), NOW)
        self.bodies[number] = StoredMessage(
            row, Message("assistant" if role == "assistant" else "user", (TextBlock(text),))
        )
        return row


def make_app(
    source: FakeSource, *, language: str = "en", glyphs: Glyphs = UNICODE, theme: str = "geode-dark", **options: Any
) -> GeodeApp:
    """The app over a fake run; motion is off so that nothing moves by itself."""
    options.setdefault("motion", False)
    return GeodeApp(source, Strings(language), glyphs, theme, redact=Redactor(("hunter2hunter2",)), **options)  # type: ignore[arg-type]


def screen_text(app: GeodeApp) -> list[str]:
    """What the screen shows, row by row."""
    return [strip.text for strip in app.screen._compositor.render_strips()]
