"""What the tests of the tools share: a project, and calling a tool the way the runtime does."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from geode_tui.runtime.tools.base import ToolContext, ToolOutcome
from geode_tui.runtime.tools.registry import builtin_tools

Call = Callable[..., Awaitable[ToolOutcome]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    return folder


@pytest.fixture
def context(root: Path) -> ToolContext:
    return ToolContext(root=root, denied=(root / "keys.txt", root / "private"), session_id="s-1", deadline_s=20.0)


@pytest.fixture
def call(context: ToolContext) -> Call:
    """Prepares and runs a tool with keyword arguments."""
    tools = builtin_tools()

    async def run(tool: str, /, **arguments: Any) -> ToolOutcome:
        prepared = await tools[tool].prepare(json.dumps(arguments), context)
        return await prepared.run()

    return run
