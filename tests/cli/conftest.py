"""A place of its own for every test, and commands that run inside this process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from geode_tui.__main__ import main
from tests.cli.place import Finished, Place

Here = Callable[..., Finished]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.close()


@pytest.fixture
def here(place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Runs a command in this process, with the place's folders and environment: for what prints and is over."""

    def run(*arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> Finished:
        for name, value in {**place.environment, **(env or {})}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(cwd or place.root)
        monkeypatch.setattr(sys, "argv", ["geode-tui", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Finished(left.value.code, out, err)

    return run
