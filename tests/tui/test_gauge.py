"""The gauge's bar, marks and words (SCREENS.md 5)."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment

from geode_tui.context.figures import figures as counted
from geode_tui.core.events import ContextFigures
from geode_tui.core.strings import Strings
from geode_tui.routes.budget import budget_of
from geode_tui.routes.catalog import Route
from geode_tui.tui.cells import segments_width
from geode_tui.tui.glyphs import ASCII, UNICODE, Glyphs
from geode_tui.tui.look import Look
from geode_tui.tui.palette import GAUGE_KINDS
from geode_tui.tui.presenter import draft_notices
from geode_tui.tui.themes import load_themes
from geode_tui.tui.widgets.gauge import Gauge, GaugeView
from geode_tui.view.blocks import BlockTable
from geode_tui.view.forecast import Forecast, Span
from geode_tui.view.gauge import context_lines
from geode_tui.view.reports import context_report
from geode_tui.view.state import RunState
from tests.tui.fakes import FIGURES

PALETTE = load_themes()[0]["geode-dark"].palette


def gauge(figures: ContextFigures | None = FIGURES, glyphs: Glyphs = UNICODE, **view: object) -> Gauge:
    return Gauge(GaugeView(figures, **view), Look(PALETTE, glyphs, Strings("en"), str))  # type: ignore[arg-type]


def text(parts: list[Segment]) -> str:
    return "".join(part.text for part in parts)


REACHED, FULL = Span(0, 0, 0), Span(28, 33, 40)


def ahead_of(warning: Span, critical: Span, full: Span = FULL) -> Forecast:
    """A forecast with these ranges of rounds."""
    return Forecast(3_100, warning, critical, full)


def changed(**changes: object) -> ContextFigures:
    return msgspec.structs.replace(FIGURES, **changes)


def test_the_ascii_bar_has_a_letter_a_cell_ticks_and_the_reserve() -> None:
    assert gauge(glyphs=ASCII).bar(38).text == "STUAAAHRRRRRRRRRRRRRRRRRR...|..|...///"


def test_labels_stand_under_their_ticks_and_the_critical_one_may_slip() -> None:
    assert text(gauge(glyphs=ASCII).labels(38)).rstrip() == "                 '50    !70 '80 !!90"


def test_the_segments_together_are_as_wide_as_what_is_used() -> None:
    bar = gauge().bar(200)
    backgrounds = [s.style.bgcolor.name for s in bar for _ in s.text if s.style and s.style.bgcolor]
    used = sum(1 for b in backgrounds if b in {PALETTE.gauge[k] for k in GAUGE_KINDS})
    assert used == round(264_900 / 400_000 * 200)


def test_a_part_below_half_a_cell_is_only_in_the_legend() -> None:
    tiny = changed(parts={"system": 10, "results": 264_890})
    assert "S" not in gauge(tiny).bar(38).text
    assert any("system" in text(row) for row in gauge(tiny).legend(38))


def test_beyond_the_window_the_last_cell_says_so() -> None:
    over = changed(used=450_000, parts={"results": 450_000})
    assert gauge(over).bar(38).text.endswith(">")
    assert text(gauge(over).head()).startswith("122 %   ✕ over")


@pytest.mark.parametrize(
    ("changes", "head", "measured"),
    [
        ({}, "72 %   ▴ warning ", "measured, 0.8 % off"),
        ({"measured": "estimated"}, "~72 %   ▴ warning ", "estimated"),
        ({"measured": "estimated", "suspect": True}, "~72 %   ▴ warning ", "count not believed"),
        ({"measured": "counted"}, "72 %   ▴ warning ", "counted"),
        ({"used": 80_000}, "21 %  ✓ ok", "measured, 0.8 % off"),
        ({"used": 340_000}, "92 %   !! critical ", "measured, 0.8 % off"),
        ({"provenance": "unknown_fallback"}, "~72 %   ▴ warning ", "measured, 0.8 % off"),
    ],
)
def test_words(changes: dict[str, object], head: str, measured: str) -> None:
    one = gauge(changed(**changes), error=-0.8)
    assert text(one.head()) == head
    assert one.measured() == measured


def test_an_unknown_gauge_is_empty_and_says_so() -> None:
    one = gauge(None)
    assert text(one.head()) == "- %  not known"
    assert one.bar(30).text == " " * 30
    assert one.labels(30) == []
    assert one.legend(30) == []


def test_an_assumed_window_is_called_assumed() -> None:
    one = gauge(changed(provenance="unknown_fallback"))
    assert text(one.amount()) == "264.9k of an assumed 367.2k"
    assert one.provenance() == "window 400k assumed, reserve 32.8k"


def test_the_gauge_the_report_and_the_warning_have_one_base() -> None:
    """B005: what is left of the budget is told by three places, and all of them mean the same budget."""
    route = Route("m", "p", "payg", "m", 200_000, 64_000, "catalog")
    budget = budget_of(route, 32_768)
    shown = counted(127_000, {"user": 127_000}, route, budget, "confirmed", simulated=False)
    one = gauge(shown)
    assert text(one.head()).startswith("75 %")
    assert text(one.amount()) == "127.0k of 167.2k"
    state = RunState(context=shown)
    assert context_lines(state, one.look.strings)[0] == ("", "75 %  warning  127.0k of 167.2k")
    report = context_report(state, BlockTable())
    assert (report["percent"], report["budget"], report["used"]) == (75.9, budget.prompt, 127_000)
    left = budget.prompt - 127_000
    assert draft_notices(left, shown, one.look) == ()
    (line,) = draft_notices(left + 1, shown, one.look)
    assert "40.2k" in line.text


def test_the_soft_limit_is_marked_only_inside_a_larger_window() -> None:
    assert text(gauge().marks(38)).strip() == "▾200k soft limit"
    assert gauge(changed(window=200_000, budget=167_000)).marks(38) == []


def tiers(*tokens: int, window: int = 1_050_000, budget: int = 922_000) -> ContextFigures:
    return changed(window=window, budget=budget, price_tiers=tokens)


def test_a_price_step_inside_the_window_is_marked_where_it_lies() -> None:
    marks = text(gauge(tiers(272_000)).marks(120))
    assert marks.index("▾272k price step") == round(272_000 / 1_050_000 * 120)
    assert marks.index("▾200k") == round(200_000 / 1_050_000 * 120)


def test_marks_that_would_touch_keep_their_pointers() -> None:
    assert text(gauge(tiers(272_000)).marks(38)).strip() == "▾  ▾272k price step"
    assert text(gauge(tiers(272_000)).marks(80)).strip() == "▾200k ▾272k price step"
    assert text(gauge(tiers(100_000, window=200_000, budget=180_000)).marks(38)).strip() == "▾100k price step"


def test_a_price_step_beyond_the_budget_can_never_be_met_and_is_not_marked() -> None:
    assert gauge(tiers(272_000, window=272_000, budget=190_000)).marks(38) == []


@pytest.mark.parametrize(("glyphs", "dots"), [(UNICODE, "⠶⠶⠶⠶⠒⠒"), (ASCII, "====--")])
def test_in_a_list_the_bar_is_a_row_of_dots(glyphs: Glyphs, dots: str) -> None:
    assert text(gauge(glyphs=glyphs).thin(6)) == dots
    assert text(gauge(None, glyphs=glyphs).thin(6)) == " " * 6


@pytest.mark.parametrize(
    ("ahead", "line"),
    [
        (ahead_of(Span(4, 5, 7), Span(18, 21, 25)), "warning in ~4-7 rounds  +3.1k a round"),
        (ahead_of(REACHED, Span(18, 21, 25)), "critical in ~18-25 rounds  +3.1k a round"),
        (ahead_of(REACHED, REACHED, Span(2, 2, 2)), "full in ~2 rounds  +3.1k a round"),
        (ahead_of(REACHED, REACHED, REACHED), ""),
        (None, ""),
    ],
)
def test_the_outlook_names_the_next_limit(ahead: Forecast | None, line: str) -> None:
    assert text(gauge(forecast=ahead).outlook(60)) == line


def test_a_narrow_bar_has_no_letters() -> None:
    assert not any(c.isalpha() for c in gauge().bar(17).text)
    assert "R" in gauge().bar(18).text


parts = st.dictionaries(st.sampled_from([*GAUGE_KINDS, "unattributed", "made_up"]), st.integers(0, 2_000_000))


@given(
    parts, st.integers(1_000, 2_000_000), st.integers(0, 100), st.integers(0, 120), st.sampled_from([UNICODE, ASCII])
)
def test_every_row_is_as_wide_as_it_should_be(
    kinds: dict[str, int], window: int, reserve: int, width: int, glyphs: Glyphs
) -> None:
    budget = window - window * reserve // 200
    figures = changed(
        used=sum(kinds.values()),
        window=window,
        budget=budget,
        warning=budget // 2,
        critical=budget * 9 // 10,
        warning_percent=50,
        parts=kinds,
    )
    one = gauge(figures, glyphs)
    assert one.bar(width).cell_length == width
    assert segments_width(one.labels(width)) <= width
    assert all(segments_width(row) <= width for row in one.legend(width))
    assert segments_width(one.marks(max(width, 20))) <= max(width, 20)
