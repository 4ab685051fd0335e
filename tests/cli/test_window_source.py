"""What the screens read of a run's context, out of a real store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.core import events as ev
from geode_tui.core.messages import Message, OpaqueBlock
from geode_tui.core.views import Clear, Mask, Native, Operation, Replay, Stub, Summarise, Trim, Version
from geode_tui.log.views import add_version
from geode_tui.log.writer import Tx, Writer
from geode_tui.paths import Project
from geode_tui.tui.source import SourceError
from tests.log.stores import NOW, SESSION, commit, open_writer
from tests.view.runs import view_changed

BLOCK = '{"type":"compaction","content":"%s","signature":"s"}'
OPERATIONS: tuple[tuple[Operation, str], ...] = (
    (Summarise(1, 3, "## Goal"), "## Goal"),
    (Trim(3, "Three messages are left out."), "Three messages are left out."),
    (Native(1, 3, BLOCK % "what was before", "anthropic"), "what was before"),
    (Native(1, 3, '{"encrypted":"x"}', "openai"), ""),
    (Replay(1), "in its answer"),
    (Replay(7), ""),
    (Clear(3), ""),
)
"""Operations, and what stands for the messages since."""


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    store = Project(tmp_path).store
    store.parent.mkdir(mode=0o700)
    return open_writer(store)


@pytest.fixture
def source(tmp_path: Path, writer: Writer) -> StoreSource:
    return StoreSource(Env(tmp_path, os.environ, project=Project(tmp_path)), SESSION)


def test_the_text_of_each_kind_of_compaction_is_read(writer: Writer, source: StoreSource) -> None:
    def work(tx: Tx) -> None:
        tx.add_message(Message("assistant", (OpaqueBlock("anthropic", "compaction", BLOCK % "in its answer"),)))
        for number, (operation, _) in enumerate(OPERATIONS, start=1):
            masked = Mask((Stub(2, "gone"),))
            add_version(tx, Version(number=number, parent=0, group=1, cause="manual", operations=(operation, masked)))

    commit(writer, work)
    assert [source.summary(number) for number in range(1, len(OPERATIONS) + 1)] == [text for _, text in OPERATIONS]
    with pytest.raises(SourceError, match="version 99 of the view is not in the log"):
        source.summary(99)


def test_what_a_version_lost_is_read_with_what_was_put_back(writer: Writer, source: StoreSource) -> None:
    lost = ev.LostItem("path", "a.py", 2), ev.LostItem("rule", "never", 1)
    commit(writer, lambda tx: tx.event(view_changed(1, {"summarise": 1}, lost=lost)))
    assert [(thing.text, thing.pinned) for thing in source.lost(1)] == [("a.py", False), ("never", False)]
    commit(writer, lambda tx: tx.event(view_changed(2, {"pin": 1}, cause="pin", back=(1, 0))))
    assert [(thing.text, thing.pinned) for thing in source.lost(1)] == [("a.py", True), ("never", False)]
    assert source.lost(9) == ()


def test_notes_are_read_by_the_rounds_they_came_in(writer: Writer, source: StoreSource) -> None:
    """A masking at the beginning of each round, beside another session's events."""
    other = open_writer(Project(source._env.project.root).store, "s-2")
    places = [(turn, round_) for turn in range(1, 4) for round_ in range(1, 31)]
    for number, (turn, round_) in enumerate(places, start=1):

        def work(tx: Tx, number: int = number) -> None:
            tx.event(view_changed(number, {"mask": number}))
            tx.event(ev.HandoffTriggered(SESSION, 600.0, 7_200.0, 600.0))
            tx.event(ev.MessageCompleted(number, number, "assistant", 9))

        writer.write(work, now=NOW, turn=turn, round_=round_)
        commit(other, lambda tx: tx.event(view_changed(1, {"mask": 1})))

    def counts(since: tuple[int, int], until: tuple[int, int] | None) -> list[int]:
        found = source.notes(since, until)
        assert all(note.seq == note.count - 1 for note in found), "each stands after the message before it"
        return [note.count for note in found]

    assert counts((1, 0), None) == list(range(2, 91)), "the first comes before any message"
    assert counts((1, 29), (2, 2)) == [30, 31, 32]
    assert counts((3, 29), None) == [90]
    assert counts((2, 0), (2, 0)) == []
    assert counts((9, 1), None) == []
