import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode_tui.core.text import clean
from geode_tui.tui.conversation import cutting
from geode_tui.tui.conversation.blocks import (
    INLINE_LIMIT,
    Code,
    Parser,
    Piece,
    Plain,
    Prose,
    Rule,
    Table,
    plain_pieces,
)
from geode_tui.tui.conversation.cutting import PIECE_CHARS, PIECE_LINES
from geode_tui.tui.conversation.ink import BOLD, CODE, ITALIC, LINK, MUTED
from geode_tui.tui.conversation.render import draw_piece
from tests.tui.conversation.kit import HOSTILE, SAMPLE, assert_inert, canvas, hostile_text, texts

PARSER = Parser()


def runs(text: str) -> tuple[tuple[str, int], ...]:
    (piece,) = PARSER.parse(text)
    assert isinstance(piece, Prose)
    return piece.runs


def shown(text: str, width: int = 80) -> list[str]:
    page = canvas(width)
    lines: list[str] = []
    for piece in PARSER.parse(clean(text)):
        lines += [""] * piece.before + texts(draw_piece(piece, page))
    return lines


def test_a_document_keeps_its_shape() -> None:
    assert shown(SAMPLE) == [
        "  Two tests fail because the tokenizer holds a whole line before it yields. The",
        "  fix has two parts:",
        "",
        "  1. feed() yields as soon as it sees a newline;",
        "  2. close() yields what is left.",
        "     - nested item one",
        "     - nested two",
        "",
        "    def feed(self, chunk: str) -> Iterator[Token]:",
        "        self._buf += chunk  # add",
        "",
        "  ❘ quoted text goes on",
        "",
        "  name           값     count",
        "  one          두 글자      3",
        "  longer cell     x     12345",
        "",
        "  Next",
        "",
        "  The public signature stays.",
    ]


def test_each_leaf_block_is_a_piece_of_its_own() -> None:
    kinds = [type(piece) for piece in PARSER.parse(SAMPLE)]
    assert kinds == [Prose, Prose, Prose, Prose, Prose, Code, Prose, Table, Prose, Prose]
    assert isinstance(PARSER.parse("---")[0], Rule)


def test_inline_styles() -> None:
    assert runs("a **b** *c* `d`") == (
        ("a ", 0),
        ("b", BOLD),
        (" ", 0),
        ("c", ITALIC),
        (" ", 0),
        ("d", CODE),
    )


@pytest.mark.parametrize(
    ("text", "bold"),
    [
        ("**굵게**는", ["굵게"]),
        ('**"인용"**는 중요', ['"인용"']),
        ("앞**(괄호)**뒤 **둘(2)**째", ["(괄호)", "둘(2)"]),
        ("**`code`**를", []),
    ],
)
def test_no_asterisks_stay_beside_korean_particles(text: str, bold: list[str]) -> None:
    parts = runs(text)
    assert "*" not in "".join(part for part, _ in parts)
    assert [part for part, flags in parts if flags & BOLD and not flags & CODE] == bold


@pytest.mark.parametrize("text", ["2 ** 3 ** 4", r"\*\*literal\*\*", "`a**b**c`", "** not open"])
def test_asterisks_that_are_meant_stay(text: str) -> None:
    assert "**" in "".join(part for part, _ in runs(text))


def test_a_link_shows_its_target_and_never_is_one() -> None:
    parts = runs("see [docs](https://example.org/a) and <https://example.org>")
    assert ("docs", LINK) in parts
    assert (" (https://example.org/a)", MUTED) in parts
    assert "".join(part for part, _ in parts).count("https://example.org") == 2


def test_an_image_is_text() -> None:
    assert runs("![a cat](cat.png)") == (("[image: a cat] cat.png", MUTED),)


def test_html_is_shown_as_it_is() -> None:
    assert "<b>bold</b><script>alert(1)</script>" in "\n".join(shown("<b>bold</b><script>alert(1)</script>"))


def test_definitions_of_links_are_not_lost() -> None:
    assert "https://example.org" in "\n".join(shown("[a][x]\n\n[x]: https://example.org"))


def test_character_references_cannot_bring_control_characters_back() -> None:
    pieces = PARSER.parse("x &#27;[2J &#x9b;31m `&#27;` [a&#7;](http://e/&#27;)\n\n```py&#27;\ncode\n```")
    for piece in pieces:
        assert_inert(draw_piece(piece, canvas()), 80)
    assert isinstance(pieces[1], Code)
    assert "\x1b" not in pieces[1].language


