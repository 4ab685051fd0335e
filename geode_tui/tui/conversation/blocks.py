"""Markdown into pieces: the leaf blocks of a text, each with what stands before its lines.

A piece is small, self-contained and knows nothing of widths or colours, so that a conversation can draw the few in
view and forget the rest. Whatever the text, nothing of it is lost: what cannot be taken as Markdown within bounds is a
`Plain` piece.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

from geode_tui.core.text import clean, clean_line
from geode_tui.tui.cells import expand_tabs, width_of
from geode_tui.tui.conversation.cutting import PIECE_CHARS, PIECE_LINES, code_chunks, plain_cut, sections
from geode_tui.tui.conversation.ink import ACCENT, BOLD, CODE, ITALIC, LINK, LITERAL, MUTED, QUOTE, STRIKE

Run: TypeAlias = tuple[str, int]
"""Text and the flags of `ink`; a newline in it breaks the line."""

INLINE_LIMIT = 10_000
"""Characters of one paragraph that are still read as Markdown."""
BRACKET_LIMIT = 1_000
"""Opening brackets of one paragraph that are: looking for each one's end is quadratic."""
DOCUMENT_LIMIT = 2_000_000
_MAX_NESTING = 100

_DEEP = re.compile(r"^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){16}(?=.*\w)", re.MULTILINE)


class Piece(msgspec.Struct, frozen=True):
    """``lead`` stands before the first line, ``rest`` before all others; both take the same cells. ``before`` counts
    blank lines above. ``source`` is the block's own text, for copying.
    """

    source: str
    before: int
    lead: tuple[Run, ...]
    rest: tuple[Run, ...]


class Prose(Piece, frozen=True):
    """A paragraph or (``heading`` 1 to 6) a heading."""

    runs: tuple[Run, ...]
    heading: int = 0


class Code(Piece, frozen=True):
    """Lines of code."""

    lines: tuple[str, ...]
    language: str = ""


class Table(Piece, frozen=True):
    """Rows of a table; ``widths`` are the columns' natural cells over the whole table, ``aligns`` l, r or c."""

    header: tuple[tuple[Run, ...], ...]
    rows: tuple[tuple[tuple[Run, ...], ...], ...]
    widths: tuple[int, ...]
    aligns: str


class Rule(Piece, frozen=True):
    """A thematic break."""


class Plain(Piece, frozen=True):
    """Text as it is, line by line."""

    text: str


class _Container:
    """A list item or a quote that is open while its blocks are read."""

    def __init__(self, lead: Run, rest: Run) -> None:
        self.lead: Run | None = lead
        self.rest = rest

    def take(self) -> Run:
        lead, self.lead = self.lead, None
        return lead or self.rest


class _List:
    """An open list: ``fresh`` until its first block was read."""

    def __init__(self, *, tight: bool, nested: bool) -> None:
        self.tight = tight
        self.nested = nested
        self.fresh = True


class Parser:
    """Reads Markdown. It keeps nothing between texts, so threads may share one."""

    def __init__(self) -> None:
        options = {"html": False, "linkify": False, "maxNesting": _MAX_NESTING}
        self._md = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
        self._md.core.ruler.enableOnly(["normalize", "block"])
        self.parse("*")  # compiles the rules' caches before another thread can look

    def parse(self, text: str) -> list[Piece]:
        """The pieces of ``text``, which is clean and may be anything."""
        if len(text) > DOCUMENT_LIMIT:
            return list(plain_pieces(text))
        pieces: list[Piece] = []
        for section in sections(text):
            first, *more = self._section(section) or (None,)
            if first is not None:
                pieces.append(msgspec.structs.replace(first, before=1) if pieces else first)
                pieces += more
        return pieces

    def _section(self, text: str) -> list[Piece]:
        if _DEEP.search(text):
            return list(plain_pieces(text))
        env: dict[str, Any] = {}
        tokens = self._md.parse(text, env)
        if any(token.level >= _MAX_NESTING - 2 for token in tokens):
            return list(plain_pieces(text))
        return _Reader(self._md, text, env).read(tokens)


