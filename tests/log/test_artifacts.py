"""Summaries as artifacts: whether a version of the view uses one is known, whatever came in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from geode_tui.log.views import Artifact, artifacts, keep_artifact, mark_applied, mark_not_applied, undecided
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
