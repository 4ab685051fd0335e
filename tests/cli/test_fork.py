"""`fork`: a copy of a run that goes on from one of its rounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from geode_tui.core.views import Mask, Stub, Version
from geode_tui.log import commands as cmd
from geode_tui.log import offloads
from geode_tui.log.fork import copy_messages, fork_point
from geode_tui.log.store import connect
from geode_tui.log.views import add_version, versions
from geode_tui.log.writer import Writer
from tests.cli.conftest import Here
from tests.cli.place import Place

NOW = 1_790_000_000.0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One place for the module: a run of two turns that has ended. Nothing here changes it."""
    made = Place(tmp_path_factory.mktemp("fork"))
    for number in range(4):
        (made.root / f"part{number}.py").write_text(f"def part{number}(): return {number}\n" * 20)
    asking = ("--provider", "offline", "--approve", "reads")
    assert made.cli("run", "survey this project", *asking).status == 0
    assert made.cli("run", "survey this project", "--session", made.newest, *asking).status == 0
    yield made
    made.close()


@pytest.fixture(scope="module")
def parent(place: Place) -> str:
    return place.sessions()[-1]


def rows(place: Place, session_id: str) -> list[Any]:
    columns = "seq, role, content, tool_call_id, tool_calls, timestamp, metadata, turn, round"
    return place.query(f"SELECT {columns} FROM messages WHERE session_id=? ORDER BY seq", session_id)


def events(place: Place, session_id: str) -> list[str]:
    return [row.event for row in place.events(session_id)]


def test_a_fork_is_the_run_up_to_a_round_and_the_run_stays_as_it_is(place: Place, here: Here, parent: str) -> None:
    before, then = rows(place, parent), events(place, parent)
    made = here("fork", parent, "1.2")
    assert made.status == 0
    session = made.out.strip()
    assert f"geode-tui attach {session} goes on" in made.err
    last = max(row[0] for row in before if row[-2:] == (1, 2))
    assert rows(place, session) == [row for row in before if row[0] <= last]
    assert (rows(place, parent), events(place, parent)) == (before, then)
    (forked,) = place.payloads(session, "session_forked")
    assert (forked["parent"], forked["turn"], forked["round"], forked["seq"]) == (parent, 1, 2, last)
    (columns,) = place.query("SELECT parent_session, parent_seq, title FROM sessions WHERE session_id=?", session)
    assert columns == (parent, last, "fork of survey this project")
    state = place.state(session)
    assert (state.turn, state.round, state.turn_open, state.money.cost_micro) == (1, 2, False, 0)


def test_the_gauge_of_a_fork_is_estimated_until_its_first_answer(place: Place, here: Here, parent: str) -> None:
    session = here("fork", parent, "1.3", "--json").json["session_id"]
    told = here("context", session, "--json").json
    asked = here("context", parent, "--round", "1.4", "--json").json
    assert (told["measured"], asked["measured"]) == ("estimated", "confirmed")
    assert 0.5 < told["used"] / asked["used"] < 2, "the parent's next request sent the same"
    assert (told["turn"], told["round"], told["provenance"]) == (1, 3, asked["provenance"])
    assert {block["state"] for block in told["blocks"]} == {"fixed", "verbatim"}
    done = here("run", "survey this project", "--session", session, "--approve", "reads")
    assert done.status == 0
    now = here("context", session, "--json").json
    assert (now["measured"], now["turn"]) == ("confirmed", 2)
    assert here("cost", session, "--json").json["by_purpose"]["turn"]["calls"] == now["round"]


def test_without_a_round_it_is_the_newest_that_has_ended(place: Place, here: Here, parent: str) -> None:
    made = here("fork", parent, "--json").json
    newest = place.state(parent)
    assert (made["parent"], made["turn"], made["round"]) == (parent, newest.turn, newest.round)
    assert rows(place, made["session_id"]) == rows(place, parent)
    again = here("fork", made["session_id"], "1", "--json").json
    assert (again["turn"], again["round"]) == (2, 1), "the newest turn that has such a round"


