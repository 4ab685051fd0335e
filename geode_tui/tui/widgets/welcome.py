"""The first run in a project: what is ready, whether its settings may count, and what to try."""

from __future__ import annotations

import time
from typing import ClassVar

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from geode_tui.tui.cells import cut_end, line_starts
from geode_tui.tui.home_source import Readiness, TrustQuestion
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.pane import Pane
from geode_tui.tui.widgets.ready import provider_parts

WIDEST = 68
EXAMPLES = ("welcome.example_1", "welcome.example_2")
MOST_SETTINGS = 9
"""Every guarded setting there is fits; of a file with more, the number of the rest is told."""
DEAF_S = 0.5
"""Seconds in which a question that has just come up takes no answer: what was typed was not meant for it."""


class _Line(msgspec.Struct, frozen=True):
    """A line; ``place`` says what a click on it does: ``trust:y``, ``trust:n``, ``take:0`` and so on."""

    cells: list[Segment]
    place: str = ""


class Welcome(Pane, can_focus=True):
    """See the module."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("y"), "answer(True)", "Trust the folder", id="welcome.trust"),
        Binding(letter("n"), "answer(False)", "Not now", id="welcome.leave"),
        Binding(letter("j", "down"), "move(1)", "Next example", id="welcome.down"),
        Binding(letter("k", "up"), "move(-1)", "Example before", id="welcome.up"),
        Binding("enter", "take", "Write the example into the composer", id="welcome.take"),
    ]

    class Answered(Message):
        """The trust question was answered."""

        def __init__(self, question: TrustQuestion, *, trusted: bool) -> None:
            super().__init__()
            self.question = question
            self.trusted = trusted

    class Taken(Message):
        """An example is wanted in the composer."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, look: Look) -> None:
        super().__init__(look, id="welcome")
        self._readiness = Readiness(())
        self.question: TrustQuestion | None = None
        self.left_off = False
        """Whether the person said "not now"."""
        self._asked_at = 0.0
        self._at = 0
        self._places: dict[int, str] = {}
        """Row -> what a click there does (`_Line.place`)."""

    def show(self, readiness: Readiness, question: TrustQuestion | None, *, left_off: bool = False) -> None:
        """Show what is ready, and ask ``question`` unless it was ``left_off``."""
        if question != self.question:
            self._asked_at = time.monotonic()
        self._readiness, self.question, self.left_off = readiness, question, left_off
        self.repaint()

    def update_ready(self, readiness: Readiness) -> None:
        """More is known of what is ready; the question stays as it is."""
        if readiness != self._readiness:
            self._readiness = readiness
            self.repaint()

    @property
    def asking(self) -> bool:
        """Whether the trust question waits for an answer."""
        return self.question is not None and not self.left_off

    # -- drawing ------------------------------------------------------------------------------------------------------
    def build(self, size: Size) -> list[Strip]:
        """The sections that there is room for, in the middle."""
        width = min(WIDEST, max(1, size.width - 4))
        lines = self._chosen_sections(width, size.height)
        above = max(0, (size.height - len(lines)) // 3)
        margin = (size.width - width) // 2
        after = Strip.blank(size.width - width - margin, self.plane)
        self._places = {above + y: line.place for y, line in enumerate(lines) if line.place}
        chosen = f"take:{self._at}" if not self.asking else ""
        out = [Strip.blank(size.width, self.plane)] * above
        for line in lines:
            lit = bool(chosen) and line.place == chosen
            fill = self.look.palette.style(self.look.palette.text, self.look.palette.select, reverse=True)
            body = row(line.cells, [], width, fill if lit else self.plane, self.look.glyphs.cut)
            out.append(Strip.join([Strip.blank(margin, self.plane), body, after]))
        return out

    def _chosen_sections(self, width: int, height: int) -> list[_Line]:
        """All lines; where they are too many, sections leave in a fixed order, and the answers never do."""
        sections = {
            "intro": self._intro(width),
            "ready": self._ready(width),
            "trust": self._trust(self.question, width) if self.question is not None else [],
            "examples": self._examples(),
        }
        lines: list[_Line] = []
        for name in ("", "intro", "ready", "examples" if self.asking else "trust"):
            sections.pop(name, None)
            filled = [section for section in sections.values() if section]
            lines = [line for section in filled for line in (_Line([]), *section)][1:]
            if len(lines) <= height:
                break
        return lines[-height:] if self.asking else lines

    def _intro(self, width: int) -> list[_Line]:
        palette = self.look.palette
        mark = Segment(f"{self.look.glyphs.product} ", palette.style(palette.accent))
        head = _Line([mark, Segment(self.look.t("welcome.title"), palette.style(bold=True))])
        return [head, _Line([]), *self._text(self.look.t("welcome.about"), width, palette.style())]

    def _ready(self, width: int) -> list[_Line]:
        palette, ready = self.look.palette, self._readiness
        out = [_Line([Segment(self.look.t("welcome.model"), palette.style(palette.accent, bold=True))])]
        out += [_Line([Segment("  "), *provider_parts(provider, self.look)]) for provider in ready.providers]
        if ready.problem:
            text = self.look.line(ready.problem)
        else:
            key = "welcome.offline" if ready.provider == "offline" else "welcome.uses"
            text = self.look.t(key, model=self.look.line(ready.model, 40))
        return [*out, *self._text(text, width, palette.style(palette.muted))]

    def _trust(self, question: TrustQuestion, width: int) -> list[_Line]:
        palette, glyphs, t = self.look.palette, self.look.glyphs, self.look.t
        state = "welcome.left_off" if self.left_off else "welcome.not_trusted"
        head = [
            Segment(f"{t('welcome.folder')}  ", palette.style(palette.accent, bold=True)),
            Segment(f"{glyphs.warning} ", palette.style(palette.warn, bold=True)),
            Segment(t(state), palette.style(bold=True)),
        ]
        out = [_Line(head), *self._text(t("welcome.untrusted"), width, palette.style())]
        for key, value in question.settings[:MOST_SETTINGS]:
            text = f"{self.look.line(key, 60)} = {self.look.line(value, 120)}"
            out.append(_Line([Segment(f"  {cut_end(text, width - 2, glyphs.cut)}", palette.style(palette.code))]))
        if (more := len(question.settings) - MOST_SETTINGS) > 0:
            out.append(_Line([Segment(f"  {t('notice.more', n=more)}", palette.style(palette.muted))]))
        if self.asking:
            accent = palette.style(palette.accent, bold=True)
            for key in ("y", "n"):
                text = t("trust.yes" if key == "y" else "trust.no")
                out.append(_Line([Segment(f"  {key}", accent), Segment(f" {text}")], f"trust:{key}"))
        return out

    def _examples(self) -> list[_Line]:
        palette, t = self.look.palette, self.look.t
        out = [_Line([Segment(t("welcome.try"), palette.style(palette.accent, bold=True))])]
        sign = Segment(f"  {self.look.glyphs.prompt} ", palette.style(palette.accent, bold=True))
        return out + [_Line([sign, Segment(t(key))], f"take:{i}") for i, key in enumerate(EXAMPLES)]

    def _text(self, text: str, width: int, style: Style) -> list[_Line]:
        starts = line_starts(text, max(1, width - 2))
        lines = [text[a:b].rstrip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        return [_Line([Segment(f"  {line}", style)]) for line in lines]

    # -- keys and mouse -----------------------------------------------------------------------------------------------
    def action_answer(self, trusted: bool) -> None:
        """Answer the trust question, once it has been there for a moment."""
        if self.question is not None and self.asking and time.monotonic() - self._asked_at >= DEAF_S:
            self.post_message(self.Answered(self.question, trusted=trusted))

    def action_move(self, step: int) -> None:
        """Choose another example."""
        self._at = max(0, min(len(EXAMPLES) - 1, self._at + step))
        self.repaint()

    def action_take(self) -> None:
        """Write the chosen example into the composer; it is not sent."""
        if not self.asking:
            self.post_message(self.Taken(self.look.t(EXAMPLES[self._at])))

    def on_click(self, event: events.Click) -> None:
        """Do what the line under the pointer offers."""
        kind, _, value = self._places.get(event.y, "").partition(":")
        if kind == "trust":
            self.action_answer(value == "y")
        elif kind == "take":
            self._at = int(value)
            self.action_take()
