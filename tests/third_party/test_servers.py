"""The whole program against servers that others wrote: the wires are not only what this project takes them for.

They are installed by ``make third-party`` and skipped where they are not.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.lab.matrix.cells import Cell, cells
from tests.lab.matrix.runs import run_cell
from tests.lab.matrix.servers import AIMOCK, Servers, missing
from tests.lab.matrix.table import expected

TABLE = expected()
CELLS = [cell for cell in cells("llmock", "aimock") if not TABLE.left_out(cell)]
NAMED = os.environ.get(AIMOCK)
"""Read before every test forgets the person's variables."""

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers() -> AsyncIterator[Servers]:
    """The servers' processes, each started once."""
    async with Servers() as running:
        yield running


@pytest.mark.parametrize("cell", CELLS, ids=str)
async def test_a_cell_comes_to_what_was_expected(cell: Cell, servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    if NAMED:
        monkeypatch.setenv(AIMOCK, NAMED)
    if why := missing(cell.server):
        pytest.skip(why)
    assert await run_cell(servers, cell) == TABLE.row(cell).outcome
