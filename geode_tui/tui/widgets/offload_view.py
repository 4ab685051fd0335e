"""How a stored result is drawn: what the model sees in its place, beside a page of the whole."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import cut_end, expand_tabs, line_starts, pad, width_of
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.viewer.viewer import Page, PageRow
from geode_tui.view.offloads import OffloadRow

SEEN_FROM = 76
"""Cells of the pane from which what the model sees stands beside the whole."""
LEAST_SEEN, MOST_SEEN = 26, 40
READING_S = 0.3
"""Seconds after which it is said that the result is being read (SCREENS.md 10)."""


class OffloadView(msgspec.Struct, frozen=True):
    """Draws a page of ``one`` over ``size``; ``focused`` when keys work it. ``seen`` is the raw text that the
    model is sent for the result. ``page`` is None while the result is not read.
    """

    look: Look
    size: Size
    focused: bool
    one: OffloadRow
    seen: str
    page: Page | None
    trouble: str

    @classmethod
    def seen_width(cls, width: int) -> int:
        """Cells of what the model sees, 0 where there is no room for it."""
        return max(LEAST_SEEN, min(MOST_SEEN, width // 3)) if width >= SEEN_FROM else 0

    @classmethod
    def room(cls, size: Size, *, found: bool) -> tuple[int, int]:
        """Cells and rows of a page in ``size``."""
        return max(1, size.width - cls.seen_width(size.width) - 2), max(1, size.height - 1 - found)

    def build(self) -> list[Strip]:
        """The rows."""
        left = self.seen_width(self.size.width)
        whole = self._whole(self.size.width - left)
        if not left:
            return whole
        seen = self._seen(left)
        return [Strip([*a, *b]) for a, b in zip(seen, whole, strict=True)]

    # -- the whole ----------------------------------------------------------------------------------------------------
    def _whole(self, width: int) -> list[Strip]:
        palette, glyphs = self.look.palette, self.look.glyphs
        plane = palette.style(palette.text, palette.surface)
        lines = [self._heading(width, plane)]
        page = self.page
        if self.trouble or (page is not None and page.trouble):
            text = self.look.line(self.trouble or (page.trouble if page else ""), 300)
            crit = palette.style(palette.crit, bold=True)
            for index, part in enumerate(self._broken(text, width - 6)):
                mark = glyphs.failed if not index else " "
                lines.append(row([Segment(f"{mark} ", crit), Segment(part)], [], width, plane, glyphs.cut, margin=1))
        elif page is not None:
            lines += [self._line(one, page, width, plane) for one in page.rows]
            if not page.size:
                lines.append(row([Segment(self.look.t("offload.nothing"))], [], width, plane, glyphs.cut, margin=1))
        blank = Strip.blank(width, plane)
        foot = [self._found(page, width)] if page is not None and page.found is not None else []
        body = lines[: self.size.height - len(foot)]
        return [*body, *[blank] * (self.size.height - len(body) - len(foot)), *foot]

    def _heading(self, width: int, plane: Style) -> Strip:
        palette, t, page = self.look.palette, self.look.t, self.page
        muted = palette.style(palette.muted)
        left = [Segment(t("offload.whole"), palette.style(palette.accent, bold=True, underline=self.focused))]
        tokens = f"{'~' if self.one.extrapolated else ''}{fmt.tokens(self.one.tokens)} tok" if self.one.tokens else ""
        left.append(Segment(f"  {tokens or self.look.line(self.one.ref_id, 60)}", muted))
        if page is None:
            return row(left, [], width, plane, self.look.glyphs.cut, margin=1)
        marked = t("offload.marked", size=fmt.size_bytes(page.marked)) if page.marked else ""
        left.append(Segment(f"  {marked or t(f'offload.{page.shape}')}", muted))
        return row(left, [Segment(self._place(page), muted)], width, plane, self.look.glyphs.cut, margin=1)

    def _place(self, page: Page) -> str:
        """Where the cursor is."""
        t = self.look.t
        at = fmt.number(page.at) if page.at is not None else self.look.glyphs.none
        if page.shape == "hex":
            return t("offload.byte", at=at, of=fmt.number(page.size))
        if page.shape == "tree":
            return t("offload.value", at=at, of=fmt.number(page.of or 0))
        if page.of is None:
            return t("offload.indexing", at=at, percent=page.percent)
        return t("offload.line", at=at, of=fmt.number(page.of))

    def _line(self, one: PageRow, page: Page, width: int, plane: Style) -> Strip:
        palette, glyphs = self.look.palette, self.look.glyphs
        fill = plane
        if one.at and self.focused:
            fill = palette.style(palette.text, palette.select, reverse=True)
        elif one.marked:
            fill = palette.style(palette.text, palette.panel, reverse=True)
        pointer = glyphs.prompt if one.at and self.focused and glyphs.ascii else " "
        cells = [Segment(pointer)]
        if page.gutter:
            label = pad(one.row.label, page.gutter - 1, right=True)
            cells.append(Segment(f"{label} ", palette.style(palette.muted)))
        if page.shape == "tree":
            cells += self._node(one)
        else:
            needle = page.found.text if page.found is not None else ""
            cells += self._lit(one.row.text, needle, current=one.hit)
        return row([*cells, Segment(" ")], [], width, fill, glyphs.cut)

    def _node(self, one: PageRow) -> list[Segment]:
        palette, glyphs, found = self.look.palette, self.look.glyphs, one.row
        mark = " " if found.opens is None else glyphs.open if found.opens else glyphs.closed
        cells = [Segment("  " * min(found.depth, 20) + f"{mark} ", palette.style(palette.muted))]
        if found.key:
            cells += [
                Segment(self.look.line(found.key, 100), palette.style(palette.info)),
                Segment(": ", palette.style(palette.muted)),
            ]
        color = palette.code if found.text[:1] == '"' else palette.muted if found.opens is not None else palette.warn
        return [*cells, Segment(self.look.line(found.text, 2_000), palette.style(color))]

    def _lit(self, text: str, needle: str, *, current: bool) -> Iterator[Segment]:
        """``text`` with every place that holds ``needle`` marked."""
        if not needle:
            yield Segment(text)
            return
        palette = self.look.palette
        style = palette.style(palette.ink(palette.warn), palette.warn, bold=current, underline=current, reverse=True)
        where = text.lower() if needle == needle.lower() and len(text.lower()) == len(text) else text
        at = 0
        while (found := where.find(needle, at)) >= 0:
            yield Segment(text[at:found])
            yield Segment(text[found : found + len(needle)], style)
            at = found + len(needle)
        yield Segment(text[at:])

    def _found(self, page: Page, width: int) -> Strip:
        palette, t, found = self.look.palette, self.look.t, page.found
        assert found is not None
        plane = palette.style(palette.text, palette.raised)
        if not found.of:
            key = "find.none" if found.percent is None else "find.searching"
            count = t(key, percent=found.percent) if found.percent is not None else t(key)
        else:
            of = f"{fmt.number(found.of)}{'+' if found.more or found.percent is not None else ''}"
            count = t("find.of", at=fmt.number(found.at), of=of)
        text = Segment(f"/{self.look.line(found.text, 60)}", palette.style(palette.text, bold=True))
        keys = Segment(f"  {count}  {t('offload.found_keys')}", palette.style(palette.muted))
        return row([text, keys], [], width, plane, self.look.glyphs.cut, margin=1)

    # -- what the model sees ------------------------------------------------------------------------------------------
    def _seen(self, width: int) -> list[Strip]:
        palette, glyphs, t = self.look.palette, self.look.glyphs, self.look.t
        plane = palette.style(palette.text, palette.panel)
        title = [Segment(t("offload.sees"), palette.style(palette.accent, bold=True))]
        lines = [row(title, [], width, plane, glyphs.cut, margin=1), Strip.blank(width, plane)]
        for name, text in seen_parts(self.seen):
            if name:
                head = [Segment(self.look.line(name, 60), palette.style(palette.muted))]
                lines.append(row(head, [], width, plane, glyphs.cut, margin=1))
            parts = self._broken(self.look.text(text), width - 2)
            lines += [row([Segment(part)], [], width, plane, glyphs.cut, margin=1) for part in parts]
            lines.append(Strip.blank(width, plane))
        if self.one.recalled:
            rounds = ", ".join(t("round.column", n=n) for n in self.one.recalled[-6:])
            told = [Segment(t("offload.recalled_at", rounds=rounds), palette.style(palette.muted))]
        else:
            told = [Segment(t("offload.never_recalled"), palette.style(palette.muted))]
        lines.append(row(told, [], width, plane, glyphs.cut, margin=1))
        lines = lines[: self.size.height]
        return lines + [Strip.blank(width, plane)] * (self.size.height - len(lines))

    def _broken(self, text: str, width: int) -> Iterator[str]:
        for line in text.split("\n"):
            flat = expand_tabs(line)
            starts = line_starts(flat, max(1, width))
            for begin, end in zip(starts, [*starts[1:], None], strict=True):
                part = flat[begin:end].rstrip()
                yield part if width_of(part) <= width else cut_end(part, width, self.look.glyphs.cut)


def seen_text(seen: str | None, look: Look) -> str:
    """What the model is sent for a result, or that it is sent nothing of it, or all (`source.OpenedOffload.seen`)."""
    return look.t("offload.sent_whole") if seen is None else seen or look.t("offload.not_sent")


class _Stub(msgspec.Struct):
    summary: str
    hint: str
    offloaded: bool = msgspec.field(name="_offloaded", default=True)
    ref_id: str = msgspec.field(name="_ref_id", default="")
    original_tokens: int = msgspec.field(name="_original_tokens", default=0)


def seen_parts(text: str) -> list[tuple[str, str]]:
    """(name, text) of what stands for a result: the parts of a stub (RUNTIME.md 4.3), or the text without a name."""
    try:
        stub = msgspec.json.decode(text, type=_Stub)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return [("", text)]
    facts = f"_offloaded  true\n_ref_id  {stub.ref_id}\n_original_tokens  {fmt.number(stub.original_tokens)}"
    return [("", facts), ("summary", stub.summary), ("hint", stub.hint)]
