"""What the rules of every wire have in common: what they look at, and what an objection is.

A rule takes an `Inquiry` and returns a `Refused` or None. Each wire has its rules in its vendor's order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.lab.http import Received
from tests.lab.kinds import kind_of

Body: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Limits:
    """What the lab's model takes. Tokens."""

    window: int = 200_000
    max_output: int = 64_000
    models: tuple[str, ...] = ()
    """Known models; empty takes every name of the vendor's form (``claude-...``, ``gpt-...``)."""
    api_key: str | None = None
    """The one accepted key; None takes any."""
    bound_thinking: bool = False
    """Whether every model's thinking is valid only after the very conversation it was written in, not just that of
    the models that are known for it."""
    reject_at: float = 1.0
    """The share of ``window`` that is really taken: what the lab says of its models, it need not keep."""
    always_overflow: bool = False
    """Whether no request of the agent fits, whatever its size; those for a summary do."""


@dataclass(frozen=True)
class Refused:
    """An error answer. ``param`` and ``code`` only mean something to the vendors that name them. ``overflow``: the
    prompt does not fit."""

    status: int
    type: str
    message: str
    param: str | None = None
    code: str | None = None
    overflow: bool = False


@dataclass(frozen=True)
class Inquiry:
    """What the rules look at. ``count`` gives the prompt's tokens."""

    received: Received
    body: Body
    limits: Limits
    count: Callable[[Body], int]
    secret: bytes

    @property
    def headers(self) -> Mapping[str, str]:
        """The request's headers, names in lower case."""
        return self.received.headers

    def measure(self) -> tuple[int, int]:
        """The prompt's size, which goes on record, and the tokens that this request may take."""
        size = self.received.tokens = self.count(self.body)
        room = int(self.limits.window * self.limits.reject_at)
        hopeless = self.limits.always_overflow and kind_of(self.body) == "turn"
        return size, min(room, size - 1) if hopeless else room


Rule: TypeAlias = Callable[[Inquiry], "Refused | None"]


def refusal(inquiry: Inquiry, rules: Sequence[Rule]) -> Refused | None:
    """The first objection of ``rules``. That a prompt did not fit goes on record."""
    refused = next((refused for rule in rules if (refused := rule(inquiry))), None)
    inquiry.received.overflow |= refused is not None and refused.overflow
    return refused


def parsed(raw: bytes) -> Any:
    """The JSON value of ``raw``; raises ``ValueError`` where it is none."""
    return json.loads(raw)


def lone_surrogate(value: Any) -> int | None:
    """Where the JSON text of ``value`` holds half a character, None where it does not."""
    found = re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False))
    return found.start() if found else None


def bearer(headers: Mapping[str, str]) -> str:
    """The token of an ``Authorization: Bearer`` header, empty without one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