def test_deep_nesting_is_shown_and_not_dropped() -> None:
    text = "\n".join("  " * depth + f"- level{depth}" for depth in range(70))
    assert "level69" in "\n".join(shown(text))
    assert "bottom" in "\n".join(shown("> " * 400 + "bottom"))


def test_long_code_tables_and_paragraphs_come_in_bounded_pieces() -> None:
    code = PARSER.parse("```\n" + "\n".join(f"line {n}" for n in range(350)) + "\n```")
    assert all(isinstance(piece, Code) and len(piece.lines) <= PIECE_LINES for piece in code)
    assert sum(len(piece.lines) for piece in code if isinstance(piece, Code)) == 350
    table = PARSER.parse("|a|b|\n|-|-|\n" + "|1|2|\n" * 250)
    assert [len(piece.rows) for piece in table if isinstance(piece, Table)] == [100, 100, 50]
    assert {piece.widths for piece in table if isinstance(piece, Table)} == {(1, 1)}
    plain = PARSER.parse("word " * (INLINE_LIMIT // 5 + 10))
    assert all(isinstance(piece, Plain) and len(piece.text) <= PIECE_CHARS for piece in plain)


def test_brackets_without_end_are_not_read_as_markdown() -> None:
    """B082: reading them would be quadratic."""
    (first, *_) = PARSER.parse("[" * 100_000)
    assert isinstance(first, Plain)
    assert len(PARSER.parse("- **crypto**: x [[`ce84`](https://e.x/c/ce84)] [#1](https://e.x/p/1)\n" * 1000)) == 1000


@given(st.text(alphabet="ab \n", max_size=100).map(lambda text: text * 400))
@settings(max_examples=30)
def test_plain_pieces_are_cut_alike_while_the_text_grows(text: str) -> None:
    whole = list(plain_pieces(text))
    assert "".join(piece.text for piece in whole).replace("\n", "") == text.replace("\n", "")
    before = list(plain_pieces(text[: len(text) * 2 // 3]))
    assert [piece.text for piece in before[:-1]] == [piece.text for piece in whole[: len(before) - 1]]


@given(hostile_text, st.integers(1, 40) | st.sampled_from([80, 300]))
@settings(max_examples=100)
def test_whatever_the_text_its_picture_is_inert_and_fits(text: str, width: int) -> None:
    for piece in PARSER.parse(clean(text)):
        assert_inert(draw_piece(piece, canvas(width)), width)


@given(st.lists(st.sampled_from(["word", "- item", "1. one", "> quote", "    code", "# head", "|a|b|", "|-|-|", ""])))
def test_no_word_of_a_text_is_lost(lines: list[str]) -> None:
    words = [f"{line}x{number}" if line and not line.startswith("|-") else line for number, line in enumerate(lines)]
    picture = " ".join(shown("\n".join(words)))
    for number, line in enumerate(lines):
        if line and not line.startswith("|"):
            assert f"x{number}" in picture


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_keep_their_readable_part(text: str) -> None:
    """B081, B083."""
    letters = [word for word in ("OVER", "unterminated", "INST", "passwd", "한글", "alert", "app.quit") if word in text]
    picture = "\n".join(shown(text))
    assert all(word in picture for word in letters)


def test_pieces_keep_the_source_for_copying() -> None:
    pieces: list[Piece] = PARSER.parse(SAMPLE)
    assert pieces[1].source == "1. `feed()` yields as soon as it sees a newline;"
    assert pieces[5].source.startswith("def feed(self")
    assert pieces[7].source.startswith("| name | 값 |")


PARAGRAPHS = [*SAMPLE.split("\n\n"), *HOSTILE, "1) x\n\n   y\n\nz", "    code\n\n  - a", "~~~\nopen"]


@given(st.lists(st.sampled_from(PARAGRAPHS), max_size=12))
@settings(max_examples=60)
def test_a_long_text_reads_alike_in_sections(parts: list[str]) -> None:
    text = clean("\n\n".join(parts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "SECTION_CHARS", 20)
        some = PARSER.parse(text)
    assert some == PARSER.parse(text)
