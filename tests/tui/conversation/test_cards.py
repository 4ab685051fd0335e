import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.strings import Strings
from geode_tui.core.text import Redactor
from geode_tui.log.rows import MessageRow, ResultMeta
from geode_tui.tui.conversation import cards
from geode_tui.tui.conversation.cards import (
    BODY_CHARS,
    BODY_LINES,
    Moment,
    Standing,
    argument_diff,
    card_row,
    output_diff,
    partial_call,
    read_call,
    read_output,
    standing,
)
from geode_tui.tui.conversation.folds import CardItem
from geode_tui.tui.glyphs import ASCII, UNICODE, Glyphs
from geode_tui.view.state import OpenTool
from tests.tui.conversation.kit import HOSTILE, assert_inert, canvas, text_of, texts

REDACT = Redactor(["hunter2-hunter2"])


def call(name: str = "run_shell", arguments: str = '{"command": "pytest -q tests/"}') -> cards.Call:
    return read_call("c1", name, arguments, REDACT)


def row(
    state: Standing, width: int = 75, glyphs: Glyphs = UNICODE, now: float = 0.0, which: cards.Call | None = None
) -> str:
    page = canvas(width + 3, glyphs)
    return text_of(page.strip(card_row(which or call(), state, page.ink, Strings("en"), width, Moment(now))))


def result(**meta: object) -> MessageRow:
    return MessageRow(2, 2, 1, 1, "tool", "tool", "complete", 0, 0.0, "c1", "run_shell", (), ResultMeta(**meta))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "brief", "is_path"),
    [
        ('{"path": "src/core.py", "start_line": 3}', "src/core.py", True),
        ('{"pattern": "def parse", "path": "src"}', '"def parse" src', False),
        ('{"command": "make\\ntest"}', "make test", False),
        ('{"steps": [1, 2]}', "", False),
        ("{}", "", False),
        ('{"command": "broken', '{"command": "broken', False),
        ("[1]", "[1]", False),
        ('{"command": "echo hunter2-hunter2"}', "echo [redacted]", False),
    ],
)
def test_the_brief_says_what_a_call_is_about(arguments: str, brief: str, is_path: bool) -> None:
    read = call(arguments=arguments)
    assert (read.brief, read.is_path) == (brief, is_path)


def test_a_call_that_is_being_written_shows_what_is_there() -> None:
    assert partial_call("write_file", '{"path": "notes/a.md", "content": "# x', REDACT).brief == "notes/a.md"
    assert partial_call("write_file", '{"pa', REDACT).brief == ""


@pytest.mark.parametrize(
    ("answer", "tool", "kind"),
    [
        (result(), None, "ok"),
        (result(is_error=True, summary="exit 1"), None, "failed"),
        (result(is_error=True, denied=True, executed=False), None, "refused"),
        (result(is_error=True, executed=False, summary="cancelled: not started"), None, "not_run"),
        (result(is_error=True, fate="unknown"), None, "unknown"),
        (result(is_error=True, fate="interrupted"), None, "interrupted"),
        (None, OpenTool("c1", "run_shell", "", "running", 10.0), "running"),
        (None, OpenTool("c1", "run_shell", "", "waiting", 10.0), "waiting"),
        (None, None, "queued"),
    ],
)
def test_how_a_call_stands(answer: MessageRow | None, tool: OpenTool | None, kind: str) -> None:
    assert standing(answer, tool, asked=False, turn_open=True).kind == kind


@pytest.mark.parametrize("fate", ["unknown", "interrupted"])
def test_a_call_that_was_stopped_has_no_time_that_could_be_known(fate: str) -> None:
    stopped = standing(result(is_error=True, fate=fate, duration_ms=0), None, asked=False, turn_open=False)
    assert stopped.duration_ms is None
    assert standing(result(duration_ms=0), None, asked=False, turn_open=False).duration_ms == 0


def test_a_call_without_a_result_after_its_turn_is_of_unknown_outcome() -> None:
    assert standing(None, None, asked=False, turn_open=False).kind == "unknown"
    assert standing(None, None, asked=True, turn_open=True).kind == "waiting"


def test_a_row_has_its_columns() -> None:
    failed = Standing("failed", "exit 1", None, 8_400, 1_200)
    running = Standing("running", since=52.0)
    assert row(failed) == "  ✗ run_shell  pytest -q tests/                      exit 1  8.4 s   1.2k tok"
    assert row(running, now=100.0) == "  ⠋ run_shell  pytest -q tests/                     running   0:48"
    assert row(failed, 40) == "  ✗ run_shell  pytest -q tests/     exit 1"
    assert row(Standing("waiting"), 40, ASCII) == "  ? run_shell  pytest -q tests/  needs you"


