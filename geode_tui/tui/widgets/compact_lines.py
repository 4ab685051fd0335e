"""The preview of a compaction as rows of a given width: sizes, two bars, what stays and what goes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import line_starts, pad, width_of
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.gauge import BAR_FROM, Gauge, GaugeView
from geode_tui.view.compaction import CompactionPreview, GonePart, KeptPart, Refusal
from geode_tui.view.gauge import kind_name, of_text, percent_text

COLUMNS_FROM = 84
"""Cells from which the three groups stand beside each other."""
GAP = 2
STANDING = frozenset({"summaries", "native"})
REFUSED_FOR_GOOD = frozenset({"recorded", "empty", "native", "on_demand", "unknown"})
"""Obstacles that another number of messages does not take away."""
Cells: TypeAlias = list[Segment]
Pair: TypeAlias = tuple[Cells, Cells]
"""A row's left and right part."""


class Lines(msgspec.Struct, frozen=True):
    """Rows of ``width`` cells in a look."""

    look: Look
    width: int

    # -- a preview ----------------------------------------------------------------------------------------------------
    def preview(self, shown: CompactionPreview) -> list[Strip]:
        """Everything of a compaction that can be done."""
        return [
            *self._sizes(shown),
            self.blank(),
            *self._bars(shown),
            self.blank(),
            *self._groups(shown),
            self.blank(),
            *self.why(shown),
            *self._cache(shown),
        ]

    def _sizes(self, shown: CompactionPreview) -> list[Strip]:
        palette, glyphs, figures = self.look.palette, self.look.glyphs, shown.after
        bold = palette.style(bold=True)
        sizes = [
            Segment(fmt.tokens(shown.tokens_before), bold),
            Segment(f" {glyphs.arrow} ", palette.style(palette.muted)),
            Segment(f"~{fmt.tokens(shown.tokens_after)}", bold),
        ]
        if figures is not None:
            state = Gauge(GaugeView(figures), self.look)
            of = f"  {percent_text(figures).lstrip('~')} {of_text(figures, self.look.strings)}  "
            sizes += [Segment(of, palette.style(palette.muted)), *state.head()[-1:]]
        cost = [Segment(self.cost(shown), palette.style(palette.muted))]
        if self.width - 4 >= sum(width_of(part.text) for part in (*sizes, *cost)) + GAP:
            return [self.row(sizes, cost)]
        return [self.row(sizes), self.row(cost)]

    def cost(self, shown: CompactionPreview) -> str:
        """What the summary costs, and how long it takes."""
        t = self.look.t
        if shown.cost_micro == 0:
            return t("compact.free")
        priced = shown.cost_micro is not None
        parts = [t("compact.costs", money=fmt.money(shown.cost_micro or 0)) if priced else t("compact.unpriced")]
        if shown.seconds is not None:
            parts.append(t("compact.seconds", n=fmt.number(shown.seconds)))
        return ", ".join(parts)

    def _bars(self, shown: CompactionPreview) -> list[Strip]:
        names = [self.look.t("compact.now"), self.look.t("compact.after")]
        column = max(map(width_of, names)) + GAP
        width = self.width - 4 - column
        if width < BAR_FROM:
            return []
        out = []
        muted = self.look.palette.style(self.look.palette.muted)
        for name, figures in zip(names, (shown.before, shown.after), strict=True):
            bar = Gauge(GaugeView(figures), self.look).bar(width)
            out.append(self.row([Segment(pad(name, column), muted), *bar]))
        labels = Gauge(GaugeView(shown.before), self.look).labels(width)
        return [*out, self.row([Segment(" " * column), *labels])]

    # -- the groups ---------------------------------------------------------------------------------------------------
    def _groups(self, shown: CompactionPreview) -> list[Strip]:
        groups = [self._kept(shown), self._gone(shown), self._lost(shown)]
        inner = self.width - 4
        if self.width < COLUMNS_FROM:
            stacked = [[self._cell(pair, inner) for pair in group] for group in groups]
            return [self._framed(strip) for group in stacked for strip in (*group, self._cell(([], []), inner))][:-1]
        each = (inner - 2 * GAP) // 3
        tall = max(map(len, groups))
        columns = [[self._cell(pair, each) for pair in (*group, *[([], [])] * (tall - len(group)))] for group in groups]
        gap = Strip([Segment(" " * GAP, self.plane)])
        return [self._framed(Strip.join([a, gap, b, gap, c])) for a, b, c in zip(*columns, strict=True)]

    def _cell(self, pair: Pair, width: int) -> Strip:
        palette = self.look.palette
        fill = palette.style(palette.text, palette.surface)
        return row(pair[0], pair[1], width, fill, self.look.glyphs.cut, margin=1)

    def _framed(self, strip: Strip) -> Strip:
        edge = Strip([Segment("  ", self.plane)])
        return Strip.join([edge, strip]).adjust_cell_length(self.width, self.plane)

    def _head(self, glyph: str, color: str, title: str, tokens: int, how: str) -> list[Pair]:
        palette, muted = self.look.palette, self._muted
        left = [Segment(f"{glyph} ", palette.style(color, bold=True)), Segment(title, palette.style(bold=True))]
        return [(left, [Segment(fmt.tokens(tokens), palette.style(bold=True))]), ([Segment(how, muted)], [])]

    def _kept(self, shown: CompactionPreview) -> list[Pair]:
        t, palette = self.look.t, self.look.palette
        whole = sum(part.tokens for part in shown.kept)
        out = self._head(self.look.glyphs.pinned, palette.accent, t("compact.kept"), whole, t("compact.kept_how"))
        out += [self._pair(self._rule(part), fmt.tokens(part.tokens)) for part in shown.kept]
        note = self.keep_note(shown)
        return [*out, ([Segment(note, self._muted)], [])] if note else out

    def _rule(self, part: KeptPart) -> str:
        strings = self.look.strings
        key = f"compact.rule_{part.rule}"
        name = strings.t(key if strings.has(key) else f"protect.{part.rule}")
        return f"{name}, {fmt.number(part.messages)}" if part.messages else name

    def keep_note(self, shown: CompactionPreview) -> str:
        """Why other than the asked number of messages stay; empty where just that many do."""
        if not shown.keep_note:
            return ""
        n = shown.keep_default if shown.keep_note == "window" else shown.keep_recent
        return self.look.t(f"compact.keep_{shown.keep_note}", n=fmt.number(n), kept=fmt.number(shown.keep_recent))

    def _gone(self, shown: CompactionPreview) -> list[Pair]:
        t, palette = self.look.t, self.look.palette
        whole = sum(part.tokens for part in shown.gone)
        parts = shown.after.parts if shown.after is not None else {}
        if shown.strategy == "prune":
            title, how = t("compact.left_out"), t("compact.left_out_how")
        else:
            written = sum(parts.get(kind, 0) for kind in STANDING)
            title, how = t("compact.summarised"), t("compact.summarised_how", tokens=fmt.tokens(written))
        out = self._head(self.look.glyphs.summary, palette.warn, title, whole, how)
        if shown.span is not None:
            out.append(self._pair(self._rounds(shown), counted("compact.messages", shown.span.messages, self.look)))
        return out + [self._pair(self._part(part), fmt.tokens(part.tokens)) for part in shown.gone]

    def _rounds(self, shown: CompactionPreview) -> str:
        assert shown.span is not None
        first, last = shown.span.first_round, shown.span.last_round
        if not last[1]:
            return f"#{shown.span.first}-#{shown.span.upto}"
        one_turn = first[0] == last[0]
        names = [fmt.number(r) if one_turn else f"{t}.{r}" for t, r in (first, last)]
        return self.look.t("compact.rounds", first=names[0], last=names[1])

    def _part(self, part: GonePart) -> str:
        if part.kind == "results" and part.count:
            return counted("compact.part_results", part.count, self.look)
        key = f"compact.part_{part.kind}"
        plain = self.look.strings.has(key) and part.kind != "results"
        return self.look.t(key) if plain else kind_name(part.kind, self.look.strings)

    def _lost(self, shown: CompactionPreview) -> list[Pair]:
        t, palette, found = self.look.t, self.look.palette, shown.results
        out = self._head(
            self.look.glyphs.offloaded, palette.info, t("compact.lost"), found.tokens, t("compact.lost_how")
        )
        if found.recallable:
            out.append(self._pair(counted("compact.results", found.recallable, self.look), t("compact.recall")))
        if found.expired:
            gone = [Segment(f"{self.look.glyphs.failed} {t('compact.expired')}", palette.style(palette.crit))]
            out.append(([Segment(counted("compact.results", found.expired, self.look))], gone))
        if found.unstored:
            where = t("compact.fate_left_out" if shown.strategy == "prune" else "compact.summary_only")
            out.append(self._pair(counted("compact.results", found.unstored, self.look), where))
        if not (found.recallable or found.expired or found.unstored):
            out.append(([Segment(t("compact.lost_nothing"), self._muted)], []))
        notes = (t("compact.nothing_deleted"), t("compact.undo_brings_back"))
        return [*out, ([], []), *(([Segment(note, self._muted)], []) for note in notes)]

    def _pair(self, left: str, right: str) -> Pair:
        return [Segment(left)], [Segment(right, self._muted)]

    # -- reasons ------------------------------------------------------------------------------------------------------
    def why(self, shown: CompactionPreview) -> list[Strip]:
        """Why it is done in this way, and what masking alone would come to."""
        t, strings = self.look.t, self.look.strings
        key = f"compact.why_{shown.strategy}"
        said = t(key) if strings.has(key) else self.look.line(shown.reason)
        if shown.strategy != "prune":
            said = f"{said} {self.masking(shown)}"
        return self.wrapped(said, t("compact.why"))

    def masking(self, shown: CompactionPreview) -> str:
        """What masking alone would come to."""
        found = shown.masking
        if not found.results or shown.before is None:
            return self.look.t("compact.mask_none")
        percent = f"~{fmt.percent(found.tokens, shown.before.budget)}"
        one = "_one" if found.results == 1 else ""
        return self.look.t(f"compact.mask_reaches{one}", n=fmt.number(found.results), percent=percent)

    def _cache(self, shown: CompactionPreview) -> list[Strip]:
        if shown.cache is None or not shown.cache.tokens:
            return []
        tokens, micro = fmt.tokens(shown.cache.tokens), shown.cache.micro
        if micro:
            text = self.look.t("compact.break_priced", tokens=tokens, money=fmt.money(micro))
        else:
            text = self.look.t("compact.break", tokens=tokens)
        return [self.blank(), *self.wrapped(text, muted=True)]

    # -- refusals -----------------------------------------------------------------------------------------------------
    def refused(self, shown: CompactionPreview, refusal: Refusal) -> list[Strip]:
        """Why nothing would be done, and what is possible all the same."""
        palette, t, kind = self.look.palette, self.look.t, refusal.obstacle
        head = [
            Segment(f"{self.look.glyphs.refused} ", palette.style(palette.warn, bold=True)),
            Segment(t(f"compact.refused_{kind}", by=self.look.line(refusal.detail, 60)), palette.style(bold=True)),
        ]
        why = t(
            f"compact.why_not_{kind}",
            model=self.look.line(refusal.model, 60),
            round=round_name(refusal.block),
            keep=fmt.number(shown.keep_recent),
        )
        out = [self.row(head), self.blank(), *self.wrapped(why)]
        if kind not in REFUSED_FOR_GOOD:
            out += self.wrapped(self.masking(shown), muted=True)
        can = self._can(refusal)
        if can:
            title = [Segment(t("compact.can"), palette.style(palette.accent, bold=True))]
            out += [self.blank(), self.row(title), *(self.row(cells) for cells in can)]
        return out

    def _can(self, refusal: Refusal) -> list[Cells]:
        t, key = self.look.t, self.look.palette.style(self.look.palette.accent, bold=True)
        wanted = (
            ("f", t("compact.fork", round=round_name(refusal.fork)) if refusal.fork[1] else ""),
            ("u", t("compact.undo") if refusal.undo else ""),
            ("w", t("compact.wait", tokens=fmt.tokens(refusal.compacts_at)) if refusal.compacts_at else ""),
        )
        return [[Segment(f"{name} ", key), Segment(text)] for name, text in wanted if text]

    # -- rows ---------------------------------------------------------------------------------------------------------
    @property
    def plane(self) -> Style:
        """The panel plane."""
        return self.look.palette.style(self.look.palette.text, self.look.palette.panel)

    @property
    def _muted(self) -> Style:
        return self.look.palette.style(self.look.palette.muted)

    def row(self, left: Sequence[Segment], right: Sequence[Segment] = ()) -> Strip:
        """A row on the plane."""
        return row(left, right, self.width, self.plane, self.look.glyphs.cut, margin=2)

    def blank(self) -> Strip:
        """An empty row."""
        return Strip.blank(self.width, self.plane)

    def wrapped(self, text: str, head: str = "", *, muted: bool = False) -> list[Strip]:
        """``text`` broken at words, after a bold ``head``."""
        whole = f"{head}  {text}" if head else text
        starts = line_starts(whole, max(4, self.width - 4))
        lines = [whole[a:b].rstrip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        style = self._muted if muted else self.look.palette.style(self.look.palette.text)
        bold = self.look.palette.style(self.look.palette.text, bold=True)
        first = [Segment(lines[0][: len(head)], bold), Segment(lines[0][len(head) :], style)]
        return [self.row(first), *(self.row([Segment(line, style)]) for line in lines[1:])]


def counted(key: str, count: int, look: Look) -> str:
    """The text of ``key`` for so many."""
    return look.t(f"{key}_one" if count == 1 else key, n=fmt.number(count))


def round_name(place: tuple[int, int]) -> str:
    """``2.12``: turn and round, as a fork is told."""
    return f"{place[0]}.{place[1]}"
