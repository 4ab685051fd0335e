"""What the terminal sees, byte for byte, on a real pty."""

from __future__ import annotations

import re
import time

from tests.tui import pty_app
from tests.tui.terminals import left_behind, terminal


def plain(data: bytes) -> str:
    return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", data.decode(errors="replace"))


def test_an_idle_screen_writes_nothing_and_every_key_works_over_a_terminal() -> None:
    with terminal("idle") as screen:
        screen.until("❯".encode())
        screen.quiet()
        assert screen.read(1.2) == b""
        screen.write(b"\x1b[200~pasted \x1b[201~typed\x1b\rnext")
        screen.until(b"next")
        assert b"typed" in screen.seen
        screen.quiet()
        assert screen.read(0.5) == b""
        before, screen.seen = screen.seen, b""
        screen.write(b"\x0c")
        screen.until(b"\x1b[?1049h\x1b[?1000h")
        screen.until(b"next")  # B095: everything is painted again
        assert "❯".encode() in screen.seen
        screen.write(b"\x11")
        assert screen.finish() == 0
        assert left_behind(before + screen.seen) == []
        assert rb"typed 'pasted typed\nnext' sent []" in screen.seen


def test_leaving_a_run_that_goes_on_says_so_after_the_screen_is_gone() -> None:
    with terminal("running") as screen:
        screen.until(b"round 37")
        screen.write(b"\x11")
        assert screen.finish() == 0
        gone = screen.seen.rindex(b"\x1b[?1049l")
        assert b"The run goes on. geode-tui attach s-1 brings it back." in screen.seen[gone:]


def test_alt_with_a_digit_chooses_a_tab_from_the_composer() -> None:
    with terminal("running", size=(120, 40)) as screen:
        screen.until(b"round 37")
        screen.write(b"typed\x1b2")
        screen.until(b"level")
        screen.process.terminate()
        screen.finish()
        assert b"typed 'typed'" in screen.seen


def test_without_colours_not_one_colour_escape_is_written() -> None:
    with terminal("running", "no-color") as screen:
        screen.until(b"round 37")
        screen.write(b"words")
        screen.until(b"words")
        screen.write(b"\x11\x11")
        screen.finish()
        codes = {code for group in re.findall(rb"\x1b\[([0-9;]*)m", screen.seen) for code in group.split(b";") if code}
        colours = {*map(str, (*range(30, 50), *range(90, 108)))}
        assert codes.isdisjoint(code.encode() for code in colours), codes
        assert b"1" in codes
        assert b"7" in codes


def test_b096_a_key_whose_bytes_come_in_two_pieces_stays_one_key() -> None:
    with terminal("running") as screen:
        screen.until(b"round 37")
        screen.write(b"typed")
        screen.until(b"typed")
        for first, second in ((b"\x1b[", b"D"), (b"\x1b", b"[D"), (b"\x1b", b"\r"), (b"\x1b[", b"C")):
            screen.write(first)
            time.sleep(0.03)
            screen.write(second)
        screen.write(b"!")
        screen.until(b"!")
        screen.write(b"\x11")
        screen.finish()
        assert b"esc again" not in screen.seen
        assert rb"typed 'typ\ne!d' sent []" in screen.seen


def test_b088_an_answer_that_comes_letter_by_letter_costs_few_bytes() -> None:
    with terminal("running", "stream", size=(100, 24)) as screen:
        screen.until(b"round 37")
        screen.seen = b""
        screen.until(b"the-end")
        assert 1_000 < len(screen.seen) < 400 * pty_app.DELTAS
        screen.write(b"\x11")
        assert screen.finish() == 0
