"""What is crossed: wires, scenarios and servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WIRES: Final = ("anthropic", "responses", "codex", "chat")
SCENARIOS: Final = (
    "text",
    "parallel",
    "thinking",
    "auth",
    "billing",
    "rate_limit",
    "overloaded",
    "server",
    "overflow",
    "cut_before",
    "cut_after",
    "stall",
    "malformed_sse",
    "malformed_arguments",
    "empty",
    "refusal",
    "pause",
    "output_limit",
)
SERVERS: Final = ("lab", "llmock", "aimock")
MODELS: Final = {
    "anthropic": "claude-sonnet-5",
    "responses": "gpt-6-sol",
    "codex": "gpt-6-sol",
    "chat": "glm-5.3",
}
WINDOW: Final = 20_000
"""Tokens the lab's model takes where a prompt is not to fit."""


@dataclass(frozen=True, order=True)
class Cell:
    """One crossing."""

    server: str
    wire: str
    scenario: str

    @property
    def prompt(self) -> str:
        """What the person asks. It names the cell, and is too long where the server counts."""
        asked = f"cell {self.wire} {self.scenario}."
        return asked + " word" * (5 * WINDOW) if (self.scenario, self.server) == ("overflow", "lab") else asked

    def __str__(self) -> str:
        return f"{self.server} {self.wire} {self.scenario}"


def cells(*servers: str) -> list[Cell]:
    """Every cell of ``servers``."""
    return [Cell(server, wire, scenario) for server in servers for wire in WIRES for scenario in SCENARIOS]
