"""The flags that `run` and `resume` share."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal

from cyclopts import Parameter

from geode_tui.cli.errors import CliError
from geode_tui.cli.options import Wishes
from geode_tui.core.usage import micro_usd

MODE_TIME_S = {"gateway": 120.0, "scheduler": 300.0}
"""Time budgets of the modes (RUNTIME.md 8.1); an interactive run has none."""


@Parameter(name="*")
@dataclass(frozen=True)
class LimitFlags:
    """None leaves the setting."""

    max_rounds: Annotated[int | None, Parameter(help="stop after this many rounds; 0 is no limit")] = None
    time_budget: Annotated[float | None, Parameter(help="seconds a turn may take; 0 is no limit")] = None
    session_budget: Annotated[float | None, Parameter(help="seconds the session may take; 0 is no limit")] = None
    cost_budget: Annotated[str | None, Parameter(help="USD the session may cost; 0 is no limit")] = None
    approve: Annotated[Literal["ask", "reads", "all"] | None, Parameter(help="what needs no asking")] = None
    seed: Annotated[int, Parameter(help="seed of the offline planner")] = 0
    wait_for_approval: Annotated[bool, Parameter(negative="", help="wait for an answer instead of refusing")] = False
    on_limit: Annotated[Literal["ask", "wrap-up", "stop"] | None, Parameter(help="what a near limit does")] = None
    model: Annotated[str, Parameter(help="the model that answers")] = ""
    provider: Annotated[str, Parameter(help="who serves it: anthropic, openai, codex, openrouter, glm, local")] = ""
    effort: Annotated[str, Parameter(help="how hard it thinks, in the model's own words")] = ""
    mode: Annotated[
        Literal["interactive", "gateway", "scheduler"], Parameter(help="default of the time budget: 0, 120, 300 s")
    ] = "interactive"

    def wishes(self) -> Wishes:
        """What the flags ask for. Raises `CliError` naming the flag that cannot be used."""
        for name in ("max_rounds", "time_budget", "session_budget"):
            if (getattr(self, name) or 0) < 0:
                raise CliError(f"--{name.replace('_', '-')} is 0 (no limit) or more")
        return Wishes(
            max_rounds=self.max_rounds,
            time_budget_s=self.time_budget if self.time_budget is not None else MODE_TIME_S.get(self.mode),
            session_budget_s=self.session_budget,
            cost_budget_micro=None if self.cost_budget is None else dollars(self.cost_budget),
            approve=self.approve,
            on_limit=self.on_limit,
            seed=self.seed,
            wait_for_approval=self.wait_for_approval,
            model=self.model,
            provider=self.provider,
            effort=self.effort,
        )


def dollars(text: str) -> int:
    """Micro-dollars of ``5``, ``0.50`` or ``$5``. Raises `CliError`."""
    try:
        amount = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        raise CliError(f"--cost-budget takes dollars, like 5 or 0.50, not {text!r}") from None
    if not amount.is_finite() or amount < 0:
        raise CliError("--cost-budget is 0 (no limit) or more")
    return micro_usd(amount)
