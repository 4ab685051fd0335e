"""How the blocks of a prompt are drawn: a row each, with its share, its kind, and how it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.core.events import ContextFigures
from geode_tui.tui.cells import cut_end, cut_front, pad, segments_width, width_of
from geode_tui.tui.look import Look
from geode_tui.tui.palette import KIND_LETTERS
from geode_tui.tui.rows import row
from geode_tui.view.blocks import BlockRow, BlockState
from geode_tui.view.gauge import kind_name, uncertain

NOTE_FROM, SHARE_FROM, STATE_FROM, BAR_FROM = 76, 56, 44, 36
"""Cells of the pane from which a column is there; a note on the state needs the most of them, then the share goes
first (SCREENS.md 6).
"""
BAR = 6
"""Cells of the largest block's bar."""
_TOKENS, _SHARE, _ROUND, _NAME, _SHORT_NAME = 8, 6, 6, 14, 10
RULES = ("latest_input", "pinned", "native", "skill", "last_batch")
"""Why a block is protected, each with a word of its own."""
_STANDING: Mapping[BlockState, str] = {"left_out": "block.left_out", "native": "block.native"}
"""What stands for others, where that is no summary."""
_ROUND_WORD = re.compile(r"r\d+\Z")


class BlockLines(msgspec.Struct, frozen=True):
    """Draws rows of ``width`` cells; ``focused`` when keys work the list. ``largest`` is the largest block's tokens."""

    look: Look
    width: int
    focused: bool
    figures: ContextFigures | None
    largest: int

    @property
    def _state(self) -> int:
        """Cells of the column, 0 where it is left out."""
        if self.width < STATE_FROM:
            return 0
        words = [self.look.t(f"blocks.{state}") for state in (*self._marks, "state", "protected")]
        if not self._note:
            words += [self.look.t(f"protect.{rule}") for rule in RULES]
        return 3 + max(map(width_of, words))

    @property
    def _note(self) -> int:
        """Cells of the column beside it, 0 where it is left out."""
        if self.width < NOTE_FROM:
            return 0
        words = [self.look.t(f"protect.{rule}") for rule in RULES]
        return 1 + max(map(width_of, (*words, self.look.t("blocks.was", tokens="999.9k"))))

    def heads(self) -> Strip:
        """The names of the columns."""
        t = self.look.t
        cells = [pad(t("blocks.tokens"), _TOKENS, right=True)]
        if self.width >= SHARE_FROM:
            cells.append(pad(cut_end(t("blocks.share"), _SHARE, ""), _SHARE, right=True))
        if self.width >= BAR_FROM:
            cells.append(" " * BAR)
        cells += [pad(cut_end(t("blocks.round"), _ROUND, ""), _ROUND, right=True), t("blocks.block")]
        left = [Segment(" " + " ".join(cells), self._style(self.look.palette.muted))]
        state = pad(f"  {t('blocks.state')}", self._state + self._note) if self._state else ""
        right = [Segment(state, self._style(self.look.palette.muted))] if state else []
        return row(left, right, self.width, self._plane(), self.look.glyphs.cut, margin=1)

    def line(self, block: BlockRow, *, selected: bool) -> Strip:
        """One block."""
        palette, glyphs = self.look.palette, self.look.glyphs
        lit = selected and self.focused
        dim = palette.text if lit else palette.muted
        cells = [
            Segment(glyphs.prompt if glyphs.ascii else " ", palette.style(palette.base, palette.accent, reverse=True))
            if lit
            else Segment(" "),
            Segment(pad(self._tokens(block), _TOKENS, right=True), self._style(palette.text, bold=True)),
        ]
        if self.width >= SHARE_FROM:
            cells.append(Segment(f" {pad(self._share(block), _SHARE, right=True)}", self._style(dim)))
        if self.width >= BAR_FROM:
            cells += [Segment(" "), *self._bar(block)]
        cells.append(Segment(f" {pad(self._round(block), _ROUND, right=True)} ", self._style(dim)))
        right = self._standing(block, dim)
        room = self.width - 2 - segments_width(cells) - segments_width(right) - 1
        cells += self._what(block, room)
        fill = self._plane()
        if selected:
            fill = palette.style(palette.text, palette.select if self.focused else palette.panel, reverse=lit)
        return row(cells, right, self.width, fill, glyphs.cut, margin=1)

    # -- cells --------------------------------------------------------------------------------------------------------
    def _style(self, color: str, *, bold: bool = False) -> Style:
        return self.look.palette.style(color, bold=bold)

    def _plane(self) -> Style:
        return self.look.palette.style(self.look.palette.text, self.look.palette.base)

    def _tokens(self, block: BlockRow) -> str:
        sure = self.figures is not None and not uncertain(self.figures) and block.state != "unsent"
        return fmt.tokens(block.tokens) if sure else f"~{fmt.tokens(block.tokens)}"

    def _share(self, block: BlockRow) -> str:
        if self.figures is None or block.state == "unsent":
            return self.look.glyphs.none
        return fmt.percent_column(block.tokens, self.figures.used)

    def _bar(self, block: BlockRow) -> list[Segment]:
        palette = self.look.palette
        color = palette.gauge.get(block.kind, palette.gauge["results"])
        letter = KIND_LETTERS.get(block.kind, "+")
        full = max(1, round(block.tokens / self.largest * BAR)) if self.largest else 1
        style = palette.style(palette.ink(color), color, bold=True, reverse=True)
        text = letter * min(full, BAR) if self.look.flat else pad(letter, min(full, BAR))
        return [Segment(text, style), Segment(" " * (BAR - min(full, BAR)))]

    def _round(self, block: BlockRow) -> str:
        entry = block.entry
        return self.look.t("round.column", n=entry.round) if entry and entry.round else self.look.glyphs.none

    def _what(self, block: BlockRow, room: int) -> list[Segment]:
        """The block's name, and what it is about; a path is cut at the front."""
        palette, cut = self.look.palette, self.look.glyphs.cut
        name, detail, is_path = self.words(block)
        least = _NAME if room >= 2 * _NAME else _SHORT_NAME
        shown = cut_end(name, max(0, min(room, max(least, room // 3)) if detail else room), cut)
        left = room - max(least, width_of(shown)) - 2
        out = [Segment(shown, palette.style(palette.text, bold=block.entry is not None))]
        if detail and left >= 4:
            text = (cut_front if is_path else cut_end)(detail, left, cut)
            out += [Segment(" " * (max(least, width_of(shown)) + 2 - width_of(shown)))]
            out.append(Segment(text, palette.style(palette.code if is_path else palette.muted)))
        return out

    def words(self, block: BlockRow) -> tuple[str, str, bool]:
        """(name, what it is about, whether that is a path), clean."""
        entry, t = block.entry, self.look.t
        if entry is None:
            return self._fixed(block)
        detail = self.look.line(entry.detail, 120)
        match block.kind:
            case "results" | "agent" if entry.name:
                name = self.look.line(entry.name, 40)
                return (name if block.kind == "results" else t("block.call", name=name)), detail, entry.is_path
            case "agent":
                name = t("block.text")
            case _ if entry.hidden is not None:
                hidden = entry.hidden
                name = t(_STANDING.get(block.state, "block.summary"))
                detail = t("blocks.of_messages", first=hidden.first, upto=hidden.upto, n=fmt.number(hidden.count))
            case "user" | "thinking":
                name = t(f"block.{block.kind}")
            case "summaries":
                name = t("block.summary")
            case "images":
                name = t("block.image")
            case _:
                name = t("block.native")
                detail = t("block.read_upto") if block.state == "native" else detail
        return name, detail, False

    def text(self, block: BlockRow) -> str:
        """All that a filter looks through, in small letters."""
        name, detail, _ = self.words(block)
        strings = self.look.strings
        state = f"{strings.t(f'blocks.{block.state}')} {self._state_note(block)}"
        return f"{name} {detail} {kind_name(block.kind, strings)} {state}".casefold()

    def _fixed(self, block: BlockRow) -> tuple[str, str, bool]:
        figures, t = self.figures, self.look.t
        if block.kind == "system":
            dynamic = figures.dynamic if figures else None
            parts = (
                ""
                if dynamic is None
                else t("blocks.layers", static=fmt.tokens(block.tokens - dynamic), dynamic=fmt.tokens(dynamic))
            )
            return t("blocks.prompt"), parts, False
        if block.kind == "tools":
            return t("blocks.schemas"), "", False
        if block.kind == "unattributed":
            return t("kind.unattributed"), t("blocks.unattributed"), False
        return self.look.line(block.kind, 20), "", False

    def _standing(self, block: BlockRow, dim: str) -> list[Segment]:
        if not self._state:
            return []
        palette, marks = self.look.palette, self._marks
        color = palette.info if block.state == "unsent" else dim
        mark = self.look.glyphs.pinned if _held(block) else marks[block.state]
        word = f"{pad(mark, max(map(width_of, marks.values())))} {self._state_word(block)}"
        cells = [Segment(pad(cut_end(word, self._state, self.look.glyphs.cut), self._state), palette.style(color))]
        if self._note:
            note = cut_end(self._state_note(block), self._note, self.look.glyphs.cut)
            cells.append(Segment(pad(note, self._note, right=True), palette.style(dim)))
        return cells

    def _state_word(self, block: BlockRow) -> str:
        """How the block is sent; of one that is sent as it is, that or why it has to stay so."""
        if not _held(block):
            return self.look.t(f"blocks.{block.state}")
        return self.look.t("blocks.protected") if self._note else self._state_note(block)

    def _state_note(self, block: BlockRow) -> str:
        """Why the block is protected, how large it was, or since when it stands for others."""
        strings, rule, entry = self.look.strings, _held(block), block.entry
        if rule:
            return strings.t(f"protect.{rule}") if strings.has(f"protect.{rule}") else self.look.line(rule, 20)
        if block.was:
            return strings.t("blocks.was", tokens=fmt.tokens(block.was))
        return f"v{entry.version}" if entry is not None and entry.version else ""

    @property
    def _marks(self) -> dict[BlockState, str]:
        glyphs = self.look.glyphs
        return {
            "fixed": glyphs.fixed,
            "verbatim": glyphs.pending,
            "unsent": glyphs.arrow,
            "masked": glyphs.masked,
            "shrunk": glyphs.cut,
            "offloaded": glyphs.offloaded,
            "summarised": glyphs.summary,
            "left_out": glyphs.none,
            "native": glyphs.fixed,
        }


def _held(block: BlockRow) -> str:
    """The rule that keeps a block as it was said; empty where there is none, or where it is not sent so."""
    return block.entry.protected if block.entry is not None and block.state == "verbatim" else ""


def matches(block: BlockRow, text: str, wanted: str) -> bool:
    """Whether the row, which says ``text``, says every word of ``wanted``; ``r12`` is a round."""
    round_ = f"r{block.entry.round}" if block.entry else ""
    return all(word == round_ if _ROUND_WORD.match(word) else word in text for word in wanted.casefold().split())
