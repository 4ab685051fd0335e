"""Measurements, not tests: `python -m tests.bench`. Budgets and limits are those of PERFORMANCE.md, "Budgets"."""
