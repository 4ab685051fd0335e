"""The text of the composer: pastes, earlier prompts, offers, and keys that arrive faster than anybody types."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import ClassVar, NamedTuple

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from geode_tui.core import format as fmt
from geode_tui.core.text import clean
from geode_tui.tui.burst import Burst
from geode_tui.tui.completing import PathIndex, Token, command_offers, prompt_offers, token_at
from geode_tui.tui.look import Look
from geode_tui.tui.source import SourceError
from geode_tui.tui.widgets.suggestions import Suggestions

CHIP_FROM = 8_000
"""Characters from which a paste is shown as a chip: one key in a text of 100 K costs 97 ms (PERFORMANCE.md 7)."""
KEPT = 500
"""Most earlier prompts kept."""
FRESH_S = 10.0
"""Seconds for which the paths of the project are not read again."""
_PASTE_MARKS = ("\x1b[200~", "\x1b[201~")


def roughly_tokens(text: str) -> int:
    """Four characters a token, and one for each of three bytes or more: to warn by, not to count with. A megabyte takes
    a millisecond.
    """
    wide = (len(text.encode()) - len(text)) // 2
    return wide + (len(text) - wide) // 4


class Pasted(NamedTuple):
    """A large paste, and about how many tokens it has."""

    text: str
    tokens: int


class Entry(TextArea):
    """The text. Large pastes stand in it as chips."""

    INVITES: ClassVar[str] = "composer.placeholder"
    """The words that stand in it while it is empty."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send", id="composer.send"),
        Binding("ctrl+j,alt+enter,shift+enter", "newline", "New line", id="composer.newline"),
        Binding("up", "earlier", "Up, or the prompt before", id="composer.earlier"),
        Binding("down", "later", "Down, or the next prompt", id="composer.later"),
        Binding("ctrl+r", "search", "Search earlier prompts", id="composer.search"),
    ]

    class Sent(Message):
        """Enter was pressed. ``text`` is whole: chips are replaced by what was pasted."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, look: Look) -> None:
        super().__init__(
            id="entry",
            soft_wrap=True,
            show_line_numbers=False,
            compact=True,
            highlight_cursor_line=False,
            placeholder=look.t(self.INVITES),
        )
        self.cursor_blink = False
        self.look = look
        self._pasted: dict[str, Pasted] = {}
        self._history: list[str] = []
        self._at: int | None = None
        self._draft = ""
        self.suggestions = Suggestions(look)
        self.paths: Callable[[], Sequence[str]] | None = None
        """Reads the paths of the project; called in a thread. Raises `SourceError`."""
        self._index = PathIndex()
        self._indexed_at: float | None = None
        self.searching = False
        """Whether what is written is looked for in earlier prompts; the draft is kept."""
        self._unwanted: Token | None = None
        """What the person wants no offers for."""
        self._burst = Burst()
        self._burst_timed = False

    # -- text ---------------------------------------------------------------------------------------------------------
    def whole_text(self) -> str:
        """The text with every chip replaced by what was pasted."""
        text = self.text
        for chip, pasted in self._pasted.items():
            text = text.replace(chip, pasted.text)
        return text

    def put(self, text: str) -> None:
        """Replace the text; a large one becomes a chip. The cursor goes to its end."""
        self._pasted.clear()
        self.load_text("")
        self._insert(text)

    def give_back(self, text: str) -> None:
        """``text`` was not sent after all: it stands before what was typed since."""
        if self.searching:
            self._end_search()
        since = self.whole_text()
        self.put(f"{text}\n{since}" if since else text)

    def clear_text(self) -> None:
        """Empty it."""
        self._pasted.clear()
        self._at = None
        self.load_text("")

    def _insert(self, text: str) -> None:
        self.insert(self._chip(text) if len(text) > CHIP_FROM else clean(text))

    def _chip(self, text: str) -> str:
        """What stands for a large paste: its size, and its number among others of that size."""
        lines = text.count("\n") + (not text.endswith("\n"))
        what = [fmt.size_bytes(len(text.encode()))]
        what += [self.look.t("composer.lines", n=fmt.number(lines))] if lines > 1 else []
        chip, number = self.look.t("composer.pasted", what=", ".join(what)), 2
        while chip in self._pasted:
            chip = self.look.t("composer.pasted", what=", ".join([*what, str(number)]))
            number += 1
        self._pasted[chip] = Pasted(text, roughly_tokens(text))
        return chip

    @property
    def weight(self) -> int:
        """About how many tokens the large pastes in the text have (see `roughly_tokens`)."""
        text = self.text if self._pasted else ""
        return sum(pasted.tokens for chip, pasted in self._pasted.items() if chip in text)

    def on_paste(self, event: events.Paste) -> None:
        """Insert what was pasted, without the marks that would end a paste early."""
        event.stop()
        event.prevent_default()
        text = event.text
        for mark in _PASTE_MARKS:
            text = text.replace(mark, "")
        # Terminals send a carriage return for each newline of what is pasted.
        self._insert(text.replace("\r\n", "\n").replace("\r", "\n"))

    # -- history ------------------------------------------------------------------------------------------------------
    def seed(self, inputs: Iterable[str]) -> None:
        """Earlier prompts of the session, oldest first, before those of this screen."""
        self._history = [*inputs, *self._history][-KEPT:]

    def remember(self, text: str) -> None:
        """``text`` was sent."""
        if text and self._history[-1:] != [text]:
            self._history = [*self._history, text][-KEPT:]
        self._at = None

    def _go(self, step: int) -> None:
        at = len(self._history) if self._at is None else self._at
        if at == len(self._history):
            self._draft = self.whole_text()
        target = max(0, min(len(self._history), at + step))
        if target == at:
            return
        self._at = target
        self.put(self._draft if target == len(self._history) else self._history[target])

    # -- offers -------------------------------------------------------------------------------------------------------
    def _token(self) -> Token | None:
        row, column = self.cursor_location
        return token_at(self.document.get_line(row)[:column], first_line=row == 0)

    def offer(self) -> None:
        """Offer what fits what is written now."""
        if self.searching:
            self.suggestions.show("prompt", prompt_offers(self.text, self._history, self.look))
            return
        token = self._token()
        if token is None or (self._unwanted is not None and token.start == self._unwanted.start):
            self._unwanted = self._unwanted if token is not None else None
            self.suggestions.close()
            return
        self._unwanted = None
        if token.kind == "command":
            offers = command_offers(token.word, self.look)
        else:
            self._read_paths()
            offers = self._index.offers(token.word, self.look)
        if offers:
            self.suggestions.show(token.kind, offers)
        else:
            self.suggestions.close()

    def _read_paths(self) -> None:
        now = monotonic()
        if self.paths is not None and (self._indexed_at is None or now - self._indexed_at > FRESH_S):
            self._indexed_at = now
            self.run_worker(self._index_paths(self.paths), group="paths")

    async def _index_paths(self, read: Callable[[], Sequence[str]]) -> None:
        try:
            self._index = await asyncio.to_thread(lambda: PathIndex(read()))
        except SourceError:
            self._indexed_at = None  # nothing to offer now; asked again with the next character
            return
        self.offer()

    def _take_offer(self) -> bool:
        """Put the chosen offer in; False where it stands there already."""
        chosen, token = self.suggestions.chosen, self._token()
        if self.searching:
            self._end_search(chosen.text if chosen is not None else None)
            return True
        if chosen is None or token is None:
            return False
        row, column = self.cursor_location
        if self.document.get_line(row)[token.start : column] == chosen.text:
            return False
        self.replace(f"{chosen.text} ", (row, token.start), (row, column), maintain_selection_offset=False)
        self.suggestions.close()
        return True

    def set_look(self, look: Look) -> None:
        """Take another look."""
        self.look = look
        self.placeholder = look.t("composer.search" if self.searching else self.INVITES)

    def action_search(self) -> None:
        """Look for an earlier prompt with what is written from now on; again: the one before."""
        if self.searching:
            self.suggestions.move(1)
            return
        self._draft = self.whole_text()
        self.searching = True
        self.placeholder = self.look.t("composer.search")
        self.clear_text()
        self.offer()

    def _end_search(self, prompt: str | None = None) -> None:
        """Back to writing: with ``prompt``, or the draft."""
        self.searching = False
        self.placeholder = self.look.t(self.INVITES)
        self.suggestions.close()
        self.put(self._draft if prompt is None else prompt)

    def close_offers(self) -> bool:
        """Want none of the offers, and end a search of earlier prompts; False where there are none."""
        if self.suggestions.kind is None:
            return False
        if self.searching:
            self._end_search()
        else:
            self._unwanted = self._token()
            self.suggestions.close()
        return True

    # -- keys ---------------------------------------------------------------------------------------------------------
    async def on_key(self, event: events.Key) -> None:
        """Do what a key is bound to, here and now. Left to Textual, a bound key is looked up only after it has bubbled
        to the application, and letters typed after it would come first.
        """
        if self._held_back(event) or (self.suggestions.kind is not None and self._key_for_offers(event.key)):
            event.stop()
            event.prevent_default()
            return
        active = None if event.is_printable else self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self:
            event.stop()
            event.prevent_default()
            await self.run_action(active.binding.action)

    def _key_for_offers(self, key: str) -> bool:
        """Whether ``key`` was for the list of offers."""
        match key:
            case "up" | "down":
                self.suggestions.move(-1 if key == "up" else 1)
            case "tab" | "enter":
                return self._take_offer() or key == "tab"
            case "escape":
                self.close_offers()
            case _:
                return False
        return True

    def _held_back(self, event: events.Key) -> bool:
        """Whether the key belongs to a burst that is held back (see `Burst`); any other key ends the burst first."""
        text = "\n" if event.key == "enter" else event.character if event.is_printable else None
        if text is None:
            self._end_burst()
            return False
        if not self._burst.take(text, event.time):
            return False
        if not self._burst_timed:
            self._burst_timed = True
            self._time_burst()
        return True

    def _time_burst(self) -> None:
        """End the burst once no key has come for a while."""
        last = self._burst.last

        def look() -> None:
            if self._burst.last != last or self.app.message_queue_size:  # keys may wait to be handed on
                self._time_burst()
            else:
                self._end_burst()

        self.set_timer(self._burst.wait_s, look)

    def _end_burst(self) -> None:
        """A burst is over: a paste goes in as one, anything else as if it were typed now."""
        self._burst_timed = False
        passed = self._burst.passed
        text, pasted = self._burst.release()
        if pasted:
            row, column = self.cursor_location
            if self.document.get_line(row)[:column].endswith(passed):  # one undo takes all of it away
                self.delete((row, column - len(passed)), (row, column))
                text = passed + text
            self._insert(text)
            return
        first, *more = text.split("\n")
        if first:
            self.insert(clean(first))
        for line in more:
            if not (self.suggestions.kind is not None and self._take_offer()):
                self.action_send()
            if line:
                self.insert(clean(line))

    # -- actions ------------------------------------------------------------------------------------------------------
    def action_send(self) -> None:
        """Hand the text over and be empty: what is typed from now on is the next message."""
        text = self.whole_text()
        self.remember(text)
        self.clear_text()
        self.suggestions.close()
        self.post_message(self.Sent(text))

    def action_newline(self) -> None:
        """A new line at the cursor."""
        self.insert("\n")

    def action_earlier(self) -> None:
        """Up; in the first row, the prompt before."""
        if self.wrapped_document.location_to_offset(self.cursor_location).y == 0:
            self._go(-1)
        else:
            self.action_cursor_up()

    def action_later(self) -> None:
        """Down; in the last row, the next prompt."""
        last = self.wrapped_document.height - 1
        if self.wrapped_document.location_to_offset(self.cursor_location).y >= last:
            self._go(1)
        else:
            self.action_cursor_down()
