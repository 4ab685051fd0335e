"""The Chat Completions wire of several vendors: a script's steps in, HTTP answers and chunks out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from tests.lab.chat_profiles import Profile
from tests.lab.chat_rules import prompt_parts
from tests.lab.http import Received, Response, Whole
from tests.lab.openai_rules import invalid, parse_body
from tests.lab.playing import (
    REFUSAL,
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
from tests.lab.prefix_cache import Prefix, PrefixCache
from tests.lab.rules import Inquiry, Limits, Refused, refusal
from tests.lab.scripts import Answer, Call, Fail, Part, Say, StreamError, Think
from tests.lab.sealing import mac, seal
from tests.lab.tokens import count_text, prompt_text

COMPLETIONS = "/chat/completions"
DONE = b"data: [DONE]\n\n"
MICRO_PER_TOKEN = 2
"""The price a router reports, micro-dollars a token of any kind."""
_FINISH = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "stop_sequence": "stop"}
_FOREIGN = frozenset({"pause_turn", "compaction"})


class ChatWire:
    """One model of one vendor. It keeps the prompt cache and the numbering of ids."""

    def __init__(
        self, profile: Profile, limits: Limits, cache: PrefixCache, secret: bytes, clock: Callable[[], float]
    ) -> None:
        self.profile = profile
        self._limits = limits
        self._cache = cache
        self._secret = secret
        self._clock = clock
        self._numbers = count(1)

    def respond(self, received: Received, next_reply: NextReply) -> Response:
        """See `playing.Wire`."""
        if received.method != "POST":
            return self._refused(invalid(f"Invalid URL ({received.method} {received.path})", status=404))
        if received.too_large:
            return self._refused(invalid("Request body is too large.", status=413))
        body = parse_body(received.raw)
        if isinstance(body, Refused):
            return self._refused(body)
        inquiry = Inquiry(received, body, self._limits, _measured, self._secret)
        refused = refusal(inquiry, self.profile.rules)
        if refused is None and body.get("stream") is not True:
            refused = invalid("This server only streams.", "stream")
        return self._refused(refused) if refused else perform(self, body, next_reply(body))

    def stream(self, body: dict[str, Any], reply: WithParts) -> Stream:
        """See `playing.Voice`."""
        if self.profile.truncates:
            body = _cut_to(body, self._limits.window)
        prefix = self._cache.serve(
            f"{body['model']}\0{body.get('prompt_cache_key', '')}", prompt_text(prompt_parts(body))
        )
        chunks = _Chunks(self, f"{next(self._numbers):04d}", body, int(self._clock()))
        reason = reply.stop_reason if isinstance(reply, Answer) else None
        content = [Piece(f": {self.profile.comment}\n\n".encode())] if self.profile.comment else []
        content.append(chunks.piece({"role": "assistant", "content": ""}))
        for part in reply.parts:
            content += chunks.part(part, chunk_of(reply))
        finish = self._finish(reason, reply.parts)
        if reason == "refusal" and not self.profile.refusal:
            content.append(chunks.piece({"refusal": REFUSAL}, len(REFUSAL)))
        usage = chunks.usage(prefix, reply.parts) | (dict(reply.usage) if isinstance(reply, Answer) else {})
        return Stream(content, [*chunks.closing(finish, usage), Piece(DONE)])

    def event(self, event: Mapping[str, Any]) -> bytes:
        """See `playing.Voice`."""
        return sse(dumped(event))

    def error_event(self, error: StreamError) -> bytes:
        """See `playing.Voice`."""
        return self.event(self.profile.error_chunk(error))

    def broken_event(self, data: str) -> bytes:
        """See `playing.Voice`."""
        return sse(data)

    def failed(self, fail: Fail) -> Whole:
        """See `playing.Voice`."""
        return failed_with(fail, self.profile.failed(fail))

    def details(self, where: str, index: int, think: Think, model: str, chunk: int) -> Iterator[dict[str, Any]]:
        """The reasoning details of a thought, piece by piece, in the form of the model's own vendor."""
        sealed = model.startswith("openai/")
        name, form = ("summary", "openai-responses-v1") if sealed else ("text", "anthropic-claude-v1")
        base = {"type": f"reasoning.{name}", "format": form, "index": index}
        for text in cut_up(think.text, chunk):
            yield {**base, name: text}
        if sealed:
            item_id = f"rs_{where}_{index}"
            data = seal(self._secret, item_id, think.text) if think.signature is None else think.signature
            yield {**base, "type": "reasoning.encrypted", "id": item_id, "data": data}
        else:
            yield {**base, "signature": mac(self._secret, think.text) if think.signature is None else think.signature}

    def _refused(self, refused: Refused) -> Whole:
        return json_answer(refused.status, self.profile.refused(refused))

    def _finish(self, reason: str | None, parts: tuple[Part, ...]) -> str:
        if reason in _FOREIGN:
            raise ValueError(f"the Chat wire has no word for {reason}")
        if reason == "refusal":
            return self.profile.refusal or "stop"
        if reason is None:
            return "tool_calls" if any(isinstance(part, Call) for part in parts) else "stop"
        return _FINISH.get(reason, reason)


