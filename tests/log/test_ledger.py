"""The usage ledger: appended whole, read leniently, counted once."""

from __future__ import annotations

import stat
from datetime import datetime
from pathlib import Path

import msgspec

from geode_tui.core.usage import Usage
from geode_tui.log import ledger
from tests.log.stores import finished, python, said, tell

TS = datetime(2026, 11, 15, 12).timestamp()  # noqa: DTZ001 - the ledger's months are local ones


def entry(number: int, ts: float = TS) -> ledger.Entry:
    usage = Usage(3, 1_200, 193_483, 0, 60_120, 400)
    return ledger.entry_of(
        usage,
        ts=ts,
        model="claude-opus-4-8",
        cost_micro=727_957,
        session="s-1",
        purpose="turn",
        source="payg",
        call=f"call-{number}",
    )


def test_a_line_has_the_documented_names(tmp_path: Path) -> None:
    """RUNTIME.md 11."""
    ledger.append(tmp_path / "usage", entry(1))
    file = tmp_path / "usage" / "2026-11.jsonl"
    assert msgspec.json.decode(file.read_bytes()) == {
        "ts": TS,
        "model": "claude-opus-4-8",
        "in": 3,
        "out": 1_200,
        "cost": 0.727957,
        "session": "s-1",
        "cache_w": 60_120,
        "cache_r": 193_483,
        "think": 400,
        "role": "turn",
        "source": "payg",
        "cache_w_1h": 60_120,
        "id": "call-1",
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_call_counts_once_however_often_it_was_written(tmp_path: Path) -> None:
    for number in (1, 2, 1, 1, 3, 2):
        ledger.append(tmp_path, entry(number))
    assert [e.id for e in ledger.read_month(tmp_path, "2026-11")] == ["call-1", "call-2", "call-3"]


def test_lines_without_an_id_all_count_and_damaged_ones_are_passed_over(tmp_path: Path) -> None:
    plain = b'{"ts":1.0,"model":"m","in":1,"out":2,"cost":0.5}\n'
    bad = [b"{\n", b"\n", b"[]\n", b'{"ts":"x"}\n', b"\xff\xfe\n", b'{"ts":1.0,"model":"m"\n']
    ledger.append(tmp_path, entry(1))
    file = tmp_path / "2026-11.jsonl"
    file.write_bytes(file.read_bytes() + b"".join(line + plain for line in bad))
    found = list(ledger.read_month(tmp_path, "2026-11"))
    assert [e.id for e in found] == ["call-1"] + [""] * len(bad)
    assert found[1].cost == 0.5


def test_each_month_has_its_file(tmp_path: Path) -> None:
    ledger.append(tmp_path, entry(1))
    ledger.append(tmp_path, entry(2, datetime(2026, 12, 1).timestamp()))  # noqa: DTZ001
    assert [e.id for e in ledger.read_month(tmp_path, "2026-12")] == ["call-2"]
    assert list(ledger.read_month(tmp_path, "2025-01")) == []


def test_lines_of_two_processes_never_mix(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from tests.log.test_ledger import entry
from geode_tui.log import ledger
print("ready", flush=True)
sys.stdin.readline()
for n in range(300):
    ledger.append(Path(sys.argv[1]), entry(int(sys.argv[2]) + n))
"""
    processes = [python(code, str(tmp_path), start) for start in ("0", "1000")]
    assert [said(p) for p in processes] == ["ready", "ready"]
    for process in processes:
        tell(process)
    for process in processes:
        finished(process)
    assert len(list(ledger.read_month(tmp_path, "2026-11"))) == 600
