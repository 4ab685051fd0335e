"""A project whose list of runs tests write by hand, and the app over it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from textual.pilot import Pilot

from geode_tui.core.strings import Strings
from geode_tui.core.text import Redactor
from geode_tui.log.rows import Liveness
from geode_tui.tui.app import GeodeApp
from geode_tui.tui.glyphs import UNICODE, Glyphs
from geode_tui.tui.home_source import ProviderReady, Readiness, TrustQuestion
from geode_tui.tui.screens.home import HomeScreen
from geode_tui.tui.screens.run import RunScreen
from geode_tui.tui.source import ModelChoice, SourceError
from geode_tui.view.overview import ListedRun, Listing
from tests.tui.fakes import FREE, HELD, MODELS, NOW, FakeSource, approval, running_state, screen_text

QUESTION = TrustQuestion((("approve", "all"), ("limits.rounds", "0")), "mark")
MISSING = Readiness(
    (ProviderReady("anthropic", "ANTHROPIC_API_KEY"), ProviderReady("offline")), "offline", "offline-planner"
)
READY = Readiness((ProviderReady("anthropic"), ProviderReady("offline")), "anthropic", "claude-opus-5-5")


def listed(session: str, liveness: Liveness = FREE, *, age: float = 7_200.0, **changes: Any) -> ListedRun:
    """A run in the list; by default one that is done."""
    over = {"turn_open": liveness.state != "free", "termination_reason": "" if liveness is HELD else "natural"}
    state = running_state(
        session_id=session, last_ts=NOW - age, rounds_total=37, **{"title": f"Run {session}", **over, **changes}
    )
    return ListedRun(session, state.title, NOW - age, liveness, state)


ORDER = ["asks", "also", "works", "done", "broke", "stopped"]
"""Sessions of `fleet` in the order of the screen."""


def fleet() -> tuple[ListedRun, ...]:
    """A run of each kind, newest first."""
    return (
        listed("done"),
        listed("works", HELD),
        listed("asks", HELD, approvals={"a-1": approval()}),
        listed("broke", turn_open=True, round=3, age=90_000),
        listed("stopped", termination_reason="max_rounds", age=400_000),
        listed("also", HELD, approvals={"a-2": approval(2)}),
    )


class FakeHomeFeed:
    """A list without a log."""

    def __init__(self, wake: Callable[[], None], listing: Listing | None) -> None:
        self._wake, self.listing = wake, listing
        self.taken = 0
        self.state = "new"

    def start(self) -> None:
        self.state = "works"
        if self.listing is not None:
            self._wake()

    def rest(self) -> None:
        self.state = "rests"

    def resume(self) -> None:
        self.state = "works"
        self._wake()

    def take(self) -> Listing:
        self.taken += 1
        assert self.listing is not None
        return self.listing

    def stop(self) -> None:
        self.state = "stopped"

    def push(self, listing: Listing) -> None:
        self.listing = listing
        self._wake()


class FakeHome:
    """A `HomeSource` over a `FakeHomeFeed`."""

    project = "~/src/parser"

    def __init__(
        self,
        runs: tuple[ListedRun, ...] | None = None,
        *,
        ready: Readiness = READY,
        question: TrustQuestion | None = None,
    ) -> None:
        self.first = None if runs is None else Listing(runs)
        self.ready, self.question = ready, question
        self.around: Readiness | None = None
        """What looking around finds, where it finds more."""
        self.choices: tuple[ModelChoice, ...] = MODELS
        self.used: list[tuple[str, str, str]] = []
        self.now = NOW
        self.fails = ""
        self.words = "I read the parser.\nTwo tests fail."
        self.peeked: list[str] = []
        self.trusted: list[TrustQuestion] = []
        self.sources: list[FakeSource] = []
        self.feeds: list[FakeHomeFeed] = []

    def feed(self, wake: Callable[[], None]) -> FakeHomeFeed:
        self.feeds.append(FakeHomeFeed(wake, self.first))
        return self.feeds[-1]

    def show(self, *runs: ListedRun, trouble: str = "") -> None:
        self.feeds[-1].push(Listing(runs, trouble))

    def readiness(self) -> Readiness:
        return self.ready

    def look_around(self) -> Readiness:
        self.ready = self.around or self.ready
        return self.ready

    def models(self) -> tuple[ModelChoice, ...]:
        return self.choices

    def use(self, model: str, service: str, effort: str) -> Readiness:
        if self.fails:
            raise SourceError(self.fails)
        self.used.append((model, service, effort))
        self.ready = msgspec.structs.replace(self.ready, model=model, provider=service)
        return self.ready

    def trust_question(self) -> TrustQuestion | None:
        return self.question

    def trust(self, question: TrustQuestion) -> None:
        if self.fails:
            raise SourceError(self.fails)
        self.trusted.append(question)
        self.question = None

    def peek(self, session_id: str) -> str:
        self.peeked.append(session_id)
        return self.words

    def paths(self) -> tuple[str, ...]:
        return ("src/parser.py", "README.md")

    def open(self, session_id: str) -> FakeSource:
        return self._source(session_id, running_state(session_id=session_id, turn_open=False), FREE)

    def new(self) -> FakeSource:
        if self.fails:
            raise SourceError(self.fails)
        return self._source("new", msgspec.structs.replace(running_state(), session_id="new", turn_open=False), FREE)

    def clock(self) -> float:
        return self.now

    def _source(self, session_id: str, state: Any, liveness: Liveness) -> FakeSource:
        source = FakeSource(state, liveness)
        source.session_id = session_id
        self.sources.append(source)
        return source


class Home:
    """An open home screen with shorthands."""

    def __init__(self, app: GeodeApp, pilot: Pilot[Any], source: FakeHome) -> None:
        self.app, self.pilot, self.source = app, pilot, source

    @property
    def screen(self) -> HomeScreen:
        screen = self.app._home
        assert screen is not None
        return screen

    @property
    def selected(self) -> str:
        row = self.screen.runs.selected
        return row.session_id if row else ""

    async def until(self, what: Callable[[], object]) -> None:
        for _ in range(200):
            if what():
                return
            await self.pilot.pause(0.01)
        raise AssertionError("it did not come to pass:\n" + "\n".join(screen_text(self.app)))

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def show(self, *runs: ListedRun, trouble: str = "") -> None:
        self.source.show(*runs, trouble=trouble)
        await self.until(lambda: self.screen.listing == Listing(runs, trouble))
        await self.pilot.pause()

    def sees(self, text: str) -> bool:
        return any(text in line for line in screen_text(self.app))

    def line(self, text: str) -> str:
        """The first row of the screen that holds ``text``."""
        return next(line for line in screen_text(self.app) if text in line)

    async def run(self) -> RunScreen:
        """The run screen that comes up, once it shows its run."""
        await self.until(lambda: isinstance(self.app.shown, RunScreen) and self.app.run_screen.newest is not None)
        await self.pilot.pause()
        return self.app.run_screen

    @property
    def toasts(self) -> list[str]:
        return [n.message for n in self.app._notifications]


def make_home(
    source: FakeHome,
    *,
    run: FakeSource | None = None,
    language: str = "en",
    glyphs: Glyphs = UNICODE,
    **options: Any,
) -> GeodeApp:
    """The app over a fake project; it opens on ``run`` where there is one."""
    redact = Redactor(("hunter2hunter2",))
    strings = Strings(language)
    return GeodeApp(run, strings, glyphs, redact=redact, motion=False, home=lambda: source, **options)  # type: ignore[arg-type, return-value]


@asynccontextmanager
async def at_home(
    runs: tuple[ListedRun, ...] | None = None,
    size: tuple[int, int] = (120, 40),
    *,
    source: FakeHome | None = None,
    notifications: bool = False,
    **options: Any,
) -> AsyncIterator[Home]:
    """The home screen, once its list is there."""
    source = source or FakeHome(fleet() if runs is None else runs)
    app = make_home(source, **options)
    async with app.run_test(size=size, notifications=notifications) as pilot:
        home = Home(app, pilot, source)
        await home.until(lambda: home.screen.listing is not None or source.first is None)
        await pilot.pause()
        yield home
