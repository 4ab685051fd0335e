"""Months of the person's usage ledger, over all projects (PRODUCT.md, "Where things live")."""

from __future__ import annotations

import re
from pathlib import Path

from geode_tui.core.usage import MICRO, Usage
from geode_tui.log import ledger
from geode_tui.view.cost import MonthCost, added
from geode_tui.view.reports import PURPOSES
from geode_tui.view.state import Money

_FILE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])\Z")


def is_month(text: str) -> bool:
    """Whether ``text`` is written ``YYYY-MM``."""
    return _FILE.match(text) is not None


def month_cost(folder: Path, month: str) -> MonthCost:
    """What the calls of ``month`` cost. Simulated money is in no ledger; a subscription's is none that was spent."""
    total = Money()
    by_model: dict[str, Money] = {}
    by_purpose: dict[str, Money] = {}
    for entry in ledger.read_month(folder, month):
        part = _money(entry)
        total = added(total, part)
        by_model[entry.model] = added(by_model.get(entry.model, Money()), part)
        purpose = entry.role if entry.role in PURPOSES else "turn"
        by_purpose[purpose] = added(by_purpose.get(purpose, Money()), part)
    return MonthCost(month, total, by_model, by_purpose)


def months_until(folder: Path, present: str, most: int) -> tuple[MonthCost, ...]:
    """The month ``present``, and those before it that have a ledger, newest first; at most ``most``."""
    names = sorted((f.stem for f in folder.glob("*.jsonl") if is_month(f.stem) and f.stem < present), reverse=True)
    return tuple(month_cost(folder, name) for name in [present, *names][:most])


def _money(entry: ledger.Entry) -> Money:
    write_1h = entry.cache_w_1h or 0
    usage = Usage(
        entry.tokens_in, entry.tokens_out, entry.cache_r, max(0, entry.cache_w - write_1h), write_1h, entry.think
    )
    return Money(round(entry.cost * MICRO), 1, 0, usage)
