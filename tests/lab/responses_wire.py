"""OpenAI's Responses wire, and the subscription's variant of it: a script's steps in, HTTP answers and events out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from tests.lab.diagnosis import Diagnosis, Sent
from tests.lab.http import Received, Response, Whole
from tests.lab.openai_rules import (
    failed_body,
    invalid,
    parse_body,
    refused_answer,
    vendors_words,
)
from tests.lab.playing import (
    REFUSAL,
    NextReply,
    Piece,
    Stream,
    WithParts,
    chunk_of,
    dumped,
    failed_with,
    json_answer,
    perform,
    sse,
)
from tests.lab.prefix_cache import Prefix, PrefixCache
from tests.lab.responses_items import Draft, drafts_of
from tests.lab.responses_rules import RULES, SEALED, prompt_parts
from tests.lab.rules import Inquiry, Limits, Refused, Rule, refusal
from tests.lab.scripts import Answer, Fail, Part, Say, StreamError, Think
from tests.lab.tokens import canonical, count_text, prompt_text

RESPONSES = "/v1/responses"
INPUT_TOKENS = "/v1/responses/input_tokens"
_INCOMPLETE = {"max_tokens": "max_output_tokens"}
_COMPLETE = frozenset({None, "end_turn", "tool_use", "refusal"})
_FOREIGN = frozenset({"pause_turn", "compaction", "stop_sequence", "model_context_window_exceeded"})
BILLS_WRITES = ("gpt-5.6", "gpt-6")
"""Models whose usage says what was written to the cache."""


class ResponsesWire:
    """One model behind the Responses API. It keeps the prompt cache and the numbering of ids."""

    rules: tuple[Rule, ...] = RULES

    def __init__(self, limits: Limits, cache: PrefixCache, secret: bytes, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._cache = cache
        self._secret = secret
        self._clock = clock
        self._numbers = count(1)
        self._call_numbers = count(1)
        self._diagnosis = Diagnosis("input_changed")

    def respond(self, received: Received, next_reply: NextReply) -> Response:
        """See `playing.Wire`."""
        if received.method != "POST":
            return self.refused(invalid(f"Invalid URL ({received.method} {received.path})", status=404))
        if received.too_large:
            return self.refused(invalid("Request body is too large.", status=413))
        body = parse_body(received.raw)
        if isinstance(body, Refused):
            return self.refused(body)
        inquiry = Inquiry(received, body, self._limits, self._measured, self._secret)
        refused = refusal(inquiry, self.rules)
        if refused:
            return self.refused(refused)
        if received.path == INPUT_TOKENS:
            return json_answer(200, {"object": "response.input_tokens", "input_tokens": self._measured(body)})
        return self.answered(inquiry, body, next_reply)

    def answered(self, inquiry: Inquiry, body: dict[str, Any], next_reply: NextReply) -> Response:
        """The answer to a request that no rule refuses."""
        if body.get("stream") is not True:
            return self.refused(invalid("This server only streams.", "stream"))
        return perform(self, body, next_reply(body))

    def refused(self, refused: Refused) -> Response:
        """A refusal in this wire's shape."""
        return refused_answer(refused)

    def stream(self, body: dict[str, Any], reply: WithParts) -> Stream:
        """See `playing.Voice`."""
        number = f"{next(self._numbers):04d}"
        prefix = self._cache.serve(f"{body['model']}\0{body.get('prompt_cache_key', '')}", _prompt(body))
        base = _response(number, body, int(self._clock()))
        base["prompt_cache_diagnostics"] = self._diagnosed(base["id"], body)
        drafts = list(self._drafts(number, body, reply))
        output = [draft.item for draft in drafts]
        reason = reply.stop_reason if isinstance(reply, Answer) else None
        usage = _usage(body, prefix, reply.parts, output) | (dict(reply.usage) if isinstance(reply, Answer) else {})
        final = {**base, **_ending(reason), "output": output, "usage": usage}
        numbered = _Numbered(self)
        opening = [numbered({"type": f"response.{kind}", "response": base}) for kind in ("created", "in_progress")]
        content = [numbered(event, chars, delay) for draft in drafts for event, chars, delay in draft.events]
        return Stream([*opening, *content], [numbered({"type": f"response.{final['status']}", "response": final})])

    def event(self, event: Mapping[str, Any]) -> bytes:
        """See `playing.Voice`."""
        return sse(dumped(event), event["type"])

    def error_event(self, error: StreamError) -> bytes:
        """See `playing.Voice`."""
        kind, code = vendors_words(error.type)
        failure = {"code": code or kind, "message": error.message}
        response = {"id": "resp_failed", "object": "response", "status": "failed", "error": failure, "output": []}
        return self.event({"type": "response.failed", "sequence_number": 0, "response": {**response, "usage": None}})

    def broken_event(self, data: str) -> bytes:
        """See `playing.Voice`."""
        return sse(data, "response.output_text.delta")

    def failed(self, fail: Fail) -> Whole:
        """See `playing.Voice`."""
        return failed_with(fail, failed_body(fail))

    def _measured(self, body: Mapping[str, Any]) -> int:
        return count_text(_prompt(body))

    def _diagnosed(self, answer_id: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Why the cache missed, where that was asked."""
        sent = Sent(
            (
                ("model_changed", str(body["model"])),
                ("prompt_cache_key_changed", str(body.get("prompt_cache_key"))),
                ("tools_changed", canonical(body.get("tools"))),
                ("reasoning_effort_changed", str((body.get("reasoning") or {}).get("effort"))),
            ),
            tuple(canonical(part) for part in prompt_parts(body)),
        )
        self._diagnosis.keep(answer_id, sent)
        asked = (body.get("prompt_cache_options") or {}).get("comparison_response_id")
        if asked is None:
            return None
        found = self._diagnosis.compare(asked, sent)
        if found is None:
            return {"type": "comparison_response_not_found"}
        if found.changed is None:
            return {"type": "cache_hit"}
        figures = {"cache_missed_tokens": found.lost, "comparison_reusable_tokens": found.reusable}
        return {"type": "cache_miss", "reason": found.changed, **figures}

    def _drafts(self, number: str, body: Mapping[str, Any], reply: WithParts) -> Iterator[Draft]:
        parts: tuple[Part, ...] = reply.parts
        refuses = isinstance(reply, Answer) and reply.stop_reason == "refusal"
        if refuses:
            parts = (*parts, Say(REFUSAL))
        asked = body.get("reasoning") or {}
        return drafts_of(
            number,
            parts,
            chunk=chunk_of(reply),
            secret=self._secret if SEALED in (body.get("include") or ()) else None,
            summarised=bool(asked.get("summary")),
            refuses=refuses,
            call_numbers=self._call_numbers,
        )


class _Numbered:
    """Events of one answer, numbered as they are sent."""

    def __init__(self, wire: ResponsesWire) -> None:
        self._wire = wire
        self._numbers = count()

    def __call__(self, event: Mapping[str, Any], chars: int = 0, delay_s: float = 0.0) -> Piece:
        return Piece(self._wire.event({**event, "sequence_number": next(self._numbers)}), chars, delay_s)


def _prompt(body: Mapping[str, Any]) -> str:
    return prompt_text(prompt_parts(body))


def _response(number: str, body: Mapping[str, Any], now: int) -> dict[str, Any]:
    asked = body.get("reasoning") or {}
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": now,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": body["model"],
        "output": [],
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": None,
        "prompt_cache_key": body.get("prompt_cache_key"),
        "reasoning": {"effort": asked.get("effort", "medium"), "summary": asked.get("summary")},
        "service_tier": "default",
        "store": body.get("store", True),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "truncation": body.get("truncation", "disabled"),
        "usage": None,
    }


def _ending(reason: str | None) -> dict[str, Any]:
    if reason in _FOREIGN:
        raise ValueError(f"the Responses wire has no word for {reason}")
    if reason in _COMPLETE:
        return {"status": "completed"}
    return {"status": "incomplete", "incomplete_details": {"reason": _INCOMPLETE.get(str(reason), reason)}}


def _usage(
    body: Mapping[str, Any], prefix: Prefix, parts: tuple[Part, ...], output: list[Mapping[str, Any]]
) -> dict[str, Any]:
    details: dict[str, Any] = {"cached_tokens": prefix.cached}
    if str(body["model"]).startswith(BILLS_WRITES):
        details["cache_write_tokens"] = prefix.written
        details["cache_write_tokens_details"] = {"ttl_30m_tokens": prefix.written, "ttl_12h_tokens": 0}
    reasoning = sum(count_text(part.text) for part in parts if isinstance(part, Think))
    spoken = [item for item in output if item["type"] != "reasoning"]
    written = max(1, reasoning + count_text(prompt_text(spoken)))
    return {
        "input_tokens": prefix.total,
        "input_tokens_details": details,
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": prefix.total + written,
    }
