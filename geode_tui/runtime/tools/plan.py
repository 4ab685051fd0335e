"""update_plan: the task list the agent keeps, shown beside the run."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from geode_tui.core.tools import Safety
from geode_tui.runtime.tools.arguments import Arguments
from geode_tui.runtime.tools.base import Prepared, Simple, Tool, ToolContext, ToolOutcome, ToolRefused
from geode_tui.runtime.tools.builtin import Builtin
from geode_tui.runtime.tools.texts import counted

_DESCRIPTION = """\
Record your plan as the full list of its steps; it replaces the list recorded before. Use it for work of several \
steps, and update it whenever a step begins or ends. At most one step is active."""


class PlanStep(Arguments, frozen=True):
    """One step of the plan."""

    step: Annotated[str, Meta(min_length=1, max_length=500, description="What is done in this step.")]
    status: Literal["pending", "active", "done"]


class PlanArguments(Arguments, frozen=True):
    """Arguments of update_plan."""

    steps: Annotated[tuple[PlanStep, ...], Meta(max_length=50, description="All steps, in order.")]


def update_plan_tool() -> Tool:
    """The tool update_plan."""
    return Builtin("update_plan", _DESCRIPTION, Safety.NOTE, PlanArguments, _brief, _prepare)


def _brief(arguments: PlanArguments) -> str:
    active = next((step.step for step in arguments.steps if step.status == "active"), "")
    return active or counted(len(arguments.steps), "step")


async def _prepare(arguments: PlanArguments, context: ToolContext) -> Prepared:
    active = sum(step.status == "active" for step in arguments.steps)
    if active > 1:
        raise ToolRefused(f"{active} steps are active: mark at most one as active")
    done = sum(step.status == "done" for step in arguments.steps)

    async def effect() -> ToolOutcome:
        if context.plan is not None:
            await context.plan(tuple((step.step, step.status) for step in arguments.steps))
        total = len(arguments.steps)
        summary = f"{done} of {total} done"
        ahead = next((s.step for s in arguments.steps if s.status == "active"), "") or next(
            (s.step for s in arguments.steps if s.status == "pending"), ""
        )
        text = f"plan noted: {summary}" + (f"; next: {ahead}" if ahead else "")
        return ToolOutcome(text, summary=summary, facts={"steps": total, "done": done})

    return Simple(effect)