def test_a_card_says_where_a_result_is_that_is_not_in_the_context() -> None:
    stored = standing(
        result(summary="214 lines", tokens=18_300, facts={"ref": "c1"}), None, asked=False, turn_open=True
    )
    assert "⇣ offloaded" in row(stored)
    assert "v offloaded" in row(stored, glyphs=ASCII)
    assert "18.3k tok" in row(stored)
    cut = standing(result(facts={"not_stored": "not stored: File exists"}), None, asked=False, turn_open=True)
    assert "cut, not stored" in row(cut)
    failed = result(summary="exit 1", is_error=True, facts={"ref": "c1"})
    assert "exit 1" in row(standing(failed, None, asked=False, turn_open=True))


def test_a_path_is_cut_at_the_front_and_a_command_at_the_end() -> None:
    path = call("read_file", '{"path": "a/long/way/to/the/parser/core.py"}')
    assert "⋯" in row(Standing("ok"), 40, which=path)
    assert "parser/core.py" in row(Standing("ok"), 40, which=path)
    command = call(arguments='{"command": "make a very long command line"}')
    assert "make a very lo⋯" in row(Standing("ok"), 34, which=command)


@given(st.text(max_size=60) | st.sampled_from(HOSTILE), st.text(max_size=80), st.integers(1, 120))
def test_a_card_fits_whatever_the_call(name: str, arguments: str, width: int) -> None:
    page = canvas(width)
    for opened in (False, True):
        for kind in ("waiting", "running", "failed", "ok", "writing"):
            item = CardItem(read_call("c", name, arguments, REDACT))
            item.opened = opened
            item.state = Standing(kind, "exit 1", 1.0, 5, 99)  # type: ignore[arg-type]
            item.output = read_output(arguments, REDACT)
            assert_inert(item.draw(page), width)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_every_state_has_a_word_that_fits_a_narrow_row(language: str) -> None:
    page = canvas(30, language=language)
    for kind in cards._ROLES:
        item = CardItem(call())
        item.state = Standing(kind)
        (first, *_) = item.draw(page)
        assert page.strings.t(f"card.{kind}")[:4] in text_of(first) or kind == "unknown"
        assert_inert([first], 30)


def test_a_failed_card_shows_the_beginning_of_its_output() -> None:
    item = CardItem(call())
    item.state = Standing("failed", "exit 1")
    item.output = read_output("\nE  AssertionError\n\n2 failed\nmore\n", REDACT)
    assert texts(item.draw(canvas()))[1:] == ["    E AssertionError", "    2 failed"]


def test_an_opened_card_shows_a_bounded_body_and_says_what_is_left() -> None:
    item = CardItem(call())
    item.state, item.opened = Standing("ok"), True
    item.output = read_output("\n".join(f"line {n}" for n in range(1_000)), REDACT)
    lines = texts(item.draw(canvas()))
    assert lines[1] == "    command: pytest -q tests/"
    assert "    line 199" in lines
    assert lines[-1] == "    800 more lines"
    assert len(lines) == 1 + 1 + BODY_LINES + 1


def test_a_result_of_one_enormous_line_is_cut() -> None:
    """B092."""
    output = read_output("x" * 5_000_000, REDACT)
    assert sum(map(len, output.lines)) == BODY_CHARS
    assert output.more_chars == 5_000_000 - BODY_CHARS


@given(st.text(alphabet="ab\n", max_size=40))
def test_a_short_result_is_shown_whole(text: str) -> None:
    output = read_output(text, REDACT)
    assert "\n".join(output.lines) == text.removesuffix("\n")
    assert (output.more_lines, output.more_chars) == (0, 0)


def test_changes_are_shown_as_lines_added_and_removed() -> None:
    edit = call("edit_file", '{"path": "a.py", "old": "one\\ntwo", "new": "one\\nthree"}')
    assert argument_diff(edit) == [(" ", "one"), ("-", "two"), ("+", "three")]
    write = call("write_file", '{"path": "a.py", "content": "x\\ny"}')
    assert argument_diff(write) == [("+", "x"), ("+", "y")]
    assert argument_diff(call()) is None


def test_a_diff_in_a_result_is_coloured_by_its_signs() -> None:
    output = read_output("--- a.py\n+++ a.py\n@@ -1 +1 @@\n-two\n+three\n same", REDACT)
    signed = output_diff(output)
    assert signed is not None
    assert signed[3:] == [("-", "two"), ("+", "three"), (" ", "same")]
    item = CardItem(call("edit_file", '{"path": "a.py", "old": "two", "new": "three"}'))
    item.opened, item.state, item.output = True, Standing("ok"), output
    page = canvas()
    planes = {text_of(strip): [s.style.bgcolor for s in strip if s.style] for strip in item.draw(page)}
    palette = page.ink.palette
    added = next(colors for text, colors in planes.items() if text.strip() == "+ three")
    assert palette.style("", palette.addbg).bgcolor in added
    assert output_diff(read_output("plain", REDACT)) is None


def test_a_large_change_says_what_is_left_out() -> None:
    item = CardItem(call("write_file", msgspec.json.encode({"path": "a", "content": "x\n" * 999}).decode()))
    item.opened, item.state = True, Standing("waiting")
    assert texts(item.draw(canvas()))[-1] == "    800 more lines"
