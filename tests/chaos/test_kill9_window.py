"""Real ``kill -9`` at moments that nobody chose, over a run whose context is worked on again and again."""

from __future__ import annotations

import random
import time
from multiprocessing.context import ForkServerProcess

import pytest

from geode_tui.core.limits import Limits
from geode_tui.log import commands as cmd
from geode_tui.log.store import connect
from geode_tui.log.tail import Tail
from tests.chaos.driving import finish, status, worker
from tests.chaos.invariants import check, seen, versions
from tests.chaos.test_crash_window import PROMPT, TIGHT, furnish
from tests.chaos.test_kill9 import await_owner, let_it_run
from tests.cli.place import Place

KILLS = 10
LONGEST_S = 1.2
"""A worker is killed at the latest about this long after it took the session."""
PASS_S = 0.05
"""About what one pass over the context takes."""
ORDERS: tuple[cmd.Command, ...] = (cmd.Compact(keep=2), cmd.Compact(prune=True), cmd.Undo(), cmd.Redo())


def let_it_work(place: Place, session_id: str, process: ForkServerProcess, dice: random.Random) -> None:
    """Return at a moment that is drawn, mostly soon after a pass over the context was begun."""
    if dice.random() < 0.3:
        let_it_run(dice.uniform(0.0, LONGEST_S))
        return
    db = connect(place.store)
    try:
        tail = Tail(db, session_id, after=place.state(session_id).last_id)
        last = time.monotonic() + LONGEST_S
        while process.exitcode is None and time.monotonic() < last:
            if any(r.event == "maintenance_started" for r in tail.fetch().events if tail.changed()):
                break
            time.sleep(0.001)
    finally:
        db.close()
    let_it_run(dice.uniform(0.0, PASS_S))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_a_run_that_keeps_its_window_survives_fifty_kills_at_random_moments(place: Place, seed: int) -> None:
    dice = random.Random(seed)
    furnish(place)
    place.environment["GEODE_CONTEXT_WINDOW"] = TIGHT
    session = place.submit(PROMPT, limits=Limits(max_rounds=20))
    sent = [PROMPT]
    known: dict[int, tuple[str, str]] = {}
    made = versions(place, session)
    for number in range(KILLS):
        process = worker(place, session)
        await_owner(place, session, process)
        for order in dice.sample(ORDERS, k=dice.randrange(3)):
            place.send(session, order)
        if dice.random() < 0.5:
            sent.append(f"run `head -n {number + 20} words.txt`")
            place.send(session, cmd.Submit(sent[-1]))
        if dice.random() < 0.2:
            place.send(session, cmd.Interrupt())
        if place.state(session).turn_open:
            place.send(session, cmd.Resume())
        let_it_work(place, session, process, dice)
        process.kill()
        status(process)
        now, stand = seen(place, session), versions(place, session)
        assert known.items() <= now.items()
        assert stand[: len(made)] == made
        known, made = now, stand
    finish(place, session)

    assert known.items() <= seen(place, session).items()
    check(place, session)
    assert versions(place, session)[: len(made)] == made
    said = [m.message.text for m in place.read(lambda t: t.messages(session)) if m.row.origin == "user_input"]
    assert said == sent
    del place.environment["GEODE_CONTEXT_WINDOW"]
    place.send(session, cmd.Submit("and then say so"))
    finish(place, session)
    check(place, session)
    assert place.state(session).termination_reason == "natural"
