"""Every event by its name, and how its payload is written and read."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from geode_tui.core.events import llm as _llm
from geode_tui.core.events import mcp as _mcp
from geode_tui.core.events import memory as _memory
from geode_tui.core.events import run as _run
from geode_tui.core.events import tools as _tools
from geode_tui.core.events import window as _window
from geode_tui.core.events.base import Payload

MODULES = (_run, _llm, _tools, _window, _mcp, _memory)
"""Where the payloads stand: all of them must be known before the catalogue is made."""


@functools.cache
def event_name(kind: type[Payload]) -> str:
    """``LlmCallStarted`` -> ``llm_call_started``."""
    return re.sub(r"(?<=.)(?=[A-Z])", "_", kind.__name__).lower()


def _kinds(base: type[Payload]) -> Iterator[type[Payload]]:
    """The payloads below ``base``: those that nothing is made of."""
    for kind in base.__subclasses__():
        if kind.__subclasses__():
            yield from _kinds(kind)
        else:
            yield kind


CATALOGUE: dict[str, type[Payload]] = {event_name(kind): kind for kind in _kinds(Payload)}
"""Every event this program writes, by name."""

LEGACY_NAMES = {
    "session_start": "session_started",
    "session_end": "session_ended",
    "turn_complete": "turn_completed",
    "llm_call_start": "llm_call_started",
    "llm_call_end": "llm_call_ended",
    "llm_call_retry": "llm_call_retried",
    "tool_exec_start": "tool_exec_started",
    "tool_exec_end": "tool_exec_ended",
}
"""Names in older records (RUNTIME.md 10.3)."""


class EventRow(msgspec.Struct, frozen=True, array_like=True):
    """One row of the log, payload still as JSON text. Times are UTC epoch seconds."""

    id: int
    ts: float
    turn: int
    round: int
    event: str
    payload: str


_ENCODER = msgspec.json.Encoder()


@functools.cache
def _decoder(name: str) -> msgspec.json.Decoder[Any] | None:
    """Made when the first event of that name is read: a screen at its start reads few."""
    kind = CATALOGUE.get(LEGACY_NAMES.get(name, name))
    return None if kind is None else msgspec.json.Decoder(kind)


def encode_payload(payload: Payload) -> str:
    """JSON text of a payload."""
    return _ENCODER.encode(payload).decode()


def decode_payload(name: str, text: str) -> Payload | None:
    """The typed payload of event ``name``, or None for a name this program does not know. Raises
    ``msgspec.ValidationError`` when the row is damaged.
    """
    decoder = _decoder(name)
    return None if decoder is None else decoder.decode(text)