class _Reader:
    """One pass over the tokens of one text."""

    def __init__(self, md: MarkdownIt, text: str, env: dict[str, Any]) -> None:
        self._md = md
        self._env = env
        self._lines = text.split("\n")
        self._pieces: list[Piece] = []
        self._open: list[_Container] = []
        self._lists: list[_List] = []

    def read(self, tokens: Sequence[Token]) -> list[Piece]:
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.type == "table_open":
                end = next(i for i in range(index, len(tokens)) if tokens[i].type == "table_close")
                self._table(tokens[index:end])
                index = end
            else:
                self._token(token, tokens, index)
            index += 1
        self._references()
        return self._pieces

    def _token(self, token: Token, tokens: Sequence[Token], index: int) -> None:
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                hidden = next((t.hidden for t in tokens[index:] if t.type == "paragraph_open"), True)
                self._lists.append(_List(tight=hidden, nested=bool(self._lists)))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open":
                marker = f"{token.info}{token.markup} " if token.info else "- "
                self._open.append(_Container((marker, ACCENT | BOLD), (" " * len(marker), 0)))
            case "blockquote_open":
                self._open.append(_Container(("> ", QUOTE), ("> ", QUOTE)))
            case "list_item_close" | "blockquote_close":
                container = self._open.pop()
                if container.lead is not None and token.type == "list_item_close":
                    self._open.append(container)
                    self._prose((), token)
                    self._open.pop()
            case "inline":
                self._inline(token, tokens[index - 1])
            case "fence" | "code_block":
                self._code(token)
            case "hr":
                self._pieces.append(Rule(self._source(token), *self._place()))
            case _:
                pass

    def _place(self) -> tuple[int, tuple[Run, ...], tuple[Run, ...]]:
        """Blank lines before the next piece, and its two prefixes."""
        before = 1 if self._pieces else 0
        if self._lists:
            inner = self._lists[-1]
            if inner.tight and not (inner.fresh and not inner.nested):
                before = 0
            for each in self._lists:
                each.fresh = False
        lead = tuple(c.take() for c in self._open)
        return before, lead, tuple(c.rest for c in self._open)

    def _source(self, token: Token) -> str:
        if token.map is None:
            return ""
        return "\n".join(self._lines[token.map[0] : token.map[1]]).rstrip("\n")

    def _prose(self, runs: tuple[Run, ...], token: Token, heading: int = 0) -> None:
        before, lead, rest = self._place()
        self._pieces.append(Prose(self._source(token), before, lead, rest, runs, heading))

    def _inline(self, token: Token, opener: Token) -> None:
        if len(token.content) > INLINE_LIMIT or token.content.count("[") > BRACKET_LIMIT:
            place = self._place()
            self._pieces += plain_pieces(token.content, *place)
            return
        heading = int(opener.tag[1]) if opener.type == "heading_open" else 0
        self._prose(tuple(self._runs(token.content)), token, heading)

    def _runs(self, content: str) -> list[Run]:
        children: list[Token] = []
        self._md.inline.parse(content, self._md, self._env, children)
        return _bold_left_over(list(_runs_of(children)))

    def _code(self, token: Token) -> None:
        before, lead, rest = self._place()
        source = token.content.rstrip("\n")
        language = clean_line(token.info, 40).split(" ")[0] if token.info else ""
        for number, lines in enumerate(code_chunks(source.split("\n"))):
            self._pieces.append(
                Code(source, 0 if number else before, rest if number else lead, rest, tuple(lines), language)
            )

    def _table(self, tokens: Sequence[Token]) -> None:
        rows: list[tuple[tuple[Run, ...], ...]] = []
        cells: list[tuple[Run, ...]] = []
        aligns = ""
        for token in tokens:
            if token.type == "th_open":
                aligns += _align(token)
            elif token.type == "inline":
                bounded = len(token.content) <= INLINE_LIMIT and token.content.count("[") <= BRACKET_LIMIT
                cells.append(tuple(self._runs(token.content)) if bounded else ((expand_tabs(token.content), 0),))
            elif token.type == "tr_close":
                rows.append(tuple(cells))
                cells = []
        header, body = rows[0], rows[1:]
        widths = tuple(
            max(sum(width_of(text) for text, _ in row[column]) for row in rows) for column in range(len(header))
        )
        before, lead, rest = self._place()
        source = self._source(tokens[0])
        for at in range(0, max(1, len(body)), PIECE_LINES):
            part = tuple(body[at : at + PIECE_LINES])
            place = (before, lead, rest) if at == 0 else (0, rest, rest)
            self._pieces.append(Table(source, *place, header if at == 0 else (), part, widths, aligns))

    def _references(self) -> None:
        """Definitions of link targets are no blocks; shown at the end they are not lost."""
        for label, target in self._env.get("references", {}).items():
            text = inert(f"[{label.lower()}]: {target.get('href', '')}")
            before = 0 if self._pieces and self._pieces[-1].source.startswith("[") else 1
            self._pieces.append(Prose(text, before, (), (), ((text, MUTED),)))


