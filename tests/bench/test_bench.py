"""The arithmetic of measurements, and one short measurement for the shape of what it gives. No time is judged here."""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.log.store import connect
from geode_tui.log.transcript import Transcript
from geode_tui.view.follow import state_at
from tests.bench import load, stores
from tests.bench.__main__ import MEASUREMENTS, SEEN_BY, measure
from tests.bench.bench import MUTATIONS, Bench, logged
from tests.bench.commits import came_or_passed
from tests.bench.figures import Row, Target, as_json, as_table, median, percentile, row
from tests.bench.material import facts, markdown, plan_mark, stream, text_mark
from tests.bench.terminal import ROOT

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(numbers, st.floats(0, 1))
def test_a_percentile_is_a_value_that_the_share_does_not_pass(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(v <= found for v in values) >= share * len(values)
    assert sum(v < found for v in values) <= share * len(values)


def test_the_percentile_of_nothing_is_not_a_number() -> None:
    assert math.isnan(percentile([], 0.95))
    assert median([3.0, 1.0, 2.0]) == 2.0


@pytest.mark.parametrize(
    ("figure", "limit", "target", "met"),
    [
        (60.0, 30.0, Target(at_most=60, ratio_at_most=2), True),
        (60.1, 31.0, Target(at_most=60, ratio_at_most=2), False),
        (50.0, 24.0, Target(at_most=60, ratio_at_most=2), False),
        (70.0, 100.0, Target(ratio_at_least=0.7), True),
        (69.0, 100.0, Target(ratio_at_least=0.7), False),
        (1.0, None, Target(ratio_at_most=2), False),
        (1.0, math.inf, Target(ratio_at_most=2), False),
        (math.inf, 1.0, Target(at_most=60), False),
        (math.nan, 1.0, Target(), False),
    ],
)
def test_a_row_is_met_only_where_every_bound_is_kept(
    figure: float, limit: float | None, target: Target, met: bool
) -> None:
    assert row("a", figure, limit, target).met is met


def test_a_target_is_judged_before_it_is_rounded() -> None:
    near = row("a", 1.6004, 1.0, Target(ratio_at_most=1.6))
    assert (near.ratio, near.met) == (1.6, False)


def test_json_has_rows_with_six_fields_and_no_number_that_json_lacks() -> None:
    rows = [row("a_ms", 12.3456, 6.0, Target(at_most=20, ratio_at_most=2, unit="ms")), row("b", math.inf, 0, Target())]
    assert json.loads(as_json(rows)) == {
        "rows": [
            {"name": "a_ms", "figure": 12.3, "limit": 6.0, "ratio": 2.06, "target": "<= 20 ms; <= 2x", "met": False},
            {"name": "b", "figure": None, "limit": 0.0, "ratio": None, "target": "", "met": False},
        ]
    }


def test_the_table_has_a_line_a_row_and_says_what_is_not_met() -> None:
    lines = as_table([row("short", 1, 2, Target(ratio_at_most=1)), row("longer_name", math.nan, None, Target())])
    head, first, second = lines.split("\n")
    assert first.endswith("  met")
    assert second.endswith("NOT MET")
    assert head.index("target") == first.index("<= 1x")


def test_a_measurement_that_cannot_be_taken_is_a_row_that_is_not_met() -> None:
    def fails(bench: Bench) -> list[Row]:
        raise TimeoutError("it never came")

    with Bench() as bench:
        assert logged("a", fails)(bench) == [Row("a", None, None, None, "", False)]


def test_every_mutation_has_measurements_that_must_see_it() -> None:
    assert SEEN_BY.keys() == MUTATIONS.keys()
    assert {name for names in SEEN_BY.values() for name in names} <= MEASUREMENTS.keys()


def test_a_mark_that_never_came_counts_from_when_a_later_one_of_its_kind_did() -> None:
    marks = [*(text_mark(n) for n in range(1, 5)), *(plan_mark(n) for n in range(1, 4))]
    seen = {text_mark(1): 9.0, text_mark(3): 5.0, plan_mark(2): 3.0}
    came = came_or_passed(marks, seen)
    assert came[text_mark(1)] == 9.0
    assert came[text_mark(2)] == 5.0
    assert (came[plan_mark(1)], came[plan_mark(2)]) == (3.0, 3.0)
    assert math.isinf(came[text_mark(4)])
    assert math.isinf(came[plan_mark(3)])


def test_material_is_the_same_for_the_same_seed() -> None:
    assert markdown(1, 5_000) == markdown(1, 5_000) != markdown(2, 5_000)
    assert len(markdown(1, 5_000)) == 5_000
    assert list(itertools.islice(facts(3), 500)) == list(itertools.islice(facts(3), 500))
    text = "".join(itertools.islice(stream(4), 6))
    assert re.findall(r"Zq\d{5}z", text) == [text_mark(n) for n in range(1, 7)]


def test_a_store_is_made_once_and_reads_as_its_kind_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "cache_folder", lambda: tmp_path)
    root = stores.stored("short")
    made = stores.store_of(root).stat().st_ino
    assert stores.stored("short") == root
    assert stores.store_of(root).stat().st_ino == made
    db = connect(stores.store_of(root))
    transcript = Transcript(db, root / ".geode")
    session = transcript.session(stores.SESSION)
    assert session is not None
    last = transcript.last_answer(stores.SESSION)
    assert last is not None
    assert stores.LAST in last.message.text
    assert sum(r.chars for r in transcript.index(stores.SESSION)) >= stores.KINDS["short"][1]
    state = state_at(transcript, session.number)
    assert state.events >= stores.KINDS["short"][0]
    assert (state.turn_open, state.title) == (False, stores.TITLE)
    db.close()


