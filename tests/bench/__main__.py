"""`python -m tests.bench`: each figure beside its limit, taken in one run.

``--mutate`` makes our program slower on purpose, measures what must see that, and fails if all of it is still met.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.bench import commits, estimate, importing, keys, rates, resting, starting, stores
from tests.bench.bench import MUTATIONS, Bench, Measurement, logged
from tests.bench.figures import Row, as_json, as_table

MEASUREMENTS: dict[str, Measurement] = {
    "first-paint": starting.first_paint,
    "attach": starting.attach,
    "keys-events": keys.keys_events,
    "keys-stream": keys.keys_stream,
    "append-to-paint": commits.append_to_paint,
    "commit-to-screen": commits.commit_to_screen,
    "after-silence": commits.after_silence,
    "append": rates.append,
    "fold": rates.fold_rate,
    "estimate": lambda bench: [estimate.anchored(bench.count(50, 20))],
    "import": importing.importing,
    "idle": resting.idle,
    "terminal-bytes": resting.terminal_bytes,
    "memory": resting.memory,
    "theme": resting.theme_switch,
}
SEEN_BY = {"paint": ("first-paint",)}
"""What must see a mutation."""


def measure(names: Sequence[str], *, quick: bool = False, mutate: str | None = None) -> list[Row]:
    """The rows of those measurements, one after the other."""
    rows: list[Row] = []
    with Bench(quick=quick, mutate=mutate) as bench:
        for name in names:
            rows += logged(name, MEASUREMENTS[name])(bench)
    return rows


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no measurement {unknown[0]!r}: one of {', '.join(MEASUREMENTS)}")
    return names


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", type=_names, metavar="NAME,...", help=", ".join(MEASUREMENTS))
    parser.add_argument("--quick", action="store_true", help="shorter samples")
    parser.add_argument("--json", action="store_true", help='{"rows": [...]} on stdout and nothing else there')
    parser.add_argument("--mutate", choices=sorted(MUTATIONS), help="make the screen slower; some row must not be met")
    parser.add_argument("--fixtures", action="store_true", help="only make the stores")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Returns 0, or 1 when a mutation was not seen. Rows that are not met are told, not failed: machines differ."""
    options = _options(arguments)
    if options.fixtures:
        for kind in stores.KINDS:
            print(stores.stored(kind))
        return 0
    names = options.only or SEEN_BY.get(options.mutate) or list(MEASUREMENTS)
    rows = measure(names, quick=options.quick, mutate=options.mutate)
    print(as_json(rows) if options.json else as_table(rows))
    return int(bool(options.mutate) and all(each.met for each in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
