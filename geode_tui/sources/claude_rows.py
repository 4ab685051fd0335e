"""The lines of a Claude Code transcript as typed rows. Pure.

Only the fields that are used are decoded; whatever else a line holds (results in a second form, whole files before an
edit) is passed over. Unknown fields and values are normal; a line that is torn, or has another glued to it, gives what
can be read of it. Parts that only some rows have are decoded by `part`, so that an odd one does not cost its row.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from geode_tui.core.text import scrub

_STARTS = re.compile(
    r'\{"(?:parentUuid"|sessionId"|leafUuid"'
    r'|type":\s*"(?:user|assistant|system|progress|summary|attachment|queue-operation)")'
)
_STARTS_TRIED = 64
"""Places in a damaged line where a whole record is looked for."""
_MARKS = frozenset({"sessionId", "leafUuid"})
"""What a record has and a block inside of one has not."""


class CacheWrites(msgspec.Struct, frozen=True):
    """Cache writes by lifetime, tokens."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class RawUsage(msgspec.Struct, frozen=True):
    """The usage of one record, tokens. Early records of an answer hold less than later ones."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheWrites | None = None
    thinking_tokens: int | None = None
    iterations: msgspec.Raw = msgspec.Raw()


class RawMessage(msgspec.Struct, frozen=True):
    """The provider's message inside a record; ``content`` is a string or a list of blocks."""

    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: str | list[msgspec.Raw] | None = None
    stop_reason: str | None = None
    usage: msgspec.Raw = msgspec.Raw()


class CompactMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """What a boundary says of itself."""

    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None


class Progress(msgspec.Struct, frozen=True, rename="camel"):
    """What a progress row carries; ``message`` is a sub-agent's own record."""

    type: str | None = None
    agent_id: str | None = None
    message: msgspec.Raw = msgspec.Raw()


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """One record. ``content`` and ``summary`` are those of rows that are no messages."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    agent_id: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    message: RawMessage | None = None
    data: msgspec.Raw = msgspec.Raw()
    compact_metadata: msgspec.Raw = msgspec.Raw()
    operation: str | None = None
    content: msgspec.Raw = msgspec.Raw()
    attachment: msgspec.Raw = msgspec.Raw()
    summary: str | None = None
    ai_title: str | None = None
    custom_title: str | None = None


_DECODER = msgspec.json.Decoder(Row)
T = TypeVar("T")


def part(raw: msgspec.Raw, kind: type[T]) -> T | None:
    """``raw`` as ``kind``, or None where it is not there or has another form."""
    if not bytes(raw):
        return None
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError:
        pass
    try:
        return msgspec.convert(scrubbed(json.loads(bytes(raw))), kind)
    except (ValueError, RecursionError):
        return None


def read_rows(lines: Iterable[bytes]) -> Iterator[Row | None]:
    """The rows of ``lines``; None for each line, or piece of one, that could not be read. Blank lines give nothing."""
    for line in lines:
        if not line.strip():
            continue
        try:
            yield _DECODER.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            yield from _rescued(line.replace(b"\0", b""))


def _rescued(line: bytes) -> Iterator[Row | None]:
    """The whole records in a line that is not one: it has lone surrogates in it, is torn, or others are glued to it."""
    text = line.decode("utf-8", "replace").strip()
    reader = json.JSONDecoder()
    done = 0
    starts = [m.start() for m in itertools.islice(_STARTS.finditer(text, 1), _STARTS_TRIED)]
    lost = False
    for start in [0, *starts]:
        if start < done:
            continue
        try:
            value, end = reader.raw_decode(text, start)
        except (ValueError, RecursionError):
            lost = True
            continue
        if isinstance(value, dict) and (start == 0 or value.keys() & _MARKS):
            yield _converted(value)
            lost = lost or start > done
            done = end
    if lost or done < len(text):
        yield None


def _converted(value: dict[str, Any]) -> Row | None:
    """The row of a record that `_DECODER` refused: its texts made storable; only its type where that is not enough."""
    try:
        return _DECODER.decode(msgspec.json.encode(scrubbed(value)))
    except (msgspec.DecodeError, RecursionError):
        kind = value.get("type")
        return Row(type=scrub(kind)) if isinstance(kind, str) else None


def scrubbed(value: Any) -> Any:
    """``value`` with every text storable."""
    match value:
        case str():
            return scrub(value)
        case dict():
            return {scrub(str(k)): scrubbed(v) for k, v in value.items()}
        case list():
            return [scrubbed(v) for v in value]
    return value
