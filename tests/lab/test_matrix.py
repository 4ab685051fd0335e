"""Each scenario on each wire against the lab, run by the whole program, comes to what the table says."""

from __future__ import annotations

import pytest

from tests.lab.matrix.cells import SCENARIOS, WIRES, Cell, cells
from tests.lab.matrix.runs import Outcome, run_cell
from tests.lab.matrix.servers import Servers
from tests.lab.matrix.table import MOST_NOT_APPLICABLE, Table, expected, summary

TABLE = expected()
LAB = [cell for cell in cells("lab") if not TABLE.left_out(cell)]
FEW = [
    cell
    for cell in LAB
    if cell.scenario in {"thinking", "overflow"}
    or cell.wire == ("anthropic" if cell.scenario == "pause" else WIRES[SCENARIOS.index(cell.scenario) % len(WIRES)])
]
"""Each scenario on one wire, and on every wire the two that differ most from one to the next."""
REST = [cell for cell in LAB if cell not in FEW]


async def assert_expected(cell: Cell) -> None:
    async with Servers() as servers:
        assert await run_cell(servers, cell) == TABLE.row(cell).outcome


@pytest.mark.parametrize("cell", FEW, ids=str)
async def test_a_cell_comes_to_what_was_expected(cell: Cell) -> None:
    await assert_expected(cell)


@pytest.mark.long
@pytest.mark.parametrize("cell", REST, ids=str)
async def test_the_other_cells_come_to_what_was_expected(cell: Cell) -> None:
    await assert_expected(cell)


def test_the_table_names_every_scenario_and_leaves_few_cells_out() -> None:
    every = cells("lab", "llmock", "aimock")
    left_out = [cell for cell in every if TABLE.left_out(cell)]
    assert len(every) == 216
    assert 0 < len(left_out) <= MOST_NOT_APPLICABLE * len(every)
    for cell in every:
        assert TABLE.row(cell).outcome.events.startswith("ask ")
    assert {cell.scenario for cell in FEW} == set(SCENARIOS)


def test_a_difference_is_explained_by_the_narrowest_row_that_gives_a_reason() -> None:
    row = {"ending": "natural", "exit": 0, "events": "ask end_turn"}
    own = {"codex": {"exit": 1, "why": "by wire"}, "lab codex": {"exit": 2, "why": "by both"}}
    table = Table({"text": {**row, **own}, "not_applicable": {"text lab chat": "it has none"}})
    plain, by_wire, by_both = (Cell(s, w, "text") for s, w in (("lab", "anthropic"), ("x", "codex"), ("lab", "codex")))
    assert table.judge(plain, Outcome("natural", 0, "ask end_turn")) == "right"
    assert table.judge(plain, Outcome("natural", 1, "ask end_turn")) == "wrong"
    assert (table.row(by_wire).why, table.row(by_wire).outcome.exit) == ("by wire", 1)
    assert (table.row(by_both).why, table.row(by_both).outcome.exit) == ("by both", 2)
    assert table.judge(by_both, Outcome("natural", 2, "ask end_turn")) == "explained"
    assert (table.left_out(Cell("lab", "chat", "text")), table.left_out(plain)) == ("it has none", "")
    lines = summary({plain: "right", by_both: "explained"}, {"aimock": "not installed"})
    assert lines == [
        "2 cells: 1 right, 1 explained, 0 not applicable, 0 wrong",
        "not run: aimock (not installed)",
    ]
