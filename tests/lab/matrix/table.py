"""The expected table, and what a cell is when it is compared with it."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from tests.lab.matrix.cells import Cell
from tests.lab.matrix.runs import Outcome

EXPECTED = Path(__file__).parents[1] / "matrix_expected.toml"
MOST_NOT_APPLICABLE = 0.10
Verdict: TypeAlias = Literal["right", "explained", "not applicable", "wrong"]
_NOT_APPLICABLE = "not_applicable"


class Row(msgspec.Struct, frozen=True):
    """What a cell is to come to. ``why`` explains where its wire or server differs from the scenario's row."""

    outcome: Outcome
    why: str = ""


class Table:
    """The whole table."""

    def __init__(self, raw: Mapping[str, Mapping[str, Any]]) -> None:
        self._rows = {name: row for name, row in raw.items() if name != _NOT_APPLICABLE}
        self._left_out: Mapping[str, str] = raw.get(_NOT_APPLICABLE, {})

    def left_out(self, cell: Cell) -> str:
        """Why a cell means nothing; empty where it does."""
        return next((self._left_out[key] for key in _keys(cell) if key in self._left_out), "")

    def row(self, cell: Cell) -> Row:
        """What is expected of a cell."""
        scenario = self._rows[cell.scenario]
        fields = {name: value for name, value in scenario.items() if not isinstance(value, dict)}
        why = ""
        for key in (cell.wire, cell.server, f"{cell.server} {cell.wire}"):
            own = dict(scenario.get(key, {}))
            why = own.pop("why", why)
            fields |= own
        return Row(msgspec.convert(fields, Outcome), why)

    def judge(self, cell: Cell, outcome: Outcome) -> Verdict:
        """What a cell's outcome is."""
        row = self.row(cell)
        if outcome != row.outcome:
            return "wrong"
        return "explained" if row.why else "right"


def _keys(cell: Cell) -> Iterable[str]:
    """Names that a cell can be left out by, the narrowest first."""
    yield f"{cell.scenario} {cell.server} {cell.wire}"
    yield f"{cell.scenario} {cell.server}"
    yield f"{cell.scenario} {cell.wire}"


def expected() -> Table:
    """The table of the repository."""
    return Table(tomllib.loads(EXPECTED.read_text(encoding="utf-8")))


def summary(verdicts: Mapping[Cell, Verdict], skipped: Mapping[str, str]) -> list[str]:
    """The lines at the end: how many cells are what, and what was not run at all."""
    count = Counter(verdicts.values())
    figures = [f"{count[name]} {name}" for name in ("right", "explained", "not applicable", "wrong")]
    lines = [f"{len(verdicts)} cells: {', '.join(figures)}"]
    return [*lines, *(f"not run: {server} ({why})" for server, why in skipped.items())]
