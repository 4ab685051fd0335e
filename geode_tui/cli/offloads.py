"""`offloads`: the results of a run that left its context, and the text or the bytes of one."""

from __future__ import annotations

import os
import sys
import time

from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.cli.offload_source import OffloadSource
from geode_tui.core import format as fmt
from geode_tui.core.ids import BadId, check_id
from geode_tui.core.text import clean_line
from geode_tui.log.store import StoreError
from geode_tui.tui.cells import pad
from geode_tui.view.offloads import OffloadRow, offload_report

HELD_BACK = 4_096
"""Bytes of a piece that wait for the next one, so that no secret and no character is cut in two."""
MOST_NAMED = 20


def offloads(env: Env, session: str, ref_id: str | None, *, raw: bool, json: bool) -> int:
    """List the stored results of ``session``, or write one. Raises `CliError`."""
    if raw and json:
        raise CliError("give --raw or --json, not both")
    if raw and ref_id is None:
        raise CliError("--raw writes one result: name its reference")
    transcript = env.transcript()
    row = env.session(transcript, session)
    source = OffloadSource(env, row.session_id)
    try:
        rows = source.looked_into(source.table(transcript, row.number).rows)
        if ref_id is None:
            return _list(env, rows, json=json)
        one = _find(rows, ref_id, row.session_id)
        if json:
            env.print_json(offload_report(one))
        elif raw:
            sys.stdout.flush()
            source.copy(one.ref_id, sys.stdout.buffer.write)
            sys.stdout.buffer.flush()
        else:
            _write(env, source, one.ref_id)
    except StoreError as error:
        raise CliError(str(error), 1) from error
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _find(rows: tuple[OffloadRow, ...], ref_id: str, session_id: str) -> OffloadRow:
    """The result of that reference. Raises `CliError`, which names those that there are."""
    try:
        check_id(ref_id)
    except BadId as error:
        raise CliError(f"{clean_line(ref_id, 60)!r} is no reference of a stored result") from error
    found = [row for row in rows if row.ref_id == ref_id]
    if found:
        return found[0]
    names = [row.ref_id for row in rows[:MOST_NAMED]]
    those = f"there are {', '.join(names)}" if names else "it has none"
    more = f" and {len(rows) - MOST_NAMED:,} more" if len(rows) > MOST_NAMED else ""
    raise CliError(f"there is no stored result {clean_line(ref_id, 60)!r} in {session_id}: {those}{more}")


def _list(env: Env, rows: tuple[OffloadRow, ...], *, json: bool) -> int:
    if json:
        env.print_json([offload_report(row) for row in rows])
        return 0
    t, now = env.strings.t, time.time()
    if not rows:
        env.print(t("offload.empty"))
    for row in rows:
        size = fmt.size_bytes(row.bytes) if row.bytes is not None else "-"
        tokens = f"{'~' if row.extrapolated else ''}{fmt.tokens(row.tokens)}" if row.tokens else "-"
        used = f"{row.recalls}x" if row.recalls else t("offload.never_recalled")
        cells = (
            pad(clean_line(row.ref_id, 128), 24),
            pad(clean_line(row.tool, 40), 16),
            f"{tokens:>8} {size:>9} {fmt.hours(now - row.at):>7}",
            pad(_stays(env, row, now), 16),
            pad(used, 16),
            clean_line(row.about, 80),
        )
        env.print("  ".join(cells).rstrip())
    return 0


def _stays(env: Env, row: OffloadRow, now: float) -> str:
    t = env.strings.t
    if row.standing != "stored":
        return t(f"offload.{row.standing}")
    if row.pinned or row.referenced:
        return t("offload.pinned" if row.pinned else "offload.referenced")
    if row.expires_at is None:
        return "-"
    return f"{t('offload.stays')} {fmt.hours(row.expires_at - now)}" if row.expires_at > now else t("offload.expired")


def _write(env: Env, source: OffloadSource, ref_id: str) -> None:
    """The text of a result, inert and without secrets, piece by piece."""
    held = b""

    def write(data: bytes) -> None:
        nonlocal held
        held += data
        end = _cut(held)
        sys.stdout.write(env.safe(held[:end].decode("utf-8", "replace")))
        held = held[end:]

    source.copy(ref_id, write)
    rest = env.safe(held.decode("utf-8", "replace"))
    sys.stdout.write(rest if rest.endswith("\n") or not rest else f"{rest}\n")
    sys.stdout.flush()


def _cut(data: bytes) -> int:
    """Where ``data`` can be cut: after a line or a word, else between two characters; what follows is held back."""
    least = max(0, len(data) - HELD_BACK)
    for end in (b"\n", b" "):
        if (found := data.rfind(end, least, len(data) - 1)) >= 0:
            return found + 1
    while least and 0x80 <= data[least] < 0xC0:
        least -= 1
    return least
