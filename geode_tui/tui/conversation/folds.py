"""The parts of an entry that open and close: reasoning and tool calls."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import cut_end
from geode_tui.tui.conversation import cards
from geode_tui.tui.conversation.items import HEAVY, Canvas, Item
from geode_tui.tui.conversation.render import diff_row, plain_rows

THOUGHT_LINES = 2_000
"""Lines of reasoning that are shown when it is opened."""
GLIMPSE = 800
"""Characters of it that are shown while it streams, or until all of it is drawn."""

LIKE_CALLS = 3
"""Neighbouring calls from which a run of like ones is folded."""
READING_TOOLS = frozenset({"read_file", "grep", "glob", "list_dir"})
"""Tools whose calls are."""


class ThoughtItem(Item):
    """Reasoning, folded to one row until it is opened. While it streams the newest lines are shown then."""

    def __init__(self, key: str, text: str, *, live: bool = False) -> None:
        super().__init__()
        self.key = key
        self.live = live
        self._parts = [text]
        self._chars = len(text)

    @property
    def source(self) -> str:
        """See `Item.source`."""
        self._parts = ["".join(self._parts)]
        return self._parts[0]

    @property
    def words(self) -> str:
        """See `Item.words`."""
        return self.source

    def feed(self, text: str) -> None:
        """More of it came."""
        self._parts.append(text)
        self._chars += len(text)

    @property
    def heavy(self) -> bool:
        """See `Item.heavy`."""
        return self.opened and not self.live and self._chars > HEAVY

    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`."""
        if self.live:
            return self._drawn("".join(self._parts[-40:])[-GLIMPSE:], canvas)
        return self._drawn(self.source, canvas)

    def sketch(self, canvas: Canvas) -> list[Strip]:
        """See `Item.sketch`."""
        return self._drawn(self.source[:GLIMPSE], canvas)

    def _drawn(self, text: str, canvas: Canvas) -> list[Strip]:
        ink, strings = canvas.ink, canvas.strings
        glyph = ink.glyphs.open if self.opened else ink.glyphs.closed
        words = strings.t("conv.thinking" if self.live else "conv.thought")
        size = f"  ~{fmt.tokens(max(1, self._chars // 4))} tok"
        row = [Segment(f"{glyph} {words}", ink.role("muted", italic=True)), Segment(size, ink.muted)]
        if not self.opened:
            return [canvas.strip(row)]
        rows = plain_rows(text, max(1, canvas.body - 2), ink.role("muted", italic=True))
        shown = [[Segment("  ", ink.base), *cells] for cells in rows[:THOUGHT_LINES]]
        strips = [canvas.strip(cells) for cells in [row, *shown]]
        if len(rows) > THOUGHT_LINES:
            strips.append(canvas.note("card.more_lines", n=f"{len(rows) - THOUGHT_LINES:,}"))
        return strips


