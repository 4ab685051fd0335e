"""Run the matrix and print it: ``python -m tests.lab.matrix [--server NAME]... [--only TEXT] [--verbose]``."""

from __future__ import annotations

import argparse
import asyncio
import sys

from tests.lab.matrix.cells import SERVERS, Cell, cells
from tests.lab.matrix.runs import run_cell
from tests.lab.matrix.servers import Servers, missing
from tests.lab.matrix.table import MOST_NOT_APPLICABLE, Verdict, expected, summary


async def main() -> int:
    """Returns 1 when a cell is wrong, or when too many mean nothing."""
    parser = argparse.ArgumentParser("python -m tests.lab.matrix", description=__doc__)
    parser.add_argument("--server", action="append", choices=SERVERS, help="only this server (may be repeated)")
    parser.add_argument("--only", default="", help="only cells whose name (server wire scenario) holds this text")
    parser.add_argument("--verbose", action="store_true", help="also print the cells that are right")
    options = parser.parse_args()
    asked = options.server or SERVERS
    skipped = {server: why for server in asked if (why := missing(server))}
    wanted = [c for c in cells(*(s for s in asked if s not in skipped)) if options.only in str(c)]
    table, verdicts = expected(), dict[Cell, Verdict]()
    async with Servers() as servers:
        for cell in wanted:
            reason = table.left_out(cell)
            if reason:
                verdicts[cell], note = "not applicable", reason
            else:
                outcome = await run_cell(servers, cell)
                row, verdict = table.row(cell), table.judge(cell, outcome)
                verdicts[cell] = verdict
                note = row.why if verdict != "wrong" else f"\n    expected {row.outcome}\n    was      {outcome}"
            if options.verbose or verdicts[cell] != "right":
                print(f"{verdicts[cell]:<14} {cell!s:<36} {note}".rstrip(), flush=True)
    print("\n".join(summary(verdicts, skipped)))
    left_out = sum(verdict == "not applicable" for verdict in verdicts.values())
    too_many = not options.only and left_out > MOST_NOT_APPLICABLE * len(verdicts)
    return 1 if too_many or "wrong" in verdicts.values() else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
