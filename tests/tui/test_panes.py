"""Side column, strip, header and events at every size, in both languages and forms: whole rows, nothing overlaps."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from textual.geometry import Size

from geode_tui.core.limits import Limits
from geode_tui.core.strings import Strings
from geode_tui.core.usage import CacheUse, Usage
from geode_tui.log.rows import Liveness, PendingCommand
from geode_tui.tui.glyphs import ASCII, UNICODE
from geode_tui.tui.layout import form_for, panel_height
from geode_tui.tui.look import Look
from geode_tui.tui.presenter import present
from geode_tui.tui.themes import load_themes
from geode_tui.tui.widgets.cost import cost_rows, cost_view
from geode_tui.tui.widgets.header import Header
from geode_tui.tui.widgets.plan import plan_rows
from geode_tui.tui.widgets.plots import sparkline, thin_bar
from geode_tui.tui.widgets.side import Side
from geode_tui.tui.widgets.strip import FigureStrip
from geode_tui.view.cost import session_text
from geode_tui.view.follow import Batch
from geode_tui.view.state import Money, Retry, RunState
from tests.tui.fakes import FREE, HELD, NOW, approval, running_state

PALETTE = load_themes()[0]["geode-dark"].palette
LOOK = Look(PALETTE, UNICODE, Strings("en"), str)
LOOKS = [Look(PALETTE, glyphs, Strings(language), str) for glyphs in (UNICODE, ASCII) for language in ("en", "ko")]


def presented(state: RunState, liveness: Liveness = HELD, pending: tuple[PendingCommand, ...] = (), look: Look = LOOK):  # type: ignore[no-untyped-def]
    return present(Batch(state, (), liveness, pending), look, "parser", NOW, interrupting=False)


def text(parts: list[Segment]) -> str:
    return "".join(part.text for part in parts)


LONG = "아주 긴 제목 " * 20
STATES = [
    running_state(),
    running_state(title=LONG, model="m" * 80, approvals={"a-1": approval()}),
    running_state(retry=Retry("rate_limit", 2, NOW + 22, "rate limit")),
    running_state(turn_open=False, termination_reason="session_time_budget_expired"),
    running_state(plan=tuple((LONG, "pending") for _ in range(40)), simulated=True),
    running_state(money=Money(0, 3, 3), limits=Limits(3, 60.0, 7_200.0, 5_000_000)),
    RunState(session_id="new"),
]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("state", STATES)
def test_every_row_fills_its_width_exactly_at_every_size(look: Look, state: RunState) -> None:
    shown = {kind: presented(state, Liveness(kind), look=look) for kind in ("held", "free", "stale")}  # type: ignore[arg-type]
    side, strip, header = Side(look), FigureStrip(look), Header(look)
    side._view, strip._view = shown["held"].side, shown["held"].side
    for width in (20, 33, 34, 36, 39, 40, 59, 60, 80, 119, 200):
        for height in (5, 33, 36):
            assert {line.cell_length for line in side.build(Size(width, height))} <= {width}
        for rows in (1, 2):
            assert {line.cell_length for line in strip.build(Size(width, rows))} == {width}
        for one in shown.values():
            header._view = one.header
            assert [line.cell_length for line in header.build(Size(width, 1))] == [width]


def header_text(state: RunState, width: int, liveness: Liveness = HELD) -> str:
    header = Header(LOOK)
    header._view = presented(state, liveness).header
    return header.build(Size(width, 1))[0].text


WIDTHS = (30, 40, *range(58, 110, 2))


def test_header_parts_leave_in_their_order_and_the_state_never_does() -> None:
    state = running_state(approvals={"a-1": approval()})
    present_at = {
        part: [w for w in WIDTHS if part in header_text(state, w)]
        for part in ("openai/payg", "gpt-5.2", "parser   ", "⚑ 1", "37")
    }
    first = {part: widths[0] for part, widths in present_at.items()}
    assert first["openai/payg"] > first["gpt-5.2"] > first["parser   "]
    assert first["⚑ 1"] == 30
    for part, widths in present_at.items():
        if part != "parser   ":
            assert widths == [w for w in WIDTHS if w >= widths[0]], part


@pytest.mark.parametrize(
    ("state", "liveness", "words"),
    [
        (running_state(), HELD, "round 37 0:42:10"),
        (running_state(approvals={"a-1": approval()}), HELD, "⚑ 1 needs you"),
        (running_state(approvals={"a": approval(), "b": approval(2)}), HELD, "⚑ 2 need you"),
        (running_state(), FREE, "✗ stopped working round 37"),
        (running_state(), Liveness("stale"), "▴ not answering"),
        (running_state(turn_open=False, termination_reason="natural"), HELD, "✓ done round 37"),
        (
            running_state(turn_open=False, termination_reason="max_rounds", limits=Limits(40)),
            FREE,
            "∎ stopped by the round limit (40)",
        ),
        (running_state(retry=Retry("rate_limit", 1, NOW + 22, "")), HELD, "tries again in 0:22"),
        (RunState(), FREE, "◦ new"),
    ],
)
def test_the_header_says_the_state(state: RunState, liveness: Liveness, words: str) -> None:
    assert words in header_text(state, 120, liveness)


def side_text(state: RunState, width: int, height: int) -> list[str]:
    side = Side(LOOK)
    side._view = presented(state).side
    return [line.text.rstrip() for line in side.build(Size(width, height))]


def test_sections_leave_the_column_from_the_bottom() -> None:
    columns = {height: side_text(running_state(), 40, height) for height in range(14, 50)}
    shown_from = {
        part: min(h for h, lines in columns.items() if any(part in line for line in lines[:h]))
        for part in (" Plan", "0:42:10 of", "peak", "R results")
    }
    assert shown_from[" Plan"] > shown_from["0:42:10 of"] > shown_from["peak"] > shown_from["R results"]
    for height, lines in columns.items():
        assert any("first to stop it: cost" in line for line in lines[: max(height, 16)]), height
        assert len(lines) <= max(height, 16)


def test_a_long_plan_keeps_the_step_at_work_in_view() -> None:
    steps = tuple((f"step {n}", "done" if n < 20 else "active" if n == 20 else "pending") for n in range(40))
    rows = [text(parts) for parts in plan_rows(steps, LOOK, 5)]
    assert len(rows) == 5
    assert any("step 20" in row for row in rows)
    assert rows[-1].strip() == "36 more"


def test_money_that_is_not_known_is_never_zero() -> None:
    unpriced = cost_view(running_state(money=Money(0, 2, 2), turn_money=Money(0, 1, 1)))
    rows = [text(left) + text(right) for left, right in cost_rows(unpriced, LOOK, 38, plot=False)]
    assert rows[0].startswith("unpriced")
    assert "this turn unpriced" in rows[0]
    assert any("calls without a known price: 2" in row for row in rows)


def test_simulated_money_says_so_beside_the_budget_it_is_held_against() -> None:
    simulated = cost_view(running_state(simulated=True))
    rows = [text(left) for left, _ in cost_rows(simulated, LOOK, 38, plot=False)]
    assert rows[0] == "$1.84 simulated of $5.00  36 %"
    assert session_text(running_state(simulated=True), LOOK.strings) == rows[0]


def test_before_the_first_call_the_meter_says_that_nothing_was_sent() -> None:
    rows = cost_rows(cost_view(RunState()), LOOK, 38, plot=True)
    assert [text(left) for left, _ in rows] == ["$0.00  Nothing was sent."]


def test_failed_calls_are_named() -> None:
    failed = cost_view(running_state(money=Money(50_000, 1, 0, Usage(1, 1), 20_000, 1)))
    assert any("$0.02 of it for failed calls" in text(left) for left, _ in cost_rows(failed, LOOK, 38, plot=False))


@pytest.mark.parametrize(
    ("state", "liveness", "lines"),
    [
        (running_state(), HELD, []),
        (
            running_state(provider="offline"),
            HELD,
            ["No language model is answering: the offline planner works by rules."],
        ),
        (running_state(), FREE, ["The worker stopped at round 37. enter resumes"]),
        (
            running_state(retry=Retry("rate_limit", 1, NOW + 5, "rate limit")),
            HELD,
            ["rate limit: next attempt in 0:05, r asks now"],
        ),
        (
            running_state(cache_use=CacheUse(8_000, 60_000), cache_low_turn=running_state().turn),
            HELD,
            ["Of what the provider's cache could hold, only 13 % was read: the Cost tab says why"],
        ),
        (running_state(cache_use=CacheUse(8_000, 60_000), cache_low_turn=running_state().turn + 1), HELD, []),
        (running_state(wrap_up="max_rounds"), HELD, ["The limit of rounds is near: the agent is closing."]),
        (
            running_state(turn_open=False, termination_reason="user_cancelled", ended_detail="two\ncalls"),
            HELD,
            ["interrupted by you   enter resumes", "two calls"],
        ),
        (running_state(turn_open=False, termination_reason="natural"), FREE, []),
    ],
)
def test_notices(state: RunState, liveness: Liveness, lines: list[str]) -> None:
    assert [line.text for line in presented(state, liveness).notices] == lines


def test_queued_words_are_shown_until_the_run_has_them() -> None:
    waiting = (
        PendingCommand(1, "k", "submit", "and\nthe tests \x1b[2J", NOW, claimed=False),
        PendingCommand(2, "l", "interrupt", "", NOW, claimed=False),
    )
    running = presented(running_state(), pending=waiting).notices
    assert [(line.text, line.note) for line in running] == [("and the tests \u241b", "sends before the next round")]
    idle = presented(running_state(turn_open=False), pending=waiting)
    assert idle.notices[0].note == "starting"
    assert idle.header.starting


def test_trouble_with_the_store_is_said_first() -> None:
    shown = present(Batch(running_state(), (), HELD, (), "store locked by 4711"), LOOK, "p", NOW, interrupting=False)
    assert shown.notices[0].text == "store locked by 4711"
    assert shown.notices[0].tone == "crit"


def test_secrets_and_escapes_in_titles_and_models_are_inert() -> None:
    look = msgspec.structs.replace(LOOK, redact=lambda s: s.replace("hunter2", "[redacted]"))
    hostile = running_state(title="x\x07\x1b[2J\x1b]52;c;AAAA\x07 hunter2", model="\x1b]0;u: ready\x07build")
    header = presented(hostile, look=look).header
    assert header.title == "x\u2407\u241b\u241b [redacted]"
    assert "\x1b" not in header.model


# -- plots and forms --------------------------------------------------------------------------------------------------
@given(st.floats(0, 1e12), st.floats(0, 1e12), st.integers(0, 60))
def test_thin_bars_have_their_width_and_show_that_something_was_used(part: float, whole: float, width: int) -> None:
    cells = thin_bar(LOOK, part, whole, width)
    assert len(cells) == width
    if part > 0 and width:
        assert cells[0].text == UNICODE.thin_full


@given(
    st.lists(st.floats(0, 1e9), max_size=300), st.integers(1, 60), st.integers(1, 3), st.sampled_from([UNICODE, ASCII])
)
@settings(max_examples=60)
def test_sparklines_fill_their_box(values: list[float], width: int, rows: int, glyphs: object) -> None:
    lines = sparkline(msgspec.structs.replace(LOOK, glyphs=glyphs), values, width, rows)
    assert [len(line) for line in lines] == [width] * rows


def test_a_sparkline_shows_its_peak_full_and_its_newest_last() -> None:
    upper, lower = sparkline(LOOK, [0.0, 1.0, 8.0, 4.0], 2, 2)
    assert lower == "\u28c0\u28ff"[0].replace("\u28c0", "\u28c0") + "\u28ff"
    assert upper[1] == "\u2847"


@pytest.mark.parametrize(
    ("size", "side", "strip", "tabs", "too_small"),
    [
        ((200, 60), 42, 0, True, False),
        ((200, 40), 42, 0, True, False),
        ((199, 40), 40, 0, True, False),
        ((200, 39), 40, 0, True, False),
        ((120, 30), 40, 0, True, False),
        ((119, 30), 36, 0, True, False),
        ((110, 30), 36, 0, True, False),
        ((109, 40), 0, 2, True, False),
        ((120, 29), 0, 2, True, False),
        ((60, 16), 0, 2, True, False),
        ((59, 40), 0, 1, False, False),
        ((120, 15), 0, 1, False, False),
        ((40, 12), 0, 1, False, False),
        ((39, 12), 0, 0, False, False),
        ((40, 11), 0, 0, False, False),
        ((20, 5), 0, 0, False, False),
        ((19, 5), 0, 0, True, True),
        ((20, 4), 0, 0, True, True),
        ((1, 1), 0, 0, True, True),
    ],
)
def test_forms(size: tuple[int, int], side: int, strip: int, tabs: bool, too_small: bool) -> None:
    form = form_for(*size)
    assert (form.side, form.strip, form.tabs, form.too_small) == (side, strip, tabs, too_small)


@given(st.integers(5, 100), st.integers(0, 10_000), st.booleans())
def test_the_approval_panel_never_takes_the_whole_screen(height: int, wanted: int, whole: bool) -> None:
    rows = panel_height(height, wanted, whole=whole)
    assert 2 <= rows <= max(2, height - 3)
