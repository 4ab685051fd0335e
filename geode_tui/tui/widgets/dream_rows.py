"""How kept texts are drawn: two rows each in the list, and the lines of one with what they cite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import cut_end, expand_tabs, line_starts, segments_width, width_of
from geode_tui.tui.look import Look
from geode_tui.tui.rows import fit, row
from geode_tui.view.dreams import DreamLine, DreamRow, difference

HEAD = 3
"""Rows above the lines of a text."""
LEAST_ROOM = 16
"""Cells of a line below which what it cites goes below it."""


def moment(at: float, now: float) -> str:
    """The time of a day, with the day where that is not today; in local time."""
    if not at:
        return ""
    when, today = (datetime.fromtimestamp(ts, UTC).astimezone() for ts in (at, now))
    return f"{when:%H:%M}" if when.date() == today.date() else f"{when:%m-%d %H:%M}"


def wrapped(text: str, width: int, cut: str) -> Iterator[str]:
    """``text`` in rows of at most ``width`` cells."""
    flat = expand_tabs(text)
    starts = line_starts(flat, max(1, width))
    for begin, end in zip(starts, [*starts[1:], None], strict=True):
        part = flat[begin:end].rstrip()
        yield part if width_of(part) <= width else cut_end(part, width, cut)


class DreamList(msgspec.Struct, frozen=True):
    """Draws the list in ``width`` cells at the time ``now``; ``focused`` when keys work it."""

    look: Look
    width: int
    focused: bool
    now: float

    def rows(self, one: DreamRow, *, selected: bool) -> list[Strip]:
        """The two rows of a text."""
        palette, glyphs, t = self.look.palette, self.look.glyphs, self.look.t
        lit = selected and self.focused
        dim = palette.style(palette.text if lit else palette.muted)
        fill = palette.style(palette.text, palette.base)
        if selected:
            fill = palette.style(palette.text, palette.select if self.focused else palette.panel, reverse=lit)
        bar = Segment((glyphs.prompt if glyphs.ascii else " ") if lit else " ")
        if lit:
            bar = Segment(bar.text, palette.style(palette.base, palette.accent, reverse=True))
        glyph = glyphs.dream if one.kind == "dream" else glyphs.summary
        name = t("dreams.dream" if one.kind == "dream" else "dreams.summary")
        left = [bar, Segment(f"{glyph} ", palette.style(palette.accent)), Segment(name, palette.style(bold=True))]
        left += [Segment(f" {mark}", palette.style(color)) for mark, color in self._marks(one)]
        upper = row(left, [Segment(f"{moment(one.at, self.now)} ", dim)], self.width, fill, glyphs.cut)
        span = Segment(f"   #{one.first}-{one.upto}", dim)
        by = cut_end(written_by(one, self.look), max(0, self.width - width_of(span.text) - 3), glyphs.cut)
        return [upper, row([span], [Segment(f"{by} ", dim)], self.width, fill, glyphs.cut)]

    def _marks(self, one: DreamRow) -> Iterator[tuple[str, str]]:
        palette, glyphs = self.look.palette, self.look.glyphs
        if one.injected:
            yield glyphs.pinned, palette.accent
        if one.approved:
            yield glyphs.ok, palette.ok
        if one.forgotten is not None or one.applied is False:
            yield glyphs.refused, palette.muted


def written_by(one: DreamRow, look: Look) -> str:
    """The model, or that it was put together without one."""
    return look.line(one.model, 40) if one.model else look.t("dreams.local")


class DreamText(msgspec.Struct, frozen=True):
    """Draws ``one`` for ``size``: its ``lines`` with the cursor on line ``at`` and on its citation ``cite``, or with
    ``diff`` the lines in which it differs from the one ``before``. ``focused`` when keys work it.
    """

    look: Look
    size: Size
    focused: bool
    now: float
    one: DreamRow
    lines: Sequence[DreamLine]
    at: int
    cite: int
    before: DreamRow | None = None
    diff: bool = False

    @property
    def _plane(self) -> Style:
        return self.look.palette.style(self.look.palette.text, self.look.palette.surface)

    def head(self) -> list[Strip]:
        """What it is, who wrote it and what it cost, when, and what became of it."""
        palette, t, one = self.look.palette, self.look.t, self.one
        muted = palette.style(palette.muted)
        title = t(f"dreams.of_{'dream' if one.kind == 'dream' else 'summary'}", first=one.first, upto=one.upto)
        accent = palette.style(palette.accent, bold=True, underline=self.focused)
        facts = [written_by(one, self.look)]
        if one.cost_micro is not None:
            facts.append(fmt.money(one.cost_micro))
        if one.tokens:
            facts.append(f"{fmt.tokens(one.tokens)} tok")
        times = [t("dreams.written", at=moment(one.at, self.now))]
        if one.observed_at:
            times.append(t("dreams.observed", at=moment(one.observed_at, self.now)))
        if one.why:
            times.append(self.look.line(one.why, 120))
        standing = self._standing()
        if segments_width(standing) + width_of(title) + 4 > self.size.width:  # its sign alone
            standing = [Segment(part.text.split(" ")[0], part.style) for part in standing]
        rows: tuple[tuple[list[Segment], list[Segment]], ...] = (
            ([Segment(title, accent)], standing),
            (fit([[Segment(fact, muted)] for fact in facts], self.size.width - 2), []),
            (fit([[Segment(text, muted)] for text in times], self.size.width - 2), []),
        )
        return [row(left, right, self.size.width, self._plane, self.look.glyphs.cut, margin=1) for left, right in rows]

    def _standing(self) -> list[Segment]:
        palette, glyphs, t, one = self.look.palette, self.look.glyphs, self.look.t, self.one
        if one.forgotten is not None:
            return [Segment(f"{glyphs.refused} {t('dreams.forgotten')}", palette.style(palette.warn))]
        if one.applied is False:
            return [Segment(f"{glyphs.refused} {t('dreams.not_applied')}", palette.style(palette.warn))]
        out = [Segment(f"{glyphs.ok} {t('dreams.approved')} ", palette.style(palette.ok))] if one.approved else []
        if one.injected:
            out.append(Segment(f"{glyphs.pinned} {t('dreams.injected')}", palette.style(palette.accent, bold=True)))
        elif one.applied:
            out.append(Segment(t("dreams.applied"), palette.style(palette.muted)))
        return out

    def body(self) -> list[tuple[int, Strip]]:
        """(line, row) of every row below the head; lines of a difference are numbered too."""
        if self.one.forgotten is not None:
            who = self.look.line(self.one.forgotten, 300)
            return self._told(self.look.t("dreams.gone", who=who) if who else self.look.t("dreams.gone_plain"))
        if self.diff:
            return self._difference()
        return [(number, strip) for number, line in enumerate(self.lines) for strip in self._line(number, line)]

    def _told(self, text: str) -> list[tuple[int, Strip]]:
        muted = self.look.palette.style(self.look.palette.muted)
        cut = self.look.glyphs.cut
        parts = wrapped(text, self.size.width - 2, cut)
        return [(0, row([Segment(part, muted)], [], self.size.width, self._plane, cut, margin=1)) for part in parts]

    def _line(self, number: int, line: DreamLine) -> Iterator[Strip]:
        palette, glyphs = self.look.palette, self.look.glyphs
        lit = self.focused and number == self.at
        fill = palette.style(palette.text, palette.select, reverse=True) if lit else self._plane
        pointer = glyphs.prompt if lit and glyphs.ascii else " "
        if line.kind == "blank":
            yield row([Segment(pointer)], [], self.size.width, fill, glyphs.cut)
            return
        if line.kind == "heading":
            style = palette.style(palette.accent, bold=True)
            for part in wrapped(self.look.line(line.text, 300), self.size.width - 2, glyphs.cut):
                yield row([Segment(pointer), Segment(part, style)], [], self.size.width, fill, glyphs.cut)
            return
        right = self._source(number, line)
        bullet = "" if line.kind == "text" else "? " if line.mark else "- "
        room = self.size.width - 2 - len(bullet) - (segments_width(right) + 1 if right else 0)
        below: list[Segment] = []
        if room < LEAST_ROOM:
            room, right, below = self.size.width - 2 - len(bullet), [], right
        sign = palette.style(palette.warn if line.mark else palette.muted, bold=bool(line.mark))
        for index, part in enumerate(wrapped(self.look.line(line.text, 4_000), room, glyphs.cut)):
            lead = Segment(bullet if not index else " " * len(bullet), sign)
            shown = [Segment(pointer if not index else " "), lead, Segment(part)]
            yield row(shown, [] if index else [*right, Segment(" ")], self.size.width, fill, glyphs.cut)
        if below:
            yield row([], [*below, Segment(" ")], self.size.width, fill, glyphs.cut)

    def _source(self, number: int, line: DreamLine) -> list[Segment]:
        """What the line cites, or that nothing bears it out."""
        palette, t = self.look.palette, self.look.t
        out = [Segment(t("dreams.nosource"), palette.style(palette.warn, bold=True))] if line.mark else []
        if line.seqs:
            at = self.cite % len(line.seqs) if number == self.at else 0
            which = f" {at + 1}/{len(line.seqs)}" if len(line.seqs) > 1 else ""
            out += [Segment(" ")] if out else []
            out += [Segment(f"#{line.seqs[at]}", palette.style(palette.info, underline=True)), Segment(which)]
        return out

    def _difference(self) -> list[tuple[int, Strip]]:
        if self.before is None:
            return self._told(self.look.t("dreams.first"))
        palette, glyphs, width = self.look.palette, self.look.glyphs, self.size.width
        changed = list(difference(self.before, self.one))
        counts = f"+{sum(s == '+' for s, _ in changed)} -{sum(s == '-' for s, _ in changed)}"
        title = self.look.t("dreams.changed", first=self.before.first, upto=self.before.upto)
        head = [Segment(title, palette.style(palette.accent, bold=True)), Segment(f"  {counts}")]
        out = [(0, row(head, [], width, self._plane, glyphs.cut, margin=1))]
        colors = {"+": (palette.added, palette.addbg), "-": (palette.removed, palette.delbg)}
        for number, (sign, text) in enumerate(changed, start=1):
            color, ground = colors[sign]
            fill = palette.style(palette.text, ground)
            for index, part in enumerate(wrapped(self.look.line(text, 4_000), width - 4, glyphs.cut)):
                lead = Segment(f"{sign if not index else ' '} ", palette.style(color, bold=True))
                out.append((number, row([lead, Segment(part)], [], width, fill, glyphs.cut, margin=1)))
        return out
