"""The limits a run is given, and the policy it asks by."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Approve: TypeAlias = Literal["ask", "reads", "all"]
"""``ask``: every tool that reaches outside the conversation asks. ``reads``: reading inside the project is free, all
else asks. ``all``: nothing asks."""

OFFLOAD_THRESHOLD = 15_000
"""Tokens of a result above which it is stored outside the context (RUNTIME.md 4.1)."""
MAX_RESULT_TOKENS = 25_000
"""Tokens of a result above which it is cut, where it is not stored: the hard guard (RUNTIME.md 4.1, 4.8)."""

OnLimit: TypeAlias = Literal["ask", "wrap-up", "stop"]


class Limits(msgspec.Struct, frozen=True):
    """Bounds of a run; 0 means no limit. Times in seconds, money in micro-dollars (RUNTIME.md 8.1, 8.2)."""

    max_rounds: int = 0
    time_budget_s: float = 0.0
    session_budget_s: float = 7_200.0
    cost_budget_micro: int = 0


class ResultBounds(msgspec.Struct, frozen=True):
    """What one tool result may take, tokens: above ``offload`` it is stored, above ``most`` cut; 0 is no such bound."""

    offload: int = OFFLOAD_THRESHOLD
    most: int = MAX_RESULT_TOKENS


class Retention(msgspec.Struct, frozen=True):
    """How long stored results stay, seconds, once nothing refers to them, and what they may take together, bytes; 0 is
    no such bound. ``receipts_s`` is how long an untouched result stays after it was last stored.
    """

    results_s: float = 4.0 * 3_600
    quota: int = 1_000_000_000
    receipts_s: float = 30.0 * 86_400


class DreamRules(msgspec.Struct, frozen=True):
    """Whether a session dreams by itself, and the share of its cost budget that dreams may spend together."""

    enabled: bool = False
    share: float = 0.05


class RunOptions(msgspec.Struct, frozen=True):
    """What a run is started with: travels in its first command and is kept with the session."""

    model: str = ""
    provider: str = ""
    """The name under which the route was chosen (`providers.registry.SERVICES`)."""
    effort: str = ""
    """How hard the model is asked to think; empty leaves the route's default."""
    approve: Approve = "ask"
    limits: Limits = Limits()
    on_limit: OnLimit = "wrap-up"
    headless: bool = False
    wait_for_approval: bool = False
    """Headless, a call that needs an approval waits for ever instead of being refused after 120 s."""
    retry_for_s: float = 1_800.0
    seed: int = 0
    read_only: bool = False
    """Started in the home folder: only read tools."""
