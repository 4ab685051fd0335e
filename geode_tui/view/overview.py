"""Follow every run of a project: a thread reads what changed and leaves the newest list in a slot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from geode_tui.core.ids import BadId
from geode_tui.log.lease import lock_path, probe
from geode_tui.log.rows import Liveness, SessionRow
from geode_tui.log.store import StoreError, connect, translated
from geode_tui.log.transcript import Transcript
from geode_tui.view.follow import state_at
from geode_tui.view.reduce import fold
from geode_tui.view.state import RunState

MOST = 200
"""Most runs that are listed: the newest."""
LOOK_S = 0.25
PROBE_S = 0.5
"""Between two looks at the locks: a dead worker shows within a second."""
TICK_S, AGE_S = 1.0, 60.0
"""How often the list is handed out anew because time has passed: while a turn runs, and for ages alone."""
PROGRESS_S = 0.1
"""How often figures are handed out while the runs are folded for the first time."""
BREATH_S = 0.004
"""Pause before each run that is folded: the screen's thread waits for the interpreter meanwhile."""
PAGE = 1_000


class ListedRun(msgspec.Struct, frozen=True):
    """A run in the list. ``state`` has its figures and open items but no lists; None until it is folded."""

    session_id: str
    title: str
    updated_at: float
    liveness: Liveness
    state: RunState | None = None


class Listing(msgspec.Struct, frozen=True):
    """The project's newest runs, newest first. ``trouble`` is one line when the store could not be read."""

    runs: tuple[ListedRun, ...] = ()
    trouble: str = ""


class Overview:
    """See the module. ``wake`` is called from the thread when there is something to show, once until `take`."""

    def __init__(self, store: Path, wake: Callable[[], None], on_look: Callable[[], None] | None = None) -> None:
        """``on_look`` is called from the thread whenever it looks."""
        self._store = store
        self._wake = wake
        self._on_look = on_look
        self._lock = threading.Lock()
        self._listing = Listing()
        self._awake = False
        self._stopping = threading.Event()
        self._working = threading.Event()
        self._working.set()
        self._again = threading.Event()
        self._thread = threading.Thread(target=self._run, name="overview", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def rest(self) -> None:
        """Look at nothing until `resume`: the list is not on screen."""
        self._working.clear()

    def resume(self) -> None:
        """Look again, at once."""
        self._working.set()
        self._again.set()

    def take(self) -> Listing:
        """The newest list."""
        with self._lock:
            self._awake = False
            return self._listing

    def stop(self) -> None:
        """End the thread and close its connection."""
        self._stopping.set()
        self.resume()
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)

    # -- the thread ---------------------------------------------------------------------------------------------------
    def _run(self) -> None:
        if not self._store.exists():
            self._publish(Listing())
        while not self._stopping.is_set():
            try:
                if self._store.exists():
                    self._follow()
            except StoreError as error:
                self._publish(Listing(self._listing.runs, str(error)))
            self._pause()

    def _pause(self) -> None:
        """Wait until it is time for another look."""
        if not self._stopping.is_set():
            self._again.wait(LOOK_S)
            self._again.clear()
        self._working.wait()
        if self._on_look is not None and not self._stopping.is_set():
            self._on_look()

    def _breathe(self) -> bool:
        """Let the screen have its turn; True when it is time to stop."""
        return self._stopping.wait(BREATH_S)

    def _follow(self) -> None:
        db = connect(self._store)
        try:
            with translated(self._store):
                roster = _Roster(Transcript(db, self._store.parent))
                version, published = -1, float("-inf")
                while not self._stopping.is_set():
                    now, current = time.monotonic(), int(db.pragma("data_version"))
                    moved = roster.look(now, read=current != version)
                    version = current
                    if moved or now - published >= roster.period:
                        self._publish(Listing(roster.runs()))
                        published = now
                    for _ in roster.fold(self._breathe):
                        self._publish(Listing(roster.runs()))
                    self._pause()
        finally:
            db.close()

    def _publish(self, listing: Listing) -> None:
        with self._lock:
            self._listing = listing
            wake, self._awake = not self._awake, True
        if wake:
            self._wake()


class _Roster:
    """The runs as they are by now. Used by the overview's thread only."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._rows: list[SessionRow] = []
        self._newest: dict[int, int] = {}
        self._liveness: dict[int, Liveness] = {}
        self._states: dict[int, RunState] = {}
        """Whole states of runs that have a worker, to fold on."""
        self._shown: dict[int, RunState] = {}
        self._probed = float("-inf")

    @property
    def period(self) -> float:
        """Seconds after which time alone changes what is shown."""
        ticking = any(
            state.turn_open and self._liveness[number].state == "held" for number, state in self._shown.items()
        )
        return TICK_S if ticking else AGE_S

    def look(self, now: float, *, read: bool) -> bool:
        """Look at the locks, and with ``read`` at the store; whether anything that is shown changed."""
        moved = False
        if read:
            rows = self._transcript.sessions(MOST)
            moved = rows != self._rows
            self._rows = rows
            self._newest = self._transcript.newest_event_ids(MOST)
        if moved or now - self._probed >= PROBE_S:
            self._probed = now
            moved = self._probe() or moved
        return moved

    def _probe(self) -> bool:
        geode = self._transcript.geode
        seen = {row.number: _liveness(geode, row.session_id) for row in self._rows}
        before, self._liveness = self._liveness, seen
        self._shown = {number: state for number, state in self._shown.items() if number in seen}
        self._states = {n: s for n, s in self._states.items() if n in seen and seen[n].state != "free"}
        return before != seen

    def runs(self) -> tuple[ListedRun, ...]:
        """The list as it is known by now."""
        return tuple(
            ListedRun(r.session_id, r.title, r.updated_at, self._liveness[r.number], self._shown.get(r.number))
            for r in self._rows
        )

    def fold(self, breathe: Callable[[], bool]) -> Iterable[None]:
        """Fold what is new, live runs first; yields now and then, and at the end, when there is something to show."""
        behind = [r for r in self._rows if self._behind(r.number)]
        behind.sort(key=lambda row: self._liveness[row.number].state == "free")
        told = time.monotonic()
        for row in behind:
            if breathe():
                return
            self._fold(row)
            if time.monotonic() - told >= PROGRESS_S:
                yield
                told = time.monotonic()
        if behind:
            yield

    def _behind(self, number: int) -> bool:
        shown = self._shown.get(number)
        return shown is None or shown.last_id < self._newest.get(number, 0)

    def _fold(self, row: SessionRow) -> None:
        state = self._states.get(row.number)
        if state is None:
            state = state_at(self._transcript, row.number)
        else:
            while events := self._transcript.events(row.number, state.last_id, PAGE):
                fold(state, events)
        if self._liveness[row.number].state != "free":
            self._states[row.number] = state
        self._shown[row.number] = _figures(state)


def _figures(state: RunState) -> RunState:
    """A copy that the fold will not touch again, without what a list does not show."""
    return msgspec.structs.replace(
        state,
        by_model={},
        by_purpose={},
        open_calls=dict(state.open_calls),
        open_tools=dict(state.open_tools),
        approvals=dict(state.approvals),
        rounds=[],
        outcomes=[],
        feed=[],
    )


def _liveness(geode: Path, session_id: str) -> Liveness:
    """What the session's lock says, without the age of a heartbeat, which is not worth a repaint."""
    try:
        return msgspec.structs.replace(probe(lock_path(geode, session_id)), heartbeat_age_s=0.0)
    except BadId:  # a log may come from anywhere: such an id never had a worker of ours
        return Liveness("free")
