"""A store and its writer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from geode_tui.log.store import connect
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Writer
from tests.log.stores import open_writer


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / ".geode" / "sessions.db"


@pytest.fixture
def writer(store: Path) -> Iterator[Writer]:
    made = open_writer(store)
    yield made
    made.close()


@pytest.fixture
def transcript(writer: Writer, store: Path) -> Iterator[Transcript]:
    db = connect(store)
    yield Transcript(db, store.parent)
    db.close()
