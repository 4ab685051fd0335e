"""The Anthropic Messages wire: steps of a script in, HTTP answers and server-sent events out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias

from tests.lab.anthropic_edits import Edited, edited, edited_tokens
from tests.lab.anthropic_rules import COUNT_RULES, RULES, binds_thinking, invalid, parse_body
from tests.lab.cache import PromptCache, Split, prompt_tokens
from tests.lab.compaction import Swap, asked_compaction, compaction, opening
from tests.lab.diagnosis import Diagnosis, Sent
from tests.lab.http import Received, Response, Whole
from tests.lab.on_demand import Written, written
from tests.lab.place import place_of, sign
from tests.lab.playing import (
    NextReply,
    Piece,
    Stream,
    WithParts,
    arguments_text,
    chunk_of,
    cut_up,
    dumped,
    failed_with,
    json_answer,
    perform,
    sse,
    texts_of,
)
from tests.lab.rules import Inquiry, Limits, Refused, refusal
from tests.lab.scripts import Answer, Block, Call, Fail, Part, Say, StreamError, Think
from tests.lab.tokens import canonical, count_block, count_text, text_blocks

MESSAGES = "/v1/messages"
COUNT_TOKENS = "/v1/messages/count_tokens"

Event: TypeAlias = Mapping[str, Any]


class AnthropicWire:
    """One model behind the Messages API. It keeps the prompt cache and the numbering of ids."""

    def __init__(self, limits: Limits, cache: PromptCache, secret: bytes) -> None:
        self._limits = limits
        self._cache = cache
        self._secret = secret
        self._message_numbers = count(1)
        self._call_numbers = count(1)
        self._compactions = count(1)
        self._diagnosis = Diagnosis("messages_changed")

    def respond(self, received: Received, next_reply: NextReply) -> Response:
        """See `playing.Wire`."""
        if received.method != "POST" or received.path not in {MESSAGES, COUNT_TOKENS}:
            return _error(Refused(404, "not_found_error", "Not found"))
        if received.too_large:
            return _error(Refused(413, "request_too_large", "Request exceeds the maximum size"))
        body = parse_body(received.raw)
        if isinstance(body, Refused):
            return _error(body)
        inquiry = Inquiry(received, body, self._limits, edited_tokens, self._secret)
        if received.path == COUNT_TOKENS:
            refused = refusal(inquiry, COUNT_RULES)
            return _error(refused) if refused else json_answer(200, _count(body))
        refused = refusal(inquiry, RULES)
        if refused is None and body.get("stream") is not True:
            refused = invalid("stream: this server only streams")
        return _error(refused) if refused else perform(self, body, next_reply(body))

    def stream(self, body: dict[str, Any], reply: WithParts) -> Stream:
        """See `playing.Voice`."""
        if body.get("compaction") is not None:
            return self._on_demand(body, reply)
        prompt = edited(body)
        begun = usage = _prompt_usage(self._cache.serve(prompt.body))
        chunk = chunk_of(reply)
        blocks = [self._numbered(part) for part in reply.parts]
        compacted = self._compacted(prompt) if prompt.compacts else None
        if compacted is not None:
            blocks.insert(0, _streamed(compacted))
            after = {**prompt.body, "messages": [{"role": "assistant", "content": [compacted]}]}
            usage = _prompt_usage(self._cache.serve(after))
        extra = reply.usage if isinstance(reply, Answer) else {}
        content = self._begun(body, {**begun, "output_tokens": 1, "service_tier": "standard", **extra})
        done: list[Mapping[str, Any]] = []
        for index, part in enumerate(blocks):
            signature = self._signature(part, body, done)
            content += self._block_pieces(index, part, signature, chunk)
            done.append(_finished_block(part, signature))
        counted = {**_flat(usage), **_output_usage(reply.parts, done[compacted is not None :]), **extra}
        if compacted is not None:
            counted["iterations"] = [_iteration("compaction", begun, compacted), {"type": "message", **counted}]
        applied = {"context_management": {"applied_edits": prompt.applied}} if "context_management" in body else {}
        closing: list[Event] = [
            {"type": "message_delta", "delta": _ending(reply, blocks), "usage": counted, **applied},
            {"type": "message_stop"},
        ]
        return Stream(content, [self._piece(event) for event in closing])

    def _begun(self, body: dict[str, Any], usage: Mapping[str, Any]) -> list[Piece]:
        """What every answer begins with."""
        message_id = f"msg_{next(self._message_numbers):04d}"
        message = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
            **self._diagnosed(message_id, body),
        }
        return [self._piece({"type": "message_start", "message": message}), self._piece({"type": "ping"})]

    def _on_demand(self, body: dict[str, Any], reply: WithParts) -> Stream:
        """The answer to a request for a compaction: the block in one piece, or nothing where no summary came of it.
        The call is reported as an iteration alone."""
        read = _prompt_usage(self._cache.serve(body))
        made = written(reply)
        spent = sum(count_text(part.text) for part in reply.parts if isinstance(part, Say | Think))
        extra = reply.usage if isinstance(reply, Answer) else {}
        nothing = {"input_tokens": 0, "output_tokens": 0}
        content = self._begun(body, nothing)
        if (block := self._asked_for(body, made)) is not None:
            content += [
                self._piece(
                    {"type": "content_block_start", "index": 0, "content_block": block}, len(block["content"] or "")
                ),
                self._piece({"type": "content_block_stop", "index": 0}),
            ]
        iteration = {"type": "compaction", **read, "output_tokens": spent, **extra}
        closing: list[Event] = [
            {
                "type": "message_delta",
                "delta": {"stop_reason": made.stop_reason, "stop_sequence": None},
                "usage": {**nothing, "iterations": [iteration]},
            },
            {"type": "message_stop"},
        ]
        return Stream(content, [self._piece(event) for event in closing])

    def _asked_for(self, body: Mapping[str, Any], made: Written) -> Mapping[str, Any] | None:
        """The block that was asked for. Only a model that binds thinking to what stands before it can tell what did."""
        if made.block is not None or not made.text:
            return made.block
        place = place_of(self._secret, body["messages"])
        names = place.names if binds_thinking(self._limits, body["model"]) else ()
        return asked_compaction(self._secret, made.text, Swap(names, body["messages"][-1]["role"]))

    def event(self, event: Event) -> bytes:
        """See `playing.Voice`."""
        return sse(dumped(event), event["type"])

    def error_event(self, error: StreamError) -> bytes:
        """See `playing.Voice`."""
        return self.event(_error_body(error.type, error.message))

    def broken_event(self, data: str) -> bytes:
        """See `playing.Voice`."""
        return sse(data, "content_block_delta")

    def failed(self, fail: Fail) -> Whole:
        """See `playing.Voice`."""
        return failed_with(fail, _error_body(fail.type, fail.message, fail.details))

    def _compacted(self, prompt: Edited) -> dict[str, Any]:
        read = len(prompt.body["messages"])
        said = f"Summary {next(self._compactions)} of {read} messages: the work went on as it was asked for."
        return compaction(self._secret, f"<summary>\n{said}\n</summary>")

    def _piece(self, event: Event, chars: int = 0, delay_s: float = 0.0) -> Piece:
        return Piece(self.event(event), chars, delay_s)

    def _block_pieces(self, index: int, part: Part, signature: str, chunk: int | None) -> list[Piece]:
        start, deltas = _start_and_deltas(part, signature, chunk)
        return [
            self._piece({"type": "content_block_start", "index": index, "content_block": start}),
            *(
                self._piece({"type": "content_block_delta", "index": index, "delta": delta}, chars, delay)
                for delta, chars, delay in deltas
            ),
            self._piece({"type": "content_block_stop", "index": index}),
        ]

    def _diagnosed(self, message_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The field that says why the cache missed, where that was asked."""
        sent = Sent(
            (
                ("model_changed", str(body["model"])),
                ("system_changed", canonical(text_blocks(body.get("system", ())))),
                ("tools_changed", canonical(body.get("tools", []))),
            ),
            tuple(canonical([m["role"], text_blocks(m["content"])]) for m in body["messages"]),
        )
        self._diagnosis.keep(message_id, sent)
        if "diagnostics" not in body:
            return {}
        previous = body["diagnostics"].get("previous_message_id")
        if previous is None:
            return {"diagnostics": None}
        found = self._diagnosis.compare(previous, sent)
        if found is None:
            return {"diagnostics": {"cache_miss_reason": {"type": "previous_message_not_found"}}}
        reason = {"type": found.changed, "cache_missed_input_tokens": found.lost}
        return {"diagnostics": {"cache_miss_reason": reason} if found.changed else None}

    def _numbered(self, part: Part) -> Part:
        if isinstance(part, Call) and not part.id:
            return replace(part, id=f"toolu_{next(self._call_numbers):02d}")
        return part

    def _signature(self, part: Part, body: Mapping[str, Any], beside: list[Mapping[str, Any]]) -> str:
        if not isinstance(part, Think):
            return ""
        if part.signature is not None:
            return part.signature
        return sign(self._secret, part.text, body["messages"], beside)


