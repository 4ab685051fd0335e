"""The home screen over a hand-written list: what is shown, and what the peek says."""

from __future__ import annotations

import msgspec
import pytest
from rich.cells import cell_len

from geode_tui.log.rows import Liveness
from geode_tui.tui.glyphs import ASCII, UNICODE, Glyphs
from geode_tui.tui.home_rows import home_rows
from geode_tui.tui.layout import form_for
from geode_tui.tui.screens import home_view
from geode_tui.tui.screens.home_view import peek_width
from geode_tui.view.state import Money
from tests.tui import hostile
from tests.tui.fakes import HELD, NOW, approval, screen_text
from tests.tui.homes import MISSING, ORDER, FakeHome, at_home, fleet, listed


async def test_runs_that_need_you_come_first_then_live_ones_then_ended_ones() -> None:
    async with at_home() as home:
        assert [row.session_id for row in home.screen.runs.rows] == ORDER
        lines = [next(i for i, line in enumerate(screen_text(home.app)) if f"Run {name} " in line) for name in ORDER]
        assert lines == sorted(lines)
        for heading in ("Needs you 2", "Live 1", "Ended 3", "⚑ 2 need you", "3 live"):
            assert home.sees(heading)


async def test_a_row_says_state_title_rounds_context_cost_and_age() -> None:
    async with at_home(size=(200, 60)) as home:
        row = home.line("Run works")
        for part in ("running", "r37", "⠶⠶⠶⠶⠒⠒", "72 % ▴", "$1.84", "0:42:10"):
            assert part in row
        assert "wants run_shell make docs" in home.line("wants")
        assert "done" in home.line("Run done")
        assert "2 h ago" in home.line("Run done")
        assert "✗ stopped working" in home.line("Run broke")
        assert home.sees("its worker stopped at round 3; it can be resumed")
        assert "∎ stopped" in home.line("Run stopped")
        assert home.sees("stopped by the round limit")


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"money": Money(5_000, 1)}, "<$0.01"),
        ({"money": Money(0, 2, 2)}, "unpriced"),
        ({"money": Money(7_000_000, 3), "simulated": True}, "simulated"),
        ({"money": Money(), "context": None}, " - "),
    ],
)
async def test_money_that_is_not_known_or_not_real_is_never_shown_as_an_amount(
    changes: dict[str, object], shown: str
) -> None:
    async with at_home((listed("one", **changes),), size=(100, 30)) as home:
        assert shown in home.line("Run one")
        assert "$7" not in home.line("Run one")


async def test_titles_are_there_before_figures() -> None:
    unfolded = tuple(msgspec.structs.replace(run, state=None) for run in fleet())
    async with at_home(unfolded) as home:
        assert "Run done" in home.line("Run done")
        assert "r37" not in home.line("Run done")
        assert home.sees("Live 3")
        await home.show(*fleet())
        await home.until(lambda: "r37" in home.line("Run done"))


@pytest.mark.parametrize(("language", "glyphs"), [("en", UNICODE), ("ko", UNICODE), ("en", ASCII)])
async def test_at_every_size_rows_are_as_wide_as_the_screen_and_the_selected_run_is_seen(
    language: str, glyphs: Glyphs
) -> None:
    async with at_home(size=(200, 60), language=language, glyphs=glyphs) as home:
        for size in [(120, 40), (110, 24), (80, 24), (60, 16), (40, 12), (30, 8), (20, 5)]:
            await home.pilot.resize_terminal(*size)
            await home.until(lambda size=size: home.screen.form == form_for(*size) and home.screen.size == size)
            for key in ("end", "home"):
                home.screen.runs.focus()
                await home.press(key)
                lines = screen_text(home.app)
                assert [cell_len(line) for line in lines] == [size[0]] * size[1]
                assert home.sees(f"Run {home.selected}"), (size, key)
                assert glyphs is UNICODE or all(line.isascii() for line in lines)
            assert home.screen.composer.region.bottom <= size[1]
            assert home.screen.peek.display == (size[0] >= 110)


async def test_a_terminal_without_room_says_so_and_recovers() -> None:
    async with at_home() as home:
        await home.pilot.resize_terminal(19, 4)
        await home.until(lambda: home.sees("too small: 40x12"))
        await home.pilot.resize_terminal(80, 24)
        await home.until(lambda: home.sees("Run works"))
        assert home.screen.composer.entry.has_focus


async def test_hostile_titles_words_and_briefs_are_inert() -> None:
    bad = listed(
        "bad",
        HELD,
        title=hostile.HOSTILE,
        model=hostile.HOSTILE,
        approvals={"a": approval(brief=hostile.HOSTILE, tool=hostile.HOSTILE)},
    )
    source = FakeHome((bad,), ready=msgspec.structs.replace(MISSING, problem=hostile.HOSTILE))
    source.words = f"{hostile.HOSTILE}\n\thunter2hunter2 ends it"
    async with at_home(source=source) as home:
        await home.until(lambda: home.sees("ends it"))
        text = "\n".join(screen_text(home.app))
        assert "[redacted]" in text
        assert "hunter2" not in text
        assert not any((ord(c) < 32 and c != "\n") or 0x7F <= ord(c) <= 0x9F or c == "\u202e" for c in text)
        assert all(cell_len(line) == 120 for line in screen_text(home.app))


