"""A conversation over a store in memory, and ways to look at what it shows."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.strip import Strip

from geode_tui.core.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock, user_text
from geode_tui.core.strings import Strings
from geode_tui.core.text import Redactor
from geode_tui.log.rows import ChunkRow, MessageRow, ResultMeta, StoredMessage
from geode_tui.tui.cells import width_of
from geode_tui.tui.conversation.ink import Ink
from geode_tui.tui.conversation.items import Canvas
from geode_tui.tui.conversation.view import Conversation
from geode_tui.tui.glyphs import ASCII, UNICODE, Glyphs
from geode_tui.tui.palette import Palette, palette_from
from geode_tui.view.follow import Added, Chunks, Completed, Index, Op

THEMES = Path(__file__).parents[3] / "themes"

SAMPLE = """Two tests fail because the tokenizer holds a **whole** line before it yields. The fix has two parts:

1. `feed()` yields as soon as it sees a newline;
2. `close()` yields what is left.
   - nested *item* one
   - nested two

```python
def feed(self, chunk: str) -> Iterator[Token]:
    self._buf += chunk  # add
```

> quoted text
> goes on

| name | 값 | count |
|---|:-:|--:|
| one | 두 글자 | 3 |
| longer cell | x | 12345 |

## Next

The public signature stays."""

HOSTILE = [
    "\x1b]52;c;cm0gLXJm\x07",
    "\x1b]8;;http://evil\x1b\\ok\x1b]8;;\x1b\\",
    "\x1b[10A\x1b[2J",
    "\x9b31m",
    "\x9d52;c;AA\x9c",
    "\x1b]unterminated",
    "a\rOVER",
    "\x08\x08",
    "\x00\x00",
    "\u202eevil\u202c",
    "&#27;[2J &#x9b;31m",
    "[b + x",
    "[/INST]",
    "[@click=app.quit]x[/]",
    "[link=file:///etc/passwd]x[/link]",
    "\\[",
    "한글中文日本語ABC",
    "👨‍👩‍👧‍👦 ⚠️ e\u0301",
    "\t\tx\ty",
    "<script>alert(1)</script>",
    "```",
    "| a |",
    "|---|",
    "> > > -",
    "- " * 30,
]

text_lines = st.lists(
    st.one_of(st.text(max_size=40), st.sampled_from(HOSTILE), st.sampled_from(SAMPLE.split("\n"))), max_size=14
)
hostile_text = text_lines.map("\n".join)


def palette(*, no_color: bool = False, theme: str = "geode-dark") -> Palette:
    table = tomllib.loads((THEMES / f"{theme}.toml").read_text())
    return palette_from(table["roles"], table["gauge"], no_color=no_color)


def canvas(width: int = 80, glyphs: Glyphs = UNICODE, *, no_color: bool = False, language: str = "en") -> Canvas:
    return Canvas(Ink(palette(no_color=no_color), glyphs), width, Strings("ko" if language == "ko" else "en"))


def text_of(strip: Strip) -> str:
    return "".join(segment.text for segment in strip).rstrip()


def texts(strips: list[Strip]) -> list[str]:
    return [text_of(strip) for strip in strips]


def assert_inert(strips: list[Strip], width: int) -> None:
    for strip in strips:
        for segment in strip:
            assert segment.control is None
            assert not [c for c in segment.text if ord(c) < 32 or 0x7F <= ord(c) < 0xA0], repr(segment.text)
            assert not [c for c in segment.text if "\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069"]
            assert segment.style is None or segment.style.link is None
        assert sum(width_of(segment.text) for segment in strip) <= width


class Store:
    """Messages by id, counting what is read."""

    def __init__(self) -> None:
        self.messages: dict[int, StoredMessage] = {}
        self.reads: list[int] = []

    def load(self, message_id: int) -> StoredMessage:
        self.reads.append(message_id)
        return self.messages[message_id]

    def add(
        self, message: Message, *, status: str = "complete", number: int | None = None, **fields: Any
    ) -> MessageRow:
        number = number or len(self.messages) + 1
        row = MessageRow(
            id=number,
            seq=number,
            turn=fields.pop("turn", 1),
            round=fields.pop("round", 0),
            role=message.role,
            origin=message.origin,
            status=status,  # type: ignore[arg-type]
            chars=fields.pop("chars", len(message.text)),
            timestamp=1_700_000_000.0,
            calls=tuple(call.call_id for call in message.calls),
            **fields,
        )
        self.messages[number] = StoredMessage(row, message)
        return row

    def user(self, text: str, **fields: Any) -> MessageRow:
        return self.add(user_text(text), **fields)

    def agent(self, text: str, *calls: ToolCallBlock, **fields: Any) -> MessageRow:
        blocks = (TextBlock(text), *calls) if text else calls
        return self.add(Message("assistant", blocks), **fields)

    def result(self, call: ToolCallBlock, text: str, meta: ResultMeta, **fields: Any) -> MessageRow:
        block = ToolResultBlock(call.call_id, call.name, (TextBlock(text),), meta.is_error)
        return self.add(Message("tool", (block,), "tool"), call_id=call.call_id, tool=call.name, result=meta, **fields)


class Stand(App[None]):
    """Nothing but a conversation."""

    CSS = "Conversation { height: 1fr; }"

    def __init__(self, store: Store, glyphs: Glyphs = UNICODE, *, no_color: bool = False) -> None:
        super().__init__()
        self.store = store
        self.conversation = Conversation(
            store.load, Strings("en"), glyphs, palette(no_color=no_color), Redactor(["hunter2-hunter2"])
        )

    def compose(self) -> ComposeResult:
        yield self.conversation


def screen(conversation: Conversation) -> list[str]:
    """The lines of the view as they are now."""
    return [text_of(conversation.render_line(y)) for y in range(conversation.size.height)]


async def settled(pilot: Pilot[None], conversation: Conversation) -> None:
    """Wait until everything in view is loaded and drawn."""
    for _ in range(2_000):
        await pilot.pause(0.005)
        if not conversation.busy:
            return
    raise AssertionError("the conversation did not come to rest")


def pieces(message_id: int, text: str, size: int, *, kind: str = "text", block: int = 0, start: int = 0) -> list[Op]:
    return [
        Chunks(message_id, (ChunkRow(message_id, start + at, block, kind, text[at : at + size]),))
        for at in range(0, len(text), size)
    ]


__all__ = ["ASCII", "UNICODE", "Added", "Chunks", "Completed", "Index"]
