"""What calls the person: limits that come near, questions, the end of a turn."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.limits import Limits
from geode_tui.tui import alerts as module
from geode_tui.tui.alerts import Standing, alerts, notification
from geode_tui.tui.screens import run_view
from geode_tui.tui.screens.run import RunScreen
from geode_tui.view.state import Money
from tests.tui.driving import Driven, opened
from tests.tui.fakes import FIGURES, FREE, approval, running_state
from tests.tui.terminals import terminal

CALM = Standing("ok", frozenset(), 0, open=True)


def after(**changes: Any) -> Standing:
    return msgspec.structs.replace(CALM, **changes)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ()),
        ({"level": "warning"}, ("warning",)),
        ({"level": "critical"}, ("critical",)),
        ({"level": "over"}, ("over",)),
        ({"level": None}, ()),
        ({"budgets": frozenset({"session", "cost"})}, ("cost", "session")),
        ({"needs": 2}, ("needs",)),
        ({"open": False}, ("ended",)),
        ({"level": "warning", "needs": 1, "open": False}, ("warning", "needs", "ended")),
    ],
)
def test_what_came_nearer_is_told(changes: dict[str, Any], told: tuple[str, ...]) -> None:
    assert alerts(CALM, after(**changes)) == told
    assert alerts(after(**changes), after(**changes)) == ()


def test_what_went_away_is_not_told() -> None:
    full = after(level="critical", budgets=frozenset({"cost"}), needs=3, open=False)
    assert alerts(full, CALM) == ()
    assert alerts(after(level="critical"), after(level="warning")) == ()


@given(st.text(), st.sampled_from(["xterm-256color", "foot", "rxvt-unicode"]))
def test_b084_nothing_in_a_text_ends_a_notification_early(text: str, term: str) -> None:
    sequence = notification(text, {"TERM": term})
    assert sequence.startswith("\x1b]777;notify;geode-tui;" if term != "xterm-256color" else "\x1b]9;")
    inside = sequence[1:-1]
    assert sequence[-1] == "\x07"
    assert inside.isprintable()
    assert len(inside) < 160


@pytest.fixture
def long_flash(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flash ends only where a test ends it."""
    monkeypatch.setattr(run_view, "FLASH_S", 3_600.0)


LOW = msgspec.structs.replace(FIGURES, used=100_000)


def chip_is_filled(driven: Driven) -> bool:
    palette = driven.app.look.palette
    strips = driven.app.screen._compositor.render_strips()
    found = [s for strip in strips for s in strip if "warning" in s.text and s.style is not None]
    background = found[0].style.bgcolor if found and found[0].style else None
    return background is not None and background.name == palette.warn


@pytest.mark.usefixtures("long_flash")
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_crossing_reverses_its_chip_until_the_time_is_over(size: tuple[int, int]) -> None:
    async with opened(running_state(context=LOW), size=size, motion=True) as driven:
        await driven.show(running_state())
        await driven.until(lambda: driven.sees("warning") and not chip_is_filled(driven))
        driven.screen._end_flash()
        await driven.until(lambda: chip_is_filled(driven))


@pytest.mark.usefixtures("long_flash")
async def test_without_motion_nothing_is_reversed() -> None:
    async with opened(running_state(context=LOW), size=(120, 40), motion=False) as driven:
        await driven.show(running_state())
        await driven.until(lambda: chip_is_filled(driven))
        assert driven.screen._flash == ()


@pytest.mark.usefixtures("long_flash")
async def test_four_fifths_of_a_budget_mark_its_figures() -> None:
    limits = Limits(cost_budget_micro=5_000_000)
    async with opened(running_state(limits=limits), size=(120, 40), motion=True) as driven:
        await driven.show(running_state(limits=limits, money=Money(4_000_000, 40)))
        view = driven.screen.side._view
        assert view is not None
        assert view.cost.flash
        assert view.flash == {"cost"}
        driven.screen._end_flash()
        view = driven.screen.side._view
        assert view is not None
        assert not view.flash


async def test_what_is_there_when_a_run_is_opened_calls_nobody() -> None:
    told: list[str] = []
    async with opened(running_state(approvals={"a-1": approval()}), motion=False) as driven:
        listen(driven.screen, told)
        await driven.show(running_state(approvals={"a-1": approval()}, chars=9))
        assert told == []
        await driven.show(running_state(approvals={"a-1": approval(), "a-2": approval(2)}))
        await driven.show(running_state(turn_open=False, termination_reason="natural"), FREE)
        assert told == ["Streaming parser: It needs you.", "Streaming parser: done"]


def listen(screen: RunScreen, told: list[str]) -> None:
    post = screen.post_message

    def heard(message: Any) -> bool:
        if isinstance(message, RunScreen.Alerted):
            told.extend(message.lines)
        return post(message)

    screen.post_message = heard  # type: ignore[method-assign]


@pytest.mark.parametrize(("words", "rings"), [(("bell",), True), (("notify",), False), ((), False)])
def test_the_terminal_is_told_only_in_the_ways_that_are_wanted(words: tuple[str, ...], rings: bool) -> None:
    with terminal("running", "still", "end", *words) as screen:
        screen.until(b"ended")
        screen.quiet()
        assert (b"\x1b]9;Streaming parser: done\x07" in screen.seen) == ("notify" in words)
        assert (b"\x07" in re.sub(rb"\x1b\].*?\x07", b"", screen.seen)) == rings
        screen.write(b"\x11")
        screen.finish()


def test_a_flash_is_one_second() -> None:
    assert module.FLASH_S == 1.0
