"""A project and a person's folder, each with what a test writes into it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from geode_tui.memory.assembler import Places
from geode_tui.memory.files import Folder

Write = Callable[[str, str], Path]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for name in ("project/.geode", "home/.geode", "fixtures"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path.resolve()


@pytest.fixture
def places(base: Path) -> Places:
    return Places(
        Folder(base / "project", ""),
        Folder(base / "project/.geode", ".geode"),
        Folder(base / "home/.geode", "~/.geode"),
        Folder(base / "fixtures", "fixtures"),
    )


@pytest.fixture
def write(base: Path) -> Write:
    """Writes a file below the test's folder."""

    def written(name: str, text: str) -> Path:
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written
