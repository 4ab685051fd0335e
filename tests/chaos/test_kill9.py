"""Real ``kill -9`` at moments that nobody chose, over one store, with commands on their way."""

from __future__ import annotations

import random
import time
from multiprocessing.context import ForkServerProcess

import pytest

from geode_tui.log import commands as cmd
from tests.chaos.driving import finish, status, worker
from tests.chaos.invariants import check, seen
from tests.cli.place import Place, until

LONGEST_S = 1.6
"""A worker is killed at the latest this long after it took the session: some turns are over by then."""


def killed_runs(place: Place, kills: int, seed: int) -> None:
    """One session: words, questions' answers and interrupts keep coming while its workers are killed."""
    dice = random.Random(seed)
    session = place.submit(_words(0), approve="all")
    known: dict[int, tuple[str, str]] = {}
    for number in range(1, kills + 1):
        process = worker(place, session)
        await_owner(place, session, process)
        _send_something(place, session, dice, number)
        let_it_run(dice.uniform(0.0, LONGEST_S))
        process.kill()
        status(process)
        now = seen(place, session)
        assert known.items() <= now.items()
        known = now
        assert place.status(session) in {"dead", "ended"}
    finish(place, session)

    assert known.items() <= seen(place, session).items()
    check(place, session)
    _check_words_and_effects(place, session)


def await_owner(place: Place, session_id: str, process: ForkServerProcess) -> None:
    """Wait until the worker owns the session, or has left it again."""
    until(lambda: place.liveness(session_id).state != "free" or process.exitcode is not None, "a worker")


def _words(number: int) -> str:
    return f"run `echo {number} >> out.txt`"


def let_it_run(seconds: float) -> None:
    """The moment of the kill is drawn, not derived from what the worker does: that is the point of this test."""
    time.sleep(seconds)


def _send_something(place: Place, session_id: str, dice: random.Random, number: int) -> None:
    place.send(session_id, cmd.Submit(_words(number), later=dice.random() < 0.3))
    if dice.random() < 0.2:
        place.send(session_id, cmd.Interrupt())
    if dice.random() < 0.3:
        place.send(session_id, cmd.Budget("rounds", str(dice.randrange(50, 99))))
    if dice.random() < 0.3:
        place.send(session_id, cmd.Resume())


def _check_words_and_effects(place: Place, session_id: str) -> None:
    """Everything the person said stands there once; no command ran more often than it was announced."""
    messages = place.read(lambda t: t.messages(session_id))
    said = [m.message.text for m in messages if m.row.origin == "user_input"]
    sent = place.query("SELECT payload ->> '$.text' FROM commands WHERE kind='submit' ORDER BY id")
    assert sorted(said) == sorted(text for (text,) in sent)
    started = [p for p in place.payloads(session_id, "tool_exec_started") if p["tool_name"] == "run_shell"]
    for line in set(place.lines("out.txt")):
        announced = sum(f"echo {line} >>" in p["arguments"] for p in started)
        assert place.lines("out.txt").count(line) <= announced


def test_a_run_survives_kills_at_random_moments(place: Place) -> None:
    killed_runs(place, 4, seed=7)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_a_run_survives_fifty_kills_at_random_moments(place: Place, seed: int) -> None:
    killed_runs(place, 10, seed)
