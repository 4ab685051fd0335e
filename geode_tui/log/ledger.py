"""The person's usage ledger: one line a priced call, over all projects, in their own folder (RUNTIME.md 11)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from geode_tui.core.usage import Usage
from geode_tui.log.store import private_folder


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call in GEODE's format; ``id`` makes a repeated line count once. ``cost`` in USD, ``ts`` in epoch seconds."""

    ts: float
    model: str
    tokens_in: int = msgspec.field(name="in")
    tokens_out: int = msgspec.field(name="out")
    cost: float = 0.0
    session: str = ""
    cache_w: int = 0
    cache_r: int = 0
    think: int = 0
    role: str = ""
    source: str = ""
    cache_w_1h: int | None = None
    id: str = ""


def entry_of(
    usage: Usage, *, ts: float, model: str, cost_micro: int, session: str, purpose: str, source: str, call: str
) -> Entry:
    """The ledger's line for one call."""
    write_1h = usage.cache_write_1h_tokens
    return Entry(
        ts=ts,
        model=model,
        tokens_in=usage.input_tokens,
        tokens_out=usage.output_tokens,
        cost=cost_micro / 1_000_000,
        session=session,
        cache_w=(usage.cache_write_5m_tokens or 0) + (write_1h or 0),
        cache_r=usage.cache_read_tokens or 0,
        think=usage.reasoning_tokens or 0,
        role=purpose,
        source=source,
        cache_w_1h=write_1h,
        id=call,
    )


def month_file(folder: Path, ts: float) -> Path:
    """``YYYY-MM.jsonl`` of the local month of ``ts``."""
    return folder / f"{datetime.fromtimestamp(ts):%Y-%m}.jsonl"  # noqa: DTZ006 - the ledger's months are local ones


def append(folder: Path, entry: Entry) -> None:
    """Append one line in one write, so that lines of two workers never mix. Raises ``OSError``, `StoreError`."""
    private_folder(folder)
    line = msgspec.json.encode(entry) + b"\n"
    fd = os.open(month_file(folder, entry.ts), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        os.write(fd, line)
    finally:
        os.close(fd)


def read_month(folder: Path, month: str) -> Iterator[Entry]:
    """The entries of ``YYYY-MM``; damaged lines are passed over, an id counts once."""
    seen: set[str] = set()
    try:
        lines = (folder / f"{month}.jsonl").read_bytes().splitlines()
    except OSError:
        return
    decoder = msgspec.json.Decoder(Entry)
    for line in lines:
        try:
            entry = decoder.decode(line)
        except msgspec.DecodeError:
            continue
        if entry.id and entry.id in seen:
            continue
        seen.add(entry.id)
        yield entry