class _Chunks:
    """The chunks of one answer."""

    def __init__(self, wire: ChatWire, number: str, body: Mapping[str, Any], now: int) -> None:
        self._wire = wire
        self._profile = wire.profile
        self._number = number
        self._model = str(body["model"])
        self._asked = bool((body.get("stream_options") or {}).get("include_usage"))
        self._thinks = (body.get("thinking") or {}).get("type") != "disabled"
        self._calls = count()
        self._thoughts = count()
        self._tie = ""
        self._base = {
            "id": f"{'gen' if self._profile.usage == 'own' else 'chatcmpl'}-{number}",
            "object": "chat.completion.chunk",
            "created": now,
            "model": self._model,
        }

    def piece(self, delta: Mapping[str, Any], chars: int = 0, delay_s: float = 0.0, **more: Any) -> Piece:
        """A chunk with ``delta``."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": more.pop("finish_reason", None)}
        pending = {"usage": None} if self._asked and "usage" not in more else {}
        return Piece(self._wire.event({**self._base, "choices": [choice], **pending, **more}), chars, delay_s)

    def part(self, part: Part, chunk: int | None) -> list[Piece]:
        """The chunks of one part."""
        if isinstance(part, Say):
            return [self.piece({"content": text}, len(text), part.delay_s) for text in texts_of(part, chunk)]
        if isinstance(part, Think):
            return self._thought(part, chunk or 24)
        if isinstance(part, Call):
            return self._call(part, chunk or 16)
        return [self.piece(delta) for delta in (part.block, *part.deltas)]

    def _thought(self, think: Think, chunk: int) -> list[Piece]:
        field = self._profile.reasoning
        if field == "hidden" or not self._thinks:
            return []
        if field != "reasoning_details":
            return [self.piece({field: text}, len(text)) for text in cut_up(think.text, chunk)]
        self._tie = "r"
        pieces = []
        for detail in self._wire.details(self._number, next(self._thoughts), think, self._model, chunk):
            text = detail.get("text", detail.get("summary", ""))
            shown = {"reasoning": text} if text else {}
            pieces.append(self.piece({"content": "", **shown, "reasoning_details": [detail]}, len(text)))
        return pieces

    def _call(self, call: Call, chunk: int) -> list[Piece]:
        index = next(self._calls)
        text = arguments_text(call)
        call_id = call.id or f"call_{self._number}_{index}{self._tie}"
        whole = self._profile.whole_calls or call.inline
        function = {"name": call.name, "arguments": text if whole else ""}
        opening = {"index": index, "id": call_id, "type": "function", "function": function}
        pieces = [] if whole else cut_up(text, chunk)
        return [
            self.piece({"tool_calls": [opening]}, len(text) if whole else 0),
            *(
                self.piece({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, len(piece))
                for piece in pieces
            ),
        ]

    def usage(self, prefix: Prefix, parts: tuple[Part, ...]) -> dict[str, Any]:
        """The answer's usage in this vendor's shape."""
        reasoning = sum(count_text(part.text) for part in parts if isinstance(part, Think))
        texts = (p.text if isinstance(p, Say) else arguments_text(p) for p in parts if isinstance(p, Say | Call))
        written = max(1, reasoning + sum(count_text(text) for text in texts))
        usage: dict[str, Any] = {
            "prompt_tokens": prefix.total,
            "completion_tokens": written,
            "total_tokens": prefix.total + written,
        }
        if self._profile.truncates:
            return usage
        usage["prompt_tokens_details"] = {"cached_tokens": prefix.cached}
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
        if self._profile.usage == "own":
            usage["prompt_tokens_details"]["cache_write_tokens"] = prefix.written
            usage["cost"] = (prefix.total + written) * MICRO_PER_TOKEN / 1_000_000
            usage["is_byok"] = False
        return usage

    def closing(self, finish: str, usage: Mapping[str, Any]) -> list[Piece]:
        """The chunk that ends the answer, and the usage where it has a chunk of its own."""
        if self._profile.usage == "last":
            return [self.piece({"role": "assistant", "content": ""}, finish_reason=finish, usage=usage)]
        last = self.piece({}, finish_reason=finish)
        if not self._asked and self._profile.usage == "asked":
            return [last]
        return [last, Piece(self._wire.event({**self._base, "choices": [], "usage": usage}))]


def _measured(body: Mapping[str, Any]) -> int:
    return count_text(prompt_text(prompt_parts(body)))


def _cut_to(body: dict[str, Any], window: int) -> dict[str, Any]:
    """``body`` without the oldest messages that do not fit; the system's stay, and the last one does."""
    messages = list(body["messages"])
    while len(messages) > 1 and _measured({**body, "messages": messages}) > window:
        oldest = next((i for i, m in enumerate(messages[:-1]) if m["role"] not in {"system", "developer"}), None)
        if oldest is None:
            break
        del messages[oldest]
    return {**body, "messages": messages}