def test_the_cache_is_outside_of_the_project() -> None:
    assert ROOT not in stores.cache_folder().parents


def test_a_load_writes_what_is_due_and_knows_when_each_mark_was_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "cache_folder", lambda: tmp_path / "cache")
    (tmp_path / "cache").mkdir()
    root = stores.copy("chars-0", tmp_path)
    writing = load.Load(root, events=300, deltas=40)
    for tick in range(1, 31):
        writing.tick(tick / 10)
    times = writing.times
    assert (times.events, times.chars) == (900, 3_000)
    db = connect(stores.store_of(root))
    streamed = "".join(text for (text,) in db.execute("SELECT text FROM chunks ORDER BY seq").fetchall())
    plans = [p for (p,) in db.execute("SELECT payload FROM events WHERE event='plan_updated' ORDER BY id").fetchall()]
    db.close()
    assert len(streamed) == 3_000
    assert {m for m in times.marks if m.startswith("Zq")} == set(re.findall(r"Zq\d{5}z", streamed))
    assert [plan_mark(n) in plan for n, plan in enumerate(plans, start=1)] == [True] * len(plans)
    assert len(plans) == len([m for m in times.marks if m.startswith("Mk")]) == 30


def test_a_short_measurement_gives_rows_of_finite_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bench, "count", lambda self, long, short: 400)
    for each in measure(["fold", "append"], quick=True):
        assert each.figure is not None
        assert each.figure > 0
        assert each.limit is not None
        assert each.ratio == pytest.approx(each.figure / each.limit, rel=0.02)


def test_json_is_all_that_stands_on_stdout() -> None:
    command = [sys.executable, "-m", "tests.bench", "--json", "--quick", "--only", "append"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    report = json.loads(run.stdout)
    assert list(report) == ["rows"]
    assert [set(each) for each in report["rows"]] == [set(Row.__struct_fields__)]
    assert "append" in run.stderr


def test_an_unknown_measurement_is_named_and_measures_nothing() -> None:
    command = [sys.executable, "-m", "tests.bench", "--only", "nothing"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "no measurement 'nothing'" in run.stderr