def test_a_round_that_is_not_there_is_answered_with_those_that_are(place: Place, here: Here, parent: str) -> None:
    found = here("fork", parent, "1.99")
    assert found.status == 2
    last = place.state(parent).round
    assert f"there is no round 1.99 in {parent}: it has 1.1 to 1." in found.line
    assert found.line.endswith(f", 2.1 to 2.{last}")
    assert "a round is written 7, or 2.7" in here("fork", parent, "last").line
    assert here("fork", "nobody").status == 2


def test_an_agent_cannot_fork_the_run_that_it_works_in(place: Place, here: Here, parent: str) -> None:
    refused = here("fork", parent, env={"GEODE_INSIDE_RUN": parent})
    assert refused.status == 2
    assert "fork is refused inside a run" in refused.line


def half(place: Place, parent: str, session_id: str) -> None:
    """What a worker leaves behind that died after the first slice of its copy."""
    db = connect(place.store)
    writer = Writer(db, place.store, session_id)
    writer.raise_epoch(NOW, title="t", prompt="p", options=place.query("SELECT options FROM sessions LIMIT 1")[0][0])
    point = place.read(lambda t: fork_point(t, parent, 1, 2))
    writer.write(lambda tx: copy_messages(tx, session_id, point), now=NOW, turn=0, round_=0)
    writer.close()


def test_a_copy_that_a_dead_worker_had_begun_is_finished_by_the_next(place: Place, parent: str) -> None:
    session = "half-copied"
    half(place, parent, session)
    client = place.client(session)
    assert client.wait(client.send(cmd.Fork(parent, 2, 1)), 20) == ("done", "")
    assert rows(place, session) == [row for row in rows(place, parent) if row[-2:] <= (2, 1)]
    assert events(place, session).count("session_forked") == 1


@pytest.mark.parametrize("command", [cmd.Fork("nobody"), cmd.Fork("?", 7, 7)])
def test_a_copy_that_cannot_be_made_is_refused_with_its_reason(place: Place, parent: str, command: cmd.Fork) -> None:
    session = f"refused-{command.turn}"
    half(place, parent, session)
    client = place.client(session)
    body = cmd.Fork(parent, command.turn, command.round) if command.parent == "?" else command
    outcome, detail = client.wait(client.send(body), 20) or ("", "")
    assert outcome == "refused"
    assert detail.startswith("there is no session nobody" if body is command else f"no round 7.7 of {parent} has ended")


def test_a_session_that_has_begun_is_not_overwritten(place: Place, here: Here, parent: str) -> None:
    session = here("fork", parent, "1.1", "--json").json["session_id"]
    before = rows(place, session)
    client = place.client(session)
    assert client.wait(client.send(cmd.Fork(parent)), 20) == ("refused", "this session has begun already")
    assert rows(place, session) == before


def test_the_view_and_its_offloaded_results_come_along(place: Place, here: Here, parent: str) -> None:
    source = here("fork", parent, "--json").json["session_id"]
    place.kill_worker(source)
    seq, call_id = place.query(
        "SELECT seq, tool_call_id FROM messages WHERE session_id=? AND role='tool' LIMIT 1", source
    )[0]
    stored = offloads.keep(place.geode, source, call_id, "the whole result", now=NOW)
    stub = Stub(seq, "[a result of ~9 tokens was masked]", stored.ref_id, 9)
    lost = Stub(seq, "[gone]", "never-stored", 9)
    version = Version(
        number=1, parent=0, group=1, cause="warning", operations=(Mask((lost, stub)),), newest=seq, made_at=NOW
    )
    writer = Writer(connect(place.store), place.store, source)
    writer.raise_epoch(NOW, title="", prompt="", options="")
    writer.write(lambda tx: add_version(tx, version), now=NOW, turn=2, round_=1)
    writer.close()
    made = here("fork", source, "--json")
    assert "1 offloaded results of" in made.err
    session = made.json["session_id"]
    row = place.row(session)
    assert row is not None
    assert place.read(lambda t: versions(t, row.number)) == [version]
    assert offloads.load(place.geode, session, stored.ref_id).text == "the whole result"
    told = here("context", session, "--json").json
    assert told["view"] == {"version": 1, "cause": "warning", "mode": "text"}
    assert [block["seq"] for block in told["blocks"] if block["state"] == "masked"] == [seq]
    lines = here("context", session).out.splitlines()
    assert "view: version 1, warning, 1 masked" in lines
    early = here("fork", source, "1.1", "--json")
    assert early.json["session_id"] != session
