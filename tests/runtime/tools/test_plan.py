"""update_plan."""

from __future__ import annotations

import pytest

from geode_tui.runtime.tools.base import ToolContext, ToolRefused
from tests.runtime.tools.conftest import Call


def steps(*statuses: str) -> list[dict[str, str]]:
    return [{"step": f"step {number}", "status": status} for number, status in enumerate(statuses)]


async def test_the_steps_are_recorded(call: Call, context: ToolContext) -> None:
    recorded: list[tuple[tuple[str, str], ...]] = []

    async def record(plan: tuple[tuple[str, str], ...]) -> None:
        recorded.append(plan)

    context.plan = record
    outcome = await call("update_plan", steps=steps("done", "active", "pending"))
    assert recorded == [(("step 0", "done"), ("step 1", "active"), ("step 2", "pending"))]
    assert (outcome.text, outcome.summary) == ("plan noted: 1 of 3 done; next: step 1", "1 of 3 done")


@pytest.mark.parametrize(
    "wrong", [steps("active", "active"), steps(*["pending"] * 51), steps("begun"), [{"step": "", "status": "done"}]]
)
async def test_a_plan_that_breaks_the_rules_is_refused(call: Call, wrong: list[dict[str, str]]) -> None:
    with pytest.raises(ToolRefused):
        await call("update_plan", steps=wrong)