def _align(token: Token) -> str:
    style = str(token.attrGet("style") or "")
    return "r" if "right" in style else "c" if "center" in style else "l"


_FLAGS = {"strong": BOLD, "em": ITALIC, "s": STRIKE, "link": LINK}


def _runs_of(children: Sequence[Token]) -> Iterator[Run]:
    flags = 0
    targets: list[tuple[str, list[str]]] = []
    for token in children:
        name, _, turn = token.type.rpartition("_")
        if name in _FLAGS and turn == "open":
            flags |= _FLAGS[name]
            if name == "link":
                targets.append((str(token.attrGet("href") or ""), []))
        elif name in _FLAGS and turn == "close":
            if name == "link" and targets:
                href, shown = targets.pop()
                if href and "".join(shown) not in {href, href.removeprefix("mailto:")}:
                    yield inert(f" ({href})"), MUTED
            flags &= ~_FLAGS[name]
        else:
            run = _leaf(token, flags)
            if targets:
                targets[-1][1].append(run[0])
            yield run


def _leaf(token: Token, flags: int) -> Run:
    match token.type:
        case "softbreak":
            return " ", flags & ~LINK
        case "hardbreak":
            return "\n", flags
        case "code_inline":
            return inert(token.content), flags | CODE
        case "image":
            return inert(f"[image: {token.content}] {token.attrGet('src') or ''}"), flags | MUTED
        case "text_special":
            return inert(token.content), flags | LITERAL
        case _:
            return inert(token.content), flags


def inert(text: str) -> str:
    """One line of clean text: character references can bring back what was cleaned before."""
    return expand_tabs(clean(text).replace("\n", " "))


def _bold_left_over(runs: list[Run]) -> list[Run]:
    """Make bold what CommonMark leaves with asterisks because a letter follows a closing mark after punctuation, as
    Korean particles do in ``**"quoted"**는``.
    """
    text = "".join(part if not flags & (CODE | LITERAL) else "x" * len(part) for part, flags in runs)
    if "**" not in text:
        return runs
    marks: list[int] = []
    opener: int | None = None
    for match in re.finditer(r"\*\*", text):
        at = match.start()
        if opener is not None and at > opener + 2 and not text[at - 1].isspace():
            marks += [opener, at]
            opener = None
        elif opener is None and at + 2 < len(text) and not text[at + 2].isspace():
            opener = at
    return _without_marks(runs, marks) if marks else runs


def _without_marks(runs: list[Run], marks: list[int]) -> list[Run]:
    """``runs`` less the two characters at each of ``marks``, with every second stretch between them bold."""
    edges = sorted({*marks, *(mark + 2 for mark in marks)})
    made: list[Run] = []
    start = 0
    for part, flags in runs:
        end = start + len(part)
        cuts = edges[bisect_right(edges, start) : bisect_left(edges, end)]
        for at, to in pairwise((start, *cuts, end)):
            passed = bisect_right(marks, at)
            if not passed or at >= marks[passed - 1] + 2:
                made.append((part[at - start : to - start], flags | (BOLD if passed % 2 else 0)))
        start = end
    return made


def plain_pieces(text: str, before: int = 0, lead: tuple[Run, ...] = (), rest: tuple[Run, ...] = ()) -> Iterator[Plain]:
    """``text`` as it is, in pieces of at most `PIECE_CHARS` characters."""
    start = 0
    while len(text) - start > PIECE_CHARS:
        end = plain_cut(text, start)
        part = text[start:end].removesuffix("\n")
        yield Plain(part, before, lead, rest, part)
        start, before, lead = end, 0, rest
    part = text[start:]
    yield Plain(part, before, lead, rest, part)