class CardItem(Item):
    """A tool call. ``state`` follows the run; ``output`` is there once its result was loaded."""

    def __init__(self, call: cards.Call) -> None:
        super().__init__()
        self.call = call
        self.key = call.call_id
        self.state = cards.Standing("writing")
        self.output: cards.Output | None = None
        self.hidden = False
        """Whether it stands in a `FoldItem` that is closed."""

    @property
    def lines(self) -> int:
        """See `Item.lines`."""
        return 0 if self.hidden else super().lines

    @property
    def attention(self) -> bool:
        """See `Item.attention`."""
        return self.state.kind in cards.ATTENTION

    def written(self, chars: int) -> None:
        """So much of its arguments has come."""
        self.state = cards.Standing("writing", tokens=chars // 4)
        self.forget()

    @property
    def moves(self) -> bool:
        """Whether it changes with time alone."""
        return self.state.since is not None

    @property
    def wants_output(self) -> bool:
        """Whether its result should be loaded."""
        return self.output is None and (self.opened or self.state.kind == "failed")

    @property
    def source(self) -> str:
        """See `Item.source`."""
        if self.opened and self.output is not None:
            return "\n".join(self.output.lines)
        return self.call.brief

    @property
    def title_words(self) -> str:
        """What a search looks through in its row."""
        return self.call.name

    @property
    def words(self) -> str:
        """See `Item.words`: what it is called with. The result is searched where it is stored."""
        values = (value for _, value in self.call.arguments)
        return "\n".join(values) if self.call.arguments else self.call.brief

    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`."""
        ink, strings = canvas.ink, canvas.strings
        strips = [self._row(canvas)]
        if self.state.kind == "waiting":
            strips.append(canvas.strip(cards.hint_row(ink, strings, canvas.body)))
        if self.opened:
            strips += self._body(canvas)
        elif self.state.kind == "failed" and self.output is not None:
            strips += [
                canvas.strip([Segment("  " + cut_end(line, canvas.body - 2, ink.glyphs.cut), ink.muted)])
                for line in map(_flat, self.output.head)
            ]
        return strips

    def redraw_row(self, canvas: Canvas) -> None:
        """Draw its first row again: the clock or the spinner moved."""
        if self.strips:
            self.strips[0] = self._row(canvas)

    def _row(self, canvas: Canvas) -> Strip:
        moment = cards.Moment(canvas.now, canvas.frame)
        return canvas.strip(cards.card_row(self.call, self.state, canvas.ink, canvas.strings, canvas.body, moment))

    def _body(self, canvas: Canvas) -> list[Strip]:
        output = self.output
        reported = cards.output_diff(output) if output is not None else None
        strips: list[Strip] = []
        if reported is None:
            changes = cards.argument_diff(self.call) or []
            named = cards.argument_lines(self.call, canvas.strings, values=not changes)
            strips = _signed_strips([*named, *changes[: cards.BODY_LINES]], canvas)
            if len(changes) > cards.BODY_LINES:
                strips.append(canvas.note("card.more_lines", n=f"{len(changes) - cards.BODY_LINES:,}"))
        if output is not None:
            strips += _signed_strips(reported, canvas) if reported else _output_strips(output, canvas)
            strips += _left_out(output, canvas)
        elif self.state.kind in cards.ENDED:
            strips.append(canvas.note("card.loading"))
        return strips


class FoldItem(Item):
    """Stands before a call of a tool that reads; it takes a row once that call begins a run of like ones that all
    succeeded, and then stands for them until it is opened.
    """

    def __init__(self, head: CardItem) -> None:
        super().__init__()
        self.head = head
        self.key = f"fold:{head.key}"
        self.members: tuple[CardItem, ...] = ()
        self.height = 0

    @property
    def foldable(self) -> bool:
        """See `Item.foldable`."""
        return bool(self.members)

    @property
    def source(self) -> str:
        """See `Item.source`."""
        return "\n".join(card.call.brief for card in self.members)

    def take(self, members: tuple[CardItem, ...]) -> bool:
        """Stand for ``members``; whether those are others than before."""
        if members == self.members:
            return False
        before = self.before + self.head.before
        self.before, self.head.before = (before, 0) if members else (0, before)
        self.members = members
        self.height = 1 if members else 0
        self.forget()
        return True

    def draw(self, canvas: Canvas) -> list[Strip]:
        """See `Item.draw`."""
        if not self.members:
            return []
        calls, states = [card.call for card in self.members], [card.state for card in self.members]
        name = calls[0].name
        count = canvas.strings.t(f"card.fold_{name}", n=len(calls))
        brief = f"{count}  {'  '.join(call.brief for call in calls if call.brief)}"
        tokens = sum(state.tokens or 0 for state in states)
        spent = sum(state.duration_ms or 0 for state in states)
        whole = cards.Standing("ok", "", None, spent, tokens or None)
        fold = cards.Call("", name, brief, is_path=False)
        moment = cards.Moment(canvas.now, canvas.frame)
        return [canvas.strip(cards.card_row(fold, whole, canvas.ink, canvas.strings, canvas.body, moment))]

    def estimate(self, canvas: Canvas) -> int:  # noqa: ARG002  the signature of `Item.estimate`
        """See `Item.estimate`."""
        return 1 if self.members else 0


def with_folds(items: Sequence[Item]) -> list[Item]:
    """``items`` with a `FoldItem` before each call that may begin a run of like ones."""
    made: list[Item] = []
    for number, item in enumerate(items):
        after = items[number + 1 : number + LIKE_CALLS]
        if isinstance(item, CardItem) and len(after) == LIKE_CALLS - 1 and all(_alike(item, each) for each in after):
            made.append(FoldItem(item))
        made.append(item)
    return made


def refold(items: Sequence[Item]) -> bool:
    """Let each `FoldItem` stand for the run of like calls that begins behind it now; whether anything changed."""
    changed, end = False, 0
    hidden: set[CardItem] = set()
    for number, item in enumerate(items):
        if isinstance(item, FoldItem):
            members = _run_at(items, number) if number >= end else ()
            changed |= item.take(members)
            if members:
                end = items.index(members[-1], number)
                hidden.update(() if item.opened else members)
    for item in items:
        if isinstance(item, CardItem) and item.hidden != (item in hidden):
            item.hidden = not item.hidden
            changed = True
    return changed


def _run_at(items: Sequence[Item], number: int) -> tuple[CardItem, ...]:
    """The like calls behind the `FoldItem` ``number`` that all succeeded; none where they are few."""
    members: list[CardItem] = []
    for at in range(number + 1, len(items)):
        item = items[at]
        if isinstance(item, FoldItem):
            continue
        if not isinstance(item, CardItem) or item.state.kind != "ok" or not _alike(item, items[number + 1]):
            break
        members.append(item)
    return tuple(members) if len(members) >= LIKE_CALLS else ()


def _alike(card: CardItem, other: Item) -> bool:
    return isinstance(other, CardItem) and card.call.name == other.call.name and card.call.name in READING_TOOLS


def _flat(line: str) -> str:
    return " ".join(line.split())


def _output_strips(output: cards.Output, canvas: Canvas) -> list[Strip]:
    plane = canvas.ink.role("text", "surface")
    rows = [row for text in output.lines for row in plain_rows(text, max(1, canvas.body - 2), plane)]
    return [canvas.strip([Segment("  ", plane), *row], plane) for row in rows]


def _left_out(output: cards.Output, canvas: Canvas) -> list[Strip]:
    if output.more_lines:
        return [canvas.note("card.more_lines", n=f"{output.more_lines:,}")]
    if output.more_chars:
        return [canvas.note("card.more_chars", n=f"{output.more_chars:,}")]
    return []


def _signed_strips(lines: Sequence[tuple[str, str]], canvas: Canvas) -> list[Strip]:
    ink = canvas.ink
    strips: list[Strip] = []
    for sign, text in lines:
        if sign:
            strips += diff_row(sign, text, canvas)
        else:
            rows = plain_rows(text, max(1, canvas.body - 2), ink.role("muted"))
            strips += [canvas.strip([Segment("  ", ink.base), *row]) for row in rows]
    return strips
