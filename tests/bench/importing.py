"""What importing a transcript takes, beside ``json.loads`` over its lines, and beside an import of a part of it."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from geode_tui.cli.env import Env
from geode_tui.cli.importing import import_files
from tests.bench.bench import Bench, timed
from tests.bench.figures import Row, Target, row
from tests.sources.records import answer, boundary, call, lines, result, said, text
from tests.sources.records import row as record

ROUNDS, TIMES = 150, 4
SAMPLES = 7
IMPORT = Target(ratio_at_most=3.0)
"""PERFORMANCE.md, "Budgets": importing a transcript."""
LINEAR = Target(ratio_at_most=1.3 * TIMES)
PROGRESS_ROWS = 6
"""For one of an answer, as in recorded transcripts."""


def importing(bench: Bench) -> list[Row]:
    """An import into a new store, and one of a transcript that is several times as long."""
    short = _transcript(bench.scratch / "short.jsonl", ROUNDS)
    long = _transcript(bench.scratch / "long.jsonl", ROUNDS * TIMES)
    numbers = itertools.count()
    parsed = short_s = long_s = math.inf
    for _ in range(bench.count(SAMPLES, 3)):
        parsed = min(parsed, timed(lambda: _parse(long)))
        short_s = min(short_s, timed(lambda: _import(short, bench.scratch / f"p{next(numbers)}")))
        long_s = min(long_s, timed(lambda: _import(long, bench.scratch / f"p{next(numbers)}")))
    return [
        row("import_ms", 1_000 * long_s, 1_000 * parsed, IMPORT),
        row(f"import_of_{TIMES}_times_as_much_ms", 1_000 * long_s, 1_000 * short_s, LINEAR),
    ]


def _parse(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def _import(path: Path, project: Path) -> None:
    (project / ".geode").mkdir(parents=True)
    env = Env(project, {"GEODE_TUI_HOME": str(project / "home"), "HOME": str(project)})
    with contextlib.redirect_stdout(io.StringIO()):
        import_files(env, [path], json=False)


def _transcript(path: Path, rounds: int) -> Path:
    path.write_bytes(b"".join(lines(said("go"), *itertools.chain.from_iterable(_rounds(rounds)))))
    return path


def _rounds(count: int) -> Iterator[list[dict[str, Any]]]:
    """Rounds of one call: an answer in two records, the reports of hooks, a result that is recorded in two forms."""
    dice = Random(5)
    prompt = 20_000
    for number in range(count):
        body = "\n".join(f"{n:5d}\tdef part_{n}(value: int) -> int:" for n in range(dice.randint(1, 140)))
        usage = {"input_tokens": 3, "output_tokens": 90, "cache_read_input_tokens": prompt}
        prompt = 20_000 if prompt > 150_000 else prompt + 100 + len(body) // 3
        progress = {"type": "hook_progress", "hookEvent": "PostToolUse", "hookName": "format", "command": "x" * 300}
        yield [
            answer(f"m-{number}", text("Reading the next part of it." * 4), usage=usage),
            answer(f"m-{number}", call(f"c-{number}", "Read", file_path=f"/project/part_{number}.py"), usage=usage),
            *(record("progress", data=progress) for _ in range(PROGRESS_ROWS * 2)),
            {**result(f"c-{number}", body), "toolUseResult": {"type": "text", "file": {"content": body}}},
            *([boundary(trigger="auto"), said("all so far", isCompactSummary=True)] if prompt == 20_000 else []),
        ]
