"""The list of a project's runs: newest first, folded in a thread, and quiet while nothing happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from geode_tui.core import events as ev
from geode_tui.core.limits import Limits
from geode_tui.log import store as log_store
from geode_tui.log.lease import Lease, LeaseNote, lock_path
from geode_tui.log.writer import Writer
from geode_tui.view import overview
from geode_tui.view.follow import state_at
from geode_tui.view.overview import ListedRun, Listing, Overview
from tests.log.stores import NOW, open_writer


class Watched:
    """An overview and what it was woken for."""

    def __init__(self, store: Path) -> None:
        self.wakes = threading.Event()
        self.woken = 0
        self.looks = 0
        self.overview = Overview(store, self._wake, on_look=self._look)
        self.newest = Listing()

    def _wake(self) -> None:
        self.woken += 1
        self.wakes.set()

    def _look(self) -> None:
        self.looks += 1

    def until(self, condition: Callable[[Listing], object]) -> Listing:
        """The first list that satisfies ``condition``."""
        deadline = time.monotonic() + 10
        while True:
            self.wakes.clear()
            self.newest = self.overview.take()
            if condition(self.newest):
                return self.newest
            assert self.wakes.wait(max(0.0, deadline - time.monotonic())), self.newest

    def looked(self, times: int) -> None:
        """Wait for so many more looks."""
        target, deadline = self.looks + times, time.monotonic() + 10
        while self.looks < target:
            assert time.monotonic() < deadline
            time.sleep(0.005)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / ".geode" / "sessions.db"


@pytest.fixture
def watched(store: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr(overview, "LOOK_S", 0.01)
    monkeypatch.setattr(overview, "PROBE_S", 0.0)
    made = Watched(store)
    yield made
    made.overview.stop()
    assert not made.overview._thread.is_alive()


def begin(store: Path, session: str, *, at: float = NOW, turn_open: bool = True) -> Writer:
    """A session whose first turn began, and ended if wanted."""
    writer = open_writer(store, session, title=f"title of {session}")
    payloads: list[ev.Payload] = [
        ev.SessionStarted(session, "m-1", "offline", "adapter", True, 1, 1, "ask", Limits(), title=session),
        ev.UserInputReceived(session, "t-1", 1, 1, 5, "user_input"),
    ]
    if not turn_open:
        payloads.append(ev.TurnCompleted(session, "t-1", "m-1", "offline", 1, (), "natural"))
    writer.write(lambda tx: [tx.event(p) for p in payloads], now=at, turn=1, round_=1)
    writer.write(lambda tx: tx.session(status="active"), now=at, turn=1, round_=1)
    return writer


def ask(writer: Writer, number: int) -> None:
    """A call asks the person."""
    asked = ev.ToolApprovalRequested(f"a{number}", "c", "run_shell", "execute", "make", 1)
    writer.write(lambda tx: tx.event(asked), now=NOW, turn=1, round_=1)


def folded(listing: Listing) -> bool:
    return bool(listing.runs) and all(run.state is not None for run in listing.runs)


def by_id(listing: Listing) -> dict[str, ListedRun]:
    return {run.session_id: run for run in listing.runs}


def test_a_project_without_a_log_has_an_empty_list_until_its_first_run(store: Path, watched: Watched) -> None:
    watched.overview.start()
    assert watched.until(lambda _: watched.woken) == Listing()
    begin(store, "s-1").close()
    assert [run.session_id for run in watched.until(folded).runs] == ["s-1"]


def test_titles_come_first_newest_first_and_figures_after(
    store: Path, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        begin(store, f"s-{number}", at=NOW + number, turn_open=False).close()
    gate = threading.Event()

    def slowly(*arguments: object) -> object:
        assert gate.wait(10)
        return state_at(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(overview, "state_at", slowly)
    watched.overview.start()
    first = watched.until(lambda listing: listing.runs)
    assert [run.title for run in first.runs] == [f"title of s-{n}" for n in (4, 3, 2, 1, 0)]
    assert not any(run.state for run in first.runs)
    gate.set()
    assert all(run.state and run.state.termination_reason == "natural" for run in watched.until(folded).runs)


def test_what_happens_in_a_run_and_to_its_worker_shows(store: Path, watched: Watched) -> None:
    writer = begin(store, "s-1")
    begin(store, "s-2", turn_open=False).close()
    watched.overview.start()
    watched.until(folded)
    lease = Lease(lock_path(store.parent, "s-1"), LeaseNote(pid=4711))
    held = watched.until(lambda listing: by_id(listing)["s-1"].liveness.state == "held")
    assert by_id(held)["s-1"].liveness.pid == 4711
    assert by_id(held)["s-2"].liveness.state == "free"
    for number in (1, 2):  # the first is folded from the log, the second onto the state that is kept
        ask(writer, number)
        asks = watched.until(lambda listing, n=number: len(by_id(listing)["s-1"].state.approvals) == n)  # type: ignore
        assert by_id(asks)["s-1"].state.last_id > by_id(asks)["s-2"].state.last_id  # type: ignore[union-attr]
    lease.release()
    watched.until(lambda listing: by_id(listing)["s-1"].liveness.state == "free")
    writer.close()


def test_a_listed_state_has_no_lists_and_is_never_changed_again(store: Path, watched: Watched) -> None:
    writer = begin(store, "s-1")
    lease = Lease(lock_path(store.parent, "s-1"), LeaseNote(pid=1))
    watched.overview.start()
    before = watched.until(folded).runs[0].state
    assert before is not None
    assert (before.feed, before.rounds, before.outcomes, before.by_model) == ([], [], [], {})
    ask(writer, 1)
    watched.until(lambda listing: listing.runs[0].state.approvals)  # type: ignore[union-attr]
    assert before.approvals == {}
    lease.release()
    writer.close()


def test_an_idle_project_wakes_nobody_and_one_with_a_turn_that_runs_wakes_by_the_clock(
    store: Path, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "TICK_S", 0.0)
    writer = begin(store, "s-1", turn_open=False)
    watched.overview.start()
    watched.until(folded)
    watched.looked(3)
    watched.overview.take()
    woken = watched.woken
    watched.looked(10)
    assert watched.woken == woken
    turn = ev.UserInputReceived("s-1", "t-2", 2, 2, 5, "user_input")
    lease = Lease(lock_path(store.parent, "s-1"), LeaseNote(pid=1))
    writer.write(lambda tx: tx.event(turn), now=NOW, turn=2, round_=0)
    watched.until(lambda listing: listing.runs[0].state.turn_open)  # type: ignore[union-attr]
    for _ in range(3):
        watched.wakes.clear()
        watched.overview.take()
        assert watched.wakes.wait(10)
    lease.release()
    writer.close()


def test_at_rest_it_looks_at_nothing_and_catches_up_afterwards(store: Path, watched: Watched) -> None:
    begin(store, "s-1").close()
    watched.overview.start()
    watched.until(folded)
    watched.overview.rest()
    watched.overview._again.set()
    while watched.overview._again.is_set():
        time.sleep(0.001)
    looks = watched.looks
    begin(store, "s-2").close()
    assert watched.looks == looks
    assert len(watched.overview.take().runs) == 1
    watched.overview.resume()
    watched.until(lambda listing: len(listing.runs) == 2)


def test_only_the_newest_are_listed(store: Path, watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "MOST", 3)
    for number in range(5):
        begin(store, f"s-{number}", at=NOW + number).close()
    watched.overview.start()
    assert [run.session_id for run in watched.until(folded).runs] == ["s-4", "s-3", "s-2"]


def test_a_store_that_cannot_be_read_keeps_the_list_and_says_so(
    store: Path, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(store, "s-1").close()

    def broken(*_: object) -> bool:
        raise log_store.StoreBusy("the store is locked by 4711")

    with monkeypatch.context() as patch:
        patch.setattr(overview._Roster, "fold", broken)
        watched.overview.start()
        listing = watched.until(lambda listing: listing.trouble)
        assert listing.trouble == "the store is locked by 4711"
        assert [run.session_id for run in listing.runs] == ["s-1"]
    assert watched.until(folded).trouble == ""
