"""The output items of a Responses answer, and the events they are streamed in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.lab.playing import arguments_text, cut_up, texts_of
from tests.lab.scripts import Call, Part, Say, Think
from tests.lab.sealing import seal

Event: TypeAlias = tuple[Mapping[str, Any], int, float]
"""An event without its number, the streamed characters it carries, and the seconds to wait before it."""
CHUNK = 24


@dataclass(frozen=True)
class Draft:
    """An item as it is once it is complete, and its events."""

    item: Mapping[str, Any]
    events: Sequence[Event]


def drafts_of(
    number: str,
    parts: Sequence[Part],
    *,
    chunk: int | None,
    secret: bytes | None,
    summarised: bool,
    refuses: bool,
    call_numbers: Iterator[int],
) -> Iterator[Draft]:
    """The items of answer ``number``. ``secret`` None asks for no sealed reasoning; the last text is a refusal where
    ``refuses``."""
    tie = ""
    for i, part in enumerate(parts):
        where = f"{number}_{i}"
        if isinstance(part, Think):
            tie = f"r{i}"
            yield _reasoning(f"rs_{where}", i, part, chunk, secret, summarised)
        elif isinstance(part, Say):
            phase = "commentary" if any(isinstance(later, Call) for later in parts[i:]) else "final_answer"
            refusal = refuses and i == len(parts) - 1
            yield _message(f"msg_{where}{tie}", i, part, chunk, phase, refusal)
        elif isinstance(part, Call):
            call_id = part.id or f"call_{next(call_numbers):02d}"
            yield _call(f"fc_{where}{tie}", i, part, call_id, chunk)
        else:
            deltas: list[Event] = [(delta, 0, 0.0) for delta in part.deltas]
            yield Draft(part.block, _framed(i, part.block, part.block, deltas))


def _framed(i: int, opening: Mapping[str, Any], item: Mapping[str, Any], events: Sequence[Event]) -> list[Event]:
    return [
        ({"type": "response.output_item.added", "output_index": i, "item": opening}, 0, 0.0),
        *events,
        ({"type": "response.output_item.done", "output_index": i, "item": item}, 0, 0.0),
    ]


def _message(item_id: str, i: int, say: Say, chunk: int | None, phase: str, refusal: bool) -> Draft:
    where = {"item_id": item_id, "output_index": i, "content_index": 0}
    name, kind = ("refusal", "refusal") if refusal else ("text", "output_text")
    extra: dict[str, Any] = {} if refusal else {"annotations": [], "logprobs": []}
    part = {"type": kind, name: say.text, **extra}
    base = {"id": item_id, "type": "message", "role": "assistant", "phase": phase}
    item = {**base, "status": "completed", "content": [part]}
    deltas: list[Event] = [
        ({"type": f"response.{kind}.delta", **where, "delta": text}, len(text), say.delay_s)
        for text in texts_of(say, chunk)
    ]
    events: list[Event] = [
        ({"type": "response.content_part.added", **where, "part": {**part, name: ""}}, 0, 0.0),
        *deltas,
        ({"type": f"response.{kind}.done", **where, name: say.text}, 0, 0.0),
        ({"type": "response.content_part.done", **where, "part": part}, 0, 0.0),
    ]
    return Draft(item, _framed(i, {**base, "status": "in_progress", "content": []}, item, events))


def _call(item_id: str, i: int, call: Call, call_id: str, chunk: int | None) -> Draft:
    where = {"item_id": item_id, "output_index": i}
    text = arguments_text(call)
    base = {"id": item_id, "type": "function_call", "call_id": call_id, "name": call.name}
    item = {**base, "status": "completed", "arguments": text}
    pieces = [] if call.inline else cut_up(text, chunk or 16)
    events: list[Event] = [
        *(
            ({"type": "response.function_call_arguments.delta", **where, "delta": piece}, len(piece), 0.0)
            for piece in pieces
        ),
        ({"type": "response.function_call_arguments.done", **where, "arguments": text}, 0, 0.0),
    ]
    return Draft(item, _framed(i, {**base, "status": "in_progress", "arguments": ""}, item, events))


def _reasoning(item_id: str, i: int, think: Think, chunk: int | None, secret: bytes | None, summarised: bool) -> Draft:
    sealed = think.signature
    if sealed is None and secret is not None:
        sealed = seal(secret, item_id, think.text)
    part = {"type": "summary_text", "text": think.text}
    base = {"id": item_id, "type": "reasoning"}
    item = {**base, "summary": [part] if summarised else [], "encrypted_content": sealed or None}
    # What an item holds when it is opened is not yet what has to be sent back.
    begun = sealed[: len(sealed) // 2] if sealed else None
    opening: dict[str, Any] = {**base, "summary": [], "encrypted_content": begun}
    where = {"item_id": item_id, "output_index": i, "summary_index": 0}
    events: list[Event] = [
        ({"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}}, 0, 0.0),
        *(
            ({"type": "response.reasoning_summary_text.delta", **where, "delta": text}, len(text), 0.0)
            for text in cut_up(think.text, chunk or CHUNK)
        ),
        ({"type": "response.reasoning_summary_text.done", **where, "text": think.text}, 0, 0.0),
        ({"type": "response.reasoning_summary_part.done", **where, "part": part}, 0, 0.0),
    ]
    return Draft(item, _framed(i, opening, item, events if summarised else []))
