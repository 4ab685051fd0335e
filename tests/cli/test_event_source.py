"""A run's events out of a real store: windows, names, and the exported file."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from geode_tui.cli.env import Env
from geode_tui.cli.event_source import EXPORTS, StoreEvents
from geode_tui.core.events import ObserverFailed
from geode_tui.log.browse import EventQuery
from geode_tui.log.writer import Tx
from geode_tui.paths import Project
from geode_tui.tui.source import SourceError
from tests.log.stores import SESSION, commit, facts, open_writer


@pytest.fixture
def source(tmp_path: Path) -> StoreEvents:
    store = Project(tmp_path).store
    store.parent.mkdir(mode=0o700)
    writer = open_writer(store)
    facts(writer, 30)
    hostile = ObserverFailed("\x1b]52;c;AA\x07 [b]x[/b]", "the key is hunter2-hunter2")
    commit(writer, lambda tx: tx.event(hostile))
    facts(open_writer(store, "s-2"), 5)
    return StoreEvents(Env(tmp_path, {**os.environ, "A_TOKEN": "hunter2-hunter2"}, project=Project(tmp_path)), SESSION)


def test_windows_and_names_are_the_sessions_own(source: StoreEvents) -> None:
    page = source.events(EventQuery(), before=1 << 60, limit=10)
    assert len(page.rows) == 10
    assert page.rows[-1].event == "observer_failed"
    assert not page.done
    assert source.event_names() == {"handoff_triggered": 30, "observer_failed": 1}
    assert len(source.events(EventQuery(hidden=frozenset({"handoff_triggered"})), after=0).rows) == 1


def test_a_session_that_has_not_begun_has_no_events(tmp_path: Path, source: StoreEvents) -> None:
    unborn = StoreEvents(source._env, "s-9")
    assert unborn.events(EventQuery(), after=0).rows == ()
    assert unborn.event_names() == {}


def test_the_export_is_json_lines_that_only_the_person_can_read_and_that_hold_no_secret(source: StoreEvents) -> None:
    done = source.export_events(
        EventQuery(), lambda row: row.id % 2 == 1 or row.event == "observer_failed", threading.Event()
    )
    path = Path(done.path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.parent.name == EXPORTS
    text = path.read_text(encoding="utf-8")
    objects = [json.loads(line) for line in text.splitlines()]
    assert len(objects) == done.count
    assert [o["id"] for o in objects] == sorted(o["id"] for o in objects)
    assert set(objects[0]) == {"id", "ts", "session_id", "turn", "round", "event", "payload"}
    assert {o["session_id"] for o in objects} == {SESSION}
    assert objects[-1]["payload"]["error"] == "the key is [redacted]"
    assert "\x1b" not in text
    assert "\\u001b" not in text


def test_an_export_that_is_given_up_leaves_nothing_behind(source: StoreEvents) -> None:
    stop = threading.Event()

    def admits(row: object) -> bool:
        stop.set()
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("geode_tui.log.browse.PAGE", 5)
        patch.setattr("geode_tui.log.browse.SLICE", 5)
        patch.setattr("geode_tui.log.browse.SLICES", 1)
        with pytest.raises(SourceError, match="given up"):
            source.export_events(EventQuery(), admits, stop)
    assert list((source._env.project.geode / EXPORTS).iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told(source: StoreEvents) -> None:
    (source._env.project.geode / EXPORTS).write_text("in the way")
    with pytest.raises(SourceError, match="exports"):
        source.export_events(EventQuery(), lambda _: True, threading.Event())


def test_a_payload_that_is_no_json_is_exported_as_text(source: StoreEvents) -> None:
    def damage(tx: Tx) -> None:
        tx._db.execute("UPDATE events SET payload='damaged {' WHERE event='observer_failed'")

    commit(open_writer(source._env.project.store), damage)
    done = source.export_events(EventQuery(text="damaged"), lambda _: True, threading.Event())
    assert json.loads(Path(done.path).read_text(encoding="utf-8"))["payload"] == "damaged {"
