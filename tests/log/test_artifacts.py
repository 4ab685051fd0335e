"""Summaries as artifacts: whether a version of the view uses one is known, whatever came in between."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import ANY

import apsw
import pytest

from geode_tui.log.artifacts import DreamHealth, approve, dreamt_upto, forget, health, keep_dream
from geode_tui.log.views import (
    Artifact,
    artifact_id,
    artifacts,
    keep_artifact,
    mark_applied,
    mark_not_applied,
    undecided,
)
from geode_tui.log.writer import Tx, Writer
from tests.log.stores import SESSION, commit, open_writer

SUMMARY = Artifact("art_1", "compaction_summary", "what was said", 1, 9, {"trigger": "manual", "applied": False})


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return open_writer(tmp_path / ".geode" / "sessions.db")


def keep(tx: Tx) -> None:
    keep_artifact(tx, SESSION, SUMMARY)


def metadata(writer: Writer) -> dict[str, object]:
    (artifact,) = artifacts(writer.db, SESSION)
    return artifact.metadata


def test_a_summary_is_undecided_until_it_is_applied_or_given_up(writer: Writer) -> None:
    commit(writer, keep)
    assert undecided(writer.db, SESSION) == ["art_1"]
    assert undecided(writer.db, "another") == []
    commit(writer, lambda tx: mark_not_applied(tx, "art_1", "the worker stopped"))
    assert undecided(writer.db, SESSION) == []
    assert metadata(writer) == {**SUMMARY.metadata, "reason": "the worker stopped"}


def test_a_summary_that_was_given_up_can_be_written_again_and_applied(writer: Writer) -> None:
    commit(writer, keep)
    commit(writer, lambda tx: mark_not_applied(tx, "art_1", "the worker stopped"))
    commit(writer, keep)
    assert undecided(writer.db, SESSION) == ["art_1"]
    commit(writer, lambda tx: mark_applied(tx, "art_1"))
    assert metadata(writer) == {**SUMMARY.metadata, "applied": True}


def test_a_summary_that_a_version_uses_stays_applied_when_the_same_is_written_again(writer: Writer) -> None:
    commit(writer, keep)
    commit(writer, lambda tx: mark_applied(tx, "art_1"))
    commit(writer, keep)
    assert undecided(writer.db, SESSION) == []
    commit(writer, lambda tx: mark_not_applied(tx, "art_1", "the checkpoint failed"))
    assert metadata(writer) == {**SUMMARY.metadata, "applied": True}


# -- dreams -----------------------------------------------------------------------------------------------------------
def dream(upto: int, text: str = "what was said", start: int = 1) -> Artifact:
    named = artifact_id(SESSION, "dream", start, upto, text)
    return Artifact(named, "dream", text, start, upto, {"local": True, "cost_micro": 7, "marks": [{"line": 3}]})


def test_there_is_one_dream_up_to_a_message_whoever_writes_it(writer: Writer) -> None:
    """B110: the store itself refuses another."""
    assert commit(writer, lambda tx: keep_dream(tx, SESSION, dream(40))) is True
    assert commit(writer, lambda tx: keep_dream(tx, SESSION, dream(40, "in other words"))) is False
    assert commit(writer, lambda tx: keep_dream(tx, SESSION, dream(39, "late"))) is False
    with pytest.raises(apsw.ConstraintError):
        commit(writer, lambda tx: keep_artifact(tx, SESSION, dream(40, "past the check")))
    assert commit(writer, lambda tx: keep_dream(tx, SESSION, dream(41))) is True
    assert [found.source_end_seq for found in artifacts(writer.db, SESSION, newest=1)] == [41]
    assert health(artifacts(writer.db, SESSION), 43) == DreamHealth(2, 2, ANY, 41, local=True, cost_micro=14)


def test_what_is_forgotten_leaves_its_row_and_cannot_come_back(writer: Writer) -> None:
    kept = dream(40)
    commit(writer, lambda tx: keep_dream(tx, SESSION, kept))
    assert commit(writer, lambda tx: approve(tx, SESSION, kept.artifact_id, "person")) == "dream"
    assert commit(writer, lambda tx: forget(tx, "another", kept.artifact_id, "person", "wrong")) is None
    assert commit(writer, lambda tx: forget(tx, SESSION, kept.artifact_id, "person", "wrong")) == "dream"
    assert commit(writer, lambda tx: forget(tx, SESSION, kept.artifact_id, "person", "again")) is None
    assert commit(writer, lambda tx: approve(tx, SESSION, kept.artifact_id, "person")) is None
    commit(writer, lambda tx: keep_artifact(tx, SESSION, kept))
    (gone,) = artifacts(writer.db, SESSION)
    assert (gone.content, gone.metadata["forgotten"]["why"], "marks" in gone.metadata) == ("", "wrong", False)
    assert dreamt_upto(writer.db, SESSION) == 40
