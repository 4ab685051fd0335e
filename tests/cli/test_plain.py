"""B094, B097: the program in lines, on a real terminal and with real workers: nothing but text is ever written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cli.place import Place, until
from tests.tui import hostile
from tests.tui.terminals import Terminal, terminal

OTHER = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
LINES = {"GEODE_TUI_A11Y": "1", "TERM": "xterm-256color"}
DUMB = {"TERM": "dumb"}


@contextmanager
def lines_of(place: Place, *words: str, **env: str) -> Iterator[Terminal]:
    """The program in lines; whatever it wrote in the end is looked at."""
    environment = {**place.environment, "GEODE_PROVIDER": "offline", **(env or LINES)}
    with terminal(*words, module="geode_tui", cwd=place.root, env=environment, size=(300, 50), signals=True) as shown:
        yield shown
        assert OTHER.search(shown.seen) is None, OTHER.search(shown.seen)
        text = shown.seen.decode()
        assert not [c for c in text if "\u2800" <= c <= "\u28ff" or "\u2500" <= c <= "\u259f"]


@pytest.mark.parametrize("env", [LINES, DUMB])
def test_a_run_is_started_answered_and_left_by_typing_lines(place: Place, env: dict[str, str]) -> None:
    with lines_of(place, **env) as shown:
        shown.until(b"No runs here yet.")
        shown.write(b"run `echo one >> out.txt` and then run `echo two >> out.txt`\n")
        for number in range(2):
            shown.until(b"answer with a letter")
            shown.read(0.6)
            shown.seen = shown.seen.replace(b"answer with a letter", b"", 1)
            shown.write(b"y\n")
            until(lambda count=number: len(place.lines("out.txt")) == count + 1, "the command")  # type: ignore[misc]
        shown.until(b"state: idle")
        shown.write(b"/quit\n")
        assert shown.finish() == 0
    told = shown.seen.decode()
    for part in (
        "agent, round 1:",
        "calls run_shell",
        "result of run_shell: done",
        "chosen: allow once",
        "run goes on",
    ):
        assert part in told
    assert place.state(place.newest).termination_reason == "natural"


def test_ctrl_c_interrupts_a_turn_and_the_end_of_the_input_only_leaves(place: Place) -> None:
    with lines_of(place, "run `echo x >> out.txt; sleep 600`", **LINES, GEODE_APPROVE="all") as shown:
        until(lambda: place.lines("out.txt"), "the command")
        session = place.newest
        until(lambda: place.running(session, "run_shell"), "the intent")
        shown.write(b"\x04")
        assert shown.finish() == 0
        assert b"The run goes on. geode-tui attach" in shown.seen
    assert place.status(session) == "running"
    with lines_of(place, "attach", **LINES, GEODE_LANG="ko") as shown:
        shown.until("상태: 실행 중".encode())
        shown.write(b"\x03")
        until(lambda: place.state(session).termination_reason == "user_cancelled", "the turn's end")
        shown.until("enter 로 이어 갑니다".encode())
        shown.write(b"\x04")
        assert shown.finish() == 0


def test_a_run_is_opened_by_its_number(place: Place) -> None:
    hostile.write(place.store)
    with lines_of(place) as shown:
        shown.until(b"1. ")
        shown.until(b"Type the number of a run")
        shown.write(b"7\n")
        shown.until(b"There are 1 runs in the list.")
        shown.write(b"1\n")
        shown.until(b"stopped at round 1")
        shown.write(b"/status\n/context\n/help\n/quit\n")
        assert shown.finish() == 0
    for bytes_ in hostile.NEVER:
        assert bytes_ not in shown.seen
    assert hostile.KOREAN in shown.seen.decode()


def test_no_screen_library_is_loaded_for_lines() -> None:
    from tests.test_project import loaded_by

    assert "textual" not in loaded_by("import geode_tui.cli.plain")


# -- without a terminal -----------------------------------------------------------------------------------------------
def test_without_a_terminal_every_way_in_ends_by_itself_in_plain_text(place: Place) -> None:
    wrong = {"COLUMNS": "0", "LINES": "0", "CI": "1", "TERM": "xterm-256color", "GEODE_TUI_A11Y": "1"}
    env = {**wrong, "GEODE_PROVIDER": "offline", "GEODE_APPROVE": "all"}
    done = place.cli("run `echo ✓ 한글`", env=env)
    assert done.status == 0
    assert done.out.splitlines()[-1].startswith("ended after")
    shown = place.cli("attach", env=env)
    assert shown.status == 0
    assert "natural" in shown.out or "done" in shown.out
    bare = place.cli(env=env)
    assert bare.status == 2
    assert "geode-tui run PROMPT" in bare.line
    for output in (done, shown, bare):
        assert OTHER.search((output.out + output.err).encode()) is None


def test_a_terminal_that_cannot_write_korean_gets_question_marks_and_no_error(place: Place) -> None:
    place.cli("run", "run `echo ✓ 한글`", "--provider", "offline", "--approve", "all")
    with lines_of(place, "attach", **LINES, PYTHONIOENCODING="cp1252", PYTHONUTF8="0") as shown:
        shown.until(b"/quit or ctrl+d leaves")
        shown.write(b"\x04")
        assert shown.finish() == 0
    assert b"? ??" in shown.seen
