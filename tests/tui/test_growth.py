"""The growth plot and what lies ahead, in the rows that a tall column leaves."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from textual.geometry import Size

from geode_tui.core.limits import Limits
from geode_tui.core.strings import Strings
from geode_tui.tui.cells import segments_width
from geode_tui.tui.glyphs import ASCII, UNICODE, Glyphs
from geode_tui.tui.look import Look
from geode_tui.tui.presenter import present
from geode_tui.tui.themes import load_themes
from geode_tui.tui.widgets.growth import PLOT_ROWS, growth_rows, next_rows
from geode_tui.tui.widgets.plots import columns
from geode_tui.tui.widgets.side import Side
from geode_tui.view.follow import Batch
from geode_tui.view.forecast import Forecast, Span, forecast_of
from geode_tui.view.gauge import time_text
from geode_tui.view.selectors import GuardLine
from geode_tui.view.state import RoundFigures, RunState
from tests.tui.fakes import FIGURES, HELD, NOW, running_state

PALETTE = load_themes()[0]["geode-dark"].palette


def look(glyphs: Glyphs = UNICODE, language: str = "en") -> Look:
    return Look(PALETTE, glyphs, Strings("ko" if language == "ko" else "en"), str)


def rows_of(state: RunState, height: int, wearing: Look) -> list[str]:
    side = Side(wearing)
    side.show(present(Batch(state, (), HELD, ()), wearing, "p", NOW, interrupting=False).side)
    return [strip.text for strip in side.build(Size(42, height))]


@given(
    st.lists(st.integers(0, 500_000), max_size=200),
    st.integers(1, 120),
    st.sampled_from([UNICODE, ASCII]),
    st.sampled_from(["en", "ko"]),
)
@settings(max_examples=60, deadline=None)
def test_the_plot_fills_its_box_whatever_was_used(used: list[int], width: int, glyphs: Glyphs, language: str) -> None:
    rounds = [RoundFigures(1, n, tokens, None) for n, tokens in enumerate(used, 1)]
    rows = growth_rows(rounds, FIGURES, look(glyphs, language), width)
    assert len(rows) in {0, PLOT_ROWS + 1}
    assert all(segments_width(parts) <= width for parts in rows)


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_a_full_context_reaches_the_top_and_half_of_it_the_middle(glyphs: Glyphs) -> None:
    full, half = ([row[0] for row in columns(look(glyphs), [value], 1, 8, 100.0)] for value in (100.0, 50.0))
    assert len({*full}) == 1
    assert half == [" "] * 4 + full[:4]


def test_the_limits_stand_beside_the_plot_and_the_rounds_below() -> None:
    rows = growth_rows(running_state().rounds, FIGURES, look(), 40)
    labels = [parts[0].text.strip() for parts in rows]
    assert labels[0] == "330.5k"
    assert "257.1k" in labels[1:4]
    assert labels[PLOT_ROWS - 1] == "0"
    assert "".join(part.text for part in rows[-1]).split() == ["r1", "r37"]


def test_without_rounds_or_figures_there_is_no_plot() -> None:
    assert growth_rows([], FIGURES, look(), 40) == []
    assert growth_rows(running_state().rounds, None, look(), 40) == []


def test_every_limit_ahead_has_its_row_and_what_is_behind_has_none() -> None:
    guards = (GuardLine("session", 600.0, 7_200.0, "seconds"), GuardLine("rounds", 37, 50, "rounds"))
    ahead = Forecast(
        3_000, Span(0, 0, 0), Span(18, 21, 25), Span(33, 33, 33), cost=Span(60, 61, 62), round_s=Span(20, 24, 30)
    )
    made = next_rows(ahead, guards, look(), 40, live=True)
    assert [words(left) for left, _ in made] == [
        "critical ~18-25 rounds",
        "full ~33 rounds",
        "cost budget ~60-62 rounds",
        "session time in 1:50:00",
        "rounds ~13 rounds",
    ]
    assert [words(right) for _, right in made] == ["~6-13 min", "~11-17 min", "~20-31 min", "", ""]
    assert next_rows(None, guards[:1], look(), 40, live=False) == []


def words(parts: list[Segment]) -> str:
    return " ".join("".join(part.text for part in parts).split())


@pytest.mark.parametrize(
    ("took", "english", "korean"),
    [
        (Span(360, 500, 750), "~6-13 min", "약 6-13분"),
        (Span(600, 600, 600), "~10 min", "약 10분"),
        (Span(5, 8, 20), "~0-1 min", "약 0-1분"),
        (Span(7_199, 8_000, 9_000), "~119-150 min", "약 119-150분"),
        (Span(7_200, 9_000, 14_000), "~2-4 h", "약 2-4시간"),
        (None, "", ""),
    ],
)
def test_how_long_that_takes(took: Span | None, english: str, korean: str) -> None:
    assert (time_text(took, Strings("en")), time_text(took, Strings("ko"))) == (english, korean)


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_both_come_after_the_plan_only_where_rows_are_left(glyphs: Glyphs, language: str) -> None:
    wearing = look(glyphs, language)
    tall, low = (rows_of(running_state(), height, wearing) for height in (57, 38))
    growth, ahead, plan = (wearing.t(f"section.{name}") for name in ("growth", "next", "plan"))
    heads = [row.strip("| ").split("  ")[0] for row in tall]
    assert heads.index(plan) < heads.index(growth) < heads.index(ahead)
    assert not any(growth in row for row in low)
    assert (len(tall), len(low)) == (57, 38)


def test_no_plan_is_lost_for_the_plot() -> None:
    steps = tuple((f"step {n}", "pending") for n in range(24))
    rows = rows_of(running_state(plan=steps), 57, look())
    assert any("step 23" in row for row in rows) or any("more" in row for row in rows)
    assert not any("Growth" in row for row in rows)


def test_money_that_is_not_priced_promises_nothing() -> None:
    rounds = [msgspec.structs.replace(r, cost_micro=None) for r in running_state().rounds]
    state = running_state(rounds=rounds, limits=Limits(cost_budget_micro=5_000_000))
    shown = [words(left) for left, _ in next_rows(forecast_of(state), (), look(), 40, live=True)]
    assert shown
    assert not any(line.startswith("cost") for line in shown)
