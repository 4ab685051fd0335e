"""Pastes that arrive as keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual import events

from geode_tui.tui.burst import HOLD_FROM, PASTE_FROM, QUICK_S, Burst
from tests.tui.driving import Driven, opened
from tests.tui.terminals import terminal


def feed(burst: Burst, text: str, gap: float, at: float = 1.0) -> str:
    """What was not held back."""
    passed = ""
    for char in text:
        passed += "" if burst.take(char, at) else char
        at += gap
    return passed


@given(st.text(st.sampled_from("ab \n"), max_size=2_000))
def test_nothing_of_a_burst_is_lost_or_moved(text: str) -> None:
    burst = Burst()
    passed = feed(burst, text, 0.00001)
    held, pasted = burst.release()
    assert passed + held == text
    assert "\n" not in passed[1:]
    assert pasted == (len(text) > PASTE_FROM)


@given(st.text(st.sampled_from("ab\n"), min_size=1, max_size=300), st.floats(QUICK_S + 0.001, 1.0))
def test_what_is_typed_is_never_held_back(text: str, gap: float) -> None:
    assert feed(Burst(), text, gap) == text


def test_a_key_that_is_held_down_is_no_burst() -> None:
    assert feed(Burst(), "x" * 2_000, 0.033) == "x" * 2_000


def test_a_long_burst_without_a_newline_is_held_back_too() -> None:
    burst = Burst()
    assert len(feed(burst, "x" * 1_000, 0.0001)) == HOLD_FROM
    assert burst.release() == ("x" * (1_000 - HOLD_FROM), True)


async def keys(driven: Driven, text: str) -> None:
    """The keys of ``text``, as a terminal without bracketed paste sends them: all at once."""
    driver = driven.app._driver
    assert driver is not None
    for char in text:
        key = events.Key("enter", "\r") if char == "\n" else events.Key(char if char != " " else "space", char)
        key.time = 100.0
        driver.send_message(key)
    await driven.pilot.pause()


async def test_a_newline_in_a_large_burst_submits_nothing() -> None:
    async with opened() as driven:
        text = "one line of a paste\n" * 50
        await keys(driven, text)
        await driven.until(lambda: driven.screen.composer.entry.text == text)
        assert driven.source.sent == []


async def test_a_small_burst_is_what_its_keys_say() -> None:
    async with opened() as driven:
        await keys(driven, "hello\nand then")
        await driven.until(lambda: driven.source.sent)
        assert [payload["text"] for _, payload, _ in driven.source.sent] == ["hello"]
        assert driven.screen.composer.entry.text == "and then"


async def test_a_burst_of_more_than_a_field_should_hold_becomes_a_chip() -> None:
    async with opened() as driven:
        text = "한글 and words\n" * 700
        await keys(driven, text)
        entry = driven.screen.composer.entry
        await driven.until(lambda: "[pasted" in entry.text)
        assert entry.text == "[pasted 12 KB, 700 lines]"
        assert entry.whole_text() == text
        await driven.pilot.press("ctrl+z")
        assert entry.text == ""


async def test_a_key_that_brings_no_text_ends_a_burst() -> None:
    async with opened() as driven:
        entry = driven.screen.composer.entry
        await keys(driven, "one\n")
        await driven.pilot.press("left")
        await driven.until(lambda: driven.source.sent)
        assert driven.source.sent[0][1]["text"] == "one"
        assert entry.text == ""


def test_a_paste_over_a_terminal_that_does_not_mark_it_submits_nothing() -> None:
    text = "\r".join(f"line {n} 한글" for n in range(900))
    with terminal("idle") as screen:
        screen.until("❯".encode())
        screen.quiet()
        screen.write(text.encode())
        screen.until(b"[pasted")
        screen.quiet()
        screen.write(b"\r")
        screen.quiet()
        screen.write(b"\x11")
        assert screen.finish() == 0
        screen.read(0.2)
    end = screen.seen[screen.seen.rindex(b"typed ") :].decode()
    assert end.count("'submit'") == 1
    assert "line 0 한글\\nline 1 한글\\n" in end
    assert "line 899 한글'" in end


def test_words_and_enter_that_a_program_types_at_once_are_sent() -> None:
    with terminal("idle") as screen:
        screen.until("❯".encode())
        screen.quiet()
        screen.write(b"first\rsecond\r")
        screen.quiet()
        screen.write(b"\x11")
        assert screen.finish() == 0
        screen.read(0.2)
    end = screen.seen[screen.seen.rindex(b"typed ") :].decode()
    assert end.index("'first'") < end.index("'second'")
    assert end.startswith("typed ''")
