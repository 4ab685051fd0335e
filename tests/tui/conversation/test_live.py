from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode_tui.core.messages import Block, TextBlock, ThinkingBlock
from geode_tui.core.text import Redactor, clean
from geode_tui.log.rows import ChunkRow
from geode_tui.tui.cells import chop_starts, line_starts
from geode_tui.tui.conversation import items as items_module
from geode_tui.tui.conversation.answer import LiveAnswer
from geode_tui.tui.conversation.blocks import Parser
from geode_tui.tui.conversation.folds import CardItem, ThoughtItem
from geode_tui.tui.conversation.growing import Growing, LineWrap
from geode_tui.tui.conversation.items import Canvas, PieceItem
from tests.tui.conversation.kit import SAMPLE, assert_inert, canvas, hostile_text, texts

PARSER = Parser()


class Stream:
    """A live answer, drawn after each piece as the screen does."""

    def __init__(self, page: Canvas, redact: Redactor | None = None) -> None:
        self.page = page
        self.answer = LiveAnswer("1", page, PARSER, redact or Redactor())
        self.first: list[int] = []

    def feed(self, text: str, *, kind: str = "text", block: int = 0, name: str = "") -> None:
        first = self.answer.feed([ChunkRow(1, 0, block, kind, text, name)])
        self.first.append(len(self.answer.items) - first)
        for item in self.answer.items[first:]:
            if item.strips is None:
                item.put(item.draw(self.page))

    def lines(self) -> list[str]:
        lines: list[str] = []
        for item in self.answer.items:
            assert item.strips is not None
            lines += [""] * item.before + texts(item.strips)
        return lines


def whole(text: str, page: Canvas) -> list[str]:
    lines: list[str] = []
    for piece in PARSER.parse(clean(text)):
        item = PieceItem(piece)
        lines += [""] * item.before + texts(item.draw(page))
    return lines


@given(st.integers(0, len(SAMPLE)), st.integers(1, 40))
def test_the_rest_of_an_answer_is_what_was_not_streamed_of_it(streamed: int, size: int) -> None:
    page = canvas()
    stream = Stream(page)
    stream.feed("a thought", kind="thinking")
    for at in range(0, streamed, size):
        stream.feed(SAMPLE[at : min(at + size, streamed)], block=1)
    rest = stream.answer.rest((ThinkingBlock("a thought"), TextBlock(SAMPLE)))
    assert "".join(piece.text for piece in rest) == (SAMPLE[streamed:] if streamed else "")
    for piece in rest:
        stream.feed(piece.text, block=piece.block)
    if streamed:
        assert stream.lines()[-1] == whole(SAMPLE, page)[-1]


@pytest.mark.parametrize(
    "blocks",
    [
        (),
        (ThinkingBlock("The end."),),
        (TextBlock("Another text of the same length."),),
        (TextBlock("The beg"),),
        (TextBlock("The beginning" + " and more" * 1_000),),
    ],
)
def test_an_answer_that_is_not_what_was_streamed_or_much_longer_has_no_rest(blocks: tuple[Block, ...]) -> None:
    stream = Stream(canvas())
    stream.feed("The ")
    stream.feed("beginning")
    assert stream.answer.rest(blocks) == ()


@pytest.mark.parametrize("size", [1, 7, 25, 10_000])
def test_a_streamed_answer_looks_like_the_complete_one(size: int) -> None:
    page = canvas()
    stream = Stream(page)
    for at in range(0, len(SAMPLE), size):
        stream.feed(SAMPLE[at : at + size])
    assert stream.lines() == whole(SAMPLE, page)


@given(hostile_text, st.integers(1, 30), st.sampled_from([3, 20, 80]))
@settings(max_examples=40)
def test_whatever_streams_is_inert_and_fits(text: str, size: int, width: int) -> None:
    stream = Stream(canvas(width))
    for at in range(0, len(text), size):
        stream.feed(text[at : at + size])
        for item in stream.answer.items:
            assert item.strips is not None
            assert_inert(item.strips, width)


@given(hostile_text, st.integers(1, 30))
@settings(max_examples=40)
def test_the_size_of_the_pieces_does_not_matter(text: str, size: int) -> None:
    text = clean(text)
    page = canvas()
    one, many = Stream(page), Stream(page)
    one.feed(text)
    one.feed("", block=1)
    for at in range(0, len(text), size):
        many.feed(text[at : at + size])
    many.feed("", block=1)
    assert one.lines() == many.lines()


