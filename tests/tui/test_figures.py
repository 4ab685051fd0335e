"""One log, one set of figures: gauge, ``context --json``, ``/context``, the Context tab and status say the same; and
so do the meter, ``cost --json``, ``/cost``, the Cost tab and status.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from geode_tui.core import format as fmt
from geode_tui.tui.screens.modal import ReadScreen
from geode_tui.view import reports
from geode_tui.view.blocks import BlockEntry, block_table
from geode_tui.view.selectors import run_status
from geode_tui.view.state import Money, RunState
from tests.tui.driving import Driven, opened
from tests.tui.fakes import FIGURES, HELD, NOW, running_state, screen_text

ENTRIES = (BlockEntry(1, 1, 1, 0, "user", 30, "", "go"), BlockEntry(2, 2, 1, 1, "results", 900, "read_file", "core.py"))


def changed(**changes: Any) -> RunState:
    return running_state(newest_seq=2, prompt_upto=2, context=msgspec.structs.replace(FIGURES, dynamic=900, **changes))


async def read(driven: Driven, command: str) -> list[str]:
    """The lines that ``command`` shows."""
    await driven.type(command)
    await driven.until(lambda: isinstance(driven.app.screen, ReadScreen))
    lines = [" ".join(f"{left} {right}".split()) for left, right in driven.app.screen.pane.lines]  # type: ignore[attr-defined]
    await driven.pilot.press("escape")
    await driven.until(lambda: driven.app.screen is driven.screen)
    return lines


@pytest.mark.parametrize(
    ("changes", "percent", "level", "amount"),
    [
        ({}, "72 %", "warning", "264.9k of 367.2k"),
        ({"measured": "estimated"}, "~72 %", "warning", "264.9k of 367.2k"),
        ({"provenance": "unknown_fallback"}, "~72 %", "warning", "264.9k of an assumed 367.2k"),
        ({"used": 330_507, "parts": {"results": 330_507}}, "89 %", "warning", "330.5k of 367.2k"),
        ({"used": 440_000, "parts": {"results": 440_000}}, "119 %", "over", "440.0k of 367.2k"),
    ],
)
async def test_the_context_is_the_same_everywhere(
    changes: dict[str, Any], percent: str, level: str, amount: str
) -> None:
    state = changed(**changes)
    assert state.context is not None
    used = state.context.used
    async with opened(state, size=(120, 40)) as driven:
        driven.source.entries = ENTRIES
        side = [line[80:] for line in screen_text(driven.app)]
        assert any(percent in line and level in line for line in side)
        assert any(amount in line for line in side)

        table = block_table(ENTRIES, state)
        report = reports.context_report(state, table)
        assert (report["used"], report["budget"], report["state"]) == (used, 367_232, level)
        assert f"{int(report['percent'])} %" == percent.strip("~")

        line = f"{percent} {level} {amount}"
        context = await read(driven, "/context")
        assert context[0] == line
        for layer in report["layers"]:
            name = driven.screen.look.t(f"layer.{layer['layer']}")
            assert f"{name} {fmt.tokens(layer['tokens'])}" in context
        for part in report["rows"]:
            assert any(one.endswith(fmt.tokens(part["tokens"])) for one in context)
        assert sum(layer["tokens"] for layer in report["layers"]) == used

        assert f"Context {line}" in await read(driven, "/status")
        status = reports.status_report(state, run_status(state, HELD, NOW), HELD, [], NOW, [])
        assert status["context"] == {name: report[name] for name in ("used", "budget", "percent", "state")}

        driven.screen.choose_tab("context")
        await driven.until(lambda: driven.screen.context.rows)
        await driven.pilot.pause()
        rows = [one for one in driven.screen.context.rows if one.state != "unsent"]
        assert sum(one.tokens for one in rows) == used
        assert [one.tokens for one in rows] == [b["tokens"] for b in report["blocks"] if b["state"] != "unsent"]
        assert driven.sees(f"{fmt.tokens(used)} tok")


@pytest.mark.parametrize(
    ("money", "simulated", "said"),
    [
        (Money(1_840_000, 37), False, "$1.84 of $5.00 36 %"),
        (Money(1_840_000, 37), True, "$1.84 simulated of $5.00 36 %"),
        (Money(0, 2, 2), False, "unpriced of $5.00 0 %"),
    ],
)
async def test_the_cost_is_the_same_everywhere(money: Money, simulated: bool, said: str) -> None:
    state = running_state(money=money, simulated=simulated, by_model={"m-1": money}, by_purpose={"turn": money})
    async with opened(state, size=(120, 40)) as driven:
        assert any(said in " ".join(line[80:].split()) for line in screen_text(driven.app))
        report = reports.cost_report(
            session_id="s-1",
            month=None,
            money=state.money,
            by_model=state.by_model,
            by_purpose=state.by_purpose,
            simulated=simulated,
        )
        amount = "unpriced" if report["usd"] is None else f"${report['usd']}"
        assert said.startswith(amount)
        assert f"session {said}" in await read(driven, "/cost")
        assert f"Cost {said}" in await read(driven, "/status")
        driven.screen.choose_tab("cost")
        await driven.until(lambda: driven.sees("this session"))
        assert any(f"this session {said}" in " ".join(line.split()) for line in screen_text(driven.app))
        assert any(amount in line and "m-1" in line for line in screen_text(driven.app))
