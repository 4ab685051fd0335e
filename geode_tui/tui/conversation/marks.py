"""Where the matches of a search stand in what is drawn, and how they are marked."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from geode_tui.tui.cells import width_of
from geode_tui.tui.conversation.folds import CardItem, ThoughtItem
from geode_tui.tui.conversation.ink import MARGIN, Ink
from geode_tui.tui.conversation.items import CLOCK, Canvas, Item, UserItem
from geode_tui.tui.conversation.matching import Matcher, Stretch
from geode_tui.tui.palette import Palette

KEPT = 500
"""Most parts whose matches are remembered."""

Found = list[tuple[Stretch, ...]]
"""Matches in order, each as its stretches."""


class Marks:
    """The matches of one search in drawn parts of the conversation."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._known: dict[Item, tuple[Sequence[Strip], Found]] = {}

    def of(self, item: Item, canvas: Canvas) -> Found:
        """The matches in what ``item`` shows now."""
        strips = item.strips
        if strips is None or item.ordinal < 0:
            return []
        known = self._known.get(item)
        if known is None or known[0] is not strips:
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[item] = (strips, self._matcher.in_lines(_lines(item, strips, canvas)))
        return known[1]

    def place(self, item: Item, nth: int, canvas: Canvas) -> tuple[Stretch, ...]:
        """Where the match ``nth`` of ``item`` is drawn; where that much of it is not shown, the last one that is.

        Empty where none is.
        """
        found = self.of(item, canvas)
        if isinstance(item, CardItem):
            in_title = self._matcher.count(item.title_words)
            row = [each for each in found if each[0].line == 0]
            body = [each for each in found if each[0].line > 0]
            found, nth = (row, nth) if nth < in_title or not body else (body, nth - in_title)
        return found[min(nth, len(found) - 1)] if found else ()


def _lines(item: Item, strips: Sequence[Strip], canvas: Canvas) -> list[tuple[int, str]]:
    """Each line's text without the spaces around it, and the cell it begins at. What we add to a text is left out."""
    lines: list[tuple[int, str]] = []
    for number, strip in enumerate(strips):
        text = strip.text
        if number == 0 and isinstance(item, ThoughtItem):
            text = ""
        elif number == 0 and isinstance(item, UserItem):
            text = strip.crop(0, max(MARGIN, canvas.width - CLOCK - 1)).text
        shown = text[MARGIN:].strip()
        begin = text.find(shown, MARGIN) if shown else MARGIN
        lines.append((width_of(text[:begin]), shown))
    return lines


def hit_style(ink: Ink, *, current: bool) -> Style:
    """A match: ink on the warning colour; the current one the other way round (SCREENS.md 7)."""
    palette: Palette = ink.palette
    if palette.no_color:
        return Style(reverse=True, bold=True) if current else Style(underline=True, reverse=False)
    dark = palette.ink(palette.warn)
    if current:
        return palette.style(palette.warn, dark, bold=True)
    return palette.style(dark, palette.warn)


def marked(strip: Strip, stretches: Sequence[tuple[Stretch, bool]], ink: Ink) -> Strip:
    """``strip`` with the cells of ``stretches`` marked; True is the current match."""
    for stretch, current in stretches:
        before, middle, after = (
            strip.crop(0, stretch.start),
            strip.crop(stretch.start, stretch.stop),
            strip.crop(stretch.stop),
        )
        style = hit_style(ink, current=current)
        strip = Strip([*before, *Segment.apply_style(middle, post_style=style), *after])
    return strip