def grow(kind: str, length: int) -> str:
    if kind == "words":
        return "streaming words go on " * (length // 22)
    if kind == "fence":
        return "```python\n" + "value = compute(value)  # again\n" * (length // 32)
    if kind == "line in a fence":
        return "```\n" + "x" * length
    if kind == "list":
        return "- an item of a list that goes on\n" * (length // 33)
    return "| a cell | another |\n|---|---|\n" + "| one | two |\n" * (length // 14)


@pytest.mark.parametrize("kind", ["words", "fence", "line in a fence", "list", "table"])
def test_the_work_for_a_piece_does_not_grow_with_the_text(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items drawn and characters wrapped per piece are the same at 10 K as at 60 K characters."""
    work: list[int] = []
    feed = LineWrap.feed

    def counted(wrap: LineWrap, text: str) -> list[str]:
        rows = feed(wrap, text)
        work[-1] += 1 + len(rows)
        return rows

    draw = items_module.draw_piece
    monkeypatch.setattr(LineWrap, "feed", counted)

    def drawn(*args: object) -> object:
        work[-1] += 1
        return draw(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(items_module, "draw_piece", drawn)
    stream = Stream(canvas())
    text = grow(kind, 60_000)
    for at in range(0, len(text), 100):
        work.append(0)
        stream.feed(text[at : at + 100])
    early, late = work[50:250], work[-200:]
    assert sum(late) <= sum(early) * 1.5 + 100
    assert max(stream.first[-200:]) <= 5


def test_a_long_open_block_is_kept_in_bounded_items() -> None:
    stream = Stream(canvas())
    for _ in range(300):
        stream.feed("x" * 1_000)
    sizes = [item.chars for item in stream.answer.items if isinstance(item, Growing)]
    assert max(sizes) <= 10_200
    assert sum(sizes) > 290_000


def test_long_plain_text_is_the_same_when_it_is_complete() -> None:
    text = "some words that go on and on without an end " * 700
    page = canvas()
    stream = Stream(page)
    for at in range(0, len(text), 333):
        stream.feed(text[at : at + 333])
    stream.feed("", block=1)
    assert stream.lines() == whole(text, page)


def test_a_table_is_raw_until_it_closes() -> None:
    stream = Stream(canvas())
    stream.feed("| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert stream.lines()[-1] == "  | 1 | 2 |"
    stream.feed("\nafter")
    assert stream.lines() == ["  a  b", "  1  2", "", "  after"]


def test_a_closing_fence_is_not_shown() -> None:
    stream = Stream(canvas())
    stream.feed("```\ncode\n``")
    assert stream.lines() == ["    code", "    ``"]
    stream.feed("`\nafter")
    assert stream.lines() == ["    code", "", "  after"]


def test_blocks_of_an_answer_become_their_own_items() -> None:
    stream = Stream(canvas())
    stream.feed("let me think", kind="thinking", block=0)
    stream.feed("Reading.", block=1)
    stream.feed('{"path": "src/co', kind="tool_call", block=2, name="read_file")
    thought, text, card = stream.answer.items
    assert isinstance(thought, ThoughtItem)
    assert not thought.live
    assert text.source == "Reading."
    assert isinstance(card, CardItem)
    assert (card.call.name, card.call.brief, card.state.kind) == ("read_file", "src/co", "writing")
    stream.feed('re.py"}', kind="tool_call", block=2)
    assert card.call.brief == "src/core.py"


def test_an_escape_sequence_across_pieces_is_one_mark() -> None:
    stream = Stream(canvas())
    stream.feed("before \x1b]52;c;AA")
    stream.feed("AA\x07after")
    assert stream.lines() == ["  before \u241bafter"]


def test_a_secret_is_masked_while_it_streams() -> None:
    stream = Stream(canvas(), Redactor(["correct-horse-battery"]))
    for part in ("the key is correct-", "horse-", "battery and more"):
        stream.feed(part)
    assert stream.lines() == ["  the key is [redacted] and more"]


def test_another_width_wraps_what_is_there_and_goes_on() -> None:
    wide, narrow = canvas(80), canvas(30)
    stream, expected = Stream(wide), Stream(narrow)
    start, rest = "```\n" + "code " * 40, " and more code that follows" * 5
    stream.feed(start)
    stream.answer.set_canvas(narrow)
    stream.page = narrow
    for item in stream.answer.items:
        item.forget()
        item.put(item.draw(narrow))
    stream.feed(rest)
    expected.feed(start)
    expected.feed(rest)
    for one, other in zip(stream.answer.items, expected.answer.items, strict=True):
        assert one.source == other.source
        assert texts(one.draw(narrow)) == texts(other.draw(narrow))


@given(st.lists(st.text(alphabet="ab 한", max_size=30), max_size=8), st.integers(1, 20))
def test_a_line_that_grows_wraps_as_a_whole_line_does(parts: list[str], width: int) -> None:
    for breaks in (line_starts, chop_starts):
        wrap, rows = LineWrap(width, breaks, str), [""]
        for part in parts:
            rows[-1:] = wrap.feed(part)
        text = "".join(parts)
        starts = [*breaks(text, width), len(text)]
        assert [row.rstrip(" ") for row in rows] == [text[a:b].rstrip(" ") for a, b in pairwise(starts)]


@pytest.mark.parametrize("before", ["", "```\n"])
def test_a_secret_in_a_long_line_is_masked_while_it_streams(before: str) -> None:
    stream = Stream(canvas(), Redactor(["correct-horse-battery"]))
    text = before + "word " * 260 + "correct-horse-battery and more"
    for at in range(0, len(text), 9):
        stream.feed(text[at : at + 9])
    assert "correct-horse" not in "".join(stream.lines())
    assert "[redacted] and more" in "".join(stream.lines())


def test_a_windows_line_end_cut_in_two_is_one_line_end() -> None:
    stream = Stream(canvas())
    for part in ("one\r", "\n\r\n", "two\r\n"):
        stream.feed(part)
    assert stream.lines() == ["  one", "", "  two"]
