"""The estimate against what providers counted: ``python -m tests.bench.estimate [PATH...] [--lab] [--json]``.

A transcript is replayed request by request. Before each, the meter says what the prompt will take, knowing only what
stands before it in the file; then the recorded figure is confirmed. Counted is every request of the conversation with
the person, except the first of the file (the system prompt and the tools are in no transcript) and the first after a
compaction, which have columns of their own. ``blind10`` is the estimate of a request from the figure confirmed ten
requests before it, with the answers in between known by their text only; a compaction in between leaves none.

``--lab`` adds runs against the lab (`lab_estimate`): after a resume, a switch of models and a masking.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from geode_tui.context.estimate import PromptMeter
from geode_tui.context.prefix import Prefix
from geode_tui.core.messages import Message, ToolCallBlock, tool_text, user_text
from geode_tui.core.tokens import ScriptCounter, TokenCounter, load_vocabulary
from geode_tui.routes.budget import budget_of, planning_reserve
from geode_tui.routes.catalog import Catalog, Route
from geode_tui.sources.base import Answer, Compacted, Item, Said
from geode_tui.sources.claude_code import read_claude_code
from tests.bench.figures import Row, Target, median, percentile, row
from tests.bench.lab_estimate import as_lines, lab_errors

AHEAD = 10
OUTLIER_PERCENT = 8.0
LARGE_TOKENS = 1_000_000
SAMPLES = 20
ESTIMATE_MS = Target(at_most=5.0, unit="ms")
"""PERFORMANCE.md, "Budgets": a prompt estimate when anchored."""


class Outlier(msgspec.Struct, frozen=True):
    """A request that was estimated badly, and what of it the transcript does not hold."""

    request: int
    answer_id: str
    error_percent: float
    tokens: int
    unrecorded: int
    why: str


class FileFigures(msgspec.Struct, frozen=True):
    """What ``--json`` prints of a file. Errors in percent of the recorded prompt, without sign."""

    path: str
    calls: int
    median_percent: float
    p95_percent: float
    worst_percent: float
    blind10_median_percent: float
    blind10_p95_percent: float


class Measured(msgspec.Struct):
    """What one replay gave. Errors in percent, with sign."""

    errors: list[float]
    blind: list[float]
    first: list[float]
    after_compaction: list[float]
    outliers: list[Outlier]


class Replay:
    """One transcript through one meter."""

    def __init__(self, counter: TokenCounter) -> None:
        self.result = Measured([], [], [], [], [])
        self._catalog = Catalog()
        self._meter = PromptMeter(counter)
        self._prefix = Prefix()
        self._ahead: deque[PromptMeter] = deque()
        self._fresh = "first"
        self._summary_next = False
        self._route: Route | None = None
        self._request = 0

    def run(self, items: Sequence[Item]) -> Measured:
        """Replay a conversation from its beginning."""
        for item in items:
            match item:
                case Said():
                    self._add(item.message, summary=self._summary_next)
                    self._summary_next = False
                case Compacted():
                    self._meter.retake(())
                    self._ahead.clear()
                    self._fresh, self._summary_next = "compaction", True
                case Answer():
                    if item.prompt_tokens:
                        self._confirmed(item)
                    else:
                        self._add(item.message)
        return self.result

    def _add(self, message: Message, *, summary: bool = False) -> None:
        for meter in (self._meter, *self._ahead):
            meter.append(message, summary=summary)

    def _confirmed(self, answer: Answer) -> None:
        self._request += 1
        route = self._catalog.route(answer.model, "anthropic", "subscription")
        if len(self._ahead) == AHEAD:
            self.result.blind.append(self._error(self._ahead.popleft(), route, answer))
        error = self._error(self._meter, route, answer)
        if self._fresh == "first":
            self.result.first.append(error)
        elif self._fresh == "compaction":
            self.result.after_compaction.append(error)
        else:
            self.result.errors.append(error)
            if abs(error) > OUTLIER_PERCENT:
                self.result.outliers.append(self._outlier(answer, route, error))
        if self._fresh == "first":
            self._prefix = Prefix(system=self._unrecorded(route, answer))
        self._meter.confirm(answer.prompt_tokens, self._meter.messages, route, self._prefix)
        for ahead in self._ahead:
            ahead.append(answer.message, route=route)
        output = answer.usage.output_tokens if answer.usage else None
        self._meter.append(answer.message, counted=output, route=route)
        self._ahead.append(self._meter.copy())
        self._fresh, self._route = "", route

    def _error(self, meter: PromptMeter, route: Route, answer: Answer) -> float:
        used = self._used(meter, route)
        return 100 * (used - answer.prompt_tokens) / answer.prompt_tokens

    def _used(self, meter: PromptMeter, route: Route) -> int:
        budget = budget_of(route, planning_reserve(route.window))
        return meter.figures(route, budget, self._prefix, simulated=False).used

    def _unrecorded(self, route: Route, answer: Answer) -> int:
        """Tokens of the first request, as its text would be counted, that are in no message of the transcript."""
        ratio = self._meter.calibration(route).text_ratio
        return max(0, round((answer.prompt_tokens - self._used(self._meter, route)) / ratio))

    def _outlier(self, answer: Answer, route: Route, error: float) -> Outlier:
        missing = answer.prompt_tokens - self._used(self._meter, route)
        if self._route is not None and self._route.key != route.key:
            why = (
                f"first request to {route.family} after {self._route.family}: "
                "the system prompt and the tool schemas that it gets are not recorded"
            )
        else:
            why = "what the client added to the prompt (reminders, output of hooks, files) is not recorded"
        return Outlier(self._request, answer.answer_id, round(error, 2), answer.prompt_tokens, missing, why)


def replay(path: Path, counter: TokenCounter) -> Measured:
    """Replay a transcript file."""
    with path.open("rb") as lines:
        return Replay(counter).run(read_claude_code(lines).main.items)


def figures_of(path: Path, measured: Measured) -> FileFigures:
    """The figures of a file, rounded."""
    errors = [abs(e) for e in measured.errors]
    blind = [abs(e) for e in measured.blind]

    def rounded(value: float) -> float:
        return round(value, 3)

    return FileFigures(
        str(path),
        len(errors),
        rounded(median(errors)),
        rounded(percentile(errors, 0.95)),
        rounded(max(errors, default=0.0)),
        rounded(median(blind)),
        rounded(percentile(blind, 0.95)),
    )


def as_table(found: Sequence[tuple[Path, Measured]]) -> str:
    """The figures for a person, with the requests that have columns of their own and the named outliers."""
    head = ("calls", "median %", "p95 %", "worst %", "first %", "compacted %", "ahead", "median %", "p95 %")
    lines = ["  ".join(f"{name:>11}" for name in head) + "  file"]
    for path, measured in found:
        made = figures_of(path, measured)
        own = (", ".join(f"{e:+.1f}" for e in errors) or "-" for errors in (measured.first, measured.after_compaction))
        cells = (
            f"{made.calls}", f"{made.median_percent:.3f}", f"{made.p95_percent:.3f}", f"{made.worst_percent:.3f}",
            *own, f"{len(measured.blind)}", f"{made.blind10_median_percent:.3f}", f"{made.blind10_p95_percent:.3f}",
        )  # fmt: skip
        lines.append("  ".join(f"{cell:>11}" for cell in cells) + f"  {path.name}")
        lines += [
            f"  request {o.request} ({o.answer_id}): {o.error_percent:+.1f} % of {o.tokens:,} tokens;"
            f" about {o.unrecorded * 4:,} bytes are not in the file: {o.why}"
            for o in measured.outliers
        ]
    return "\n".join(lines)


def anchored(samples: int) -> Row:
    """An anchored estimate of a 1 M-token history after one more message, beside a full recount of it."""
    counter = load_vocabulary("o200k_base")
    messages = _long_history(counter)
    route = Catalog().route("claude-opus-4-6", "anthropic", "payg")
    budget = budget_of(route, planning_reserve(route.window))
    prefix = Prefix(6_000, 9_000, "prefix")
    meter = PromptMeter(counter)
    meter.retake(messages)
    meter.confirm(route.window - 1, meter.messages, route, prefix)
    more = user_text("and now the rest of it")

    def estimate() -> None:
        meter.append(more)
        meter.figures(route, budget, prefix, simulated=False)

    uncounted = load_vocabulary("o200k_base")

    def recount() -> None:
        fresh = PromptMeter(uncounted)
        fresh.retake(messages)
        fresh.figures(route, budget, prefix, simulated=False)

    took = median([_milliseconds(estimate) for _ in range(samples)])
    return row("anchored estimate at 1 M tokens, ms", took, _milliseconds(recount), ESTIMATE_MS)


def _milliseconds(work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return 1_000 * (time.perf_counter() - begun)


def _long_history(counter: TokenCounter) -> list[Message]:
    """Calls with results of 20 KB until there are a million tokens of them."""
    made: list[Message] = [user_text("read it all")]
    tokens = number = 0
    while tokens < LARGE_TOKENS:
        number += 1
        call = ToolCallBlock(f"c-{number}", "read_file", f'{{"path":"part-{number}.py"}}')
        body = "\n".join(
            f"def part_{number}_{line}(value: int) -> int:\n    return value + {line}" for line in range(300)
        )
        made += [Message("assistant", (call,)), tool_text(call, body)]
        tokens += counter.count(body)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.estimate", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="a Claude Code transcript")
    parser.add_argument("--lab", action="store_true", help="runs against the lab as well")
    parser.add_argument("--json", action="store_true", help='{"files": [...]} on stdout and nothing else there')
    options = parser.parse_args(arguments)
    if not options.paths and not options.lab:
        parser.error("give a transcript, or --lab")
    counter = load_vocabulary("o200k_base")
    try:
        found = [(path, replay(path, counter)) for path in options.paths]
    except OSError as error:
        print(f"{error.filename} cannot be read: {error.strerror}", file=sys.stderr)
        return 2
    in_lab = [error for each in (counter, ScriptCounter()) for error in lab_errors(each)] if options.lab else None
    if options.json:
        made: dict[str, object] = {"files": [figures_of(path, measured) for path, measured in found]}
        print(msgspec.json.encode(made if in_lab is None else {**made, "lab": in_lab}).decode())
        return 0
    if found:
        print(as_table(found))
        each = anchored(SAMPLES)
        print(f"{each.name}: {each.figure}, a full recount {each.limit}, ratio {each.ratio} ({each.target})")
    if in_lab is not None:
        print(as_lines(in_lab))
    return 0


if __name__ == "__main__":
    sys.exit(main())
