"""Windows on the events of a session: whole, in order, filtered alike by the store and by hand, in bounded reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode_tui.core.events import EventRow
from geode_tui.log import browse
from geode_tui.log.browse import EventQuery, every, names, newer, older
from geode_tui.log.store import connect, create

NAMES = ("alpha", "Beta_9", "gamma")
PAYLOADS = ('{"path":"src/Main.py"}', '{"text":"say \\"hi\\"\\nthen"}', '{"word":"한글 É"}', "damaged [")


class Log(NamedTuple):
    db: apsw.Connection
    rows: list[EventRow]
    """Those of session 1."""


def fill(db: apsw.Connection, count: int) -> list[EventRow]:
    """Events of two sessions, one another's neighbours."""
    mine = []
    with db:
        for number in range(1, count + 1):
            row = EventRow(
                number + 100, 1.0, number // 50, number // 5 % 10, NAMES[number % 3], PAYLOADS[number // 7 % 4]
            )
            session = 1 if number % 4 else 2
            values = (row.id, session, row.ts, row.turn, row.round, row.event, row.payload)
            db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", values)
            if session == 1:
                mine.append(row)
    return mine


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Log]:
    store: Path = tmp_path_factory.mktemp("browse") / "sessions.db"
    create(store).close()
    db = connect(store)
    yield Log(db, fill(db, 250))
    db.close()


QUERIES = st.builds(
    EventQuery,
    text=st.sampled_from(["", "ALPHA", "beta_", "src/main", 'say "hi"', "hi\nthen", "한글", "é", "É", "%", "d ["]),
    hidden=st.frozensets(st.sampled_from([*NAMES, "absent"])),
    only=st.none() | st.frozensets(st.sampled_from(NAMES)),
    turn=st.none() | st.integers(0, 8),
    round=st.none() | st.integers(0, 9),
)


@settings(max_examples=40)
@given(query=QUERIES, slice_=st.integers(20, 300), slices=st.integers(1, 5), limit=st.integers(5, 90))
def test_pages_in_either_direction_join_to_what_is_wanted_and_to_nothing_else(
    log: Log, query: EventQuery, slice_: int, slices: int, limit: int
) -> None:
    wanted = [row for row in log.rows if query.matches(row)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(browse, "SLICE", slice_)
        patch.setattr(browse, "SLICES", slices)
        found: list[EventRow] = []
        page = older(log.db, 1, query, 10_000, limit)
        found = [*page.rows]
        while not page.done:
            page = older(log.db, 1, query, page.reached, limit)
            found = [*page.rows, *found]
        assert found == wanted
        page = newer(log.db, 1, query, 0, limit)
        found = [*page.rows]
        while not page.done:
            page = newer(log.db, 1, query, page.reached, limit)
            found += page.rows
        assert found == wanted
        assert [row for page in every(log.db, 1, query) for row in page] == wanted


def test_names_are_counted(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browse, "SLICE", 33)
    assert names(log.db, 1) == Counter(row.event for row in log.rows)


def test_a_session_without_events_has_none(log: Log) -> None:
    assert older(log.db, 9, EventQuery(), 1_000).rows == ()
    assert older(log.db, 9, EventQuery(), 1_000).done
    assert newer(log.db, 9, EventQuery(), 0).done
    assert list(every(log.db, 9, EventQuery())) == []
    assert names(log.db, 9) == {}


def test_a_filter_that_nothing_passes_comes_back_before_it_has_seen_the_whole_log(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse, "SLICE", 10)
    monkeypatch.setattr(browse, "SLICES", 3)
    page = older(log.db, 1, EventQuery(text="absent"), 351)
    assert page.rows == ()
    assert (page.reached, page.done) == (321, False)
    assert page.left == 321 - log.rows[0].id