async def test_nothing_is_painted_when_nothing_changed() -> None:
    async with at_home() as home:
        await home.until(lambda: home.sees("Two tests fail."))
        painted: list[str] = []
        for pane in (home.screen.header, home.screen.runs, home.screen.peek, home.screen.ready, home.screen.footer):
            pane.refresh = lambda *regions, name=pane.id, **_: painted.append(str(name))  # type: ignore
        taken = home.source.feeds[0].taken
        await home.show(*fleet())
        assert home.source.feeds[0].taken > taken
        assert painted == []
        changed = msgspec.structs.replace(fleet()[1], liveness=Liveness("stale", pid=4711))
        await home.show(fleet()[0], changed, *fleet()[2:])
        assert set(painted) == {"runs"}


async def test_the_clock_of_a_live_run_is_as_of_the_list() -> None:
    async with at_home() as home:
        home.source.now += 10
        home.source.show(*fleet())
        await home.until(lambda: "0:42:20" in home.line("Run works"))


async def test_a_project_of_many_runs_mounts_no_more_widgets_and_shows_its_last() -> None:
    runs = tuple(listed(f"{number:03}") for number in range(200))
    async with at_home((listed("one"),), size=(80, 24)) as home:
        before = len(home.screen.query("*"))
        await home.show(*runs)
        home.screen.runs.focus()
        await home.press("end")
        await home.until(lambda: home.sees("Run 199"))
        assert len(home.screen.query("*")) == before < 30
        await home.press("g")
        await home.until(lambda: home.sees("Ended 200"))
        assert home.sees("Run 000")


async def test_a_store_that_cannot_be_read_is_told_and_the_list_stays() -> None:
    async with at_home() as home:
        await home.show(*fleet(), trouble="the store is locked by 4711")
        await home.until(lambda: home.sees("the store is locked by 4711"))
        assert home.sees("Run works")
        await home.show(*fleet())
        await home.until(lambda: not home.sees("locked by"))


@pytest.mark.parametrize("delay", [3_600.0, 0.01])
async def test_it_says_that_it_opens_only_after_a_while(delay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_view, "OPENING_S", delay)
    source = FakeHome()
    async with at_home(source=source) as home:
        await home.until(lambda: home.sees("Start a run: say what you want done"))
        if delay < 1:
            await home.until(lambda: home.sees("Opening the list of runs"))
        assert home.sees("Opening the list of runs") == (delay < 1)


async def test_the_peek_shows_the_selected_run_and_the_end_of_what_it_said() -> None:
    source = FakeHome(fleet())
    source.words = "\n".join(f"line {number}" for number in range(100))
    async with at_home(source=source) as home:
        await home.until(lambda: home.sees("line 99"))
        assert not home.sees("line 1 ")
        assert home.sees("waits for your answer")
        assert home.sees("264.9k of 367.2k")
        source.words = ""
        await home.press("down", "down", "down")
        await home.until(lambda: home.sees("Nothing was said yet."))
        assert source.peeked[-1] == "done"


async def test_words_are_read_again_only_when_the_selected_run_went_on() -> None:
    async with at_home() as home:
        await home.until(lambda: home.sees("Two tests fail."))
        assert home.source.peeked == ["asks"]
        await home.show(*fleet())
        assert home.source.peeked == ["asks"]
        home.source.words = "Now they pass."
        await home.show(*fleet()[:2], listed("asks", HELD, last_id=9, approvals={"a-1": approval()}))
        await home.until(lambda: home.sees("Now they pass."))
        assert home.source.peeked == ["asks", "asks"]


async def test_nothing_is_read_for_a_peek_that_is_not_shown() -> None:
    async with at_home(size=(80, 24)) as home:
        await home.press("down", "down")
        assert home.source.peeked == []
        await home.pilot.resize_terminal(120, 40)
        await home.until(lambda: home.source.peeked == ["works"])


@pytest.mark.parametrize(("width", "cells"), [(20, 0), (109, 0), (110, 36), (120, 40), (200, 60)])
def test_the_peek_has_room_from_110_columns_on(width: int, cells: int) -> None:
    assert peek_width(width) == cells


def test_a_question_that_no_answer_would_reach_is_no_reason_to_come_first() -> None:
    run = listed("dead", turn_open=True, approvals={"a-1": approval()})
    assert home_rows([run], NOW)[0].group == "ended"
    stale = listed("stale", Liveness("stale"), approvals={"a-1": approval()})
    assert home_rows([stale], NOW)[0].group == "needs"
