"""What a model is told of a tool, and what the rest of the program is told of a call."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec


class Safety(StrEnum):
    """How far a tool reaches; approvals are decided by it."""

    NOTE = "note"
    """Changes nothing but the run's own record (the plan)."""
    READ = "read"
    """Reads inside the project."""
    WRITE = "write"
    """Writes inside the project."""
    EXECUTE = "execute"
    """Runs a command: may reach anything the user can."""


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as it is advertised to a model. ``schema`` is a JSON schema of an object."""

    name: str
    description: str
    schema: Mapping[str, Any]
