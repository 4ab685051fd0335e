"""B090: whatever ends the screen, the terminal is as it was before it."""

from __future__ import annotations

import signal

import psutil
import pytest

from tests.tui.terminals import Terminal, left_behind, terminal


def shown(screen: Terminal) -> list[object]:
    """Wait until the run is on screen; the line settings it has taken."""
    screen.until(b"round 37")
    taken = screen.attributes
    assert left_behind(screen.seen) != []
    return taken


def check_put_back(screen: Terminal, before: list[object]) -> None:
    """The modes, the line settings, and no page of an error."""
    assert left_behind(screen.seen) == []
    assert screen.attributes == before
    assert b"Traceback" not in screen.seen


@pytest.mark.parametrize(
    "signals",
    [(signal.SIGTERM,), (signal.SIGHUP,), (signal.SIGQUIT,), (signal.SIGINT,), (signal.SIGINT, signal.SIGINT)],
)
def test_a_signal_leaves_the_terminal_as_it_was(signals: tuple[signal.Signals, ...]) -> None:
    with terminal("running") as screen:
        before = screen.attributes
        assert shown(screen) != before
        for number in signals:
            screen.process.send_signal(number)
        assert screen.finish() == 128 + signals[0]
        check_put_back(screen, before)


def test_a_signal_in_the_moment_the_terminal_is_taken_leaves_it_as_it_was() -> None:
    with terminal("running") as screen:
        before = screen.attributes
        screen.until(b"\x1b[?1049h")
        screen.process.send_signal(signal.SIGTERM)
        assert screen.finish() == 128 + signal.SIGTERM
        check_put_back(screen, before)


@pytest.mark.parametrize("stop", [signal.SIGSTOP, signal.SIGTSTP])
def test_a_stopped_screen_goes_on_and_then_leaves_the_terminal_as_it_was(stop: signal.Signals) -> None:
    with terminal("running") as screen:
        before = screen.attributes
        taken = shown(screen)
        process = psutil.Process(screen.process.pid)
        for _ in range(2):
            process.send_signal(stop)
            while process.status() != psutil.STATUS_STOPPED:
                screen.read(0.05)
            screen.read(0.2)
            if stop == signal.SIGTSTP:
                check_put_back(screen, before)
            process.send_signal(signal.SIGCONT)
            screen.seen = b""
            screen.until(b"\x1b[?1049h")
            screen.until(b"round 37")
        assert screen.attributes == taken
        screen.write(b"once")
        screen.until(b"once")
        screen.process.send_signal(signal.SIGTERM)
        assert screen.finish() == 128 + signal.SIGTERM
        assert [mode for mode in left_behind(screen.seen) if mode != "keys"] == []
        assert screen.attributes == before
        assert b"typed 'once'" in screen.seen


@pytest.mark.parametrize("where", ["crash", "crash-thread", "crash-task"])
def test_an_error_closes_the_screen_without_a_traceback_and_leaves_the_terminal_as_it_was(where: str) -> None:
    with terminal("running", where) as screen:
        before = screen.attributes
        assert screen.finish() == 1
        check_put_back(screen, before)
        assert b"failed: ZeroDivisionError(" in screen.seen


def test_a_terminal_that_is_gone_ends_the_screen() -> None:
    with terminal("running") as screen:
        shown(screen)
        screen.process.send_signal(signal.SIGSTOP)
        screen.hang_up()
        screen.process.send_signal(signal.SIGCONT)
        screen.process.send_signal(signal.SIGHUP)
        assert screen.process.wait(20) != 0