def _error(refused: Refused) -> Whole:
    details = {"error_code": refused.code} if refused.code else None
    return json_answer(refused.status, _error_body(refused.type, refused.message, details))


def _count(body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a token count: after the edits, and before them where there are any."""
    size = {"input_tokens": edited_tokens(body)}
    if "context_management" not in body:
        return size
    return {**size, "context_management": {"original_input_tokens": prompt_tokens(body)}}


def _error_body(kind: str, message: str, details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The vendor's error object, as a body or as the data of an error event."""
    error: dict[str, Any] = {"type": kind, "message": message}
    return {"type": "error", "error": {**error, "details": details} if details else error}


def _start_and_deltas(part: Part, signature: str, chunk: int | None) -> tuple[Event, list[tuple[Event, int, float]]]:
    if isinstance(part, Say):
        deltas = [({"type": "text_delta", "text": t}, len(t), part.delay_s) for t in texts_of(part, chunk)]
        return {"type": "text", "text": ""}, list(deltas)
    if isinstance(part, Think):
        thoughts = [({"type": "thinking_delta", "thinking": t}, len(t), 0.0) for t in cut_up(part.text, chunk or 24)]
        signed = [({"type": "signature_delta", "signature": signature}, 0, 0.0)] if signature else []
        return {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, *signed]
    if isinstance(part, Call):
        opening = {"type": "tool_use", "id": part.id, "name": part.name}
        if part.inline:
            return {**opening, "input": part.arguments}, []
        # No arguments are no text on this wire.
        text = arguments_text(part) if part.arguments else ""
        return {**opening, "input": {}}, [
            ({"type": "input_json_delta", "partial_json": t}, len(t), 0.0) for t in cut_up(text, chunk or 16)
        ]
    return part.block, [(delta, 0, 0.0) for delta in part.deltas]


def _finished_block(part: Part, signature: str) -> Event:
    """The block as the client should send it back; what a signature after it covers."""
    if isinstance(part, Say):
        return {"type": "text", "text": part.text}
    if isinstance(part, Think):
        return {"type": "thinking", "thinking": part.text, "signature": signature}
    if isinstance(part, Call):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": _object(part)}
    assert isinstance(part, Block)
    block = dict(part.block)
    for delta in part.deltas:
        if delta["type"] == "compaction_delta":
            block |= {name: value for name, value in delta.items() if name != "type"}
    return block


def _object(call: Call) -> Any:
    if not isinstance(call.arguments, str):
        return call.arguments
    try:
        return json.loads(call.arguments or "{}")
    except ValueError:
        return {}


def _ending(reply: WithParts, parts: list[Part]) -> dict[str, Any]:
    reason = reply.stop_reason if isinstance(reply, Answer) else None
    if reason is None:
        reason = "tool_use" if any(isinstance(part, Call) for part in parts) else "end_turn"
    return {"stop_reason": reason, "stop_sequence": None}


def _prompt_usage(split: Split) -> dict[str, Any]:
    return {
        "input_tokens": split.uncached,
        "cache_read_input_tokens": split.read,
        "cache_creation_input_tokens": split.written_5m + split.written_1h,
        "cache_creation": {
            "ephemeral_5m_input_tokens": split.written_5m,
            "ephemeral_1h_input_tokens": split.written_1h,
        },
    }


def _flat(usage: Mapping[str, Any]) -> dict[str, Any]:
    """The prompt's usage as the closing event repeats it: without the split by lifetime."""
    return {name: value for name, value in usage.items() if name != "cache_creation"}


def _streamed(block: Mapping[str, Any]) -> Block:
    """A compaction as a part of an answer."""
    start, delta = opening(block)
    return Block(start, (delta,))


def _iteration(kind: str, usage: Mapping[str, Any], block: Mapping[str, Any]) -> dict[str, Any]:
    """The usage of a call of the vendor's own that wrote ``block``."""
    return {"type": kind, **usage, "output_tokens": count_block(block)}


def _output_usage(parts: Sequence[Part], blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    thinking = sum(count_text(part.text) for part in parts if isinstance(part, Think))
    usage: dict[str, Any] = {"output_tokens": max(1, sum(count_block(block) for block in blocks))}
    return {**usage, "output_tokens_details": {"thinking_tokens": thinking}} if thinking else usage
