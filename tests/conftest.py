"""What every test has: folders of its own for everything that is the person's, and no worker that outlives it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from geode_tui.core.text import SECRET_ENV
from geode_tui.log.lease import worker_pids
from tests.memory import in_memory

# The suite gives the same verdict for the same code; new examples are looked for by `make check`.
settings.register_profile("geode", deadline=None, database=None, max_examples=25, derandomize=True)
settings.register_profile("wide", deadline=None, database=None, max_examples=200)
settings.load_profile("geode")


def pytest_configure() -> None:
    """Have the tests' folders made in memory, unless it was said where."""
    if (memory := in_memory()) is not None:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", memory)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new folder each time. `mktemp` would look at every folder there is to find the next number."""
    within = tmp_path_factory.mktemp("homes")
    return (within / str(number) for number in count())


@pytest.fixture(autouse=True)
def person(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's folders, empty: nothing of the machine's owner is read or written, no key is seen."""
    home = next(homes)
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(("GEODE_", "XDG_", "ANTHROPIC_", "OPENAI_")) or SECRET_ENV.search(name):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GEODE_TUI_HOME", str(home / "geode-tui"))
    # No test speaks TLS, and reading the machine's certificates takes longer than most of them.
    monkeypatch.setenv("SSL_CERT_DIR", str(home))
    return home


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """An empty project. A worker that a test leaves behind here ends with the test."""
    root = (tmp_path / "project").resolve()
    root.mkdir()
    (root / ".git").mkdir()
    yield root
    for pid in worker_pids(root / ".geode").values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
