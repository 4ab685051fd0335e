"""B090: however a screen ends, the run goes on to its natural end, and somebody says what to do."""

from __future__ import annotations

import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from tests.chaos.invariants import check
from tests.chaos.test_life import SLOW, begun, release
from tests.cli.place import Place, gone, until
from tests.tui.terminals import Terminal, left_behind, terminal

HINT = b"The last screen was killed. If the terminal "


@contextmanager
def screen_on(place: Place, *words: str, module: str = "geode_tui", signals: bool = False) -> Iterator[Terminal]:
    """The program on a terminal of its own, in the place."""
    env = {**place.environment, "TERM": "xterm-256color", "GEODE_PROVIDER": "offline", "GEODE_APPROVE": "all"}
    with terminal(*words, module=module, cwd=place.root, env=env, signals=signals) as screen:
        yield screen


def started(place: Place) -> str:
    """A run that waits for the test; its id."""
    place.start("run", SLOW, "--provider", "offline", "--approve", "all")
    return begun(place)


def check_goes_on(place: Place, session: str) -> None:
    """The run still does what it did."""
    assert not gone(place.worker(session))
    assert place.status(session) == "running"
    assert place.running(session, "run_shell")


def check_ends_naturally(place: Place, session: str) -> None:
    """The run comes to its end, and nothing of it is lost."""
    release(place, session)
    assert place.state(session).termination_reason == "natural"
    check(place, session)
    assert place.lines("out.txt") == ["begun", "over"]


def test_a_run_that_a_screen_began_outlives_its_kill_and_the_next_screen_says_once_how_to_mend_the_terminal(
    place: Place,
) -> None:
    with screen_on(place, SLOW) as screen:
        session = begun(place)
        screen.until(b"\x1b[?1049h")
        screen.until(b"round 1")
        screen.process.kill()
        screen.finish()
        assert left_behind(screen.seen) != []
        check_goes_on(place, session)
    with screen_on(place, "attach") as screen:
        screen.until(b"round 1")
        taken = screen.seen.index(b"\x1b[?1049h")
        assert screen.seen[:taken].count(HINT) == 1
        assert b"type there: reset\r\n" in screen.seen[:taken]
        with screen_on(place, "attach") as another:
            another.until(b"round 1")
            assert HINT not in another.seen
            another.write(b"\x11")
            assert another.finish() == 0
        screen.write(b"\x11")
        assert screen.finish() == 0
    with screen_on(place, "attach") as screen:
        screen.until(b"round 1")
        assert HINT not in screen.seen
    check_goes_on(place, session)
    check_ends_naturally(place, session)


def test_a_run_outlives_every_way_a_screen_can_be_told_to_go(place: Place) -> None:
    session = started(place)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        with screen_on(place, "attach") as screen:
            screen.until(b"round 1")
            screen.process.send_signal(number)
            assert screen.finish() == 128 + number
            assert left_behind(screen.seen) == []
        check_goes_on(place, session)
    check_ends_naturally(place, session)


def test_a_run_outlives_a_terminal_that_is_closed_and_the_screen_does_not_stay_behind(place: Place) -> None:
    session = started(place)
    for signals in (False, True):
        with screen_on(place, "attach", signals=signals) as screen:
            screen.until(b"round 1")
            screen.hang_up()
            assert screen.process.wait(20) == 128 + signal.SIGHUP
        check_goes_on(place, session)
    with screen_on(place, "attach") as screen:
        screen.until(b"round 1")
        assert HINT not in screen.seen
    check_ends_naturally(place, session)


def test_an_error_on_screen_is_told_in_one_line_with_a_report_and_the_run_goes_on(place: Place) -> None:
    session = started(place)
    for number, where in enumerate(("widget", "thread"), start=1):
        with screen_on(place, where, "attach", module="tests.chaos.broken_screen") as screen:
            screen.until(b"round 1")
            (place.root / "break").touch()
            screen.write(b"\x0c")
            assert screen.finish() == 1
            assert left_behind(screen.seen) == []
            told = screen.seen.decode().rpartition("\x1b[?1006l")[2]
            (line,) = told.splitlines()
        assert line.startswith("The screen closed on an error: ValueError: broken by")
        assert f"Runs go on; geode-tui attach {session} brings it back." in line
        reports = sorted((place.home / "own" / "state" / "logs").glob("screen-*.txt"))
        assert len(reports) == number
        assert all(str(report) in line for report in reports if number == 1)
        for text in (line, *(report.read_text() for report in reports)):
            assert "TESTTEST" not in text
            assert "[redacted]" in text
            assert "\x1b" not in text
        assert all("Traceback" in report.read_text() for report in reports)
        assert all(stat.S_IMODE(report.stat().st_mode) == 0o600 for report in reports)
        (place.root / "break").unlink()
        check_goes_on(place, session)
    check_ends_naturally(place, session)


def test_a_crash_of_the_interpreter_leaves_its_trace_in_a_file_that_the_next_start_names(place: Place) -> None:
    session = started(place)
    with screen_on(place, "attach") as screen:
        screen.until(b"round 1")
        screen.process.send_signal(signal.SIGSEGV)
        screen.finish()
    with screen_on(place, "attach") as screen:
        screen.until(b"The last screen crashed (")
        screen.until(b"round 1")
    (report,) = (place.home / "own" / "state" / "logs").glob("screen-*-fault.txt")
    until(lambda: "Segmentation fault" in report.read_text(), "the trace")
    check_ends_naturally(place, session)
