"""The cost guard's effects: the warning, the limit told once, and the end of the turn."""

from __future__ import annotations

from geode_tui.core.endings import Ending
from geode_tui.core.events import CostLimitExceeded, CostWarning
from geode_tui.core.usage import usd
from geode_tui.runtime.guards import cost_warning_due
from geode_tui.runtime.session import Session, TurnEnd


async def check_cost(session: Session) -> None:
    """Warn once at 80 % of the cost budget, tell the limit once, and raise `TurnEnd` at it (RUNTIME.md 8.2)."""
    spent, limit = session.spent_micro, session.limits.cost_budget_micro
    if not limit:
        return
    if cost_warning_due(session.limits, spent) and not session.cost_warned:
        session.cost_warned = True
        await session.journal.write(lambda tx: tx.event(CostWarning(spent, limit)))
    if spent < limit:
        return
    if not session.cost_exceeded:
        session.cost_exceeded = True
        await session.journal.write(lambda tx: tx.event(CostLimitExceeded(spent, limit)))
    raise TurnEnd(Ending.COST_BUDGET_EXCEEDED, f"${usd(spent)} of ${usd(limit)} spent")
