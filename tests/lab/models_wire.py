"""What the vendors say of their models, each in its own shape."""

from __future__ import annotations

from typing import Any

from tests.lab.http import Received, Response
from tests.lab.playing import NextReply, json_answer
from tests.lab.rules import Limits

MODELS = "/models"
_DEFAULTS = ("claude-sonnet-5", "gpt-6-sol")


class ModelsWire:
    """The list of models below any vendor's base path."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def respond(self, received: Received, _next_reply: NextReply) -> Response:
        """See `playing.Wire`. Anthropic's clients are told by their version header, routers by their path."""
        names = self._limits.models or _DEFAULTS
        if "anthropic-version" in received.headers:
            listed = [self._anthropic(name) for name in names]
            ends = {"first_id": names[0], "last_id": names[-1]}
            return json_answer(200, {"data": listed, "has_more": False, **ends})
        own = self._router if received.path.startswith("/api/v1/") else self._openai
        return json_answer(200, {"object": "list", "data": [own(name) for name in names]})

    def _anthropic(self, name: str) -> dict[str, Any]:
        return {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
            "max_input_tokens": self._limits.window,
            "max_tokens": self._limits.max_output,
        }

    def _openai(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": 1_767_225_600, "owned_by": "lab"}

    def _router(self, name: str) -> dict[str, Any]:
        limits = {"context_length": self._limits.window, "max_completion_tokens": self._limits.max_output}
        return {"id": name, "name": name, "context_length": self._limits.window, "top_provider": limits}
