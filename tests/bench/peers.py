"""Textual apps that do next to nothing, which ours is measured against. Argument: minimal, input or markdown."""

from __future__ import annotations

import sys
from typing import Any

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Footer, Header, Input, Markdown, Static

READY = "minimal application"
MARKDOWN_CHARS = 10_000


class Minimal(App[None]):
    """A header, a text, a footer."""

    def compose(self) -> ComposeResult:
        yield Header()
        yield Static(f"{READY} " * 10)
        yield Footer()


class Typing(App[None]):
    """A field to type in."""

    def compose(self) -> ComposeResult:
        yield Static(READY)
        field = Input()
        field.cursor_blink = False
        yield field


class Growing(App[None]):
    """Textual's own Markdown, to which each key adds a marked sentence."""

    def compose(self) -> ComposeResult:
        yield Static(READY)
        with VerticalScroll():
            yield Markdown()

    async def on_mount(self) -> None:
        from tests.bench.material import markdown  # not at the top: the start of the others is measured

        self.count = 0
        self.query_one(VerticalScroll).anchor()
        await self.query_one(Markdown).update(markdown(1, MARKDOWN_CHARS) + "\n\nThe end. ")

    async def on_key(self) -> None:
        from tests.bench.material import text_mark

        self.count += 1
        await self.query_one(Markdown).append(f" {text_mark(self.count)} was added.")


APPS: dict[str, type[App[Any]]] = {"minimal": Minimal, "input": Typing, "markdown": Growing}

if __name__ == "__main__":
    APPS[sys.argv[1]]().run()
